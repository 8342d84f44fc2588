// Linux's system calls.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/cpu/aot/standalone.h"

namespace hloc::aarch64 {

constexpr aot::SystemCalls system_calls{.read = 63, .write = 64, .protect = 226, .exit = 94};

// The function Standalone::system_symbol.
std::vector<uint32_t> system_call_code();

}  // namespace hloc::aarch64
