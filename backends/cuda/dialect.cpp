#include "backends/cuda/dialect.h"

namespace hloc::cuda {

// The compiler knows all words but this one.
constinit const gpu::Dialect dialect{
    .wave = 32,
    .prelude = R"(__device__ inline unsigned int shuffle_down_word(unsigned int x, int by) { return __shfl_down_sync(0xffffffffu, x, by); }
)",
};

}  // namespace hloc::cuda
