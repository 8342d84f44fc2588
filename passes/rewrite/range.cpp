#include "passes/rewrite/range.h"

#include <algorithm>
#include <array>

#include "passes/rewrite/scalar.h"

namespace hloc::passes {

using ir::Op;
using ir::Value;

namespace {

using Ranges = std::span<const MaybeRange>;

// Constants with more elements are not looked through.
constexpr int64_t most_elements = 1024;

IntRange joined(IntRange a, IntRange b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }

MaybeRange joined(Ranges ranges) {
  MaybeRange out;
  for (const MaybeRange& range : ranges) {
    if (!range) return std::nullopt;
    out = out ? joined(*out, *range) : *range;
  }
  return out;
}

// `range` when the element type holds all of it; values that do not fit wrap to anything.
MaybeRange fitting(MaybeRange range, ElementType element) {
  MaybeRange all = range_of_type(element);
  if (!range || !all) return element == ElementType::u64 && range && range->low >= 0 ? range : all;
  return range->within(*all) ? range : all;
}

// The smallest and the largest of op(a, b) for a, b at the ends of the ranges; nothing when one overflows.
template <class F>
MaybeRange at_corners(IntRange a, IntRange b, F op) {
  MaybeRange out;
  for (int64_t x : {a.low, a.high})
    for (int64_t y : {b.low, b.high}) {
      int64_t value = 0;
      if (op(x, y, &value)) return std::nullopt;
      out = out ? joined(*out, IntRange{value, value}) : IntRange{value, value};
    }
  return out;
}
bool add_overflows(int64_t x, int64_t y, int64_t* out) { return __builtin_add_overflow(x, y, out); }
bool subtract_overflows(int64_t x, int64_t y, int64_t* out) { return __builtin_sub_overflow(x, y, out); }
bool multiply_overflows(int64_t x, int64_t y, int64_t* out) { return __builtin_mul_overflow(x, y, out); }

MaybeRange range_of_constant(Value v) {
  if (v->as<ir::ConstantAttr>().value.is_elided() || v->type->quant || v->type.count() > most_elements) return std::nullopt;
  MaybeRange out;
  for (int64_t i = 0; i < v->type.count(); ++i) {
    std::optional<int64_t> value = element_int(v, i);
    if (!value) return std::nullopt;
    out = out ? joined(*out, IntRange{*value, *value}) : IntRange{*value, *value};
  }
  return out;
}

// x % y has the sign of x and is smaller than y.
MaybeRange range_of_remainder(IntRange x, IntRange y) {
  if (y.low <= 0) return std::nullopt;
  return IntRange{x.low >= 0 ? 0 : std::max(x.low, 1 - y.high), x.high <= 0 ? 0 : std::min(x.high, y.high - 1)};
}

// Bits that one side does not have are not in the result.
MaybeRange range_of_and(IntRange a, IntRange b) {
  if (a.low >= 0 && b.low >= 0) return IntRange{0, std::min(a.high, b.high)};
  if (a.low >= 0) return IntRange{0, a.high};
  if (b.low >= 0) return IntRange{0, b.high};
  return std::nullopt;
}

MaybeRange range_of_shift(Op op, IntRange x, IntRange by, int bits) {
  if (!by.is_point() || by.low < 0 || by.low >= std::min(bits, 63)) return std::nullopt;
  if (op == Op::ShiftLeft) return at_corners(x, {int64_t{1} << by.low, int64_t{1} << by.low}, multiply_overflows);
  if (op == Op::ShiftRightLogical && x.low < 0) return std::nullopt;
  return IntRange{x.low >> by.low, x.high >> by.low};
}

// Whether the comparison is known, and what it is.
std::optional<bool> compared(ir::Direction direction, IntRange a, IntRange b) {
  bool apart = a.high < b.low || b.high < a.low, same = a.is_point() && a == b;
  switch (direction) {
    case ir::Direction::EQ: return apart ? std::optional(false) : same ? std::optional(true) : std::nullopt;
    case ir::Direction::NE: return apart ? std::optional(true) : same ? std::optional(false) : std::nullopt;
    case ir::Direction::LT: return a.high < b.low ? std::optional(true) : a.low >= b.high ? std::optional(false) : std::nullopt;
    case ir::Direction::GE: return a.high < b.low ? std::optional(false) : a.low >= b.high ? std::optional(true) : std::nullopt;
    case ir::Direction::GT: return a.low > b.high ? std::optional(true) : a.high <= b.low ? std::optional(false) : std::nullopt;
    case ir::Direction::LE: return a.low > b.high ? std::optional(false) : a.high <= b.low ? std::optional(true) : std::nullopt;
  }
  return std::nullopt;
}

// Ops of one element with another, or of one alone.
MaybeRange range_of_elementwise(Value v, Ranges in) {
  ElementType element = v->type.element();
  bool one = !in.empty() && in[0], two = in.size() >= 2 && in[0] && in[1];
  if (v->op == Op::Select) {
    if (in[0] && in[0]->is_point()) return in[in[0]->low != 0 ? 1 : 2];
    return joined(in.subspan(1));
  }
  if (v->op == Op::And && two) return range_of_and(*in[0], *in[1]);
  if (v->op == Op::Not && one && element == ElementType::pred) return IntRange{1 - in[0]->high, 1 - in[0]->low};
  if (v->op == Op::Convert && one) return in[0];
  if (v->op == Op::Negate && one) return at_corners({0, 0}, *in[0], subtract_overflows);
  if (v->op == Op::Sign && one) return IntRange{in[0]->low < 0 ? -1 : in[0]->low > 0, in[0]->high > 0 ? 1 : -(in[0]->high < 0)};
  if (v->op == Op::Abs && one && in[0]->low >= 0) return in[0];
  if (!two || element == ElementType::pred) return std::nullopt;
  const IntRange &a = *in[0], &b = *in[1];
  if (v->op == Op::Add) return at_corners(a, b, add_overflows);
  if (v->op == Op::Subtract) return at_corners(a, b, subtract_overflows);
  if (v->op == Op::Multiply) return at_corners(a, b, multiply_overflows);
  if (v->op == Op::Divide && b.low > 0) return at_corners(a, b, [](int64_t x, int64_t y, int64_t* out) { return *out = x / y, false; });
  if (v->op == Op::Remainder) return range_of_remainder(a, b);
  if (v->op == Op::Maximum) return IntRange{std::max(a.low, b.low), std::max(a.high, b.high)};
  if (v->op == Op::Minimum) return IntRange{std::min(a.low, b.low), std::min(a.high, b.high)};
  if (v->op == Op::Clamp && in[2]) {
    IntRange raised{std::max(a.low, b.low), std::max(a.high, b.high)};
    return IntRange{std::min(raised.low, in[2]->low), std::min(raised.high, in[2]->high)};
  }
  if (v->op == Op::ShiftLeft || v->op == Op::ShiftRightLogical || v->op == Op::ShiftRightArithmetic)
    return range_of_shift(v->op, a, b, bit_width(element));
  return std::nullopt;
}

// Ops whose elements are those of their operands: how many of these hold elements, from the first on.
size_t moved_operands(Value v) {
  const Op op = v->op;
  if (op == Op::Broadcast || op == Op::Reshape || op == Op::Slice || op == Op::Transpose || op == Op::Reverse || op == Op::Copy ||
      op == Op::DynamicSlice || op == Op::Gather)
    return 1;
  if (op == Op::Pad || op == Op::DynamicUpdateSlice) return 2;
  return op == Op::Concatenate ? v->operand_count : 0;
}

bool is_counted(Value v) {
  if (!v->type.is_array() || v->type->quant) return false;
  return is_integer(v->type.element()) || v->type.element() == ElementType::pred;
}

// Elements of a comparison are integers that compare as such.
std::optional<bool> decided_comparison(Value v, Ranges in) {
  if (v->op != Op::Compare || !in[0] || !in[1]) return std::nullopt;
  return compared(v->as<ir::CompareAttr>().direction, *in[0], *in[1]);
}

}  // namespace

MaybeRange range_of_type(ElementType element) {
  if (element == ElementType::pred) return IntRange{0, 1};
  if (!is_integer(element) || element == ElementType::u64) return std::nullopt;
  int bits = bit_width(element) - (is_signed_integer(element) ? 1 : 0);
  int64_t high = bits == 63 ? INT64_MAX : (int64_t{1} << bits) - 1;
  return IntRange{is_signed_integer(element) ? -high - 1 : 0, high};
}

MaybeRange range_of(Value v, Ranges operands) {
  if (!is_counted(v)) return std::nullopt;
  ElementType element = v->type.element();
  MaybeRange range;
  if (v->op == Op::Constant) range = range_of_constant(v);
  else if (v->op == Op::Iota) range = IntRange{0, std::max<int64_t>(0, v->type.dim(v->as<ir::IotaAttr>().dim) - 1)};
  else if (std::optional<bool> known = decided_comparison(v, operands)) range = IntRange{*known, *known};
  else if (size_t moved = moved_operands(v); moved > 0) range = joined(operands.first(moved));
  else if (ir::is_elementwise(v->op) && v->op != Op::Map) range = range_of_elementwise(v, operands);
  return fitting(range, element);
}

MaybeRange range_nearby(Value v) {
  // Three operands deep, two wide: enough for an index that is wrapped and clamped.
  struct Look {
    static MaybeRange at(Value v, int depth) {
      if (!is_counted(v)) return std::nullopt;
      std::array<MaybeRange, 3> in;
      if (v->operand_count > in.size()) return range_of_type(v->type.element());
      for (size_t i = 0; depth > 0 && i < v->operand_count; ++i) in[i] = at(v->operand(i), depth - 1);
      return range_of(v, Ranges(in).first(v->operand_count));
    }
  };
  return Look::at(v, 3);
}

Decided decided_by_ranges(Value v, Ranges in) {
  auto operand = [](size_t i) { return Decided{Decided::operand, i, 0}; };
  if (v->op == Op::Select && in[0] && in[0]->is_point()) return operand(in[0]->low != 0 ? 1 : 2);
  if (std::optional<bool> known = decided_comparison(v, in)) return {Decided::number, 0, *known};
  if (!is_counted(v) || in.empty() || !in[0]) return {};
  if (v->op == Op::Abs && in[0]->low >= 0) return operand(0);
  if (in.size() < 2 || !in[1]) return {};
  const IntRange &a = *in[0], &b = *in[1];
  if (v->op == Op::Maximum && (a.low >= b.high || b.low >= a.high)) return operand(a.low >= b.high ? 0 : 1);
  if (v->op == Op::Minimum && (a.high <= b.low || b.high <= a.low)) return operand(a.high <= b.low ? 0 : 1);
  if (v->op == Op::Remainder && a.low >= 0 && a.high < b.low) return operand(0);
  bool all_ones = b.is_point() && b.low > 0 && (b.low & (b.low + 1)) == 0;
  if (v->op == Op::And && all_ones && a.within({0, b.low})) return operand(0);
  if (v->op == Op::Clamp && in[2] && b.low >= a.high && b.high <= in[2]->low) return operand(1);
  return {};
}

}  // namespace hloc::passes
