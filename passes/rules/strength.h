// Profitable rules: cheaper ops on machines with vector units. They ask the target's facts.
#pragma once

#include <bit>
#include <cmath>

#include "ir/target.h"
#include "passes/rewrite/algebra.h"

namespace hloc::passes::rules {

// The exponent of c when c is a power of two above 1.
inline std::optional<int64_t> log2_of(const Match& m) {
  std::optional<int64_t> value = uniform_int(m[c]);
  if (!value || *value < 2 || !std::has_single_bit(static_cast<uint64_t>(*value))) return std::nullopt;
  return std::countr_zero(static_cast<uint64_t>(*value));
}

// Vector units have no integer division, and multiply wide integers slowly; they all shift.
inline bool has_vectors(const Match& m) { return m.target.vector_bytes > static_cast<int64_t>(sizeof(int64_t)); }

inline ir::Value with_number(const Match& m, Replacement& out, ir::Op op, int64_t number) {
  std::optional<ir::Literal> scalar = scalar_literal(m.context, m.root->type.element(), Special::number, number);
  return scalar ? out.make(op, m.root->type, {m[x], out.splat(m.root->type, *std::move(scalar))}) : nullptr;
}

inline ir::Value shifted_left(const Match& m, Replacement& out) {
  std::optional<int64_t> log = log2_of(m);
  if (!log || !has_vectors(m) || bit_width(m.root->type.element()) < 32) return nullptr;
  return with_number(m, out, ir::Op::ShiftLeft, *log);
}
inline ir::Value shifted_right(const Match& m, Replacement& out) {
  std::optional<int64_t> log = log2_of(m);
  if (!log || !has_vectors(m) || !is_unsigned_integer(m.root->type.element())) return nullptr;
  return with_number(m, out, ir::Op::ShiftRightLogical, *log);
}
inline ir::Value masked(const Match& m, Replacement& out) {
  std::optional<int64_t> log = log2_of(m);
  if (!log || !has_vectors(m) || !is_unsigned_integer(m.root->type.element())) return nullptr;
  return with_number(m, out, ir::Op::And, (int64_t{1} << *log) - 1);
}


// The bias that makes a shift of a negative number round towards zero: c - 1 below zero, else 0.
inline ir::Value rounding_bias(const Match& m, Replacement& out, int64_t log) {
  ir::Type type = m.root->type;
  ElementType element = type.element();
  std::optional<ir::Literal> sign = scalar_literal(m.context, element, Special::number, bit_width(element) - 1);
  std::optional<ir::Literal> mask = scalar_literal(m.context, element, Special::number, (int64_t{1} << log) - 1);
  if (!sign || !mask) return nullptr;
  ir::Value negative = out.make(ir::Op::ShiftRightArithmetic, type, {m[x], out.splat(type, *std::move(sign))});
  return out.make(ir::Op::And, type, {negative, out.splat(type, *std::move(mask))});
}
inline ir::Value divided_by_shift(const Match& m, Replacement& out) {
  std::optional<int64_t> log = log2_of(m);
  if (!log || !has_vectors(m) || !is_signed_integer(m.root->type.element())) return nullptr;
  std::optional<ir::Literal> count = scalar_literal(m.context, m.root->type.element(), Special::number, *log);
  ir::Value bias = rounding_bias(m, out, *log);
  if (!count || !bias) return nullptr;
  ir::Value biased = out.make(ir::Op::Add, m.root->type, {m[x], bias});
  return out.make(ir::Op::ShiftRightArithmetic, m.root->type, {biased, out.splat(m.root->type, *std::move(count))});
}
inline ir::Value remainder_by_mask(const Match& m, Replacement& out) {
  std::optional<int64_t> log = log2_of(m);
  if (!log || !has_vectors(m) || !is_signed_integer(m.root->type.element())) return nullptr;
  std::optional<ir::Literal> mask = scalar_literal(m.context, m.root->type.element(), Special::number, (int64_t{1} << *log) - 1);
  ir::Value bias = rounding_bias(m, out, *log);
  if (!mask || !bias) return nullptr;
  ir::Value biased = out.make(ir::Op::Add, m.root->type, {m[x], bias});
  ir::Value low = out.make(ir::Op::And, m.root->type, {biased, out.splat(m.root->type, *std::move(mask))});
  return out.make(ir::Op::Subtract, m.root->type, {low, bias});
}

// The evaluator's power is exact to double; rounding 1 / x to double first and then to at most 24 bits changes nothing.
inline ir::Value inverse(const Match& m, Replacement& out) {
  std::optional<ir::Literal> one = scalar_literal(m.context, m.root->type.element(), Special::number, 1);
  if (!one || m.root->type.element() == ElementType::f64) return nullptr;
  return out.make(ir::Op::Divide, m.root->type, {out.splat(m.root->type, *std::move(one)), m[x]});
}

// power(x, e) for e of 1/2 and -1/2: x to them is a root, but for the signs of zero and infinity: power(-0, e) and
// power(-inf, e) have none. Both are rounded once from a number exact to double.
inline ir::Value rooted(const Match& m, Replacement& out) {
  std::optional<double> exponent = uniform_double(m[c]);
  ir::Type type = m.root->type;
  ElementType element = type.element();
  if (!exponent || std::abs(*exponent) != 0.5 || bit_width(element) > 32 || !float_range(element).ieee) return nullptr;
  std::optional<ir::Literal> infinity = scalar_literal(m.context, element, Special::lowest, 0);
  std::optional<ir::Literal> there = scalar_literal(m.context, element, *exponent > 0 ? Special::highest : Special::number, 0);
  if (!infinity || !there) return nullptr;
  ir::Value root = out.make(*exponent > 0 ? ir::Op::Sqrt : ir::Op::Rsqrt, type, {m[x]}, ir::UnaryAttr{});
  root = out.make(ir::Op::Abs, type, {root}, ir::UnaryAttr{});
  ir::Value is_infinite = out.make(ir::Op::Compare, m.context.array(ElementType::pred, type.sizes()),
                                   {m[x], out.splat(type, *std::move(infinity))}, ir::CompareAttr{ir::Direction::EQ, ir::CompareType::unset});
  return out.make(ir::Op::Select, type, {is_infinite, out.splat(type, *std::move(there)), root});
}

// Small powers are products. Integers wrap, in any order alike. A float of 24 bits or fewer has a square that is exact in
// double, and its third and fourth power are rounded to double once, as the evaluator's power is.
inline ir::Value multiplied_out(const Match& m, Replacement& out) {
  ir::Type type = m.root->type;
  ElementType element = type.element();
  bool whole = is_integer(element);
  std::optional<double> real = whole ? std::nullopt : uniform_double(m[c]);
  std::optional<int64_t> exponent = whole ? uniform_int(m[c]) : real == 3 ? std::optional<int64_t>(3) : real == 4 ? std::optional<int64_t>(4) : std::nullopt;
  constexpr int64_t most = 32;  // at most nine products
  if (!exponent || *exponent < 3 || *exponent > most || (!whole && bit_width(element) > 32)) return nullptr;
  ir::Type wide = whole ? type : m.context.array(ElementType::f64, type.sizes());
  ir::Value power_of_x = whole ? m[x] : out.make(ir::Op::Convert, wide, {m[x]}), product = nullptr;
  for (auto bits = static_cast<uint64_t>(*exponent);;) {
    if (bits & 1) product = product ? out.make(ir::Op::Multiply, wide, {product, power_of_x}) : power_of_x;
    if ((bits >>= 1) == 0) break;
    power_of_x = out.make(ir::Op::Multiply, wide, {power_of_x, power_of_x});
  }
  return whole ? product : out.make(ir::Op::Convert, type, {product});
}

ir::Value sample_times_pred(Sampler& s);
ir::Value sample_root(Sampler& s);
ir::Value sample_small_power(Sampler& s);

// x * p for a pred p keeps x or gives 0; choosing is cheaper than converting and multiplying. A float may be -0 or NaN.
inline bool factor_is_pred(const Match& m) { return m[y]->type.element() == ElementType::pred; }

inline constexpr Rule strength[] = {
    {"mul-power-of-two", x * c, Build{"x << log2(c), c a power of two", shifted_left}, Valid::integers},
    {"div-unsigned-power-of-two", x / c, Build{"x >> log2(c), c a power of two", shifted_right}, Valid::integers},
    {"rem-unsigned-power-of-two", x % c, Build{"x & (c - 1), c a power of two", masked}, Valid::integers},
    {"div-signed-power-of-two", x / c, Build{"(x + bias) >> log2(c), bias c - 1 where x < 0, c a power of two", divided_by_shift}, Valid::integers},
    {"rem-signed-power-of-two", x % c, Build{"((x + bias) & (c - 1)) - bias, bias c - 1 where x < 0, c a power of two", remainder_by_mask}, Valid::integers},
    {"power-minus-one", power(x, -1), Build{"1 / x, where x has at most 32 bits", inverse}, Valid::floats},
    {"power-half", power(x, c), Build{"abs(sqrt(x)) or abs(rsqrt(x)), -inf apart, for c = 1/2 or -1/2, where x has at most 32 bits", rooted}, Valid::floats,
     sample_root},
    {"power-small", power(x, c), Build{"x * x * x …, in f64 for c = 3 and 4 where x is a float of at most 32 bits", multiplied_out}, Valid::real,
     sample_small_power},
    {"mul-converted-pred", x * convert(y), select(y, x, 0), Valid::integers, Condition{"y is pred", factor_is_pred}, sample_times_pred},
};

}  // namespace hloc::passes::rules
