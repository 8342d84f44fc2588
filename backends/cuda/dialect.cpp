#include "backends/cuda/dialect.h"

namespace hloc::cuda {
namespace {

constexpr std::string_view cuda_words = R"(
#define __shfl_down_sync(mask, x, by) emulator::exchange(mask, x, emulator::lane() + (by) < wave ? emulator::lane() + (by) : emulator::lane())
#define fma __builtin_fma
#define fmaf __builtin_fmaf
#define sqrt __builtin_sqrt
#define sqrtf __builtin_sqrtf
#define floor __builtin_floor
#define floorf __builtin_floorf
#define ceil __builtin_ceil
#define ceilf __builtin_ceilf
#define trunc __builtin_trunc
#define truncf __builtin_truncf
#define rint __builtin_rint
#define rintf __builtin_rintf
#define fabs __builtin_fabs
#define fabsf __builtin_fabsf
)";

}  // namespace

// The compiler knows all words but this one.
constinit const gpu::Dialect dialect{
    .wave = 32,
    .prelude = R"(__device__ inline unsigned int shuffle_down_word(unsigned int x, int by) { return __shfl_down_sync(0xffffffffu, x, by); }
)",
    .host_words = cuda_words,
};

}  // namespace hloc::cuda
