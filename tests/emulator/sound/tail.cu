// test: emulator --launch=doubled:1:64:10,10
extern "C" __global__ void __launch_bounds__(64) doubled(const int* x, int* y) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= 10) return;
  y[i] = 2 * x[i];
}
// expect: y = 2 4 6 8 10 12 14 2 4 6
