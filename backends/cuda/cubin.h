// What a cubin says of its kernels.
#pragma once

#include <string_view>
#include <vector>

#include "include/hloc/program.h"

namespace hloc::cuda {

// Of every kernel, in no order. Errors of kind `input` where the bytes are no cubin.
Result<std::vector<KernelResources>> kernel_resources(std::string_view cubin);

}  // namespace hloc::cuda
