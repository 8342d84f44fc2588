// Every access of a kernel to memory is looked at before it happens: the compiler calls the functions that it would call for
// a detector of data races (-fsanitize=thread), and for a checker of alignment and division; they are these here.
//
// Where an address belongs: each argument of a launch has a range of addresses of its own, onto which the whole memory is
// mapped; so an address tells through which argument it was made, however far it goes astray. Shared arrays are found by a
// table, the thread's own stack by its bounds.
//
// Who else was there: per element a cell holds the last write and the last read, each as a number of phase and thread. A
// phase ends when a block begins and when its threads leave a barrier. So the same phase means: nothing between them; an
// earlier phase of this block: a barrier between them; an earlier one of this launch: another block, which runs at the same
// time on a device.
#include "backends/gpu/emulator_text.h"

namespace hloc::gpu::emulation {

constinit const std::string_view checks = R"(
#include <elf.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define PLAIN __attribute__((no_sanitize("thread,alignment,integer-divide-by-zero"), section("hloc_runtime")))
#define RARE PLAIN __attribute__((noinline, cold))
#define HERE ((unsigned long)__builtin_return_address(0) - 1)

namespace emulator {

typedef unsigned int Stamp;  // 20 bits of phase; in a read, whether another block of the launch read too; 11 bits of thread
constexpr int phase_bit = 12;
constexpr Stamp most_phases = (1u << 20) - 2, other_block_bit = 1u << 11;
struct Cell { Stamp write, read; unsigned int write_code, read_code; };

struct Region {
  unsigned long begin, bytes;
  Cell* cells;
  int shift;  // a cell is for 1 << shift bytes
  bool is_writable, is_shared;
  const char* name;  // of a shared array
  int name_bytes;
};

constexpr unsigned long first_argument = 1ul << 44, argument_stride = 1ul << address_bits_of_argument, first_cell = 1ul << 45;

static Region arguments[most_arguments];
static unsigned int argument_count;
constexpr int most_shared = 65535;
static Region* shared;
static int shared_count;
static unsigned short* shared_at;  // by 64 bytes of the section: 1 + the array, 0: a gap
static unsigned long shared_begin, shared_bytes;

static Stamp now_stamp, now_base, block_base, launch_base, phase;
static unsigned int* block_of_phase;
static unsigned long stack_low, stack_high;
static Finding finding;

struct Fiber {
  void* stack_pointer;
  int thread;
  State state;
  unsigned long site;
  unsigned long long mask;
  unsigned int given, shown;  // to this shuffle, and what others see of it once all have come
};
static Fiber fibers[most_threads];
static Fiber* now;
static struct { unsigned int index, count, threads; } grid;

static void stop() __attribute__((noreturn));

// ---- What is wrong ----

// Here and in the main program g++'s time counts for more than this code's.
#pragma GCC push_options
#pragma GCC optimize("O0")

PLAIN static void name_place(const Region* r, unsigned long address) {
  finding.where = r->is_shared ? in_shared : in_argument;
  finding.offset = (long)(address - r->begin);
  finding.bytes = (long)r->bytes;
  if (!r->is_shared) finding.argument = (int)(r - arguments);
  for (int i = 0; r->is_shared && i < r->name_bytes && i + 1 < name_bytes; ++i) finding.name[i] = r->name[i];
}

PLAIN static unsigned long distance(const Region* r, unsigned long address) {
  if (address < r->begin) return r->begin - address;
  return address - r->begin < r->bytes ? 0 : address - r->begin - r->bytes + 1;
}

// The argument that the address was made from, or the nearest shared array.
PLAIN static void find_place(unsigned long address) {
  unsigned long slot = (address - first_argument) >> address_bits_of_argument;
  if (slot < argument_count) return name_place(&arguments[slot], address);
  if (address + 4096 < shared_begin || address >= shared_begin + shared_bytes + 4096) return;
  const Region* nearest = nullptr;
  for (int i = 0; i < shared_count; ++i)
    if (!nearest || distance(&shared[i], address) < distance(nearest, address)) nearest = &shared[i];
  if (nearest) name_place(nearest, address);
}

PLAIN static void begin_finding(Kind kind, unsigned long code) {
  finding.kind = kind;
  finding.thread = now->thread;
  finding.block = grid.index;
  finding.code = code;
}

RARE __attribute__((noreturn)) static void wrong(Kind kind, unsigned long address, int size, bool is_write, unsigned long code) {
  begin_finding(kind, code);
  finding.is_write = is_write, finding.size = size, finding.address = address;
  find_place(address);
  stop();
}

// `other` 0: not known.
RARE __attribute__((noreturn)) static void wrong_race(unsigned long address, int size, bool is_write, Stamp other, unsigned int other_code,
                                                      bool other_is_write, unsigned long code) {
  begin_finding(race, code);
  finding.is_write = is_write, finding.size = size;
  finding.other_thread = other ? (int)(other & (other_block_bit - 1)) : -1;
  finding.other_block = block_of_phase[other >> phase_bit];
  finding.other_is_write = other_is_write, finding.other_code = other_code;
  find_place(address);
  stop();
}

#pragma GCC pop_options

// ---- Cells ----

// Cells for fewer bytes each: what was known of one holds for its parts.
RARE static void divide_cells(Region* r, int shift) {
  for (unsigned long i = r->bytes >> shift; i-- > 0;) r->cells[i] = r->cells[i >> (r->shift - shift)];
  r->shift = shift;
}

PLAIN static bool meets(Stamp other, const Region* r) {
  if (other >= now_base) return other != now_stamp;
  return other < block_base && other >= launch_base && !r->is_shared;
}

PLAIN static void read_cell(Cell* c, const Region* r, unsigned long address, int size, unsigned long code) {
  Stamp last = c->read & ~other_block_bit;
  if (last == now_stamp || last == (now_base | several)) return;
  if (meets(c->write, r)) wrong_race(address, size, false, c->write, c->write_code, true, code);
  if (r->is_shared && c->write < block_base) wrong(unwritten, address, size, false, code);
  if (c->read >= now_base) {
    c->read = now_base | several | (c->read & other_block_bit);
    return;
  }
  bool by_other_block = c->read >= launch_base && (c->read < block_base || (c->read & other_block_bit));
  c->read = now_stamp | (by_other_block ? other_block_bit : 0);
  c->read_code = (unsigned int)code;
}

PLAIN static void write_cell(Cell* c, const Region* r, unsigned long address, int size, unsigned long code) {
  if (c->write == now_stamp) return;
  if (meets(c->write, r)) wrong_race(address, size, true, c->write, c->write_code, true, code);
  if (meets(c->read & ~other_block_bit, r)) wrong_race(address, size, true, c->read, c->read_code, false, code);
  if (c->read >= launch_base && (c->read & other_block_bit) && !r->is_shared) wrong_race(address, size, true, 0, 0, false, code);
  c->write = now_stamp;
  c->write_code = (unsigned int)code;
}

extern "C" const char __executable_start[], __init_array_start[];

// Neither an argument nor shared: the thread's own stack, or constants of the program.
RARE static void elsewhere(unsigned long address, int size, bool is_write, unsigned long code) {
  if (address >= stack_low && address + size <= stack_high) return;
  if (!is_write && address >= (unsigned long)__executable_start && address + size <= (unsigned long)__init_array_start) return;
  wrong(outside, address, size, is_write, code);
}

template <bool is_write>
PLAIN __attribute__((noinline)) static void access(unsigned long address, int size, bool is_whole, unsigned long code) {
  Region* r;
  unsigned long slot = (address - first_argument) >> address_bits_of_argument;
  if (slot < argument_count) {
    r = &arguments[slot];
  } else {
    unsigned long at = address - shared_begin;
    if (at >= shared_bytes) return elsewhere(address, size, is_write, code);
    int array = shared_at[at >> 6];
    if (array == 0) wrong(outside, address, size, is_write, code);
    r = &shared[array - 1];
  }
  unsigned long from = address - r->begin;
  if (from >= r->bytes || r->bytes - from < (unsigned long)size) wrong(outside, address, size, is_write, code);
  if (is_write && !r->is_writable) wrong(read_only, address, size, is_write, code);
  if (is_whole && (address & (size - 1)) != 0) wrong(misaligned, address, size, is_write, code);
  while ((from | size) & ((1ul << r->shift) - 1)) divide_cells(r, r->shift - 1);
  Cell* end = r->cells + ((from + size) >> r->shift);
  for (Cell* c = r->cells + (from >> r->shift); c != end; ++c)
    if (is_write) write_cell(c, r, address, size, code);
    else read_cell(c, r, address, size, code);
}

// ---- Phases ----

PLAIN static void forget_cells();

// Numbers of phases have come to their end: what other blocks did is forgotten.
RARE static void renumber() {
  forget_cells();
  for (int i = 0; i < shared_count; ++i)
    for (unsigned long k = 0; k < shared[i].bytes >> shared[i].shift; ++k) {
      Cell* c = &shared[i].cells[k];
      c->write = c->write >= block_base ? 1u << phase_bit : 0;
      c->read = 0;
    }
  phase = 2;
  launch_base = block_base = 1u << phase_bit;
  block_of_phase[1] = grid.index;
}

PLAIN static void next_phase() {
  if (phase >= most_phases) renumber();
  ++phase;
  block_of_phase[phase] = grid.index;
  now_base = phase << phase_bit;
}

}  // namespace emulator

// ---- What the compiler calls ----

extern "C" {
PLAIN void __tsan_init() {}
#define ACCESSES(size)                                                                                   \
  PLAIN void __tsan_read##size(void* p) { emulator::access<false>((unsigned long)p, size, true, HERE); } \
  PLAIN void __tsan_write##size(void* p) { emulator::access<true>((unsigned long)p, size, true, HERE); }
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)
#undef ACCESSES
#define ACCESSES(size)                                                                                              \
  PLAIN void __tsan_unaligned_read##size(void* p) { emulator::access<false>((unsigned long)p, size, false, HERE); } \
  PLAIN void __tsan_unaligned_write##size(void* p) { emulator::access<true>((unsigned long)p, size, false, HERE); }
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)
#undef ACCESSES
PLAIN void __tsan_read_range(void* p, unsigned long size) { emulator::access<false>((unsigned long)p, (int)size, false, HERE); }
PLAIN void __tsan_write_range(void* p, unsigned long size) { emulator::access<true>((unsigned long)p, (int)size, false, HERE); }

// The place in the source is not used; `kind` 1 is a store.
struct TypeMismatch { void* place[2]; void* type; unsigned char log_alignment, kind; };
PLAIN void __ubsan_handle_type_mismatch_v1(TypeMismatch* what, unsigned long address) {
  emulator::wrong(emulator::misaligned, address, 1 << what->log_alignment, what->kind == 1, HERE);
}
PLAIN void __ubsan_handle_divrem_overflow(void*, unsigned long, unsigned long) { emulator::wrong(emulator::division, 0, 1, false, HERE); }
}
)";

}  // namespace hloc::gpu::emulation
