// The words in which rules are written: variables, literals, operators and one function per op.
#pragma once

#include "passes/rewrite/pattern.h"

namespace hloc::passes {

constexpr Pat operator+(Pat a, Pat b) { return make_op(ir::Op::Add, {}, a, b); }
constexpr Pat operator-(Pat a, Pat b) { return make_op(ir::Op::Subtract, {}, a, b); }
constexpr Pat operator*(Pat a, Pat b) { return make_op(ir::Op::Multiply, {}, a, b); }
constexpr Pat operator/(Pat a, Pat b) { return make_op(ir::Op::Divide, {}, a, b); }
constexpr Pat operator%(Pat a, Pat b) { return make_op(ir::Op::Remainder, {}, a, b); }
constexpr Pat operator&(Pat a, Pat b) { return make_op(ir::Op::And, {}, a, b); }
constexpr Pat operator|(Pat a, Pat b) { return make_op(ir::Op::Or, {}, a, b); }
constexpr Pat operator^(Pat a, Pat b) { return make_op(ir::Op::Xor, {}, a, b); }
constexpr Pat operator-(Pat a) { return make_op(ir::Op::Negate, {}, a); }
constexpr Pat operator!(Pat a) { return make_op(ir::Op::Not, {}, a); }

}  // namespace hloc::passes

namespace hloc::passes::rules {

inline constexpr Pat x = make_leaf(PatNode::variable, 0), y = make_leaf(PatNode::variable, 1),
                     z = make_leaf(PatNode::variable, 2), w = make_leaf(PatNode::variable, 4),
                     c = make_leaf(PatNode::constant, 3);
inline constexpr Slot p{0}, q{1}, r{2};
inline constexpr Pat minus_zero = make_special(Special::minus_zero), lowest = make_special(Special::lowest),
                     highest = make_special(Special::highest), ones = make_special(Special::ones);

// One operand, no attribute of interest.
#define HLOC_UNARY(name, Enumerator) \
  constexpr Pat name(Pat a) { return make_op(ir::Op::Enumerator, {}, a); }
HLOC_UNARY(abs, Abs)
HLOC_UNARY(real, Real)
HLOC_UNARY(imag, Imag)
HLOC_UNARY(copy, Copy)
HLOC_UNARY(bitcast, Bitcast)
HLOC_UNARY(reshape, Reshape)
HLOC_UNARY(after_all, AfterAll)
#undef HLOC_UNARY

#define HLOC_BINARY(name, Enumerator) \
  constexpr Pat name(Pat a, Pat b) { return make_op(ir::Op::Enumerator, {}, a, b); }
HLOC_BINARY(complex, Complex)
HLOC_BINARY(maximum, Maximum)
HLOC_BINARY(minimum, Minimum)
HLOC_BINARY(power, Power)
HLOC_BINARY(shift_left, ShiftLeft)
HLOC_BINARY(shift_right_arithmetic, ShiftRightArithmetic)
HLOC_BINARY(shift_right_logical, ShiftRightLogical)
#undef HLOC_BINARY

constexpr Pat select(Pat which, Pat a, Pat b) { return make_op(ir::Op::Select, {}, which, a, b); }
constexpr Pat clamp(Pat low, Pat a, Pat high) { return make_op(ir::Op::Clamp, {}, low, a, high); }
constexpr Pat compare(Pat a, Pat b, AttrExpr how) { return make_op(ir::Op::Compare, how, a, b); }
constexpr AttrExpr direction(ir::Direction d) { return {AttrExpr::direction, 0, 0, 0, d, nullptr, {}}; }
constexpr Pat eq(Pat a, Pat b) { return compare(a, b, direction(ir::Direction::EQ)); }
constexpr Pat ne(Pat a, Pat b) { return compare(a, b, direction(ir::Direction::NE)); }
constexpr Pat lt(Pat a, Pat b) { return compare(a, b, direction(ir::Direction::LT)); }
constexpr Pat ge(Pat a, Pat b) { return compare(a, b, direction(ir::Direction::GE)); }

// One operand and an attribute.
#define HLOC_WITH_ATTR(name, Enumerator) \
  constexpr Pat name(Pat a, AttrExpr how = {}) { return make_op(ir::Op::Enumerator, how, a); }
HLOC_WITH_ATTR(convert, Convert)  // a slot gives the type in between
HLOC_WITH_ATTR(bitcast_convert, BitcastConvert)
HLOC_WITH_ATTR(broadcast, Broadcast)
HLOC_WITH_ATTR(transpose, Transpose)
HLOC_WITH_ATTR(reverse, Reverse)
HLOC_WITH_ATTR(slice, Slice)
HLOC_WITH_ATTR(reduce_precision, ReducePrecision)
HLOC_WITH_ATTR(get_tuple_element, GetTupleElement)
#undef HLOC_WITH_ATTR

constexpr Pat pad(Pat a, Pat filler, AttrExpr how) { return make_op(ir::Op::Pad, how, a, filler); }
constexpr Pat dot(Pat a, Pat b, AttrExpr how) { return make_op(ir::Op::Dot, how, a, b); }
constexpr Pat reduce(Pat a, Pat initial, AttrExpr how) { return make_op(ir::Op::Reduce, how, a, initial); }
constexpr Pat any(ir::Op op, Slot slot) { return make_any(op, slot); }
constexpr Pat elementwise(Slot slot) { return make_any_elementwise(slot); }

constexpr AttrExpr computed(std::string_view name,
                            std::optional<ir::Attr> (*compute)(const Match&, ir::Value, ir::Value), Slot a) {
  return {AttrExpr::computed, a.number, a.number, 1, {}, compute, name};
}
constexpr AttrExpr computed(std::string_view name,
                            std::optional<ir::Attr> (*compute)(const Match&, ir::Value, ir::Value), Slot a, Slot b) {
  return {AttrExpr::computed, a.number, b.number, 2, {}, compute, name};
}

}  // namespace hloc::passes::rules
