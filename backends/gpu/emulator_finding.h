// What the emulator found, in words and with its place in the source.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

#include "backends/gpu/emulator.h"
#include "backends/gpu/emulator_protocol.h"

namespace hloc::gpu {

struct EmulatedSource {
  std::string text;
  uint32_t prelude_begin = 0, prelude_end = 0;  // lines of the dialect's own functions, from 1: a place there says little
  std::vector<std::vector<EmulatedLaunch>> launches;
};

// The name of the source's file, in the child's debug information and in errors.
inline constexpr std::string_view emulated_file = "kernels.cu";

// `process` still runs: its program's file tells the lines.
Diagnostic describe(const emulation::Finding& finding, const EmulatedSource& source, const EmulatedLaunch& launch, pid_t process);

}  // namespace hloc::gpu
