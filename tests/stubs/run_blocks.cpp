#include "tests/stubs/run_blocks.h"

#include <cstddef>
#include <memory>
#include <ucontext.h>
#include <vector>

namespace stub {
namespace {

constexpr size_t stack_bytes = 64 << 10;

enum class State { running, at_block, at_wave, finished };

struct Thread {
  ucontext_t context;
  State state;
  unsigned given[2];  // to this exchange and the one before
  int exchanges;
};

// A launch; there is one at a time.
struct Launch {
  Runtime runtime{};
  KernelFunction* kernel = nullptr;
  void** arguments = nullptr;
  std::vector<Thread> threads;
  std::unique_ptr<char[]> stacks;
  ucontext_t scheduler;

  void wait(State why) {
    Thread& t = threads[runtime.thread];
    t.state = why;
    ::swapcontext(&t.context, &scheduler);
  }
};
Launch now;

void wait_for_block() { now.wait(State::at_block); }

unsigned exchange(unsigned value, int from) {
  unsigned self = now.runtime.thread, first = self - self % static_cast<unsigned>(now.runtime.wave);
  int bank = now.threads[self].exchanges++ & 1;
  now.threads[self].given[bank] = value;
  now.wait(State::at_wave);
  unsigned other = first + static_cast<unsigned>(from);
  return other < now.threads.size() ? now.threads[other].given[bank] : value;
}

void begin() {
  now.kernel(now.arguments);
  now.wait(State::finished);
}

// Lets threads of [from, end) that wait in `state` go on when all do that have not finished.
bool release(size_t from, size_t end, State state) {
  bool any = false;
  for (size_t i = from; i < end; ++i) {
    if (now.threads[i].state != state && now.threads[i].state != State::finished) return false;
    any = any || now.threads[i].state == state;
  }
  for (size_t i = from; i < end; ++i)
    if (now.threads[i].state == state) now.threads[i].state = State::running;
  return any;
}

bool run_block(unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    Thread& t = now.threads[i];
    ::getcontext(&t.context);
    t.context.uc_stack.ss_sp = now.stacks.get() + i * stack_bytes;
    t.context.uc_stack.ss_size = stack_bytes;
    t.context.uc_link = nullptr;
    t.state = State::running;
    t.exchanges = 0;
    ::makecontext(&t.context, begin, 0);
  }
  for (bool more = true; more;) {
    for (unsigned i = 0; i < count; ++i) {
      if (now.threads[i].state != State::running) continue;
      now.runtime.thread = i;
      ::swapcontext(&now.scheduler, &now.threads[i].context);
    }
    more = false;
    auto wave = static_cast<size_t>(now.runtime.wave);
    for (size_t from = 0; from < count; from += wave) more |= release(from, from + wave < count ? from + wave : count, State::at_wave);
    more |= release(0, count, State::at_block);
  }
  for (unsigned i = 0; i < count; ++i)
    if (now.threads[i].state != State::finished) return false;
  return true;
}

}  // namespace

bool run_blocks(Runtime** runtime, KernelFunction* kernel, void** arguments, unsigned blocks, unsigned threads, int wave) {
  now.runtime = {0, 0, wave, wait_for_block, exchange};
  now.kernel = kernel;
  now.arguments = arguments;
  if (!now.stacks) now.stacks = std::make_unique_for_overwrite<char[]>(most_threads * stack_bytes);
  now.threads.resize(threads);
  *runtime = &now.runtime;
  for (now.runtime.block = 0; now.runtime.block < blocks; ++now.runtime.block)
    if (!run_block(threads)) return false;
  return true;
}

}  // namespace stub
