// What C of one device differs in from that of another. All use the words __global__, __device__, __shared__,
// __launch_bounds__, __syncthreads, threadIdx and blockIdx; a prelude defines those that the device's compiler does not know.
#pragma once

#include <string_view>

namespace hloc::gpu {

struct Dialect {
  int wave = 32;  // threads that execute together and that a shuffle reaches
  // Besides the words above: `unsigned int shuffle_down_word(unsigned int x, int by)`.
  std::string_view prelude;
  bool has_math = true;  // whether the compiler knows fma, sqrt, floor, ceil, trunc, rint, fabs without a header
  // What the prelude uses of the device's compiler, by macros for the host's, with the functions of emulator_words.cpp.
  std::string_view host_words;
};

}  // namespace hloc::gpu
