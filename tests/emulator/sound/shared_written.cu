// test: emulator --launch=counts:2:64:128,16
extern "C" __global__ void counts(const int* x, int* y) {
  __shared__ int count[8];
  if (threadIdx.x < 8) count[threadIdx.x] = 0;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int i = 0; i < 64; ++i) count[x[blockIdx.x * 64 + i]] += 1;
  __syncthreads();
  if (threadIdx.x < 8) y[blockIdx.x * 8 + threadIdx.x] = count[threadIdx.x];
}
// expect: y = 0 10 9 9 9 9 9 9 0 9 10 9 9 9 9 9
