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

constinit const gpu::Dialect dialect{.wave = 64, .prelude = hip_words, .has_math = false};
constinit const gpu::Dialect narrow_dialect{.wave = 32, .prelude = hip_words, .has_math = false};

}  // namespace hloc::hip
