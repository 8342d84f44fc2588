// test: emulator --launch=turned:1:64:64,64
// One element too far, into what stands behind the array.
extern "C" __global__ void turned(const float* x, float* y) {
  __shared__ float left[64];
  __shared__ float right[64];
  left[threadIdx.x] = right[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = left[64 - threadIdx.x] + right[threadIdx.x];
}
// expect: 8:3: error: turned: thread 0 of block 0 reads element 64 of shared left, which has 64
// expect: y[threadIdx.x] = left[64 - threadIdx.x] + right[threadIdx.x];
// expect: ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
