// log and log1p.
//
// x = 2^e m with sqrt(1/2) <= m < sqrt(2); f = m - 1, s = f / (2 + f); log(1 + f) = 2 atanh(s) = f - f^2/2 + s (f^2/2 + z g(z))
// with z = s^2 and g a minimax polynomial: the leading terms are exact, as in Sun's fdlibm.
#include <limits>

#include "backends/loops/math/double_double.h"
#include "backends/loops/math/expr.h"

namespace hloc::loops {
namespace {

constexpr double log_infinity = std::numeric_limits<double>::infinity();
constexpr double log_nan = std::numeric_limits<double>::quiet_NaN();

// g(z) = (2 atanh(s) / s - 2) / z on z <= (sqrt(2) - 1)^4, own minimax fits: absolute errors of z g(z) 2^-36 and 2^-65.
constexpr double log_g32[] = {0x1.555554p-1, 0x1.999a7cp-2, 0x1.2438a8p-2, 0x1.e2fdd2p-3};
constexpr double log_g64[] = {0x1.5555555555555p-1, 0x1.9999999999e06p-2, 0x1.249249242aaf4p-2, 0x1.c71c7259aa9e4p-3,
                              0x1.745cddff3c61ap-3, 0x1.3b20b4e6e0fe3p-3, 0x1.0f5bf54528f0ep-3, 0x1.0f6aa13f36961p-3};

// h(z) = (2 atanh(s) / s - 2 - 2/3 z) / z^2, own minimax fit, error of z^2 h(z) 2^-72.
constexpr double log_h[] = {0x1.9999999999996p-2, 0x1.2492492493049p-2, 0x1.c71c71c57e042p-3, 0x1.745d183378b2ap-3,
                            0x1.3b136267978adp-3, 0x1.1120c16fc8e2cp-3, 0x1.de3190bf6066fp-4, 0x1.eb20c3b20681dp-4};
constexpr double two_thirds_hi = 0x1.5555555555555p-1, two_thirds_lo = 0x1.5555555555555p-55;
constexpr double ln2_41 = 0x1.62e42fefa3p-1, ln2_rest = 0x1.3de6af278ece6p-42;  // an exponent times the first is exact

struct LogFacts {
  uint64_t sqrt_half;     // bits of the least m
  double subnormal;       // 2^k that makes subnormal numbers normal, and k
  double subnormal_log2;
  double ln2_hi, ln2_lo;
  std::span<const double> g;
};
constexpr LogFacts log_f32{0x3f3504f3, 0x1p25, 25, 0x1.62e43p-1, -0x1.05c61p-29, log_g32};
constexpr LogFacts log_f64{0x3fe6a09e667f3bcd, 0x1p54, 54, 0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56, log_g64};

struct LogSplit {
  Expr m, exponent;  // both floats
};

// x > 0 and finite (others give anything).
LogSplit log_split(Expr x, const LogFacts& f) {
  ElementType type = x.type(), whole = bits_type(type);
  int shift = mantissa_bits_of(type), bias = exponent_bias_of(type);
  Expr tiny = x < (type == ElementType::f32 ? 0x1p-126 : 0x1p-1022);
  Expr bits = select(tiny, x * f.subnormal, x).bits(whole);
  uint64_t one = static_cast<uint64_t>(bias) << shift;
  Expr offset = bits + bits.like_bits(one - f.sqrt_half);  // its exponent field is e + bias
  Expr biased = shift_right(offset, shift);
  Expr m = (bits - ((biased - static_cast<double>(bias)) << shift)).bits(type);
  // Small integers to floats through the bits of 2^mantissa + n.
  double magic = type == ElementType::f32 ? 0x1p23 : 0x1p52;
  Expr e = (biased | x.like(magic).bits(whole)).bits(type) - (magic + bias);
  return {m, e - select(tiny, e.like(f.subnormal_log2), e.like(0))};
}

// log(2^e (1 + f)) + correction
Expr log_core(const LogFacts& facts, Expr f, Expr e, Expr correction) {
  Expr s = f / (f + 2.0), z = s * s, half = f * f * 0.5;
  Expr r = z * polynomial(z, facts.g);
  Expr low = fma_of(s, half + r, fma_of(e, facts.ln2_lo, correction));
  return fma_of(e, facts.ln2_hi, f - (half - low));
}

const LogFacts& log_facts(Expr x) { return x.is(ElementType::f32) ? log_f32 : log_f64; }

// 0 → -infinity, negative → NaN, infinity and NaN stay.
Expr log_ends(Expr y, Expr x) {
  y = select(x < log_infinity, y, x);
  return select(x > 0, y, select(x == 0, x.like(-log_infinity), x.like(log_nan)));
}

}  // namespace

// 2 atanh(s) = 2 s + 2/3 s^3 + s^5 h(z), the first two terms in two parts each.
DoubleDouble log_in_two_parts(Expr x) {
  LogSplit split = log_split(x, log_f64);
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
  const LogFacts& facts = log_facts(x);
  LogSplit s = log_split(x, facts);
  return log_ends(log_core(facts, s.m - 1.0, s.exponent, x.like(0)), x);
}

// With u = 1 + x rounded: log(u) + (x - (u - 1)) / u, the second term being what rounding lost.
Expr log1p_expr(Expr x) {
  const LogFacts& facts = log_facts(x);
  Expr u = x + 1.0;
  LogSplit s = log_split(u, facts);
  Expr lost = select(u < (x.is(ElementType::f32) ? 0x1p24 : 0x1p53), x - (u - 1.0), 0.0) / u;
  Expr y = log_ends(log_core(facts, s.m - 1.0, s.exponent, lost), u);
  return select(x == 0, x, y);
}

}  // namespace hloc::loops
