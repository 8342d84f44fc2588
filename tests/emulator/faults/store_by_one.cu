// test: emulator --launch=shift:1:64:64,64
extern "C" __global__ void shift(const float* x, float* y) {
  y[threadIdx.x + 1] = x[threadIdx.x];
}
// expect: 3:3: error: shift: thread 63 of block 0 writes element 64 of y, which has 64
// expect: y[threadIdx.x + 1] = x[threadIdx.x];
// expect: ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
