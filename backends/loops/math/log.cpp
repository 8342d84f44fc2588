// log and log1p.
//
// x = 2^e m with sqrt(1/2) <= m < sqrt(2); f = m - 1, s = f / (2 + f); log(1 + f) = 2 atanh(s) = f - f^2/2 + s (f^2/2 + z g(z))
// with z = s^2 and g a minimax polynomial: the leading terms are exact, as in Sun's fdlibm. In f32 a polynomial in f does without
// the division.
#include <limits>

#include "backends/loops/math/double_double.h"
#include "backends/loops/math/expr.h"

namespace hloc::loops {
namespace {

constexpr double log_infinity = std::numeric_limits<double>::infinity();
constexpr double log_nan = std::numeric_limits<double>::quiet_NaN();

// p(f) = (log(1 + f) - f) / f^2, own minimax fit: relative error of the logarithm 2^-27.
constexpr double log_p32[] = {-0.5,          0x1.555554p-2,  -0x1.000228p-2, 0x1.99a028p-3, -0x1.54720cp-3,
                              0x1.22d792p-3, -0x1.0d854cp-3, 0x1.056c22p-3,  -0x1.38dc40p-4};

// g(z) = (2 atanh(s) / s - 2) / z on z <= (sqrt(2) - 1)^4, own minimax fit: absolute error of z g(z) 2^-65.
constexpr double log_g64[] = {0x1.5555555555555p-1, 0x1.9999999999e06p-2, 0x1.249249242aaf4p-2, 0x1.c71c7259aa9e4p-3,
                              0x1.745cddff3c61ap-3, 0x1.3b20b4e6e0fe3p-3, 0x1.0f5bf54528f0ep-3, 0x1.0f6aa13f36961p-3};

// h(z) = (2 atanh(s) / s - 2 - 2/3 z) / z^2, own minimax fit, error of z^2 h(z) 2^-72.
constexpr double log_h[] = {0x1.9999999999996p-2, 0x1.2492492493049p-2, 0x1.c71c71c57e042p-3, 0x1.745d183378b2ap-3,
                            0x1.3b136267978adp-3, 0x1.1120c16fc8e2cp-3, 0x1.de3190bf6066fp-4, 0x1.eb20c3b20681dp-4};
constexpr double two_thirds_hi = 0x1.5555555555555p-1, two_thirds_lo = 0x1.5555555555555p-55;
constexpr double ln2_41 = 0x1.62e42fefa3p-1, ln2_rest = 0x1.3de6af278ece6p-42;  // an exponent times the first is exact

constexpr double ln2_f32 = 0x1.62e43p-1, ln2_f64 = 0x1.62e42fefa39efp-1, ln2_f64_lo = 0x1.abc9e3b39803fp-56;

struct LogSplit {
  Expr m, exponent;  // both floats
};

// x > 0 and finite (others give anything). Subnormal numbers are made normal; their bits then get the exponent that they would
// have if the field had room for it.
LogSplit log_split(Expr x) {
  ElementType type = x.type(), whole = bits_type(type);
  bool single = type == ElementType::f32;
  int shift = mantissa_bits_of(type), up = single ? 25 : 54;
  Expr given = x.bits(whole), raised = (x * (single ? 0x1p25 : 0x1p54)).bits(whole);
  raised = raised - raised.like_bits(static_cast<uint64_t>(up) << shift);
  Expr bits = select(x < (single ? 0x1p-126 : 0x1p-1022), raised, given);
  Expr offset = bits - bits.like_bits(single ? 0x3f3504f3 : 0x3fe6a09e667f3bcd);  // the least m's; above the mantissa stands e
  Expr m = (bits - (offset & field_mask(bits, shift))).bits(type);
  if (single) return {m, shift_right_signed(offset, shift).as(type)};
  // Small integers to f64 through the bits of 2^52 + n; raised, so that n is positive.
  Expr n = shift_right(offset + offset.like_bits(uint64_t{2048} << shift), shift);
  return {m, (n | x.like(0x1p52).bits(whole)).bits(type) - (0x1p52 + 2048)};
}

// log(2^e (1 + f)); ln2 is nearer to its f32 than most numbers: 2^-28.
Expr log_core_f32(Expr f, Expr e) { return fma_of(e, ln2_f32, fma_of(f * f, polynomial(f, log_p32), f)); }
// log(2^e (1 + f)) + correction
Expr log_core_f32(Expr f, Expr e, Expr correction) {
  return fma_of(e, ln2_f32, f + fma_of(f * f, polynomial(f, log_p32), correction));
}
Expr log_core_f64(Expr f, Expr e, Expr correction) {
  Expr s = f / (f + 2.0), z = s * s, half = f * f * 0.5;
  Expr r = z * polynomial(z, log_g64);
  Expr low = fma_of(s, half + r, fma_of(e, ln2_f64_lo, correction));
  return fma_of(e, ln2_f64, f - (half - low));
}

// 0 → -infinity, negative → NaN, infinity and NaN stay.
Expr log_ends(Expr y, Expr x) {
  y = select(x < log_infinity, y, x);
  return select(x > 0, y, select(x == 0, x.like(-log_infinity), x.like(log_nan)));
}

}  // namespace

// 2 atanh(s) = 2 s + 2/3 s^3 + s^5 h(z), the first two terms in two parts each.
DoubleDouble log_in_two_parts(Expr x) {
  LogSplit split = log_split(x);
  Expr f = split.m - 1.0, d = f + 2.0, d_lo = f - (d - 2.0);
  Expr s = f / d, s_lo = fma_of(-s, d_lo, fma_of(-s, d, f)) / d;
  DoubleDouble z = product_of(s, s);
  z.lo = fma_of(s + s, s_lo, z.lo);
  DoubleDouble cube = product_of(z.hi, s);
  cube.lo = fma_of(z.lo, s, fma_of(z.hi, s_lo, cube.lo));
  DoubleDouble third = product_of(cube.hi, cube.hi.like(two_thirds_hi));
  third.lo = fma_of(cube.hi, two_thirds_lo, fma_of(cube.lo, two_thirds_hi, third.lo));
  Expr rest = cube.hi * z.hi * polynomial(z.hi, log_h);

  DoubleDouble sum = ordered_sum(s + s, third.hi);
  Expr low = sum.lo + (third.lo + (s_lo + s_lo)) + rest;
  sum = sum_of(split.exponent * ln2_41, sum.hi);
  low = fma_of(split.exponent, ln2_rest, low + sum.lo);
  DoubleDouble log = sum_of(sum.hi, low);
  return {select(x == 0, -log_infinity, select(x == log_infinity, log_infinity, log.hi)), select((x == 0) | (x == log_infinity), 0.0, log.lo)};
}

Expr log_expr(Expr x) {
  LogSplit s = log_split(x);
  Expr y = x.is(ElementType::f32) ? log_core_f32(s.m - 1.0, s.exponent) : log_core_f64(s.m - 1.0, s.exponent, x.like(0));
  return log_ends(y, x);
}

// With u = 1 + x rounded: log(u) + (x - (u - 1)) / u, the second term being what rounding lost.
Expr log1p_expr(Expr x) {
  Expr u = x + 1.0;
  Expr lost = select(u < (x.is(ElementType::f32) ? 0x1p24 : 0x1p53), x - (u - 1.0), 0.0) / u;
  LogSplit s = log_split(u);
  Expr y = x.is(ElementType::f32) ? log_core_f32(s.m - 1.0, s.exponent, lost) : log_core_f64(s.m - 1.0, s.exponent, lost);
  return select(x == 0, x, log_ends(y, u));
}

}  // namespace hloc::loops
