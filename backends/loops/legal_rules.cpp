// One operation in terms of basic ones.
#include <limits>

#include "backends/loops/legalise.h"
#include "backends/loops/math/expr.h"
#include "ir/support/check.h"

namespace hloc::loops {
namespace {

using E = ElementType;

bool is_small_integer(E t) { return is_integer(t) && bit_width(t) < 32; }

// ---- Conversions ----

// To a wider float, cut with the lowest bit set where something was lost: rounding that to a half rounds as if at once.
Expr to_odd(Expr x, E wide) {
  Expr y = x.as(wide), back = y.as(x.type());
  E whole = bits_type(wide);
  Expr bits = y.bits(whole);
  Expr is_exact = back == x, is_up = abs_of(back) > abs_of(x);
  if (x.is(E::u64)) is_up = back > x;
  Expr cut = select(is_up, bits - 1.0, bits) | 1.0;
  return select(is_exact, bits, cut).bits(wide);
}

Expr convert_to_half(Expr x, E half) {
  if (x.is(E::f32)) return x.as(half);
  if (is_half(x.type())) return x.as(E::f32).as(half);
  if (x.is(E::f64)) {
    Expr y = to_odd(x, E::f32);
    return select(x == x, y, x.as(E::f32)).as(half);
  }
  bool exact_in_f32 = bit_width(x.type()) <= 16;
  if (exact_in_f32) return x.as(E::s32).as(E::f32).as(half);
  Expr wide = bit_width(x.type()) == 32 ? x.as(E::s64).as(E::f64) : to_odd(x, E::f64);
  return to_odd(wide, E::f32).as(half);
}

// u32 < 2^32 as the low bits of 2^52 + u.
Expr u32_to_f64(Expr x) { return (x.as(E::s64) | x.as(E::s64).like_bits(0x4330000000000000)).bits(E::f64) - 0x1p52; }

Expr convert_to_float(Expr x, E to) {
  E from = x.type();
  if (is_half(from)) return x.as(E::f32).as(to);
  if (is_small_integer(from)) return x.as(E::s32).as(to);
  if (from == E::u32) return u32_to_f64(x).as(to);
  return x.as(to);
}

// Saturating to 32 signed bits, then to the range of the narrow type.
Expr convert_to_small(Expr x, E to) {
  Expr y = x.as(E::s32);
  int bits = bit_width(to);
  double lowest = is_signed_integer(to) ? -static_cast<double>(int64_t{1} << (bits - 1)) : 0;
  double highest = static_cast<double>((int64_t{1} << (is_signed_integer(to) ? bits - 1 : bits)) - 1);
  y = binary_expr(ScalarOp::Max, y, y.like(lowest));
  return binary_expr(ScalarOp::Min, y, y.like(highest)).as(to);
}

// Numbers from 2^31 on are converted less 2^31; the top bit is put back.
Expr convert_to_u32(Expr x) {
  Expr positive = select(x > 0, x, 0.0);
  Expr is_high = positive >= 0x1p31;
  Expr low = select(is_high, positive - 0x1p31, positive).as(E::s32).bits(E::u32);
  return low ^ select(is_high, low.like_bits(0x80000000u), low.like(0));
}

Expr convert_to_integer(Expr x, E to) {
  if (is_integer(x.type())) return x.as(to);
  if (is_half(x.type())) x = x.as(E::f32);
  if (is_small_integer(to)) return convert_to_small(x, to);
  return to == E::u32 ? convert_to_u32(x) : x.as(to);
}

Expr convert_rule(Expr x, E to) {
  if (x.is(to)) return x;
  Expr one{x.builder, x.builder->constant(to == E::pred ? x.type() : to, 1)};
  if (x.is(E::pred)) return select(x, one, one.like(0));
  if (to == E::pred) return is_half(x.type()) ? x.as(E::f32) != 0 : x != 0;
  if (is_half(to)) return convert_to_half(x, to);
  return is_float(to) ? convert_to_float(x, to) : convert_to_integer(x, to);
}

// ---- Truth values ----

Expr pred_compare(Predicate p, Expr a, Expr b) {
  switch (p) {
    case Predicate::eq: return ~(a ^ b);
    case Predicate::ne: return a ^ b;
    case Predicate::lt: return ~a & b;
    case Predicate::le: return ~a | b;
    case Predicate::gt: return a & ~b;
    case Predicate::ge: return a | ~b;
  }
  HLOC_UNREACHABLE();
}

Expr pred_rule(ScalarOp op, Predicate p, std::span<const ValueId> args, KernelBuilder& b) {
  auto arg = [&](size_t i) { return Expr{&b, args[i]}; };
  if (op == ScalarOp::Compare) return pred_compare(p, arg(0), arg(1));
  if (op == ScalarOp::Min) return arg(0) & arg(1);
  if (op == ScalarOp::Max) return arg(0) | arg(1);
  if (op == ScalarOp::Select) return (arg(0) & arg(1)) | (~arg(0) & arg(2));
  if (op == ScalarOp::Clamp) return (arg(1) | arg(0)) & arg(2);
  return {&b, b.make(op, args)};
}

// ---- Integers ----

Expr integer_sign(Expr x) {
  Expr positive = select(x > 0, x.like(1), x.like(0));
  return is_unsigned_integer(x.type()) ? positive : select(x < 0, x.like(-1), positive);
}

// Square and multiply over all bits of the exponent. A negative one gives 0 but for the bases 1 and -1.
Expr integer_power(Expr base, Expr exponent) {
  Expr result = base.like(1), square = base, rest = exponent;
  int bits = bit_width(base.type());
  for (int i = 0; i < bits; ++i) {
    Expr odd = (rest & rest.like_bits(1)) != 0;
    result = select(odd, result * square, result);
    if (i + 1 == bits) break;
    square = square * square;
    rest = shift_right(rest, 1);
  }
  if (is_unsigned_integer(base.type())) return result;
  Expr minus_one = select((exponent & exponent.like_bits(1)) == 0, base.like(1), base.like(-1));
  Expr inverse = select(base == 1, base.like(1), select(base == -1, minus_one, 0.0));
  return select(exponent < 0, inverse, result);
}

E twice_as_wide(E t) {
  constexpr E is_signed[] = {E::s16, E::s32, E::s64}, is_unsigned[] = {E::u16, E::u32, E::u64};
  int i = bit_width(t) == 8 ? 0 : bit_width(t) == 16 ? 1 : 2;
  return is_signed_integer(t) ? is_signed[i] : is_unsigned[i];
}

// The upper half of the product of two 64-bit numbers from four products of their halves.
Expr high_product_64(Expr a, Expr b) {
  Expr mask = a.like_bits(0xffffffffu).bits(E::u64), ua = a.bits(E::u64), ub = b.bits(E::u64);
  Expr a0 = ua & mask, b0 = ub & mask, a1 = shift_right(ua, 32), b1 = shift_right(ub, 32);
  Expr middle = a1 * b0 + shift_right(a0 * b0, 32);
  Expr other = a0 * b1 + (middle & mask);
  Expr high = (a1 * b1 + shift_right(middle, 32) + shift_right(other, 32)).bits(a.type());
  if (is_unsigned_integer(a.type())) return high;
  return high - select(a < 0, b, 0.0) - select(b < 0, a, 0.0);
}

Expr high_product(Expr a, Expr b) {
  if (bit_width(a.type()) == 64) return high_product_64(a, b);
  E wide = twice_as_wide(a.type());
  Expr product = a.as(wide) * b.as(wide);
  return shift_right(product, bit_width(a.type())).as(a.type());
}

// ---- Floats ----

Expr float_sign(Expr x) { return select(x > 0, x.like(1), select(x < 0, x.like(-1), x)); }

Expr round_away(Expr x) {
  Expr whole = trunc_of(x), step = with_sign(x.like(1), x);
  return select(abs_of(x - whole) >= 0.5, whole + step, whole);
}

Expr total_order(Expr x, E whole) {
  Expr bits = x.bits(whole);
  int top = bit_width(whole) - 1;
  return bits ^ (shift_right_signed(bits, top) & bits.like_bits((uint64_t{1} << top) - 1));
}

struct FunctionRule {
  ScalarOp op;
  Expr (*expand)(Expr);
};
constexpr FunctionRule function_rules[] = {
    {ScalarOp::Sign, float_sign},     {ScalarOp::RoundAfz, round_away}, {ScalarOp::Exp, exp_expr},
    {ScalarOp::Expm1, expm1_expr},    {ScalarOp::Log, log_expr},        {ScalarOp::Log1p, log1p_expr},
    {ScalarOp::Logistic, logistic_expr}, {ScalarOp::Tanh, tanh_expr},   {ScalarOp::Sinh, sinh_expr},
    {ScalarOp::Cosh, cosh_expr},      {ScalarOp::Sin, sin_expr},        {ScalarOp::Cos, cos_expr},
    {ScalarOp::Tan, tan_expr},        {ScalarOp::Asin, asin_expr},      {ScalarOp::Acos, acos_expr},
    {ScalarOp::Atan, atan_expr},      {ScalarOp::Asinh, asinh_expr},    {ScalarOp::Acosh, acosh_expr},
    {ScalarOp::Atanh, atanh_expr},    {ScalarOp::Rsqrt, rsqrt_expr},    {ScalarOp::Cbrt, cbrt_expr},
    {ScalarOp::Erf, erf_expr},        {ScalarOp::Erfc, erfc_expr},      {ScalarOp::ErfInv, erf_inv_expr},
};

Expr float_function(ScalarOp op, std::span<const ValueId> args, KernelBuilder& b) {
  Expr x{&b, args[0]}, y{&b, args.back()};
  if (op == ScalarOp::IsFinite) return abs_of(x) < std::numeric_limits<double>::infinity();
  if (op == ScalarOp::Clamp) return binary_expr(ScalarOp::Min, binary_expr(ScalarOp::Max, {&b, args[1]}, x), y);
  if (op == ScalarOp::TotalOrder) return total_order(x, bits_type(x.type()));
  if (op == ScalarOp::Atan2) return atan2_expr(x, y);
  if (op == ScalarOp::Pow) return pow_expr(x, y);
  for (const FunctionRule& rule : function_rules)
    if (rule.op == op) return rule.expand(x);
  HLOC_CHECK(false, "no expansion of '" + std::string(facts(op).text) + "'");
  return x;
}

// In f32, rounded once; neg, abs, select and bit casts need no arithmetic.
ValueId half_rule(KernelBuilder& b, ScalarOp op, Predicate p, std::span<const ValueId> args) {
  E half = b.type(args.back());
  if (op == ScalarOp::TotalOrder) return total_order({&b, args[0]}, E::s16).id;
  if (facts(op).level == Level::halves) return b.make(op, args);
  std::array<ValueId, 3> wide{};
  for (size_t i = 0; i < args.size(); ++i) wide[i] = b.convert(E::f32, args[i]);
  std::span<const ValueId> operands(wide.data(), args.size());
  if (op == ScalarOp::Compare) return b.compare(p, wide[0], wide[1]);
  ValueId v = legal_compute(b, op, p, operands, E::f32);
  return facts(op).result == ResultRule::pred ? v : b.convert(half, v);
}

}  // namespace

ValueId legal_compute(KernelBuilder& b, ScalarOp op, Predicate p, std::span<const ValueId> args, ElementType result) {
  E operand = b.type(args.back());
  if (op == ScalarOp::Convert) return convert_rule({&b, args[0]}, result).id;
  if (op == ScalarOp::Bitcast) return b.bitcast(result, args[0]);
  if (operand == E::pred) return pred_rule(op, p, args, b).id;
  if (is_half(operand)) return half_rule(b, op, p, args);
  if (op == ScalarOp::Compare) return b.compare(p, args[0], args[1]);
  if (op == ScalarOp::Rem && is_float(operand)) return rem_expr({&b, args[0]}, {&b, args[1]}).id;
  if (facts(op).level != Level::composite) return b.make(op, args);
  if (is_float(operand)) return float_function(op, args, b).id;
  Expr x{&b, args[0]}, y{&b, args.back()};
  if (op == ScalarOp::Sign) return integer_sign(x).id;
  if (op == ScalarOp::Pow) return integer_power(x, y).id;
  if (op == ScalarOp::MulHi) return high_product(x, y).id;
  HLOC_CHECK(op == ScalarOp::Clamp, "no expansion of '" + std::string(facts(op).text) + "'");
  return binary_expr(ScalarOp::Min, binary_expr(ScalarOp::Max, {&b, args[1]}, x), y).id;
}

bool is_legal(ScalarOp op, ElementType operand, ElementType result) {
  if (facts(op).level == Level::composite || (op == ScalarOp::Rem && is_float(operand))) return false;
  if (op == ScalarOp::Bitcast) return true;
  if (op == ScalarOp::Convert) {
    if (operand == E::pred || result == E::pred) return false;
    if (is_half(operand) || is_half(result)) return operand == E::f32 || result == E::f32;
    if (is_integer(operand) && is_integer(result)) return true;
    if (is_float(operand) && is_float(result)) return true;
    E whole = is_integer(operand) ? operand : result;
    return whole == E::s32 || bit_width(whole) == 64;
  }
  if (operand == E::pred) return op == ScalarOp::And || op == ScalarOp::Or || op == ScalarOp::Xor || op == ScalarOp::Not;
  return !is_half(operand) || facts(op).level == Level::halves;
}

}  // namespace hloc::loops
