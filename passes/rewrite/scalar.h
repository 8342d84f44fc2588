// Scalar constants as rules see them: one value for all elements, looked for through broadcasts and reshapes.
#pragma once

#include <optional>
#include <span>

#include "ir/graph.h"

namespace hloc::passes {

// What a literal in a rule means, for every element type that has it.
enum class Special : uint8_t {
  number,      // a small integer
  minus_zero,  // -0.0 (floats)
  lowest,      // the neutral element of maximum: -inf where there is one, else the lowest value
  highest,     // the neutral element of minimum
  ones,        // all bits set; true
};

// The bytes of the one value that all elements of `v` have; empty when it is not that simple.
std::span<const std::byte> uniform_bytes(ir::Value v);

// The value as an integer or a double, when it is one exactly.
std::optional<int64_t> uniform_int(ir::Value v);
// Element `index`, in row-major order, of a constant of integers, or of anything uniform.
std::optional<int64_t> element_int(ir::Value v, int64_t index);
std::optional<double> uniform_double(ir::Value v);  // of float types

// The scalar that `special` (or the number) is in an element type; nothing where the type has none.
std::optional<ir::Literal> scalar_literal(ir::Context& context, ElementType element, Special special, int64_t number);
std::optional<ir::Literal> scalar_from_double(ir::Context& context, ElementType element, double value);
// The scalar with these bytes.
ir::Literal scalar_from_bytes(ir::Context& context, ElementType element, std::span<const std::byte> bytes);

// A float type as significant bits and the exponents of its largest and smallest (subnormal) values.
struct FloatRange {
  int bits = 0, highest = 0, lowest = 0;
  bool ieee = false;  // has -0, infinities and NaN
};
FloatRange float_range(ElementType element);

}  // namespace hloc::passes
