// test: emulator --launch=clipped:1:64:64,64
extern "C" __global__ void clipped(const float* x, float* y) {
  float* own = (float*)x;
  if (own[threadIdx.x] > 5) own[threadIdx.x] = 5;
  y[threadIdx.x] = own[threadIdx.x];
}
// expect: 4:3: error: clipped: thread 5 of block 0 writes element 5 of x, which this launch only reads
// expect: if (own[threadIdx.x] > 5) own[threadIdx.x] = 5;
// expect: ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
