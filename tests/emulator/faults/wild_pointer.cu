// test: emulator --launch=list:1:32:32,32
// A pointer made from a number.
extern "C" __global__ void list(const long long* next, float* y) {
  const float* p = (const float*)(next[threadIdx.x] * 4096);
  y[threadIdx.x] = *p;
}
// expect: 5:3: error: list: thread 0 of block 0 reads memory that is no argument's, not shared and not of its own stack
// expect: y[threadIdx.x] = *p;
// expect: ^~~~~~~~~~~~~~~~~~~~
