#include "backends/cuda/cuda_backend.h"

#include "backends/cuda/cubin.h"
#include "backends/cuda/dialect.h"
#include "backends/cuda/driver.h"
#include "backends/cuda/nvrtc.h"
#include "backends/gpu/device.h"

namespace hloc::backends {
namespace {

struct CudaTarget {
  std::string_view name, description;
};
constexpr std::string_view emulated_cuda = "cuda:host";
constexpr CudaTarget cuda_target_table[] = {
    {"cuda:sm_75", "CUDA C for NVIDIA Turing"},
    {"cuda:sm_80", "CUDA C for NVIDIA A100"},
    {"cuda:sm_86", "CUDA C for NVIDIA Ampere (GeForce, A40)"},
    {"cuda:sm_87", "CUDA C for NVIDIA Jetson Orin"},
    {"cuda:sm_89", "CUDA C for NVIDIA Ada"},
    {"cuda:sm_90", "CUDA C for NVIDIA Hopper"},
    {"cuda:sm_90a", "CUDA C for NVIDIA Hopper, code for it alone"},
    {"cuda:sm_100", "CUDA C for NVIDIA Blackwell (data centre)"},
    {"cuda:sm_103", "CUDA C for NVIDIA Blackwell Ultra (B300; CUDA 12.9)"},
    {"cuda:sm_110", "CUDA C for NVIDIA Jetson Thor (CUDA 13)"},
    {"cuda:sm_120", "CUDA C for NVIDIA Blackwell (GeForce)"},
    {"cuda:sm_121", "CUDA C for NVIDIA DGX Spark (GB10; CUDA 12.9)"},
    {emulated_cuda, "the same CUDA C, run on this machine's CPU by an emulator (needs g++)"},
};

std::vector<TargetEntry> cuda_targets() {
  std::vector<TargetEntry> out;
  for (const CudaTarget& t : cuda_target_table) out.push_back({std::string(t.name), std::string(t.description)});
  return out;
}

Result<ir::Target> cuda_facts(std::string_view target) { return gpu::device_facts(target); }

Result<std::string> emit_cuda_source(const Job& job) { return gpu::source_text(job, cuda::dialect); }

Result<cuda::DeviceCode> device_code(const Job& job) {
  auto architecture = gpu::device_of(job, "cuda:sm_80");
  if (!architecture) return architecture.error();
  auto source = emit_cuda_source(job);
  if (!source) return source.error();
  return cuda::compile_source(*source, *architecture, job.cache);
}

Result<std::string> emit_ptx(const Job& job) {
  auto code = device_code(job);
  if (!code) return code.error();
  return std::move(code->ptx);
}

Result<std::string> emit_cubin(const Job& job) {
  auto code = device_code(job);
  if (!code) return code.error();
  return std::move(code->cubin);
}

constexpr gpu::Maker nvidia{"cuda", emulated_cuda, cuda::open_driver, cuda::find_device, emit_cubin, cuda::kernel_resources};

Result<std::unique_ptr<Executable>> compile_cuda(const Job& job) { return gpu::compile(job, cuda::dialect, nvidia); }

std::string cuda_device(std::string_view target) { return gpu::device_name(target, nvidia); }

constexpr EmitKind cuda_emits[] = {
    {"loops", gpu::loops_text}, {"cuda", emit_cuda_source}, {"ptx", emit_ptx, true}, {"cubin", emit_cubin, true, cuda::kernel_resources}};

}  // namespace

constinit const Backend cuda_backend{
    .name = "cuda",
    .targets = cuda_targets,
    .facts = cuda_facts,
    .device = cuda_device,
    .wants_plan = true,
    .compile = compile_cuda,
    .emits = cuda_emits,
    .object = nullptr,
};

}  // namespace hloc::backends
