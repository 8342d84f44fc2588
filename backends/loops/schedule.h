// The steps of `schedule`, each a change in place that keeps what the kernel means.
#pragma once

#include "backends/loops/loops.h"

namespace hloc::loops {

// Two loops, one directly inside the other, become one where every address depends on outer * extent + inner only; the
// dimensions of a contraction likewise.
void collapse_loops(Kernel& kernel);

// A short loop around a long reduction becomes that many reductions, where an earlier loop of the reduction's extent may take
// them in.
void jam_loops(Kernel& kernel);

// Loops of one extent in one block become one, when nothing between them is needed by the second.
void merge_loops(Kernel& kernel);

// A loop whose guards change at few of its iterations becomes several, in which they are known.
void split_loops(Kernel& kernel);

// Chooses vector loops by counting what each choice costs, unrolls small ones, and makes outermost ones parallel.
void choose_loop_kinds(Kernel& kernel);

// Inputs that vector loops read with a stride many times are transposed into a local buffer first, so that lanes read
// neighbours; not those of `kept`, whose memory the kernel writes, too.
void pack_strided(Kernel& kernel, std::span<const BufferId> kept);

// Who runs iterations side by side. Lanes may accumulate across iterations; threads have local buffers of their own.
enum class SideBySide : uint8_t { lanes, threads };

// Whether iterations of the loop do not see each other's effects.
bool is_independent(const Kernel& kernel, const Loop& loop, SideBySide how);

}  // namespace hloc::loops
