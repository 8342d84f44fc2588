// Row buffers: a value of a fusion that several inner loops of one row need is computed once a row and kept in a small
// buffer, as the exponentials of a softmax between their sum and their division by it. The planner says so on the
// instruction inside the fused computation, with a frontend attribute, so that the decision prints and reads back:
//
//   e = f32[128,1000] exponential(d), frontend_attributes={hloc_row_buffer="0"}
//
// names the dimensions that make up the row's number; the buffer has the others.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace hloc::ir {

// The row's dimensions, in order; nothing for a value that is computed where it is wanted. Numbers that are none of the
// value's dimensions make the attribute void.
std::optional<Ints> row_buffer_dims(Value v);
// The extras of `v` with that attribute, or without one.
Extras with_row_buffer(Value v, const Ints& row_dims);
Extras without_row_buffer(Value v);
bool has_row_buffer_attribute(Value v);

}  // namespace hloc::ir
