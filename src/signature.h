// The leaves of types as the public interface sees them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "include/hloc/result.h"
#include "include/hloc/tensor.h"
#include "ir/type.h"

namespace hloc {

// Shapes of the array leaves, depth first. An error when one is dynamic or too large, or no value (opaque…); `what` names them
// ("parameter").
Result<std::vector<Shape>> leaf_shapes(std::span<const ir::Type> types, std::string_view what);

// Whether buffers of these sizes, in bytes, are just what a program with these shapes takes or gives.
Result<void> check_sizes(std::span<const Shape> shapes, std::span<const size_t> sizes, std::string_view what);

}  // namespace hloc
