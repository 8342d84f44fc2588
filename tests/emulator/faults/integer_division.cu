// test: emulator --launch=ratio:1:32:32,32
extern "C" __global__ void ratio(const int* x, int* y) {
  y[threadIdx.x] = 100 / (x[threadIdx.x] - 3);
}
// expect: 3:3: error: ratio: thread 2 of block 0 divides an integer by zero
// expect: y[threadIdx.x] = 100 / (x[threadIdx.x] - 3);
// expect: ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
