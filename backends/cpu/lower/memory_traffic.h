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
#include <set>

#include "backends/cpu/kernel.h"
#include "backends/loops/loops.h"

namespace hloc::cpu {

struct FetchAhead {
  int64_t bytes = 0;  // from what the load reads to what is fetched
  int level = 0;      // of machine::Builder::prefetch
};

struct MemoryTraffic {
  std::set<const loops::Store*> streamed;  // statements of a vector loop's own block, contiguous, without guards
  std::map<const loops::Load*, FetchAhead> ahead;
};

// The statements are the kernel's own. `in_place`: outputs that are the memory of an input; their lines are read anyway.
MemoryTraffic memory_traffic(const loops::Kernel& kernel, const Machine& machine, const std::vector<loops::BufferId>& in_place);

}  // namespace hloc::cpu
