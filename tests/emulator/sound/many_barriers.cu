// test: emulator --launch=ping:1:2:2,2
// More barriers than phases have numbers.
extern "C" __global__ void ping(const int* x, int* y) {
  __shared__ int words[2];
  __shared__ int early;
  int own = x[threadIdx.x];
  if (threadIdx.x == 0) early = 5;
  for (int i = 0; i < 600000; ++i) {
    words[threadIdx.x] = own + 1;
    __syncthreads();
    own = words[1 - threadIdx.x];
    __syncthreads();
  }
  y[threadIdx.x] = own + early;
}
// expect: y = 600006 600007
