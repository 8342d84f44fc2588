// test: emulator --launch=difference:1:32:256,256,32
// What lies before y is x: only the bounds of y itself tell.
extern "C" __global__ void difference(const double* x, const double* y, double* z) {
  z[threadIdx.x] = y[threadIdx.x] - y[(int)threadIdx.x - 1];
}
// expect: 4:3: error: difference: thread 0 of block 0 reads element -1 of y, which has 256
// expect: z[threadIdx.x] = y[threadIdx.x] - y[(int)threadIdx.x - 1];
// expect: ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
