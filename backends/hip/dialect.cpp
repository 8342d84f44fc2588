#include "backends/hip/dialect.h"

namespace hloc::hip {
namespace {

// The language's words by the compiler's builtins, so that no header of HIP is needed (nor its parse paid for).
constexpr std::string_view hip_words = R"(#ifndef __global__
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#endif
#define __launch_bounds__(threads) __attribute__((amdgpu_flat_work_group_size(threads, threads)))
#define threadIdx (grid_index{(int)__builtin_amdgcn_workitem_id_x()})
#define blockIdx (grid_index{(int)__builtin_amdgcn_workgroup_id_x()})
#define __syncthreads() block_barrier()
#undef sqrtf
#undef sqrt
#define sqrtf square_root
#define sqrt square_root

struct grid_index { int x; };

__device__ inline void block_barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

__device__ inline unsigned int shuffle_down_word(unsigned int x, int by) {
  int lane = (int)__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
  int from = lane + by < wave ? lane + by : lane;
  return (unsigned int)__builtin_amdgcn_ds_bpermute(4 * from, (int)x);
}

// The instruction may be wrong in the last bit: its neighbours are tried, by the sign of what is left. Small numbers are
// scaled, since that rest must not vanish.
__device__ inline float square_root(float x) {
  if (x == 0 || x == __builtin_inff()) return x;
  const bool is_small = x < 0x1p-96f;
  const float scaled = is_small ? x * 0x1p32f : x;
  float root = __builtin_amdgcn_sqrtf(scaled);
  union { float real; int bits; } below, above;
  below.real = root, --below.bits;
  above.real = root, ++above.bits;
  const float rest_below = __builtin_fmaf(-below.real, root, scaled), rest_above = __builtin_fmaf(-above.real, root, scaled);
  if (rest_below <= 0) root = below.real;
  if (rest_above > 0) root = above.real;
  return is_small ? root * 0x1p-16f : root;
}

// Two of Newton's steps from an estimate of 1 / sqrt(x), then two corrections of the root by what is left.
__device__ inline double square_root(double x) {
  if (x == 0 || x == __builtin_inf()) return x;
  const bool is_small = x < 0x1p-767;
  const double scaled = is_small ? x * 0x1p256 : x;
  const double estimate = __builtin_amdgcn_rsq(scaled);
  double root = scaled * estimate, half = 0.5 * estimate;
  const double r = __builtin_fma(-half, root, 0.5);
  half = __builtin_fma(half, r, half);
  root = __builtin_fma(root, r, root);
  for (int i = 0; i < 2; ++i) root = __builtin_fma(__builtin_fma(-root, root, scaled), half, root);
  return is_small ? root * 0x1p-128 : root;
}
)";

constexpr std::string_view host_words = R"(
#undef threadIdx
#undef blockIdx
#undef __launch_bounds__
#undef __syncthreads
#define __builtin_amdgcn_workitem_id_x() emulator::thread()
#define __builtin_amdgcn_workgroup_id_x() emulator::block()
#define __builtin_amdgcn_fence(order, scope) ((void)0)
#define __builtin_amdgcn_s_barrier() emulator::wait_for_block()
#define __builtin_amdgcn_mbcnt_lo(mask, from) 0
#define __builtin_amdgcn_mbcnt_hi(mask, from) emulator::lane()
#define __builtin_amdgcn_ds_bpermute(address, x) (int)emulator::exchange(~0ull, (unsigned int)(x), (address) / 4 % wave)
#define __builtin_amdgcn_sqrtf(x) __builtin_sqrtf(x)
#define __builtin_amdgcn_rsq(x) (1 / __builtin_sqrt(x))
)";

}  // namespace

constinit const gpu::Dialect dialect{.wave = 64, .prelude = hip_words, .has_math = false, .host_words = host_words};
constinit const gpu::Dialect narrow_dialect{.wave = 32, .prelude = hip_words, .has_math = false, .host_words = host_words};

}  // namespace hloc::hip
