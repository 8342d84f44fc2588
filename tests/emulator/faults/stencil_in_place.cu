// test: emulator --launch=smooth:2:64:128
// A block reads its neighbour's element, which the neighbour overwrites.
extern "C" __global__ void smooth(float* x) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  const float next = i < 127 ? x[i + 1] : 0, own = x[i];
  __syncthreads();
  x[i] = (own + next) / 2;
}
// expect: 7:3: error: smooth: thread 0 of block 1 writes element 64 of x, which another block read in the same launch
// expect: x[i] = (own + next) / 2;
// expect: ^~~~~~~~~~~~~~~~~~~~~~~~
