// test: emulator --launch=reversed:1:64:50,50
extern "C" __global__ void reversed(const float* x, float* y) {
  __shared__ float all[64];
  if (threadIdx.x >= 50) return;
  all[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = all[49 - threadIdx.x];
}
// expect: 6:3: error: reversed: thread 0 of block 0 waits for the block, but thread 50 has ended
// expect: __syncthreads();
// expect: ^~~~~~~~~~~~~~~~
