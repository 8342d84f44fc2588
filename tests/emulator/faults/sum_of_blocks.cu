// test: emulator --launch=total:4:32:128,1
// Each block adds to one word, without atomics.
extern "C" __global__ void total(const float* x, float* y) {
  float sum = x[blockIdx.x * 32 + threadIdx.x];
  for (int by = 16; by > 0; by /= 2) sum += shuffle_down(sum, by);
  if (threadIdx.x == 0) y[0] = y[0] + sum;
}
// expect: 6:3: error: total: thread 0 of block 1 reads element 0 of y, which thread 0 of block 0 wrote in line 6 in the same launch
// expect: if (threadIdx.x == 0) y[0] = y[0] + sum;
// expect: ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
