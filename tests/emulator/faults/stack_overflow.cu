// test: emulator --launch=depth:1:32:32,32
// The recursion has no end for even numbers.
__device__ int odd_below(int n, int* seen) {
  volatile int own[64];
  own[n & 63] = n;
  return n == 1 ? *seen : odd_below(n - 2, seen) + own[n & 63];
}
extern "C" __global__ void depth(const int* x, int* y) {
  int seen = 0;
  y[threadIdx.x] = odd_below(x[threadIdx.x], &seen);
}
// expect: 6:3: error: depth: thread 1 of block 0 needs more than the 64 KiB of its stack
// expect: return n == 1 ? *seen : odd_below(n - 2, seen) + own[n & 63];
// expect: ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
