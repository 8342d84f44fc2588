// The threads of a block are fibers of one thread: each runs until it waits (for the block, or for lanes of its wave) and goes
// back to the scheduler. Blocks run one after the other. Launches whose threads never wait need one fiber.
//
// The order of the threads changes from block to block, so that a result that depends on it shows. When nobody can go on,
// threads wait at different places: that is what a divergent barrier is.
#include "backends/gpu/emulator_text.h"

namespace hloc::gpu::emulation {

constinit const std::string_view scheduler = R"(
namespace emulator {

constexpr unsigned long stack_bytes = stack_kib << 10, stack_stride = 2 * stack_bytes;  // the lower half is no memory

static char* stacks;
static int prepared_stacks;
static void* scheduler_stack_pointer;
static void** call_arguments;
static void (*call)(void** arguments);
static unsigned int order_seed;

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
constexpr int code_register = 16, stack_register = 15;
PLAIN static unsigned long code_of(void* context) { return (unsigned long)((ucontext_t*)context)->uc_mcontext.gregs[code_register]; }
PLAIN static unsigned long stack_of(void* context) { return (unsigned long)((ucontext_t*)context)->uc_mcontext.gregs[stack_register]; }
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
PLAIN static unsigned long code_of(void* context) { return (unsigned long)((ucontext_t*)context)->uc_mcontext.pc; }
PLAIN static unsigned long stack_of(void* context) { return (unsigned long)((ucontext_t*)context)->uc_mcontext.sp; }
#endif

PLAIN int thread() { return now->thread; }
PLAIN int lane() { return now->thread % wave; }
PLAIN unsigned int block() { return grid.index; }
PLAIN unsigned int threads() { return grid.threads; }
PLAIN unsigned int blocks() { return grid.count; }

PLAIN static void leave() { hloc_emulator_switch(&now->stack_pointer, scheduler_stack_pointer); }

PLAIN static void stop() {
  leave();
  __builtin_unreachable();
}

PLAIN static void wait(State why, unsigned long site) {
  now->state = why, now->site = site;
  leave();
}

PLAIN void wait_for_block() {
  now->mask = 0;
  wait(at_barrier, HERE);
}

PLAIN unsigned int exchange(unsigned long long mask, unsigned int x, int from) {
  int first = now->thread - now->thread % wave, giver = first + from;
  if (!(mask >> (now->thread - first) & 1) || !(mask >> from & 1)) {
    begin_finding(divergent, HERE);
    finding.state = at_shuffle, finding.other_thread = -1;
    stop();
  }
  now->given = x, now->mask = mask;
  wait(at_shuffle, HERE);
  return giver < (int)grid.threads ? fibers[giver].shown : x;
}

// ---- Fibers ----

PLAIN static void all_of_block() {
  for (now->thread = 0; now->thread < (int)grid.threads; ++now->thread) {
    now_stamp = now_base | (unsigned int)now->thread;
    call(call_arguments);
  }
  wait(finished, 0);
}

PLAIN static void one_thread() {
  call(call_arguments);
  wait(finished, 0);
}

PLAIN static bool prepare(int thread, void (*begin)()) {
  char* low = stacks + thread * stack_stride + stack_bytes;
  if (thread >= prepared_stacks) {
    if (mprotect(low, stack_bytes, PROT_READ | PROT_WRITE) != 0) return false;
    prepared_stacks = thread + 1;
  }
  void** p = (void**)(low + stack_bytes - 256);
  for (int i = 0; i < saved_words; ++i) p[i] = 0;
  p[return_word] = (void*)begin;
  Fiber& f = fibers[thread];
  f.stack_pointer = p, f.thread = thread, f.state = running;
  return true;
}

PLAIN static void run_fiber(int number) {
  now = &fibers[number];
  now_stamp = now_base | (unsigned int)now->thread;
  stack_low = (unsigned long)stacks + number * stack_stride + stack_bytes;
  stack_high = stack_low + stack_bytes;
  hloc_emulator_switch(&scheduler_stack_pointer, now->stack_pointer);
}

// ---- Waiting ----

// Whether the lanes that this one waits for have come to the same shuffle.
PLAIN static bool has_all_lanes(int thread) {
  const Fiber& f = fibers[thread];
  int first = thread - thread % wave;
  for (int t = first; t < first + wave && t < (int)grid.threads; ++t) {
    if (!(f.mask >> (t - first) & 1)) continue;
    const Fiber& other = fibers[t];
    if (other.state != at_shuffle || other.site != f.site || other.mask != f.mask) return false;
  }
  return true;
}

// Lets go on whom nobody holds up any more.
PLAIN static bool release() {
  bool any = false, all = true;
  int n = (int)grid.threads;
  for (int t = 0; t < n; ++t) {
    if (fibers[t].state != at_shuffle || !has_all_lanes(t)) continue;
    unsigned long long mask = fibers[t].mask;
    int first = t - t % wave;
    for (int u = first; u < first + wave && u < n; ++u)
      if (mask >> (u - first) & 1) fibers[u].state = running, fibers[u].shown = fibers[u].given;
    any = true;
  }
  if (any) return true;
  for (int t = 0; t < n; ++t) all = all && fibers[t].state == at_barrier && fibers[t].site == fibers[0].site;
  for (int t = 0; t < n && all; ++t) fibers[t].state = running;
  if (all) next_phase();
  return all;
}

PLAIN static void run_together() {
  int n = (int)grid.threads;
  for (int t = 0; t < n; ++t)
    if (!prepare(t, one_thread)) return (void)(finding.kind = no_memory);
  // Forward, backward, or by an odd step from somewhere, which meets every thread where their number is a power of two.
  unsigned int way = order_seed++ % 3, mask = (unsigned int)n - 1, step = order_seed * 2654435761u | 1;
  bool can_step = (n & (n - 1)) == 0;
  do {
    for (int i = 0; i < n; ++i) {
      int t = way == 0 ? i : way == 1 || !can_step ? n - 1 - i : (int)((i * step + (step >> 16)) & mask);
      if (fibers[t].state != running) continue;
      run_fiber(t);
      if (finding.kind != nothing) return;
    }
  } while (release());
}

#pragma GCC optimize("O0")

// Two threads that wait for each other at different places.
PLAIN static void tell_divergence() {
  int n = (int)grid.threads, a = 0, b = -1;
  while (a < n && fibers[a].state == finished) ++a;
  if (a == n) return;
  for (int t = 0; t < n && b < 0; ++t)
    if (fibers[t].state != fibers[a].state || fibers[t].site != fibers[a].site || fibers[t].mask != fibers[a].mask) b = t;
  now = &fibers[a];
  begin_finding(divergent, fibers[a].site);
  finding.state = fibers[a].state;
  finding.other_thread = b;
  if (b >= 0) finding.other_state = fibers[b].state, finding.other_code = fibers[b].site;
}

PLAIN static void run(const LaunchFacts& launch) {
  grid.count = launch.blocks, grid.threads = launch.threads;
  if (phase >= most_phases / 2) renumber();
  launch_base = (phase + 1) << phase_bit;
  for (grid.index = 0; grid.index < launch.blocks && finding.kind == nothing; ++grid.index) {
    next_phase();
    block_base = now_base;
    if (launch.waits) {
      run_together();
    } else if (prepare(0, all_of_block)) {
      run_fiber(0);
    } else {
      finding.kind = no_memory;
    }
    if (finding.kind == nothing && (launch.waits || fibers[0].state != finished)) tell_divergence();
  }
  now = nullptr;
}

// ---- Memory ----

static unsigned long mapped_bytes, mapped_arguments;

PLAIN static bool map(unsigned long at, unsigned long bytes, int file, unsigned long offset) {
  int flags = MAP_FIXED_NOREPLACE | MAP_NORESERVE | (file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
  void* p = mmap((void*)at, bytes, PROT_READ | PROT_WRITE, flags, file, (long)offset);
  if (p == (void*)at) return true;
  if (p != MAP_FAILED) munmap(p, bytes);
  return false;
}

// Every argument's range of addresses shows all of the memory.
PLAIN static bool map_memory(unsigned long bytes, unsigned long count) {
  if (bytes > mapped_bytes) {
    unsigned long more = bytes - mapped_bytes;
    if (!map(first_cell + mapped_bytes * sizeof(Cell), more * sizeof(Cell), -1, 0)) return false;
    for (unsigned long i = 0; i < mapped_arguments; ++i)
      if (!map(first_argument + i * argument_stride + mapped_bytes, more, memory_number, mapped_bytes)) return false;
    mapped_bytes = bytes;
  }
  for (; mapped_arguments < count; ++mapped_arguments)
    if (mapped_bytes != 0 && !map(first_argument + mapped_arguments * argument_stride, mapped_bytes, memory_number, 0)) return false;
  return true;
}

PLAIN static void forget_cells() {
  if (mapped_bytes != 0) madvise((void*)first_cell, mapped_bytes * sizeof(Cell), MADV_DONTNEED);
}

PLAIN static void* fresh(unsigned long bytes) {
  return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

PLAIN static int largest_shift(unsigned long bytes) {
  int shift = 3;
  while (bytes & ((1ul << shift) - 1)) --shift;
  return shift;
}

extern "C" char __start_hloc_shared[] __attribute__((weak)), __stop_hloc_shared[] __attribute__((weak));

// "_ZZ4k0_yE3row" is `row` of k0_y; a number may follow. False: a gap, or no shared array.
PLAIN static bool name_of_symbol(const char* s, Region* r) {
  if (s[0] != '_' || s[1] != 'Z' || s[2] != 'Z') return false;
  r->name_bytes = 0;
  for (; *s; ++s) {
    if (*s != 'E' || s[1] < '1' || s[1] > '9') continue;
    const char* name = s + 1;
    int bytes = 0, i = 0;
    while (*name >= '0' && *name <= '9' && bytes < 4096) bytes = bytes * 10 + *name++ - '0';
    while (i < bytes && name[i]) ++i;
    if (i == bytes && (name[i] == 0 || name[i] == '_')) r->name = name, r->name_bytes = bytes;
  }
  const char gap[] = "emulator_gap_";
  for (int i = 0; gap[i]; ++i)
    if (i >= r->name_bytes || r->name[i] != gap[i]) return r->name_bytes > 0;
  return false;
}

// The shared arrays, from the symbols of this program's file.
PLAIN static bool find_shared() {
  shared_begin = (unsigned long)__start_hloc_shared, shared_bytes = (unsigned long)__stop_hloc_shared - shared_begin;
  if (shared_bytes == 0) return true;
  int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  struct stat facts;
  if (file < 0 || fstat(file, &facts) != 0) return false;
  char* p = (char*)mmap(nullptr, (unsigned long)facts.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  shared_at = (unsigned short*)fresh((shared_bytes / 64 + 1) * sizeof(unsigned short));
  shared = (Region*)fresh(most_shared * sizeof(Region));
  Cell* cells = (Cell*)fresh(shared_bytes * sizeof(Cell));
  if ((void*)p == MAP_FAILED || (void*)shared_at == MAP_FAILED || (void*)shared == MAP_FAILED || (void*)cells == MAP_FAILED) return false;
  const Elf64_Ehdr* header = (const Elf64_Ehdr*)p;
  const Elf64_Shdr* sections = (const Elf64_Shdr*)(p + header->e_shoff);
  for (int i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_SYMTAB) continue;
    const Elf64_Sym* symbols = (const Elf64_Sym*)(p + sections[i].sh_offset);
    const char* names = p + sections[sections[i].sh_link].sh_offset;
    for (unsigned long k = 0; k < sections[i].sh_size / sizeof(Elf64_Sym); ++k) {
      if (shared_count == most_shared) return false;
      unsigned long from = symbols[k].st_value - shared_begin, bytes = symbols[k].st_size;
      Region* r = &shared[shared_count];
      if (from >= shared_bytes || bytes == 0 || !name_of_symbol(names + symbols[k].st_name, r)) continue;
      r->begin = shared_begin + from, r->bytes = bytes, r->cells = cells + from, r->shift = largest_shift(bytes);
      r->is_writable = r->is_shared = true;
      ++shared_count;
      for (unsigned long at = from; at < from + bytes; at += 64) shared_at[at >> 6] = (unsigned short)shared_count;
    }
  }
  return true;
}

// ---- The main program ----

extern "C" const char __start_hloc_runtime[], __stop_hloc_runtime[], etext[];

PLAIN static bool is_kernel_code(unsigned long code) {
  if (code >= (unsigned long)__start_hloc_runtime && code < (unsigned long)__stop_hloc_runtime) return false;
  return code >= (unsigned long)__executable_start && code < (unsigned long)etext;
}

// Where the kernel is. When its stack ends in a function that it called, the stack has the place as a return address.
PLAIN static unsigned long kernel_code(void* context) {
  unsigned long code = code_of(context);
  const unsigned long* p = (const unsigned long*)((stack_of(context) + 7) / 8 * 8);
  if ((unsigned long)p < stack_low) p = (const unsigned long*)stack_low;
  for (int i = 0; i < 256 && !is_kernel_code(code) && (unsigned long)(p + i) < stack_high; ++i) code = p[i] - 1;
  return code;
}

PLAIN static void crashed(int signal, siginfo_t* info, void* context) {
  unsigned long address = (unsigned long)info->si_addr;
  if (!now) {
    struct sigaction normal = {};
    normal.sa_handler = SIG_DFL;
    sigaction(signal, &normal, nullptr);
    raise(signal);
    return;
  }
  begin_finding(crash, kernel_code(context));
  finding.signal = signal, finding.address = address;
  finding.is_stack_overflow = address < stack_low && address >= stack_low - stack_bytes;
  stop();
}

PLAIN static void catch_signals() {
  static char stack[64 << 10];
  stack_t other = {};
  other.ss_sp = stack, other.ss_size = sizeof stack;
  sigaltstack(&other, nullptr);
  struct sigaction action = {};
  action.sa_sigaction = crashed;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
  for (int s : signals) sigaction(s, &action, nullptr);
}

// Ends the process when hloc is gone, whatever a kernel does meanwhile.
PLAIN static void* watch(void*) {
  pollfd peer = {socket_number, POLLRDHUP, 0};
  while (poll(&peer, 1, -1) <= 0 || !(peer.revents & (POLLRDHUP | POLLHUP | POLLERR))) {}
  _exit(0);
}

PLAIN static void serve(const unsigned long long* request, unsigned long count) {
  static void* pointers[most_arguments];
  finding = {};
  const LaunchFacts& launch = launches[request[0]];
  if (!map_memory(request[1], count)) return (void)(finding.kind = no_memory);
  argument_count = (unsigned int)count;
  for (unsigned int i = 0; i < count; ++i) {
    const ArgumentFacts& facts = launch.arguments[i];
    unsigned long offset = request[2 + i], begin = first_argument + i * argument_stride + offset;
    int shift = largest_shift(facts.element_bytes | offset);
    arguments[i] = {begin, facts.bytes, (Cell*)first_cell + offset, shift, facts.is_writable, false, nullptr, 0};
    pointers[i] = (void*)begin;
  }
  call = launch.call, call_arguments = pointers;
  run(launch);
}

}  // namespace emulator

PLAIN int main() {
  using namespace emulator;
  static unsigned long long request[2 + most_arguments];
#ifdef SYS_close_range
  syscall(SYS_close_range, memory_number + 1, ~0u, 0);  // what else the process that started this one had open
#endif
  stacks = (char*)mmap(nullptr, most_threads * stack_stride, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  block_of_phase = (unsigned int*)fresh((most_phases + 2) * sizeof(unsigned int));
  pthread_t watcher;
  if ((void*)stacks == MAP_FAILED || (void*)block_of_phase == MAP_FAILED || !find_shared()) return 1;
  if (pthread_create(&watcher, nullptr, watch, nullptr) != 0) return 1;
  catch_signals();
  for (;;) {
    long n = recv(socket_number, request, sizeof request, 0);
    if (n <= 0) return 0;
    serve(request, (unsigned long)n / sizeof request[0] - 2);
    if (send(socket_number, &finding, sizeof finding, MSG_NOSIGNAL) != (long)sizeof finding) return 0;
  }
}
)";

}  // namespace hloc::gpu::emulation
