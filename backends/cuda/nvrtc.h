// NVIDIA's compiler for CUDA C, loaded when it is asked for.
#pragma once

#include <string>
#include <string_view>

#include "backends/host/code_cache.h"
#include "include/hloc/result.h"

namespace hloc::cuda {

struct DeviceCode {
  std::string ptx, cubin;
};

// `architecture`: "sm_80". Errors of kind `target` when there is no NVRTC or it does not know the architecture; of kind `bug`
// when it refuses the source. Where there is a `cache`, the code is taken from there if possible; its errors are of kind `io`.
Result<DeviceCode> compile_source(const std::string& source, std::string_view architecture, host::CodeCache* cache = nullptr);

}  // namespace hloc::cuda
