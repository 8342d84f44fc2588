// Roots that write over parts of an array that is there already.
#pragma once

#include "backends/loops/lowering.h"

namespace hloc::loops {

// Stores the update of a dynamic-update-slice at its start.
void lower_update(Elements& e, ir::Value update_slice, BufferId buffer, SplitKey key);

// Combines the updates of a scatter into its outputs, one after the other.
void lower_scatter(Elements& e, ir::Value scatter, const std::vector<Output>& outputs, SplitKey key);

}  // namespace hloc::loops
