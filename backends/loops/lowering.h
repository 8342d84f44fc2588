// Loop nests that the lowering of a fusion is made of.
#pragma once

#include "backends/loops/elements.h"

namespace hloc::loops {

struct Output {
  Producer producer;
  BufferId buffer = 0;
};

// Loops over the common shape of `outputs`; each element is made and stored. `key` is for the splits of these loops.
// `reads_first`: an output may be the memory of an input, so that all of an element's values are made before one is stored.
void elementwise_nest(Elements& e, const std::vector<Output>& outputs, SplitKey key, bool reads_first = false);

// Loops over `part`, which goes into `buffer` (of type `whole`) from `start` on along `dim`.
struct PartPlace {
  int64_t dim = 0, start = 0;
};
void part_nest(Elements& e, ir::Value part, ir::Type whole, PartPlace place, BufferId buffer, SplitKey key);

}  // namespace hloc::loops
