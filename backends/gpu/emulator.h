// Kernel source run on this machine's CPU; see emulator.cpp for how.
#pragma once

#include <memory>

#include "backends/gpu/dialect.h"
#include "backends/gpu/run.h"

namespace hloc::gpu {

// The dialect with a prelude that the host's compiler takes.
Dialect emulated(const Dialect& dialect);

// Compiles the program's source with g++ in a temporary folder. Errors: no g++ (kind `target`), or it refuses the source (`bug`).
Result<std::unique_ptr<Device>> make_emulator(const GpuProgram& program, const Dialect& dialect);

}  // namespace hloc::gpu
