// What hloc and the process that runs emulated kernels say to each other: once as C++, once as text for that process.
#pragma once

namespace hloc::gpu::emulation {

#define HLOC_BOTH(...)                                      \
  __VA_ARGS__                                               \
  inline constexpr char protocol_text[] = #__VA_ARGS__;

// A request is a list of words: the launch's number, the bytes of memory there are, and the offset of each argument there.
// The answer is a Finding; `nothing` where all went well. Threads are numbered in their block, bytes counted from the start
// of an argument or shared array; code addresses are those of the program's file. `other_thread` -1: not known.
HLOC_BOTH(
enum Kind : int { nothing, outside, read_only, unwritten, race, misaligned, division, divergent, crash, no_memory };
enum Where : int { nowhere, in_argument, in_shared };
enum State : int { running, at_barrier, at_shuffle, finished };
enum Limits : int { most_threads = 1024, most_arguments = 512, several = 1024, socket_number = 3, memory_number = 4,
                    address_bits_of_argument = 34, name_bytes = 64, stack_kib = 64 };
struct Finding {
  Kind kind;
  Where where;
  int argument;
  int is_write; int size;
  int signal; int is_stack_overflow;
  int thread; int other_thread;
  unsigned int block; unsigned int other_block;
  int other_is_write;
  State state; State other_state;
  long long offset; long long bytes;
  unsigned long long address; unsigned long long code; unsigned long long other_code;
  char name[name_bytes];
};
)
#undef HLOC_BOTH

}  // namespace hloc::gpu::emulation
