// select-and-scatter as loops.
#pragma once

#include <array>

#include "backends/loops/lowering.h"

namespace hloc::loops {

// Keys: of the loops over the result, over the source and over a window.
void lower_select_and_scatter(Elements& e, ir::Value v, BufferId buffer, const std::array<SplitKey, 3>& keys);

}  // namespace hloc::loops
