// The text of a program's kernels.
#pragma once

#include <string>

#include "backends/gpu/dialect.h"
#include "backends/gpu/launch.h"

namespace hloc::gpu {

// One function for each launch, named as it, with the helper functions that they use.
std::string kernel_functions(const GpuProgram& program);

// The same after a prelude: a file that the device's compiler takes.
std::string kernel_source(const GpuProgram& program, const Dialect& dialect);

// "const float*", of a parameter of a launch's function.
std::string parameter_type(const GpuKernel& kernel, loops::BufferId buffer);

}  // namespace hloc::gpu
