// sort and topk as loops over lines.
#pragma once

#include "backends/loops/lowering.h"

namespace hloc::loops {

// Writes all results of the sort or topk. They must be among `outputs`, each once.
void lower_sort(Elements& e, ir::Value v, const std::vector<Output>& outputs, SplitKey key);

}  // namespace hloc::loops
