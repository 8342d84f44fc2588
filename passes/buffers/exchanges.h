// Carries that are renewed without a copy: the carry and the array with its next value change places after each turn.
#pragma once

#include "passes/buffers/cells.h"

namespace hloc::passes {

// Puts exchanges of values into the loops of the draft instead of copies between large cells, inner loops first. Both
// cells keep their memory to themselves throughout the loop; no cell is in two exchanges.
void exchange_carries(Draft& draft, Cells& cells);

}  // namespace hloc::passes
