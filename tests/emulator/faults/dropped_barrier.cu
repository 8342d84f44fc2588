// test: emulator --launch=columns:2:64:4096,16
// A tile is filled again while others may still read the one before: the loop lacks its second barrier.
extern "C" __global__ void columns(const float* x, float* sums) {
  __shared__ float tile[16][64];
  float sum = 0;
  for (int from = 0; from < 32; from += 16) {
    for (int e = threadIdx.x; e < 16 * 64; e += 64) tile[e / 64][e % 64] = x[(blockIdx.x * 32 + from) * 64 + e];
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += tile[k][63 - threadIdx.x];
  }
  if (threadIdx.x < 8) sums[blockIdx.x * 8 + threadIdx.x] = sum;
}
// expect: 9:5: error: columns: thread 32 of block 0 reads element 31 of shared tile, which thread 31 wrote in line 7 with no barrier between them
// expect: for (int k = 0; k < 16; ++k) sum += tile[k][63 - threadIdx.x];
// expect: ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
