// Ranges of integers: what values every element of an instruction lies between, as far as that is easily told, and what an
// instruction is when its operands' ranges decide it. Used by rules, which look a few operands deep, and by passes, which
// know ranges of parameters and go through a whole computation.
#pragma once

#include <optional>
#include <span>

#include "ir/graph.h"

namespace hloc::passes {

// Both ends are values that may occur. For pred 0 is false, 1 is true.
struct IntRange {
  int64_t low = 0, high = 0;

  bool is_point() const { return low == high; }
  bool holds(int64_t value) const { return low <= value && value <= high; }
  bool within(IntRange other) const { return other.low <= low && high <= other.high; }
  bool operator==(const IntRange&) const = default;
};
// Nothing where a value may be any, or is no integer.
using MaybeRange = std::optional<IntRange>;

// All values of an element type; nothing for those that are no integers and for u64, whose values need more than 63 bits.
MaybeRange range_of_type(ElementType element);

// The range of `v`, given those of its operands (one each).
MaybeRange range_of(ir::Value v, std::span<const MaybeRange> operands);
// The same, looking a few operands deep.
MaybeRange range_nearby(ir::Value v);

// What an instruction is, when the ranges of its operands decide it.
struct Decided {
  enum Kind : uint8_t { nothing, operand, number } kind = nothing;
  size_t index = 0;    // of the operand
  int64_t value = 0;   // of every element
};
Decided decided_by_ranges(ir::Value v, std::span<const MaybeRange> operands);

}  // namespace hloc::passes
