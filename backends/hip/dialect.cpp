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
#define fmaf __builtin_fmaf
#define fma __builtin_fma
#define sqrtf __builtin_sqrtf
#define sqrt __builtin_sqrt
#define floorf __builtin_floorf
#define floor __builtin_floor
#define ceilf __builtin_ceilf
#define ceil __builtin_ceil
#define truncf __builtin_truncf
#define trunc __builtin_trunc
#define rintf __builtin_rintf
#define rint __builtin_rint
#define fabsf __builtin_fabsf
#define fabs __builtin_fabs

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
)";

}  // namespace

constinit const gpu::Dialect dialect{.name = "HIP C", .wave = 64, .prelude = hip_words};
constinit const gpu::Dialect narrow_dialect{.name = "HIP C", .wave = 32, .prelude = hip_words};

}  // namespace hloc::hip
