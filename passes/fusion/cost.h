// The one cost model of fusion. Its unit is a byte of memory traffic: what a kernel reads and writes, what its
// arithmetic takes in the time of a byte, what its launch is worth.
#pragma once

#include "ir/graph.h"
#include "ir/target.h"

namespace hloc::passes {

struct Cost {
  double bytes = 0;     // read and written
  double flops = 0;     // weighted: an addition is one
  double launches = 0;

  Cost& operator+=(const Cost& other);
  double in_bytes(const ir::Target& target) const;
};

// Weight of one element of the result of an elementwise op or a reduction, in additions.
double flops_per_element(ir::Value v);

// One instruction run by itself: a fusion, or any other op (a dot counts two a multiply-add).
Cost cost_of(ir::Value v);

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
