#include "backends/hip/hip_backend.h"

#include <algorithm>

#include "backends/gpu/device.h"
#include "backends/hip/code_object.h"
#include "backends/hip/comgr.h"
#include "backends/hip/dialect.h"
#include "backends/hip/runtime.h"

namespace hloc::backends {
namespace {

struct HipTarget {
  std::string_view name, description;
  const gpu::Dialect* dialect;
};
constexpr std::string_view emulated_hip = "hip:host";
constexpr HipTarget hip_target_table[] = {
    {"hip:gfx906", "HIP C for AMD Instinct MI50, Radeon VII", &hip::dialect},
    {"hip:gfx90a", "HIP C for AMD Instinct MI200", &hip::dialect},
    {"hip:gfx942", "HIP C for AMD Instinct MI300", &hip::dialect},
    {"hip:gfx1030", "HIP C for AMD Radeon RX 6000", &hip::narrow_dialect},
    {"hip:gfx1100", "HIP C for AMD Radeon RX 7000", &hip::narrow_dialect},
    {emulated_hip, "the same HIP C with waves of 64, run on this machine's CPU by an emulator (needs g++)", &hip::dialect},
};

std::vector<TargetEntry> hip_targets() {
  std::vector<TargetEntry> out;
  for (const HipTarget& t : hip_target_table) out.push_back({std::string(t.name), std::string(t.description)});
  return out;
}

Result<ir::Target> hip_facts(std::string_view target) { return gpu::device_facts(target); }

const gpu::Dialect& dialect_of(const ir::Target& target) {
  return *std::ranges::find_if(hip_target_table, [&](const HipTarget& t) { return t.name == target.name; })->dialect;
}

Result<std::string> emit_hip_source(const Job& job) { return gpu::source_text(job, dialect_of(*job.target)); }

Result<std::string> emit_code_object(const Job& job) {
  auto processor = gpu::device_of(job, "hip:gfx90a");
  if (!processor) return processor.error();
  auto source = emit_hip_source(job);
  if (!source) return source.error();
  return hip::compile_source(*source, *processor, job.cache);
}

constexpr gpu::Maker amd{"hip", emulated_hip, hip::open_runtime, hip::find_device, emit_code_object, hip::kernel_resources};

Result<std::unique_ptr<Executable>> compile_hip(const Job& job) { return gpu::compile(job, dialect_of(*job.target), amd); }

std::string hip_device(std::string_view target) { return gpu::device_name(target, amd); }

constexpr EmitKind hip_emits[] = {
    {"loops", gpu::loops_text}, {"hip", emit_hip_source}, {"code-object", emit_code_object, true, hip::kernel_resources}};

}  // namespace

constinit const Backend hip_backend{
    .name = "hip",
    .targets = hip_targets,
    .facts = hip_facts,
    .device = hip_device,
    .wants_plan = true,
    .compile = compile_hip,
    .emits = hip_emits,
    .object = nullptr,
};

}  // namespace hloc::backends
