// The one cost model. Its unit is a byte of memory traffic: what is read and written, what arithmetic takes in the time of
// a byte, what a launch is worth.
#pragma once

#include "ir/graph.h"
#include "ir/target.h"

namespace hloc::passes {

// Weight of one element of the result of an elementwise op or a reduction, in additions.
double flops_per_element(ir::Value v);

// The work of an instruction by itself, in additions; a multiply-add counts two. Moving elements is none.
double flops_of(ir::Value v);

// What making `v` inside its consumer changes: its array is neither written nor read and its launch goes away, but it is
// computed `evaluations` times instead of once an element. In `kept` it is computed once an element all the same, and goes
// through a buffer in the nearest cache.
struct JoinCost {
  double saved_bytes = 0;      // traffic and launch
  double repeated_flops = 0;
  double repeated_bytes = 0;   // the same in bytes
  double kept_bytes = 0;       // what the buffer would cost, in bytes

  bool pays() const { return repeated_bytes <= saved_bytes; }
  bool keeping_pays() const { return kept_bytes < repeated_bytes && kept_bytes <= saved_bytes; }
};
JoinCost join_cost(ir::Value v, double evaluations, const ir::Target& target);

// Whether a row of so many bytes stays in the nearest cache beside what is read and written along with it.
bool fits_row(double bytes, const ir::Target& target);

// What two kernels in one save: each array that both read is read once, and one launch.
double shared_read_bytes(ir::Type type, const ir::Target& target);

}  // namespace hloc::passes
