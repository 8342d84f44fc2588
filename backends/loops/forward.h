// Memory of a kernel that registers can replace. The kernel's buffers may overlap: `overlaps[b]` lists the others that
// have a byte in common with b (nothing for buffers beyond the list).
#pragma once

#include <span>
#include <vector>

#include "backends/loops/loops.h"

namespace hloc::loops {

using Overlaps = std::vector<std::vector<BufferId>>;

// Loops of a few iterations in the kernel's own block become statements, and what they accumulate a tree of computations.
void unroll_short_loops(Kernel& kernel);

// Contractions of the kernel's own block that take no more than so many statements are written out: fused (for integers, plain)
// multiplications and additions for each result, in order of k; of floats a few such chains that are added in the end.
void unroll_small_contractions(Kernel& kernel, int64_t most_statements);

// Loops of the kernel's own block that follow one another, run equally often and depend on each other only within an
// iteration become one.
void join_loops(Kernel& kernel, const Overlaps& overlaps);

// Loads of what is known to have been stored or loaded there become the value.
void forward_stores(Kernel& kernel, const Overlaps& overlaps);

// A reduction of all of an array, after the loops that store it, becomes part of them: each value is accumulated where it is
// stored. At most one; false: there is none that can. Accumulators are then the kernel's, around loops.
bool reduce_as_stored(Kernel& kernel, const Overlaps& overlaps);

// Stores to buffers that the kernel does not read and that `is_read_later` (by buffer) says false of go.
void remove_dead_stores(Kernel& kernel, const Overlaps& overlaps, const std::vector<bool>& is_read_later);

}  // namespace hloc::loops
