// test: emulator --launch=row:1:64:64,1
extern "C" __global__ void row(const float* x, float* y) {
  float sum = threadIdx.x < 16 ? x[threadIdx.x] : 0;
  for (int by = 8; by > 0; by /= 2) sum += shuffle_down(sum, by);
  if (threadIdx.x == 0) y[0] = sum;
}
// expect: y = 59
