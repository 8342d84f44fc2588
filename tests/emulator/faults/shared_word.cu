// test: emulator --launch=last:1:64:64,1
// Two threads write one word.
extern "C" __global__ void last(const int* x, int* y) {
  __shared__ int word;
  if (threadIdx.x == 0) word = x[0];
  if (threadIdx.x == 40) word = x[40];
  __syncthreads();
  if (threadIdx.x == 0) y[0] = word;
}
// expect: 6:3: error: last: thread 40 of block 0 writes element 0 of shared word, which thread 0 wrote in line 5 with no barrier between them
// expect: if (threadIdx.x == 40) word = x[40];
// expect: ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
