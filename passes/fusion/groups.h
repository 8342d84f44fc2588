// The fusion planner: which instructions of a computation make up which kernel.
//
// Instructions are taken users first. Each one either joins the groups of its consumers or starts a group of its own, of
// which it is the root. Work joins only when all its consumers are in one group; what merely renames or repeats data
// (broadcast, iota, reshape, slice) is made again in each. Since every use of a member (or of its copy) lies in its group,
// no group can depend on itself: there is nothing to check for cycles.
//
// Groups with results of one shape become one kernel where that saves bytes: siblings that read one array in the same
// places, and a producer whose array others need with the consumer that reads it element by element. Only then is there
// something to check: that neither needs a result of the other by way of a third.
//
// How often a group computes a member is known from its `domains`: the loops that its index depends on. The model is the
// lowering's: loops over the root's dimensions, and inside them those that reductions add; each value is computed in the
// outermost loop that knows its index. So a softmax is one kernel: its sum and its maximum are known in the loop over rows.
// What would be computed more often than once an element is made again where that is cheaper than memory, or kept for the
// time of one row (ir/row_buffer.h), or refused.
#pragma once

#include <string_view>
#include <vector>

#include "passes/fusion/cost.h"
#include "passes/pass.h"

namespace hloc::passes {

// No group has more members: registers, code size and compile time of a kernel grow with it, and beyond some hundred
// operations per element the saved traffic no longer matters. A chain of 100,000 ops becomes some two hundred kernels.
inline constexpr size_t most_members = 512;

// A member that is computed once a row and kept meanwhile: see ir/row_buffer.h.
struct RowBuffer {
  ir::Value value = nullptr;
  ir::Ints row_dims;
};

struct FusionGroup {
  std::vector<ir::Value> outputs;  // members that are results, in program order; none: the group went into another one
  ir::FusionKind kind = ir::FusionKind::kLoop;
  std::vector<ir::Value> members;  // in program order; the last one is a result
  std::vector<RowBuffer> row_buffers;
};

struct FusionPlan {
  static constexpr uint32_t none = UINT32_MAX;
  std::vector<FusionGroup> groups;
  std::vector<uint32_t> group_of_output;  // by id
  std::vector<bool> outside;            // by id: stays (or stays as well) an instruction of the computation
};

FusionPlan plan_fusion(const ir::Computation& computation, PassContext& context);

// A constant that each kernel has inside instead of reading it from memory.
bool is_inner_constant(ir::Value v, const ir::Target& target);

}  // namespace hloc::passes
