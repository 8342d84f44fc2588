// From a planned fusion to a kernel that targets can take, in three steps that can be run and tested one by one.
#pragma once

#include <utility>

#include "backends/loops/loops.h"
#include "ir/graph.h"

namespace hloc::loops {

// outputs[second] is the same memory as inputs[first]; see plan::KernelStep.
using InPlace = std::vector<std::pair<uint32_t, uint32_t>>;

// Elemental lowering of a fusion (or of any single op that `supports` allows, taken as a fusion of itself): buffers are
// its parameters, then the leaves of its result. Every fused op becomes scalar statements at the index where it is
// needed, each at the outermost loop that knows its indices. Errors: an op, type or size that cannot be lowered.
Result<Kernel> lower_fusion(ir::Value fusion, std::string_view name, const InPlace& in_place = {});

// Merges loops, fuses loops over the same range, chooses vector, unrolled and parallel ones, copies what would be read with a
// stride too often.
Kernel schedule(Kernel kernel, const InPlace& in_place = {});

// Rewrites composite ops and arithmetic on halves into basic ops; values stay the same for what is exact, and within the
// accuracy of backends/loops/math for the functions.
Kernel legalise(const Kernel& kernel);

// The three steps.
Result<Kernel> make_kernel(ir::Value fusion, std::string_view name, const InPlace& in_place = {});

// What the three steps can do; for ir::Target::supports.
bool supports(const ir::Instruction& instruction);

}  // namespace hloc::loops
