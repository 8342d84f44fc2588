// test: emulator --launch=swap:1:64:64,64
// All threads wait, but half of them elsewhere.
extern "C" __global__ void swap(const float* x, float* y) {
  __shared__ float all[64];
  all[threadIdx.x] = x[threadIdx.x];
  if (threadIdx.x % 2 == 0) {
    __syncthreads();
    y[threadIdx.x] = all[threadIdx.x + 1];
  } else {
    __syncthreads();
    y[threadIdx.x] = all[threadIdx.x - 1];
  }
}
// expect: 7:5: error: swap: thread 0 of block 0 waits for the block, but thread 1 waits for the block in line 10
// expect: __syncthreads();
// expect: ^~~~~~~~~~~~~~~~
