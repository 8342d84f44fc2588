// test: emulator --launch=doubled:2:64:100,128
// The guard is for the length of y; x is shorter.
extern "C" __global__ void __launch_bounds__(64) doubled(const int* x, int* y) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= 128) return;
  y[i] = 2 * x[i];
}
// expect: 6:3: error: doubled: thread 63 of block 1 reads element 127 of x, which has 100
// expect: y[i] = 2 * x[i];
// expect: ^~~~~~~~~~~~~~~~
