// From loops as lowering leaves them to loops as targets want them.
#include "backends/loops/schedule.h"

#include "backends/loops/lower.h"

namespace hloc::loops {

Kernel schedule(Kernel kernel) {
  collapse_loops(kernel);
  merge_loops(kernel);
  split_loops(kernel);
  choose_loop_kinds(kernel);
  return kernel;
}

}  // namespace hloc::loops
