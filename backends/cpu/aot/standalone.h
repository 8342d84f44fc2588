// One call of compiled code as a program of its own: it reads the inputs from its standard input, calls the entry, and writes
// the outputs to its standard output. Its exit status is what the entry returns, or 3 when inputs are missing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/cpu/aot/executable.h"
#include "backends/cpu/machine/machine.h"

namespace hloc::aot {

// In bytes.
struct CallSizes {
  std::vector<int64_t> inputs, outputs;
  int64_t scratch = 0;
};

// The numbers of the system calls that the program makes.
struct SystemCalls {
  int64_t read, write, protect, exit;
};

class Standalone {
 public:
  // Each buffer ends where a page begins that nothing may touch.
  Standalone(std::string entry, const CallSizes& sizes);

  static constexpr const char* start_symbol = "hloc_start";
  // It calls int64_t hloc_system(number, five arguments), which the target provides.
  static constexpr const char* system_symbol = "hloc_system";
  machine::Function start(const SystemCalls& calls, int vector_bytes) const;
  std::vector<machine::NamedData> data() const;  // what `start` refers to; views into this
  MemoryRange memory() const { return {memory_begin, memory_end_ - memory_begin}; }

 private:
  static constexpr uint64_t memory_begin = uint64_t{1} << 33, page = 4096;

  uint64_t region(int64_t bytes, uint64_t alignment);

  std::string entry_;
  uint64_t memory_end_ = memory_begin, scratch_ = 0;
  std::vector<uint64_t> in_, out_;                // addresses
  std::vector<uint64_t> to_read_, to_write_;      // address, bytes, address, bytes …
  std::vector<uint64_t> guards_;
};

}  // namespace hloc::aot
