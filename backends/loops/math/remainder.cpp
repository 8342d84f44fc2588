// fmod: long division in significands, as many bits of the quotient at a time as a significand has.
//
//   |x| = r 2^n ulp, |y| = m ulp     r and m in [1, 2), n >= 0 (else the remainder is x)
//   r <- r 2^k mod m, n <- n - k     k = min(n, M), M the bits of the mantissa; until n is 0
//
// Each step is exact: r 2^k is, the quotient is below 2^(M+1), so its rounded division is at most one too large and never too
// small, and r 2^k - q m is a multiple of 2^-M below m in size, which the fma gives without rounding. Quotients below 2^M,
// almost all that programs have, take one step; the longest are 12 steps (f32) and 41 (f64).
#include <algorithm>
#include <limits>

#include "backends/loops/math/expr.h"

namespace hloc::loops {
namespace {

// A positive number as significand · 2^exponent. Subnormals are scaled up by 2^M before they are taken apart: `unit` is
// 2^exponent of the scaled number, `is_small` says that it is scaled.
struct TakenApart {
  Expr significand, exponent, unit, is_small;
};

TakenApart take_apart(Expr a) {
  ElementType f = a.type(), whole = bits_type(f);
  int mantissa = mantissa_bits_of(f);
  double up = static_cast<double>(uint64_t{1} << mantissa);
  Expr is_small = a < (f == ElementType::f32 ? 0x1p-126 : 0x1p-1022);
  Expr bits = select(is_small, a * up, a).bits(whole);
  uint64_t low = (uint64_t{1} << mantissa) - 1, high = ~low & ((uint64_t{1} << (bit_width(whole) - 1)) - 1);
  Expr field = shift_right(bits, mantissa);
  Expr one = bits.like_bits(static_cast<uint64_t>(exponent_bias_of(f)) << mantissa);
  return {((bits & bits.like_bits(low)) | one).bits(f), select(is_small, field - mantissa, field), (bits & bits.like_bits(high)).bits(f), is_small};
}

struct Division {
  Expr rest, left;  // r, n
};

Division divide_once(Division d, Expr divisor) {
  Expr most = d.left.like(mantissa_bits_of(divisor.type()));
  Expr k = binary_expr(ScalarOp::Min, d.left, most);
  Expr scaled = d.rest * power_of_two(k, divisor.type());
  Expr quotient = trunc_of(scaled / divisor);
  Expr rest = fma_of(-quotient, divisor, scaled);
  return {select(rest < 0, rest + divisor, rest), d.left - k};
}

// The steps until nothing is left, at the outermost place that knows x and y.
Expr divide_in_loop(Division d, Expr divisor, Expr is_done, int steps) {
  KernelBuilder& b = *divisor.builder;
  size_t level = std::max({b.level_of(d.rest.id), b.level_of(d.left.id), b.level_of(divisor.id), b.level_of(is_done.id), size_t{2}});
  b.suspend(level);
  AccId rest = b.declare(d.rest.type(), d.rest.id), left = b.declare(d.left.type(), d.left.id);
  AccId go_on = b.declare(ElementType::pred, (~is_done).id);
  b.begin_loop(b.loop_index(steps), steps, LoopKind::serial, 0, go_on);
  Division next = divide_once({{&b, b.get(rest)}, {&b, b.get(left)}}, divisor);
  b.set(rest, next.rest.id);
  b.set(left, next.left.id);
  b.set(go_on, (next.left > 0).id);
  b.end_loop();
  Expr result{&b, b.get(rest)};
  b.resume();
  return result;
}

}  // namespace

Expr rem_expr(Expr x, Expr y) {
  ElementType f = x.type();
  int mantissa = mantissa_bits_of(f), bias = exponent_bias_of(f);
  int steps = (2 * bias - 1 + mantissa + mantissa - 1) / mantissa;  // from the largest exponent down to the smallest subnormal's
  Expr a = abs_of(x), b = abs_of(y);
  Expr is_less = a < b;
  Expr has_result = (a < std::numeric_limits<double>::infinity()) & (b > 0);
  TakenApart dividend = take_apart(a), divisor = take_apart(b);
  Expr left = dividend.exponent - divisor.exponent;
  left = binary_expr(ScalarOp::Max, left, left.like(0));
  Expr rest = dividend.significand;
  if (x.builder->may_loop()) {
    rest = divide_in_loop({rest, left}, divisor.significand, is_less | ~has_result, steps);
  } else {
    Division d{rest, left};
    for (int i = 0; i < steps; ++i) d = divide_once(d, divisor.significand);
    rest = d.rest;
  }
  // Where the divisor was scaled up the remainder is scaled down; both products are exact.
  Expr down = select(divisor.is_small, x.like(1.0 / static_cast<double>(uint64_t{1} << mantissa)), 1.0);
  Expr result = with_sign(rest * divisor.unit * down, x);
  Expr none = x * y;  // NaN by the same operations as in C
  return select(has_result & ~is_less, result, select(is_less, x, none / none));
}

}  // namespace hloc::loops
