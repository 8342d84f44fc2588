// test: emulator --launch=partial:4:64:256,4 --launch=total:1:1:4,1
// The next launch adds up what blocks left.
extern "C" __global__ void partial(const float* x, float* sums) {
  __shared__ float of_wave[64 / wave];
  const float sum = block_reduce<64>(x[blockIdx.x * 64 + threadIdx.x], of_wave, [](float a, float b) { return a + b; });
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
extern "C" __global__ void total(const float* sums, float* y) {
  float sum = 0;
  for (int i = 0; i < 4; ++i) sum += sums[i];
  y[0] = sum;
}
// expect: sums = 253 254 255 256
// expect: y = 1018
