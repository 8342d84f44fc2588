// test: emulator --launch=flags:1:64:64,16
// Neighbouring bytes are no race; a word of shared memory may be read in parts.
extern "C" __global__ void flags(const unsigned char* x, unsigned char* y) {
  __shared__ int words[4];
  unsigned char* bytes = (unsigned char*)words;
  if (threadIdx.x < 4) words[threadIdx.x] = 0;
  __syncthreads();
  if (threadIdx.x < 16) bytes[threadIdx.x] = x[threadIdx.x] + 1;
  __syncthreads();
  if (threadIdx.x < 16) y[threadIdx.x] = bytes[15 - threadIdx.x];
}
// expect: y = 3 2 8 7 6 5 4 3 2 8 7 6 5 4 3 2
