// test: emulator --launch=sums:1:8:36,8
// Four elements at once from an odd place.
struct __attribute__((aligned(16))) Four { float x, y, z, w; };
extern "C" __global__ void sums(const float* x, float* y) {
  const Four* from = (const Four*)(x + 1);
  const Four v = from[threadIdx.x];
  y[threadIdx.x] = v.x + v.y + v.z + v.w;
}
// expect: 6:3: error: sums: thread 0 of block 0 accesses 16 bytes at element 1 of x, whose address is no multiple of 16
// expect: const Four v = from[threadIdx.x];
// expect: ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
