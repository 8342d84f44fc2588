// e^x and its relatives: exp, expm1, logistic, tanh, sinh, cosh.
//
// x = n ln2 + r with |r| <= ln2 / 2; e^x = 2^n e^r. ln2 is subtracted in two parts by fma, so r is as good as exact. e^r is
// 1 + r + r^2 q(r) with q a minimax polynomial.
#include "backends/loops/math/double_double.h"
#include "backends/loops/math/expr.h"

namespace hloc::loops {
namespace {

// q(r) = (e^r - 1 - r) / r^2 on |r| <= ln2/2, own minimax fits of the relative error of e^r: 2^-28.2 and 2^-64.
constexpr double exp_q32[] = {0x1.fffffcp-2, 0x1.555492p-3, 0x1.5558f2p-5, 0x1.1239e2p-7, 0x1.6a243ep-10};
constexpr double exp_q64[] = {0x1p-1, 0x1.555555555555bp-3, 0x1.5555555555503p-5, 0x1.111111110ec59p-7,
                              0x1.6c16c16c30278p-10, 0x1.a01a01b37fa93p-13, 0x1.a01a01370d692p-16, 0x1.71ddf01d8d29cp-19,
                              0x1.27e5b366ea8d9p-22, 0x1.af6bed1a15184p-26, 0x1.1e3e5a4fc265dp-29};

// p(z) = (tanh x - x) / x^3 with z = x^2 for |x| < 0.6, own minimax fit: relative error of tanh 2^-28.
constexpr double tanh_p32[] = {-0x1.55553ep-2, 0x1.1109bep-3, -0x1.b89abap-5, 0x1.54c3c2p-6, -0x1.828776p-8};

constexpr double log2_e = 0x1.71547652b82fep+0;

struct ExpFacts {
  double magic;           // 1.5 * 2^mantissa bits: adding it rounds to an integer that stands in the low bits
  double ln2_hi, ln2_lo;  // as two numbers of the type
  double lowest, highest; // beyond, e^x is 0 or infinite for sure
  std::span<const double> q;
};
constexpr ExpFacts exp_f32{0x1.8p23, 0x1.62e43p-1, -0x1.05c61p-29, -105, 89.5, exp_q32};
constexpr ExpFacts exp_f64{0x1.8p52, 0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56, -746, 710, exp_q64};

const ExpFacts& exp_facts(Expr x) { return x.is(ElementType::f32) ? exp_f32 : exp_f64; }

struct ExpReduced {
  Expr bits;  // an integer of the float's width; n in its low bits
  Expr r;
};

// NaN passes through (comparisons with it are false).
Expr clamped_for_exp(Expr x, double lowest, double highest) {
  x = select(x > highest, highest, x);
  return select(x < lowest, lowest, x);
}

ExpReduced exp_reduced(Expr x) {
  const ExpFacts& f = exp_facts(x);
  Expr t = fma_of(x, log2_e, x.like(f.magic));
  Expr n = t - f.magic;
  return {t.bits(bits_type(x.type())), fma_of(n, -f.ln2_lo, fma_of(n, -f.ln2_hi, x))};
}

// y * 2^n in two steps, so that subnormal and almost infinite results come out right. The exponent fields of 2^floor(n/2) and
// 2^ceil(n/2) come from n's bits by shifting: one place short of its field n is halved, and what stands below is cut off.
Expr scaled(Expr y, const ExpReduced& e) {
  int shift = mantissa_bits_of(y.type());
  Expr one = y.like(1).bits(e.bits.type());
  Expr half = (e.bits << (shift - 1)) & field_mask(e.bits, shift);
  Expr rest = (e.bits << shift) - half;
  return y * (half + one).bits(y.type()) * (rest + one).bits(y.type());
}

// e^r
Expr exp_of_reduced(const ExpReduced& e) { return fma_of(e.r, fma_of(e.r, polynomial(e.r, exp_facts(e.r).q), 1.0), 1.0); }

// e^x - 1 for x within the type's range.
Expr expm1_core(Expr x) {
  ExpReduced e = exp_reduced(x);
  Expr em = fma_of(e.r * e.r, polynomial(e.r, exp_facts(x).q), e.r);
  Expr one_half = x.like(0.5).bits(e.bits.type());
  Expr half = ((e.bits << mantissa_bits_of(x.type())) + one_half).bits(x.type());  // 2^n / 2 does not overflow
  Expr sum = fma_of(half, em, half - 0.5);
  return sum + sum;
}

}  // namespace

Expr exp_expr(Expr x) {
  const ExpFacts& f = exp_facts(x);
  ExpReduced e = exp_reduced(clamped_for_exp(x, f.lowest, f.highest));
  return scaled(exp_of_reduced(e), e);
}

Expr exp_of_two_parts(const DoubleDouble& x) {
  ExpReduced e = exp_reduced(clamped_for_exp(x.hi, exp_f64.lowest, exp_f64.highest));
  // e^(r + lo) = e^r + lo e^r; lo is so small that one term and a rough e^r do.
  Expr tail = fma_of(e.r * e.r, polynomial(e.r, exp_f64.q), fma_of(x.lo, e.r, x.lo));
  return scaled((e.r + tail) + 1.0, e);
}

Expr expm1_expr(Expr x) {
  double lowest = x.is(ElementType::f32) ? -20 : -45;  // there e^x - 1 rounds to -1
  Expr y = expm1_core(clamped_for_exp(x, lowest, exp_facts(x).highest));
  return select(x == 0, x, y);
}

// With e = e^-|x|: 1 / (1 + e) or e / (1 + e); small results keep their digits.
Expr logistic_expr(Expr x) {
  Expr e = exp_expr(-abs_of(x));
  return select(x < 0, e, 1.0) / (e + 1.0);
}

namespace {

// 1 - 2 / (e^2|x| + 1) where that has enough digits. e^2|x| is not so large that 2^n needs two steps.
Expr tanh_f32(Expr x) {
  Expr a = abs_of(x);
  a = select(a > 10, 10.0, a);  // there it rounds to 1
  Expr z = a * a;
  ExpReduced e = exp_reduced(a + a);
  Expr power = ((e.bits << mantissa_bits_of(x.type())) + x.like(1).bits(e.bits.type())).bits(x.type());
  Expr far = 1.0 - 2.0 / (exp_of_reduced(e) * power + 1.0);
  return with_sign(select(a < 0.6, fma_of(a * z, polynomial(z, tanh_p32), a), far), x);
}

}  // namespace

// With t = e^2|x| - 1: t / (t + 2).
Expr tanh_expr(Expr x) {
  if (x.is(ElementType::f32)) return tanh_f32(x);
  Expr a = abs_of(x);
  a = select(a > 22, 22.0, a);  // there it rounds to 1
  Expr t = expm1_core(a + a);
  return with_sign(select(a == 0, a, t / (t + 2.0)), x);
}

namespace {

// Half of e^a where e^a itself overflows: e^(a - 709) times e^709 / 2.
Expr half_exp_far(Expr a) { return exp_expr(a - 709.0) * 0x1.d422d2be5dc9bp+1021; }

constexpr double exp_far = 709;

}  // namespace

Expr sinh_expr(Expr x) {
  if (x.is(ElementType::f32)) return sinh_expr(x.as(ElementType::f64)).as(ElementType::f32);
  Expr a = abs_of(x);
  Expr t = expm1_expr(a);
  Expr near = (t + t / (t + 1.0)) * 0.5;
  Expr y = select(a > exp_far, half_exp_far(a), near);
  return with_sign(select(a == 0, a, y), x);
}

Expr cosh_expr(Expr x) {
  if (x.is(ElementType::f32)) return cosh_expr(x.as(ElementType::f64)).as(ElementType::f32);
  Expr a = abs_of(x);
  Expr e = exp_expr(a);
  return select(a > exp_far, half_exp_far(a), e * 0.5 + 0.5 / e);
}

}  // namespace hloc::loops
