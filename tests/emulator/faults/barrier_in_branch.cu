// test: emulator --launch=halves:1:64:64,64
extern "C" __global__ void halves(const float* x, float* y) {
  __shared__ float first[64];
  first[threadIdx.x] = x[threadIdx.x];
  if (threadIdx.x < 32) {
    __syncthreads();
    y[threadIdx.x] = first[threadIdx.x + 32];
  }
}
// expect: 6:5: error: halves: thread 0 of block 0 waits for the block, but thread 32 has ended
// expect: __syncthreads();
// expect: ^~~~~~~~~~~~~~~~
