// test: emulator --launch=sums:1:8:36,8
struct __attribute__((aligned(16))) Four { float x, y, z, w; };
extern "C" __global__ void sums(const float* x, float* y) {
  const Four* from = (const Four*)(x + 4);
  const Four v = from[threadIdx.x];
  y[threadIdx.x] = v.x + v.y + v.z + v.w;
}
// expect: y = 19 14 16 18 13 22 10 19
