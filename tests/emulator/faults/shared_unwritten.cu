// test: emulator --launch=counts:2:64:128,16
// Only some counters are set to 0 before they are used.
extern "C" __global__ void counts(const int* x, int* y) {
  __shared__ int count[8];
  if (threadIdx.x < 4) count[threadIdx.x] = 0;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int i = 0; i < 64; ++i) count[x[blockIdx.x * 64 + i]] += 1;
  __syncthreads();
  if (threadIdx.x < 8) y[blockIdx.x * 8 + threadIdx.x] = count[threadIdx.x];
}
// expect: 8:5: error: counts: thread 0 of block 0 reads element 4 of shared count, which no thread of the block has written
// expect: for (int i = 0; i < 64; ++i) count[x[blockIdx.x * 64 + i]] += 1;
// expect: ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
