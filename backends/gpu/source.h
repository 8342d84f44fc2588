// The text of a program's kernels.
#pragma once

#include <string>

#include "backends/gpu/dialect.h"
#include "backends/gpu/launch.h"

namespace hloc::gpu {

// A file that the device's compiler takes: the prelude, and one function for each launch, named as it, with the helper
// functions that they use.
std::string kernel_source(const GpuProgram& program, const Dialect& dialect);
// The same after another prelude.
std::string source_with_prelude(const GpuProgram& program, int wave, std::string_view prelude);

// The kernels in loop IR.
std::string loops_text(const GpuProgram& program);

// "const float*", of a parameter of a launch's function.
std::string parameter_type(const GpuKernel& kernel, loops::BufferId buffer);

}  // namespace hloc::gpu
