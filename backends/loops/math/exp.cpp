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

// (sinh x - x) / x^3 in x^2, Taylor's: good to 2^-65 of sinh up to 1.
constexpr double sinh_p64[] = {0x1.5555555555555p-3, 0x1.1111111111111p-7, 0x1.a01a01a01a01ap-13,
                               0x1.71de3a556c734p-19, 0x1.ae64567f544e4p-26, 0x1.6124613a86d09p-33,
                               0x1.ae7f3e733b81fp-41, 0x1.952c77030ad4ap-49, 0x1.2f49b46814157p-57};

constexpr double log2_e = 0x1.71547652b82fep+0;

struct ExpFacts {
  double magic;           // 1.5 * 2^mantissa bits: adding it rounds to an integer that stands in the low bits
  double ln2_hi, ln2_lo;  // as two numbers of the type
  double lowest, highest; // beyond, e^x is 0 or infinite for sure
  std::span<const double> q;
};
constexpr ExpFacts exp_f32{0x1.8p23, 0x1.62e43p-1, -0x1.05c61p-29, -105, 89, exp_q32};
constexpr ExpFacts exp_f64{0x1.8p52, 0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56, -746, 710, exp_q64};

const ExpFacts& exp_facts(Expr x) { return x.is(ElementType::f32) ? exp_f32 : exp_f64; }

struct ExpReduced {
  Expr n, bits;  // bits: an integer of the float's width; n in its low bits
  Expr r, lost;  // lost: what rounding took from r
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
  Expr near = fma_of(n, -f.ln2_hi, x), r = fma_of(n, -f.ln2_lo, near);
  return {n, t.bits(bits_type(x.type())), r, fma_of(n, -f.ln2_lo, near - r)};
}

// e^r
Expr exp_of_reduced(const ExpReduced& e) { return fma_of(e.r, fma_of(e.r, polynomial(e.r, exp_facts(e.r).q), 1.0), 1.0); }

// e^x - 1 for x within the type's range, as hi + lo.
DoubleDouble expm1_core(Expr x) {
  ExpReduced e = exp_reduced(x);
  Expr tail = e.r * e.r * polynomial(e.r, exp_facts(x).q), em = e.r + tail, lost = e.lost + (tail - (em - e.r));
  Expr one_half = x.like(0.5).bits(e.bits.type());
  Expr half = ((e.bits << mantissa_bits_of(x.type())) + one_half).bits(x.type());  // 2^n / 2 does not overflow
  Expr less = half - 0.5, hi = fma_of(half, em, less);
  Expr lo = fma_of(half, lost, fma_of(half, em, less - hi));
  return {hi + hi, lo + lo};
}

}  // namespace

Expr exp_expr(Expr x) {
  const ExpFacts& f = exp_facts(x);
  ExpReduced e = exp_reduced(clamped_for_exp(x, f.lowest, f.highest));
  return scale_of(exp_of_reduced(e), e.n);
}

Expr exp_of_two_parts(const DoubleDouble& x) {
  ExpReduced e = exp_reduced(clamped_for_exp(x.hi, exp_f64.lowest, exp_f64.highest));
  // e^(r + lo) = e^r + lo e^r to lo^2, and |lo| is below 2^-43.
  Expr tail = e.r * e.r * polynomial(e.r, exp_f64.q);
  Expr low = fma_of(x.lo, e.r + tail, x.lo);
  return scale_of((e.r + (tail + low)) + 1.0, e.n);
}

Expr expm1_expr(Expr x) {
  double lowest = x.is(ElementType::f32) ? -20 : -45;  // there e^x - 1 rounds to -1
  DoubleDouble y = expm1_core(clamped_for_exp(x, lowest, exp_facts(x).highest));
  return select(x == 0, x, y.hi + y.lo);
}

// With e = e^-|x|: y = 1 / (1 + e), or e / (1 + e) = e - e y: small results keep their digits. In those shows what rounding
// took from e: e (1 + d) gives y (1 + (1 - y) d).
Expr logistic_expr(Expr x) {
  const ExpFacts& f = exp_facts(x);
  Expr a = -abs_of(x);
  ExpReduced reduced = exp_reduced(select(a < f.lowest, f.lowest, a));
  Expr rest = reduced.r * fma_of(reduced.r, polynomial(reduced.r, f.q), 1.0), near = rest + 1.0;
  Expr e = scale_of(near, reduced.n), y = select(x < 0, e, 1.0) / (e + 1.0);
  Expr lost = (reduced.lost + (rest - (near - 1.0))) * y * (1.0 - y);
  return select(x < 0, e + fma_of(-e, y, lost), y);
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

// With t = e^2|x| - 1: y = t / (t + 2); what rounding took from both goes in at the end, times 1 / (t + 2) = (1 - y) / 2.
Expr tanh_expr(Expr x) {
  if (x.is(ElementType::f32)) return tanh_f32(x);
  Expr a = abs_of(x);
  a = select(a > 22, 22.0, a);  // there it rounds to 1
  DoubleDouble t = expm1_core(a + a), below = sum_of(t.hi, t.hi.like(2));
  Expr y = t.hi / below.hi;
  y = fma_of(fma_of(-y, below.lo + t.lo, t.lo), (1.0 - y) * 0.5, y);
  return with_sign(select(a == 0, a, y), x);
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
  Expr z = a * a, small = fma_of(a * z, polynomial(z, sinh_p64), a);
  Expr y = select(a > exp_far, half_exp_far(a), near);
  return with_sign(select(a < 1, small, y), x);
}

Expr cosh_expr(Expr x) {
  if (x.is(ElementType::f32)) return cosh_expr(x.as(ElementType::f64)).as(ElementType::f32);
  Expr a = abs_of(x);
  Expr e = exp_expr(a);
  return select(a > exp_far, half_exp_far(a), e * 0.5 + 0.5 / e);
}

}  // namespace hloc::loops
