// How much one call does: arithmetic operations, and bytes that kernels and copies read and write. Of an array that a kernel
// only slices or gathers from, or updates in place, that part counts. Loop bodies count once (trip counts are not known here).
#pragma once

#include "passes/plan.h"

namespace hloc {

struct WorkEstimate {
  double flops = 0, bytes = 0;
};
WorkEstimate estimate_work(const plan::Program& program);

}  // namespace hloc
