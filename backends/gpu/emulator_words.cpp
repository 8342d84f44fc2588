// What stands before emulated source: the words of device C that all dialects use. It includes nothing and defines nothing but
// macros, so that no name of the source can meet another one.
#include "backends/gpu/emulator_text.h"

namespace hloc::gpu::emulation {

constinit const std::string_view words = R"(
namespace emulator {
struct Index { unsigned int x, y, z; };
// Which thread this is and which block is constant as far as a kernel can see.
__attribute__((const, noinline)) int thread();
__attribute__((const, noinline)) int lane();
__attribute__((const, noinline)) unsigned int block();
__attribute__((const, noinline)) unsigned int threads();
__attribute__((const, noinline)) unsigned int blocks();
__attribute__((noinline)) void wait_for_block();
// What the lane `from` of this wave gives; all lanes of the mask must come.
__attribute__((noinline)) unsigned int exchange(unsigned long long mask, unsigned int x, int from);
}

#define __global__
#define __device__ static
#define __launch_bounds__(threads)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __syncthreads() emulator::wait_for_block()
#define threadIdx (emulator::Index{(unsigned int)emulator::thread(), 0, 0})
#define blockIdx (emulator::Index{emulator::block(), 0, 0})
#define blockDim (emulator::Index{emulator::threads(), 1, 1})
#define gridDim (emulator::Index{emulator::blocks(), 1, 1})

// Shared arrays have a section of their own, with a gap before each declaration.
#define EMULATOR_PLACE __attribute__((section("hloc_shared"), aligned(64), used))
#define EMULATOR_JOINED(a, b) a##b
#define EMULATOR_GAP(number) EMULATOR_JOINED(emulator_gap_, number)
#define __shared__ static EMULATOR_PLACE char EMULATOR_GAP(__COUNTER__)[64]; static EMULATOR_PLACE
)";

}  // namespace hloc::gpu::emulation
