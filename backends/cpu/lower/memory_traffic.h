// Which accesses of a kernel pass by the caches, and which fetch ahead: what a kernel that is bound by memory gains by.
//
// Stores past the caches: an output that is larger than what stays in the caches is gone from them before anything reads it.
// An ordinary store first reads the line that it is about to overwrite; a streaming one does not.
//
// Fetching ahead: a row that several loops walk, one after the other, comes from memory in the first of them, and memory
// rests during the others. So one of those others asks for the next row, line by line.
//
//   for i0 in rows { for i1 { a0 max x[w*i0 + i1] }; for i2 { e = exp(x[w*i0 + i2] - m); row[i2] = e … };  ← fetches x[w*(i0+1) + i2]
//                    for i3 { r[w*i0 + i3] = row[i3] / s } }                                               ← stores past the caches
#pragma once

#include <map>

#include "backends/cpu/kernel.h"
#include "backends/loops/loops.h"

namespace hloc::cpu {

struct MemoryTraffic {
  bool aligned = false;  // each run of streamed stores begins at a whole vector
  // Statements of a vector loop's own block, contiguous, without guards. With each the bytes from a row to the next one that
  // the loop around it walks; 0 where no loop does.
  std::map<const loops::Store*, int64_t> streamed;
  std::map<const loops::Load*, int64_t> ahead;  // bytes from what the load reads to what is fetched
};

// The statements are the kernel's own. `in_place`: outputs that are the memory of an input; their lines are read anyway.
// `aligned`: the outputs that are streamed begin at whole vectors, and so do their rows.
MemoryTraffic memory_traffic(const loops::Kernel& kernel, const Machine& machine, const std::vector<loops::BufferId>& in_place, bool aligned = false);

// Large outputs that the kernel does not read back: those that are streamed, by buffer.
std::vector<bool> streamed_outputs(const loops::Kernel& kernel, const Machine& machine, const std::vector<loops::BufferId>& in_place);

}  // namespace hloc::cpu
