// The process that runs emulated kernels, as a device: its memory is a file without a name that both have mapped.
#pragma once

#include <memory>
#include <string>

#include "backends/gpu/emulator.h"
#include "backends/gpu/emulator_finding.h"

namespace hloc::gpu {

// Starts the program. Errors of kind `target`.
Result<std::unique_ptr<Device>> start_emulated_device(const std::string& program, EmulatedSource source);

}  // namespace hloc::gpu
