// What a code object says of its kernels.
#pragma once

#include <string_view>
#include <vector>

#include "include/hloc/program.h"

namespace hloc::hip {

// Of every kernel, in the file's order. Errors of kind `input` where the bytes are no code object.
Result<std::vector<KernelResources>> kernel_resources(std::string_view code_object);

}  // namespace hloc::hip
