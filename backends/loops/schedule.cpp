// From loops as lowering leaves them to loops as targets want them.
#include "backends/loops/schedule.h"

#include "backends/loops/lower.h"

namespace hloc::loops {

Kernel schedule(Kernel kernel, const InPlace& in_place) {
  collapse_loops(kernel);
  jam_loops(kernel);
  merge_loops(kernel);
  split_loops(kernel);
  choose_loop_kinds(kernel);
  std::vector<BufferId> written;
  for (auto [input, output] : in_place) written.push_back(input);
  pack_strided(kernel, written);
  return kernel;
}

}  // namespace hloc::loops
