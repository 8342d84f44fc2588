// Code for another machine, run by an emulator of it that is installed here (qemu's user mode).
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "backends/cpu/aot/standalone.h"
#include "backends/registry.h"

namespace hloc::aot {

struct Emulator {
  std::string_view command;  // "qemu-aarch64"
  std::string_view package;  // that Debian has it in
};

// An error of kind `target` that names the package if the command is not on the path.
Result<void> find_emulator(const Emulator& emulator);

// `program`: an executable made by way of Standalone for the same sizes. Each call starts the emulator with it.
Result<std::unique_ptr<backends::Executable>> make_emulated(CallSizes sizes, std::span<const std::byte> program, const Emulator& emulator,
                                                            int64_t code_bytes);

}  // namespace hloc::aot
