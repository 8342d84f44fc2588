// The text of a program's kernels.
#pragma once

#include <string>
#include <string_view>

#include "backends/gpu/dialect.h"
#include "backends/gpu/launch.h"

namespace hloc::gpu {

// A file that the device's compiler takes: a list of the kernels with their ops, the prelude, and one function for each
// launch, named as it, with the helper functions that they use.
std::string kernel_source(const GpuProgram& program, const Dialect& dialect);

// What stands before these functions: the dialect's prelude and the helper functions that they use.
std::string source_head(std::string_view functions, const Dialect& dialect);

// "const float*", of a parameter of a launch's function.
std::string parameter_type(const GpuKernel& kernel, loops::BufferId buffer);

}  // namespace hloc::gpu
