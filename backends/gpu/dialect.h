// What C of one device differs in from that of another. All use the words __global__, __device__, __shared__, __syncthreads,
// threadIdx and blockIdx; a prelude defines those that the device's compiler does not know.
#pragma once

#include <string_view>

namespace hloc::gpu {

struct Dialect {
  std::string_view name;  // "CUDA C"
  int wave = 32;          // threads that execute together and that a shuffle reaches
  // Besides the words above: `unsigned int shuffle_down_word(unsigned int x, int by)`, and fma, sqrt, floor, ceil, trunc, rint,
  // fabs as C has them.
  std::string_view prelude;
};

}  // namespace hloc::gpu
