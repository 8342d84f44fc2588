// rsqrt, cbrt, pow.
#include <limits>

#include "backends/loops/math/double_double.h"
#include "backends/loops/math/expr.h"

namespace hloc::loops {
namespace {

constexpr double power_infinity = std::numeric_limits<double>::infinity();
constexpr double power_nan = std::numeric_limits<double>::quiet_NaN();

Expr cbrt_f64(Expr given) {
  // The Newton step's residual must not be subnormal: tiny numbers are 2^54 times as large meanwhile.
  Expr is_tiny = given < 0x1p-900, a = given * select(is_tiny, given.like(0x1p54), given.like(1));
  Expr y = exp_expr(log_expr(a) * (1.0 / 3));
  // One Newton step on y^3 = a, with y^2 in two parts.
  Expr square = y * y, square_error = fma_of(y, y, -square);
  Expr error = fma_of(square_error, y, fma_of(square, y, -a));
  return (y - error / (square * 3.0)) * select(is_tiny, given.like(0x1p-18), given.like(1));
}

// The signs and special values of IEEE 754 pow around |x|^y.
Expr pow_signs(Expr x, Expr y, Expr power_of_size) {
  Expr whole = trunc_of(y) == y, half = y * 0.5, is_odd = whole & (trunc_of(half) != half);
  ElementType bits = bits_type(x.type());
  Expr is_negative = x.bits(bits) < 0, size = abs_of(x);
  Expr m = select(size == 1.0, 1.0, power_of_size);
  m = select(is_negative & is_odd, -m, m);
  Expr is_invalid = (x < 0) & (size != power_infinity) & ~whole;
  m = select(is_invalid, power_nan, m);
  m = select((x != x) | (y != y), power_nan, m);
  return select((y == 0) | (x == 1.0), 1.0, m);
}

}  // namespace

Expr rsqrt_expr(Expr x) { return 1.0 / sqrt_of(x); }

Expr cbrt_expr(Expr x) {
  bool is_f32 = x.is(ElementType::f32);
  Expr wide = is_f32 ? x.as(ElementType::f64) : x;
  Expr a = abs_of(wide);
  Expr y = is_f32 ? exp_expr(log_expr(a) * (1.0 / 3)) : cbrt_f64(a);
  y = select((a == 0) | (a == power_infinity), a, y);
  y = with_sign(y, wide);
  return is_f32 ? y.as(ElementType::f32) : y;
}

Expr pow_expr(Expr x, Expr y) {
  if (x.is(ElementType::f32)) {
    Expr a = x.as(ElementType::f64), b = y.as(ElementType::f64);
    return pow_signs(a, b, exp_expr(b * log_expr(abs_of(a)))).as(ElementType::f32);
  }
  DoubleDouble log = log_in_two_parts(abs_of(x));
  Expr hi = y * log.hi, lo = fma_of(y, log.lo, fma_of(y, log.hi, -hi));
  // From 1100 on the result is 0 or infinite whatever the low part says, which may be huge itself.
  return pow_signs(x, y, exp_of_two_parts({hi, select(abs_of(hi) < 1100.0, lo, 0.0)}));
}

}  // namespace hloc::loops
