// Kernels that run one after the other as one kernel: what one writes to memory and a later one reads goes through a
// register, loops over the same range become one loop, and what nobody reads afterwards is not written at all. For small
// kernels, where starting a kernel costs more than its work.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backends/loops/loops.h"

namespace hloc::loops {

// An array that the kernels share.
struct SharedMemory {
  std::string name;
  ElementType element = ElementType::invalid;
  int64_t count = 0;
  std::vector<uint32_t> overlaps;  // others that have a byte in common with it, by number
  bool is_read_later = true;       // after the last of the kernels
};

struct MergedKernel {
  Kernel kernel;                  // not parallel
  std::vector<uint32_t> memories; // by number, of each input and output buffer
};

class KernelMerger {
 public:
  explicit KernelMerger(std::vector<SharedMemory> memories);

  // Appends a legal kernel, whose input and output buffers are these memories.
  void add(const Kernel& kernel, std::span<const uint32_t> memories);
  // Appends the copy of an array.
  void add_copy(uint32_t from, uint32_t to);
  // See loops/forward.h; false: there is nothing to move.
  bool reduce_as_stored();
  MergedKernel finish(std::string_view name);

 private:
  std::vector<std::vector<BufferId>> overlaps() const;

  std::vector<SharedMemory> memories_;
  Kernel kernel_;  // its first buffers are the memories
  std::vector<bool> read_, written_;
};

}  // namespace hloc::loops
