// sin, cos, tan of any argument.
//
// x = k pi/2 + r with |r| <= pi/4; then sin or cos of r by minimax polynomials, chosen by k. f32 computes in f64 throughout.
//
// Reduction: x - k pi/2 with pi/2 in two or three parts serves as long as k is exact. Beyond that only the fraction of
// x 2/pi counts: x is multiplied with the digits of 2/pi, a few at a time, and multiples of 4 are thrown away from each exact
// product (Payne and Hanek, with floats).
#include <array>
#include <cmath>

#include "backends/loops/math/expr.h"

namespace hloc::loops {
namespace {

// Own minimax fits on z = r^2 <= (pi/4)^2: sin r = r + r z s(z), cos r = 1 - z/2 + z^2 c(z). Errors: 2^-37 and 2^-43 for
// results in f32, 2^-58 and 2^-64 for f64.
constexpr double sin_s32[] = {-0x1.5555554cb9fbcp-3, 0x1.111108964ff22p-7, -0x1.a00f9da7fb9e4p-13, 0x1.6cd858964e09fp-19};
constexpr double cos_c32[] = {0x1.5555554f4f393p-5, -0x1.6c16b899dcf12p-10, 0x1.a01120d58006bp-16, -0x1.242af796a38eap-22};
constexpr double sin_s64[] = {-0x1.5555555555549p-3, 0x1.111111110f87dp-7,  -0x1.a01a019c12006p-13,
                              0x1.71de357812d66p-19, -0x1.ae5e66853152bp-26, 0x1.5d9317544878ep-33};
constexpr double cos_c64[] = {0x1.555555555554cp-5,  -0x1.6c16c16c15181p-10, 0x1.a01a019cb2162p-16,
                              -0x1.27e4f80a33285p-22, 0x1.1ee9ec181f58cp-29, -0x1.8faeb5a09e3c7p-37};

constexpr double two_over_pi = 0x1.45f306dc9c883p-1;
constexpr double half_pi[] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110};
constexpr double round_magic = 0x1.8p52;  // adding it leaves the integer in the low bits

// 2/pi in pieces of 27 bits (the last one longer): times a 24-bit number each product but the last is exact.
constexpr double two_over_pi_27[] = {0x1.45f306cp-1,   0x1.c9c8828p-29,  0x1.29fc27p-56, 0x1.5f47d4cp-82,
                                     0x1.3770368p-110, 0x1.6295990p-136, 0x1.e21c820ffp-163};

// 2/pi in pieces of 53 bits, times 2^300 so that none is subnormal.
constexpr double two_over_pi_53[] = {
    0x1.45f306dc9c882p+299, 0x1.4a7f09d5f47d4p+246, 0x1.a6ee06db14accp+193, 0x1.3c439041fe516p+140,
    0x1.d5ef5de2b0db8p+85, 0x1.2371d2126e970p+33, 0x1.924bba8274600p-26, 0x1.21cfe1deb1cb1p-72,
    0x1.4d39f74411af8p-127, 0x1.4baed1213a671p-178, 0x1.8135a2fbf209cp-231, 0x1.91d639835339fp-284,
    0x1.272117e2ef7e4p-338, 0x1.41d8ffc4bffeep-391, 0x1.02cc07f79788cp-443, 0x1.6b414da3eda6cp-497,
    0x1.fb3c9f2c26dd2p-550, 0x1.d18fd9a797fa8p-602, 0x1.6ba93dd63f5f2p-655, 0x1.f17b3d0739f78p-708,
    0x1.4a525d4d7f6bfp-761, 0x1.88fc6ae842b00p-815, 0x1.98237e3db5d5fp-867};
constexpr int pieces_at_once = 5;

struct Quadrant {
  Expr k;        // s64, its low two bits count
  Expr r, tail;  // the angle left is r + tail
};

// x less the nearest multiple of 4, exactly.
Expr modulo_4(Expr x) { return fma_of(round_even_of(x * 0.25), -4, x); }

// Takes the integer nearest to `fraction` away and counts it.
void take_whole(Expr& fraction, Expr& k) {
  Expr t = fraction + round_magic;
  k = k + t.bits(ElementType::s64);
  fraction = fraction - (t - round_magic);
}

// ---- f32 arguments, in f64 ----

Quadrant far_f32(Expr x) {
  Expr fraction = modulo_4(x * two_over_pi_27[0]), k = fraction.bits(ElementType::s64).like(0);
  take_whole(fraction, k);
  for (size_t i = 1; i < std::size(two_over_pi_27); ++i) {
    fraction = fraction + modulo_4(x * two_over_pi_27[i]);
    take_whole(fraction, k);
  }
  return {k, fraction * half_pi[0], fraction.like(0)};
}

Quadrant near_f32(Expr x) {
  Expr t = fma_of(x, two_over_pi, x.like(round_magic));
  Expr n = t - round_magic;
  return {t.bits(ElementType::s64), fma_of(n, -half_pi[1], fma_of(n, -half_pi[0], x)), x.like(0)};
}

// ---- f64 arguments ----

struct TwoParts {
  Expr hi, lo;
};
TwoParts two_sum(Expr a, Expr b) {
  Expr s = a + b, part = s - a;
  return {s, (a - (s - part)) + (b - part)};
}

Quadrant near_f64(Expr x) {
  Expr t = fma_of(x, two_over_pi, x.like(round_magic));
  Expr n = t - round_magic;
  Expr first = fma_of(n, -half_pi[0], x);  // exact
  Expr product = n * -half_pi[1], product_error = fma_of(n, -half_pi[1], -product);
  TwoParts r = two_sum(first, product);
  return {t.bits(ElementType::s64), r.hi, fma_of(n, -half_pi[2], r.lo + product_error)};
}

// The pieces that matter for |x|: those before give multiples of 4 only, those behind nothing that shows.
std::array<Expr, pieces_at_once> pieces_for(Expr size) {
  std::array<Expr, pieces_at_once> c;
  for (int i = 0; i < pieces_at_once; ++i) c[static_cast<size_t>(i)] = size.like(two_over_pi_53[i]);
  constexpr int groups = static_cast<int>(std::size(two_over_pi_53)) - pieces_at_once;
  for (int group = 1; group <= groups; ++group) {
    Expr reaches = size >= std::ldexp(1.0, 54 + 53 * group);
    for (int i = 0; i < pieces_at_once; ++i)
      c[static_cast<size_t>(i)] = select(reaches, two_over_pi_53[group + i], c[static_cast<size_t>(i)]);
  }
  return c;
}

Quadrant far_f64(Expr x) {
  Expr scaled = x * 0x1p-300, fraction = x.like(0), low = x.like(0);
  Expr k = x.bits(ElementType::s64).like(0);
  for (Expr piece : pieces_for(abs_of(x))) {
    Expr product = scaled * piece, error = fma_of(scaled, piece, -product);
    TwoParts sum = two_sum(fraction, modulo_4(product));
    low = low + sum.lo;
    fraction = sum.hi;
    take_whole(fraction, k);
    sum = two_sum(fraction, modulo_4(error));
    low = low + sum.lo;
    fraction = sum.hi;
    take_whole(fraction, k);
    sum = two_sum(fraction, low);
    fraction = sum.hi;
    low = sum.lo;
  }
  Expr r = fraction * half_pi[0];
  Expr lost = fma_of(fraction, half_pi[0], -r);
  return {k, r, fma_of(low, half_pi[0], fma_of(fraction, half_pi[1], lost))};
}

Quadrant chosen(Expr use_far, const Quadrant& far, const Quadrant& near) {
  return {select(use_far, far.k, near.k), select(use_far, far.r, near.r), select(use_far, far.tail, near.tail)};
}

Quadrant quadrant(Expr x, bool from_f32) {
  constexpr double largest_near = 0x1p20;
  Expr is_far = abs_of(x) > largest_near;
  if (from_f32) return chosen(is_far, far_f32(x), near_f32(x));
  return chosen(is_far, far_f64(x), near_f64(x));
}

// ---- Polynomials ----

struct SinCos {
  Expr sin, cos;
  Expr sin_lo, cos_lo;  // what rounding took from them; of f64 only
};

SinCos sin_cos(const Quadrant& q, bool for_f32) {
  Expr r = q.r, z = r * r;
  if (for_f32) {
    Expr s = fma_of(r * z, polynomial(z, sin_s32), r);
    return {s, fma_of(z * z, polynomial(z, cos_c32), fma_of(z, -0.5, r.like(1))), r.like(0), r.like(0)};
  }
  // sin(r + t) = sin r + t cos r with cos r = 1 - z/2; the parts of 1 - z/2 that do not fit are put back.
  Expr half = z * 0.5, near_one = 1.0 - half;
  Expr far = fma_of(r * z, polynomial(z, sin_s64), q.tail * near_one), s = r + far;
  Expr rest = ((1.0 - near_one) - half) + fma_of(z * z, polynomial(z, cos_c64), -(r * q.tail));
  Expr c = near_one + rest;
  return {s, c, far - (s - r), rest - (c - near_one)};
}

Expr odd(Expr k) { return (k & 1.0) != 0; }

// `k` counts quarter turns: sin for even ones, cos for odd ones, negative in the second half turn.
Expr turned(const SinCos& sc, Expr k) {
  Expr y = select(odd(k), sc.cos, sc.sin);
  Expr sign = (k & 2.0) << 62;
  return (y.bits(ElementType::s64) ^ sign).bits(ElementType::f64);
}

template <class F>
Expr through_f64(Expr x, F&& f) {
  bool is_f32 = x.is(ElementType::f32);
  Expr wide = is_f32 ? x.as(ElementType::f64) : x;
  Quadrant q = quadrant(wide, is_f32);
  Expr y = f(q, sin_cos(q, is_f32), wide);
  return is_f32 ? y.as(ElementType::f32) : y;
}

}  // namespace

Expr sin_expr(Expr x) {
  return through_f64(x, [](const Quadrant& q, const SinCos& sc, Expr wide) { return select(wide == 0, wide, turned(sc, q.k)); });
}

Expr cos_expr(Expr x) {
  return through_f64(x, [](const Quadrant& q, const SinCos& sc, Expr) { return turned(sc, q.k + 1.0); });
}

Expr tan_expr(Expr x) {
  return through_f64(x, [is_f32 = x.is(ElementType::f32)](const Quadrant& q, const SinCos& sc, Expr wide) {
    Expr is_odd = odd(q.k);
    Expr above = select(is_odd, -sc.cos, sc.sin), below = select(is_odd, sc.sin, sc.cos), y = above / below;
    if (!is_f32) y = y + fma_of(-y, select(is_odd, sc.sin_lo, sc.cos_lo), select(is_odd, -sc.cos_lo, sc.sin_lo)) / below;
    return select(wide == 0, wide, y);
  });
}

}  // namespace hloc::loops
