// test: emulator --launch=row:1:64:64,1
extern "C" __global__ void row(const float* x, float* y) {
  float sum = x[threadIdx.x];
  if (threadIdx.x < 16)
    for (int by = 8; by > 0; by /= 2)
      sum += shuffle_down(sum, by);
  if (threadIdx.x == 0) y[0] = sum;
}
// expect: 6:7: error: row: thread 0 of block 0 waits for its wave, but thread 16 has ended (in a helper, called here)
// expect: sum += shuffle_down(sum, by);
// expect: ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~
