// Some of a loop's iterations as a loop of their own, or as statements without a loop.
#pragma once

#include <optional>

#include "backends/loops/loops.h"

namespace hloc::loops {

// The iterations of a loop with variable `loop` for which a guard that depends on this variable alone holds, as
// [lo, hi); nothing for other guards.
std::optional<Range> holds_for(const Guard& guard, IndexId loop);

// Iterations [begin, end) of `loop`, with values, indices and accumulators of its own. Guards that are known throughout
// are gone, and so are the selections that they decided.
Loop part_of_loop(Kernel& kernel, const Loop& loop, int64_t begin, int64_t end);

// The statements of iteration `at`, in which the variable is a number.
Block iteration_of_loop(Kernel& kernel, const Loop& loop, int64_t at);

}  // namespace hloc::loops
