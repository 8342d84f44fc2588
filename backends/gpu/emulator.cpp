// What generated source gets in place of a device's prelude, to run on this machine's CPU.
//
// The threads of a block are fibers of one thread: each runs until it waits (for the block, or for its wave in a shuffle) and
// hands over to the next. Blocks run one after the other. Launches whose threads never wait are plain loops. The text is
// compiled by the host's C++ compiler together with the source, so it keeps to itself: no library header but sys/mman.h.
#include "backends/gpu/emulator.h"

namespace hloc::gpu {
namespace {

constexpr std::string_view words = R"(
#include <sys/mman.h>

#define __global__
#define __device__ static
#define __shared__ static
#define __launch_bounds__(threads)
#define __syncthreads() emulator::wait_for_block()
#define threadIdx (emulator::now->index)
#define blockIdx (emulator::block)

namespace emulator {

enum State { running, at_block, at_wave, finished };

struct Index { int x; };
struct Fiber {
  void* stack_pointer;
  Index index;
  State state;
};

constexpr int most_threads = 1024;
constexpr unsigned long stack_bytes = 64 << 10;

static Fiber fibers[most_threads], direct;
static Fiber* now = &direct;
static struct { unsigned int x; } block;
static void* scheduler_stack_pointer;
static struct Stacks {
  char* memory;
  ~Stacks() { if (memory) munmap(memory, most_threads * stack_bytes); }
} stacks;
static void (*function)(void** arguments);
static void** function_arguments;
static unsigned int shuffled[2][most_threads];  // deposits of this shuffle and of the one before
static int shuffles[most_threads];
static int threads_of_block;

// Saves what a call must keep on the stack that is left, and goes on where the other one was left.
extern "C" void hloc_emulator_switch(void** save, void* to);
#if defined(__x86_64__)
asm(R"asm(
.text
.local hloc_emulator_switch
.type hloc_emulator_switch, @function
hloc_emulator_switch:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
)asm");
constexpr int saved_words = 6, return_word = 6;
#elif defined(__aarch64__)
asm(R"asm(
.text
.local hloc_emulator_switch
.type hloc_emulator_switch, @function
hloc_emulator_switch:
  sub sp, sp, #160
  stp x19, x20, [sp]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
)asm");
constexpr int saved_words = 20, return_word = 11;
#endif

static void wait(State why) {
  now->state = why;
  hloc_emulator_switch(&now->stack_pointer, scheduler_stack_pointer);
}
static void wait_for_block() { wait(at_block); }

static void begin() {
  function(function_arguments);
  wait(finished);
}

static void prepare(int thread) {
  char* top = stacks.memory + (thread + 1) * stack_bytes;
  void** p = (void**)(top - 256);
  for (int i = 0; i < saved_words; ++i) p[i] = 0;
  p[return_word] = (void*)begin;
  fibers[thread] = {p, {thread}, running};
  shuffles[thread] = 0;
}

// Lets go on whom nobody holds up any more. All of a wave must have come to the shuffle, all threads to the barrier.
static bool release() {
  bool any = false, all = true;
  for (int from = 0; from < threads_of_block; from += wave) {
    bool whole = true;
    int end = from + wave < threads_of_block ? from + wave : threads_of_block;
    for (int t = from; t < end; ++t) whole = whole && (fibers[t].state == at_wave || fibers[t].state == finished);
    for (int t = from; t < end && whole; ++t)
      if (fibers[t].state == at_wave) fibers[t].state = running, any = true;
  }
  for (int t = 0; t < threads_of_block; ++t) all = all && (fibers[t].state == at_block || fibers[t].state == finished);
  for (int t = 0; t < threads_of_block && all; ++t)
    if (fibers[t].state == at_block) fibers[t].state = running, any = true;
  return any;
}

// False: threads wait for others that will never come.
static bool run_block() {
  for (int t = 0; t < threads_of_block; ++t) prepare(t);
  do {
    for (int t = 0; t < threads_of_block; ++t) {
      if (fibers[t].state != running) continue;
      now = &fibers[t];
      hloc_emulator_switch(&scheduler_stack_pointer, now->stack_pointer);
    }
  } while (release());
  for (int t = 0; t < threads_of_block; ++t)
    if (fibers[t].state != finished) return false;
  return true;
}

static bool run(void (*f)(void**), void** arguments, unsigned int blocks, int threads, bool waits) {
  function = f, function_arguments = arguments, threads_of_block = threads;
  if (waits && !stacks.memory) {
    void* p = mmap(0, most_threads * stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return false;
    stacks.memory = (char*)p;
  }
  for (block.x = 0; block.x < blocks; ++block.x) {
    if (waits) {
      if (!run_block()) return false;
      continue;
    }
    now = &direct;
    for (direct.index.x = 0; direct.index.x < threads; ++direct.index.x) f(arguments);
  }
  return true;
}

}  // namespace emulator

static unsigned int shuffle_down_word(unsigned int x, int by) {
  int t = emulator::now->index.x, bank = emulator::shuffles[t]++ & 1;
  emulator::shuffled[bank][t] = x;
  emulator::wait(emulator::at_wave);
  return t % wave + by < wave && t + by < emulator::threads_of_block ? emulator::shuffled[bank][t + by] : x;
}
)";

}  // namespace

Dialect emulated(const Dialect& dialect) { return {.wave = dialect.wave, .prelude = words.substr(1), .has_math = false}; }

}  // namespace hloc::gpu
