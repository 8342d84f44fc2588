// Other names in statements, for steps that move statements from one loop to another.
#pragma once

#include <unordered_map>

#include "backends/loops/loops.h"

namespace hloc::loops {

using ValueMap = std::unordered_map<ValueId, ValueId>;

// The address where the index `from` is `to`.
Affine replaced(const Affine& affine, IndexId from, const Affine& to);

// The same in all statements of the block and of the blocks within, and in the indices that they derive.
void replace_index(Kernel& kernel, Block& block, IndexId from, const Affine& to);

// Values that the block reads (also those that its derived indices are made from) become what the map says.
void replace_values(Kernel& kernel, Block& block, const ValueMap& map);

}  // namespace hloc::loops
