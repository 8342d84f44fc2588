#include "backends/cuda/nvrtc.h"

#include <algorithm>
#include <cstdlib>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "backends/gpu/library.h"
#include "ir/support/source.h"

namespace hloc::cuda {
namespace {

constexpr size_t most_of_log = 2000;  // bytes of what the compiler says that an error shows
constexpr const char* nvrtc_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"};

using NvrtcProgram = void*;

// Functions of NVRTC; all return 0 when good.
struct Nvrtc {
  std::string file;  // see Library::file_identity
  int (*create)(NvrtcProgram*, const char* source, const char* name, int headers, const char* const*, const char* const*);
  int (*compile)(NvrtcProgram, int options, const char* const*);
  int (*log_size)(NvrtcProgram, size_t*);
  int (*log)(NvrtcProgram, char*);
  int (*ptx_size)(NvrtcProgram, size_t*);
  int (*ptx)(NvrtcProgram, char*);
  int (*cubin_size)(NvrtcProgram, size_t*);
  int (*cubin)(NvrtcProgram, char*);
  int (*destroy)(NvrtcProgram*);
  int (*architecture_count)(int*);
  int (*architectures)(int*);
};

Result<Nvrtc> load_nvrtc() {
  gpu::Library library(nvrtc_names, "HLOC_CUDA_PATH");
  if (!library.is_open())
    return error(ErrorKind::target, "this needs NVRTC, NVIDIA's compiler library, and libnvrtc.so.13 (or .12, .11.2) was not found; "
                                    "install it (package nvidia-cuda-nvrtc of PyPI, or CUDA's cuda-nvrtc) and name its folder in "
                                    "HLOC_CUDA_PATH");
  Nvrtc out;
  out.file = library.file_identity();
  library.find(out.create, "nvrtcCreateProgram");
  library.find(out.compile, "nvrtcCompileProgram");
  library.find(out.log_size, "nvrtcGetProgramLogSize");
  library.find(out.log, "nvrtcGetProgramLog");
  library.find(out.ptx_size, "nvrtcGetPTXSize");
  library.find(out.ptx, "nvrtcGetPTX");
  library.find(out.cubin_size, "nvrtcGetCUBINSize");
  library.find(out.cubin, "nvrtcGetCUBIN");
  library.find(out.destroy, "nvrtcDestroyProgram");
  library.find(out.architecture_count, "nvrtcGetNumSupportedArchs");
  library.find(out.architectures, "nvrtcGetSupportedArchs");
  if (!library.has_all()) return error(ErrorKind::target, "the NVRTC that was found is too old: version 11.2 or newer is needed");
  return out;
}

// "sm_90a" is known where 90 is.
Result<void> check_architecture(const Nvrtc& nvrtc, std::string_view architecture) {
  int count = 0;
  if (nvrtc.architecture_count(&count) != 0 || count <= 0) return {};
  std::vector<int> known(static_cast<size_t>(count));
  if (nvrtc.architectures(known.data()) != 0) return {};
  int wanted = std::atoi(std::string(architecture.substr(3)).c_str());
  if (std::find(known.begin(), known.end(), wanted) != known.end()) return {};
  return error(ErrorKind::target, fmt::format("the NVRTC that was found does not know {}; it knows sm_{}", architecture,
                                              fmt::join(known, ", sm_")));
}

std::string fetch(NvrtcProgram program, int (*size_of)(NvrtcProgram, size_t*), int (*get)(NvrtcProgram, char*)) {
  size_t size = 0;
  if (size_of(program, &size) != 0) return "";
  std::string out(size, '\0');
  if (get(program, out.data()) != 0) return "";
  return out;
}

void drop_zero(std::string& text) {
  while (!text.empty() && text.back() == '\0') text.pop_back();
}

Result<DeviceCode> run_compiler(const Nvrtc& nvrtc, const std::string& source, std::span<const char* const> options) {
  NvrtcProgram program = nullptr;
  if (nvrtc.create(&program, source.c_str(), "kernels.cu", 0, nullptr, nullptr) != 0)
    return error(ErrorKind::memory, "NVRTC has no memory for a program");
  int status = nvrtc.compile(program, static_cast<int>(options.size()), options.data());
  DeviceCode out;
  std::string log;
  if (status == 0) {
    out.ptx = fetch(program, nvrtc.ptx_size, nvrtc.ptx);
    out.cubin = fetch(program, nvrtc.cubin_size, nvrtc.cubin);
    drop_zero(out.ptx);
  } else {
    log = fetch(program, nvrtc.log_size, nvrtc.log);
    drop_zero(log);
  }
  nvrtc.destroy(&program);
  if (status != 0)
    return error(ErrorKind::bug, fmt::format("NVRTC refused the source of the kernels (status {}):\n{}", status,
                                             log.substr(0, most_of_log)));
  return out;
}

}  // namespace

Result<DeviceCode> compile_source(const std::string& source, std::string_view architecture, host::CodeCache* cache) {
  auto nvrtc = load_nvrtc();
  if (!nvrtc) return nvrtc.error();
  if (auto known = check_architecture(*nvrtc, architecture); !known) return known.error();
  std::string target = fmt::format("--gpu-architecture={}", architecture);
  // Results to the bit: no contraction into fma but where the source says so.
  const char* options[] = {target.c_str(), "--std=c++17", "--fmad=false"};
  if (!cache) return run_compiler(*nvrtc, source, options);
  std::string key = fmt::format("NVRTC {}\n{}\n{}", nvrtc->file, fmt::join(options, " "), source);
  auto parts = cache->find_or_make(key, 2, [&]() -> Result<host::CodeCache::Parts> {
    auto made = run_compiler(*nvrtc, source, options);
    if (!made) return made.error();
    return host::CodeCache::Parts{std::move(made->ptx), std::move(made->cubin)};
  });
  if (!parts) return parts.error();
  return DeviceCode{std::move((*parts)[0]), std::move((*parts)[1])};
}

}  // namespace hloc::cuda
