// Contractions as plain loops.
#pragma once

#include "backends/cpu/kernel.h"
#include "backends/loops/loops.h"

namespace hloc::cpu {

// The kernel with every contraction for which `plan_contract` has no plan written as loops over its dimensions: an
// accumulator per result element, the innermost k loop a vector loop where both sides are contiguous in it.
loops::Kernel expand_contractions(const loops::Kernel& kernel, const Machine& machine);

}  // namespace hloc::cpu
