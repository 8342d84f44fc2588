// Static ELF64 executables without anything of a system's: what runs an object where no linker for its machine is at hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "backends/cpu/machine/object.h"

namespace hloc::aot {

// Zeroed memory of the program.
struct MemoryRange {
  uint64_t begin = 0, bytes = 0;  // in whole pages
};

// Starts at the function `start`, which must not return. The object must be complete.
Result<std::vector<std::byte>> write_executable(machine::ObjectCode code, std::string_view start, MemoryRange memory);

}  // namespace hloc::aot
