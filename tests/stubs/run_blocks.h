// Kernels compiled by g++, run block by block; the threads of a block are contexts (ucontext) of one thread.
#pragma once

namespace stub {

// What kernels know of the thread that runs and can ask for; the prelude declares the same.
struct Runtime {
  unsigned thread, block;
  int wave;
  void (*wait_for_block)();
  unsigned (*exchange)(unsigned value, int from);  // what the thread of the wave's lane `from` gave
};

inline constexpr unsigned most_threads = 1024;  // of a block

using KernelFunction = void(void** arguments);

// False: threads wait for others that never come.
bool run_blocks(Runtime** runtime, KernelFunction* kernel, void** arguments, unsigned blocks, unsigned threads, int wave);

// Stands before the kernels' source: the words of CUDA C and HIP C and the builtins that HIP's prelude uses.
inline constexpr char kernel_prelude[] = R"(
struct stub_index { unsigned int x; };
struct Runtime { unsigned int thread, block; int wave; void (*wait_for_block)(); unsigned int (*exchange)(unsigned int, int); };
extern "C" { Runtime* stub_runtime; }
#define __global__
#define __device__ static
#define __shared__ static
#define __launch_bounds__(threads)
#define threadIdx (stub_index{stub_runtime->thread})
#define blockIdx (stub_index{stub_runtime->block})
#define __syncthreads() stub_runtime->wait_for_block()
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
static int stub_lane() { return (int)(stub_runtime->thread % (unsigned)stub_runtime->wave); }
static unsigned int __shfl_down_sync(unsigned int, unsigned int x, int by) {
  int from = stub_lane() + by;
  return stub_runtime->exchange(x, from < stub_runtime->wave ? from : stub_lane());
}
static unsigned int __builtin_amdgcn_workitem_id_x() { return stub_runtime->thread; }
static unsigned int __builtin_amdgcn_workgroup_id_x() { return stub_runtime->block; }
static unsigned int __builtin_amdgcn_mbcnt_lo(unsigned int, unsigned int base) { return base + (stub_lane() < 32 ? stub_lane() : 32); }
static unsigned int __builtin_amdgcn_mbcnt_hi(unsigned int, unsigned int base) { return base + (stub_lane() < 32 ? 0 : stub_lane() - 32); }
static int __builtin_amdgcn_ds_bpermute(int address, int x) { return (int)stub_runtime->exchange((unsigned int)x, address / 4); }
static void __builtin_amdgcn_fence(int, const char*) {}
static void __builtin_amdgcn_s_barrier() { stub_runtime->wait_for_block(); }
static float __builtin_amdgcn_sqrtf(float x) { return __builtin_sqrtf(x); }
static double __builtin_amdgcn_rsq(double x) { return 1 / __builtin_sqrt(x); }
#line 1 "kernels"
)";

}  // namespace stub
