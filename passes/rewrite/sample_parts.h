// Parts that the left sides of rules are made of, when chance alone would hardly make them.
#pragma once

#include "passes/rewrite/sample.h"

namespace hloc::passes::rules {

ir::Op random_elementwise_op(Sampler& s);
// An elementwise op over parameters and constants of one shape.
ir::Value sample_elementwise(Sampler& s);

// A computation of two scalars whose root is one op on them, in either order.
const ir::Computation* sample_reducer(Sampler& s, ir::Type scalar);
// An initial value: the neutral element of some ops often enough.
ir::Value sample_initial(Sampler& s, ir::Type scalar);
ir::Value sample_reduce(Sampler& s, ir::Value x, const ir::Ints& dims, ir::Value initial, const ir::Computation* reducer);
ir::Value sample_reduce_of(Sampler& s, ir::Value x);

// Start indices and sizes of a window of `of`.
std::vector<ir::Value> sample_starts(Sampler& s, ir::Type of);
ir::Ints sample_window(Sampler& s, ir::Type of);
ir::Value sample_dynamic_slice(Sampler& s, ir::Value x, const ir::Ints& sizes, const std::vector<ir::Value>& starts);
ir::Value sample_dynamic_update(Sampler& s, ir::Value x, ir::Value update, const std::vector<ir::Value>& starts);

}  // namespace hloc::passes::rules
