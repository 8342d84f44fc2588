// The parts of the program that runs emulated kernels, in the order in which its file has them, around the source itself.
#pragma once

#include <string_view>

namespace hloc::gpu::emulation {

extern const std::string_view words;      // before the source
extern const std::string_view checks;     // after it: who touches which memory (needs protocol_text)
extern const std::string_view scheduler;  // fibers, barriers, and the main program (needs the table of launches)

}  // namespace hloc::gpu::emulation
