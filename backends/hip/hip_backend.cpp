#include "backends/hip/hip_backend.h"

#include <algorithm>

#include <fmt/format.h>

#include "backends/gpu/emulator.h"
#include "backends/gpu/source.h"
#include "backends/hip/dialect.h"
#include "backends/loops/lower.h"

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

Result<ir::Target> hip_facts(std::string_view target) {
  ir::Target facts;
  facts.name = target;
  facts.buffer_alignment = 256;
  facts.supports = loops::supports;
  return facts;
}

const gpu::Dialect& dialect_of(const ir::Target& target) {
  return *std::ranges::find_if(hip_target_table, [&](const HipTarget& t) { return t.name == target.name; })->dialect;
}

Result<std::unique_ptr<Executable>> compile_hip(const Job& job) {
  if (job.target->name != emulated_hip)
    return error(ErrorKind::target, fmt::format("code for {} can be written (`hloc compile --emit hip`) but not run yet; --target {} runs the same "
                                                "source on the CPU", job.target->name, emulated_hip));
  auto program = gpu::gpu_program(job.plan);
  if (!program) return program.error();
  auto launcher = gpu::make_emulator(*program, hip::dialect);
  if (!launcher) return launcher.error();
  return gpu::make_executable(*std::move(program), *std::move(launcher));
}

Result<std::string> emit_hip_source(const Job& job) {
  auto program = gpu::gpu_program(job.plan);
  if (!program) return program.error();
  return gpu::kernel_source(*program, dialect_of(*job.target));
}

Result<std::string> emit_hip_loops(const Job& job) {
  auto program = gpu::gpu_program(job.plan);
  if (!program) return program.error();
  return gpu::loops_text(*program);
}

constexpr EmitKind hip_emits[] = {{"loops", emit_hip_loops}, {"hip", emit_hip_source}};

}  // namespace

constinit const Backend hip_backend{
    .name = "hip",
    .targets = hip_targets,
    .facts = hip_facts,
    .wants_plan = true,
    .compile = compile_hip,
    .emits = hip_emits,
    .object = nullptr,
};

}  // namespace hloc::backends
