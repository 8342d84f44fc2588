// test: emulator --launch=shift:1:16:16,17
extern "C" __global__ void shift(const float* x, float* y) {
  y[threadIdx.x + 1] = x[threadIdx.x];
  if (threadIdx.x == 0) y[0] = 0;
}
// expect: y = 0 1 2 3 4 5 6 7 1 2 3 4 5 6 7 1 2
