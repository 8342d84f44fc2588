// test: emulator --launch=columns:2:64:4096,16
extern "C" __global__ void columns(const float* x, float* sums) {
  __shared__ float tile[16][64];
  float sum = 0;
  for (int from = 0; from < 32; from += 16) {
    for (int e = threadIdx.x; e < 16 * 64; e += 64) tile[e / 64][e % 64] = x[(blockIdx.x * 32 + from) * 64 + e];
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += tile[k][63 - threadIdx.x];
    __syncthreads();
  }
  if (threadIdx.x < 8) sums[blockIdx.x * 8 + threadIdx.x] = sum;
}
// expect: sums = 122 125 128 131 134 130 126 122 131 134 130 126 122 125 128 131
