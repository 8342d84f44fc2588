// test: emulator --launch=flags:1:64:64,16
extern "C" __global__ void flags(const unsigned char* x, unsigned char* y) {
  __shared__ int words[4];
  unsigned char* bytes = (unsigned char*)words;
  if (threadIdx.x < 16) bytes[threadIdx.x] = x[threadIdx.x] + 1;
  __syncthreads();
  if (threadIdx.x < 16) bytes[threadIdx.x] = bytes[15 - threadIdx.x];
  __syncthreads();
  if (threadIdx.x < 16) y[threadIdx.x] = bytes[threadIdx.x];
}
// expect: 7:3: error: flags: thread 8 of block 0 reads element 7 of shared words, which thread 7 wrote in line 7 with no barrier between them
// expect: if (threadIdx.x < 16) bytes[threadIdx.x] = bytes[15 - threadIdx.x];
// expect: ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
