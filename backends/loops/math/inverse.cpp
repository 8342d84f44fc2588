// Inverse trigonometric and hyperbolic functions. f32 computes in f64.
#include <limits>

#include "backends/loops/math/expr.h"

namespace hloc::loops {
namespace {

// Own minimax fits. atan t = t + t z a(z) on z = t^2 <= tan(pi/8)^2, error 2^-64; asin s = s + s z b(z) on z <= 1/4, 2^-63.
constexpr double atan_a[] = {-0x1.5555555555554p-2, 0x1.999999999965ap-3, -0x1.2492492475d45p-3, 0x1.c71c71b778541p-4,
                             -0x1.745d14bfc0fc9p-4, 0x1.3b136eadc8baep-4, -0x1.110c79cba27fdp-4, 0x1.e172825dd186ap-5,
                             -0x1.ab80a3376342bp-5, 0x1.70f989787cc21p-5, -0x1.12534639c2737p-5, 0x1.f254f90128dffp-7};
constexpr double asin_b[] = {0x1.5555555555553p-3,  0x1.3333333333a68p-4, 0x1.6db6db6d464dbp-5,  0x1.f1c71ca94519ep-6,
                             0x1.6e8b9acfa5d39p-6,  0x1.1c4f884755da8p-6, 0x1.c98090d59f644p-7,  0x1.7ba74f21bf03bp-7,
                             0x1.36ad4747c4056p-7,  0x1.4873ede065c47p-7, 0x1.4d4bdbe612a66p-11, 0x1.986e237a37ff0p-6,
                             -0x1.ae9a9830a6098p-6, 0x1.143cf5e1c75bcp-5};

constexpr double pi_hi = 0x1.921fb54442d18p+1, pi_lo = 0x1.1a62633145c07p-53;
constexpr double inverse_infinity = std::numeric_limits<double>::infinity();
constexpr double inverse_ln2 = 0x1.62e42fefa39efp-1;

// f in f64.
template <class F>
Expr in_f64(Expr x, F&& f) {
  return x.is(ElementType::f64) ? f(x) : f(x.as(ElementType::f64)).as(ElementType::f32);
}

// atan(num / den) for num, den >= 0, not both 0 or infinite. Above tan(3pi/8) it is pi/2 + atan(-den / num), above tan(pi/8)
// pi/4 + atan((num - den) / (num + den)); one division serves all three.
Expr atan_of_ratio(Expr num, Expr den) {
  constexpr double tan_pi_8 = 0x1.a827999fcef32p-2, tan_3pi_8 = 0x1.3504f333f9de6p+1;
  Expr is_large = num > den * tan_3pi_8, is_medium = num > den * tan_pi_8;
  Expr n = select(is_large, -den, select(is_medium, num - den, num));
  Expr d = select(is_large, num, select(is_medium, num + den, den));
  Expr t = n / d, z = t * t;
  Expr base = select(is_large, pi_hi / 2, select(is_medium, pi_hi / 4, t.like(0)));
  Expr low = select(is_large, pi_lo / 2, select(is_medium, pi_lo / 4, t.like(0)));
  return base + (t + fma_of(t * z, polynomial(z, atan_a), low));
}

Expr atan_f64(Expr x) {
  Expr a = abs_of(x);
  return with_sign(select(a == 0, a, atan_of_ratio(a, a.like(1))), x);
}

// atan(|y| / |x|) reflected by the sign of x. Both are scaled to the middle of the range first: their ratio counts alone.
Expr atan2_f64(Expr y, Expr x) {
  Expr ay = abs_of(y), ax = abs_of(x);
  Expr both_infinite = (ay == inverse_infinity) & (ax == inverse_infinity), both_zero = (ay == 0) & (ax == 0);
  Expr is_large = (ay > 0x1p1000) | (ax > 0x1p1000), is_small = (ay < 0x1p-900) & (ax < 0x1p-900);
  Expr scale = select(is_large, 0x1p-100, select(is_small, 0x1p100, x.like(1)));
  Expr num = select(both_infinite, 1.0, ay * scale), den = select(both_infinite, 1.0, select(both_zero, 1.0, ax * scale));
  Expr angle = atan_of_ratio(num, den);
  // A ratio that underflows is as small as the result; in the left half plane it does not show.
  Expr is_left = x.bits(ElementType::s64) < 0;
  Expr reflected = (x.like(pi_hi) - (angle - pi_lo));
  Expr result = with_sign(select(is_left, reflected, angle), y);
  return select(x != x, x, select(y != y, y, result));
}

// asin and acos of a = |x|: near 0 directly, else by asin(a) = pi/2 - 2 asin(sqrt((1 - a) / 2)).
struct ArcParts {
  Expr is_small;  // a <= 1/2
  Expr arc;       // asin(a), or asin(sqrt((1 - a) / 2))
};
ArcParts arc_parts(Expr a) {
  Expr is_small = a <= 0.5;
  Expr z = select(is_small, a * a, (1.0 - a) * 0.5);
  Expr s = select(is_small, a, sqrt_of(z));
  return {is_small, fma_of(s * z, polynomial(z, asin_b), s)};
}

Expr asin_f64(Expr x) {
  Expr a = abs_of(x);
  ArcParts p = arc_parts(a);
  Expr large = (p.arc.like(pi_hi / 2) - (p.arc + p.arc)) + pi_lo / 2;
  return with_sign(select(p.is_small, p.arc, large), x);
}

Expr acos_f64(Expr x) {
  ArcParts p = arc_parts(abs_of(x));
  Expr is_negative = x < 0;
  Expr twice = p.arc + p.arc;
  Expr small = x.like(pi_hi / 2) - (select(is_negative, -p.arc, p.arc) - pi_lo / 2);
  Expr large = select(is_negative, x.like(pi_hi) - (twice - pi_lo), twice);
  return select(p.is_small, small, large);
}

// log(a + sqrt(a^2 + 1)) = log1p(a + a^2 / (1 + sqrt(1 + a^2))); far out log(2a).
Expr asinh_f64(Expr x) {
  Expr a = abs_of(x), is_far = a > 0x1p28;
  Expr near = select(is_far, 1.0, a), square = near * near;
  Expr inner = log1p_expr(near + square / (sqrt_of(square + 1.0) + 1.0));
  Expr y = select(is_far, log_expr(a) + inverse_ln2, inner);
  return with_sign(select(a == 0, a, y), x);
}

// With t = x - 1: log1p(t + sqrt(2t + t^2)).
Expr acosh_f64(Expr x) {
  Expr is_far = x > 0x1p28, t = select(is_far, 1.0, x - 1.0);
  Expr inner = log1p_expr(t + sqrt_of(fma_of(t, t, t + t)));
  // Far below 1 the square root takes the sign away that would make the logarithm NaN.
  return select(x < 1.0, x.like(std::numeric_limits<double>::quiet_NaN()), select(is_far, log_expr(x) + inverse_ln2, inner));
}

Expr atanh_f64(Expr x) {
  Expr a = abs_of(x);
  Expr y = log1p_expr((a + a) / (1.0 - a)) * 0.5;
  return with_sign(select(a == 0, a, y), x);
}

}  // namespace

Expr atan_expr(Expr x) { return in_f64(x, atan_f64); }
Expr asin_expr(Expr x) { return in_f64(x, asin_f64); }
Expr acos_expr(Expr x) { return in_f64(x, acos_f64); }
Expr asinh_expr(Expr x) { return in_f64(x, asinh_f64); }
Expr acosh_expr(Expr x) { return in_f64(x, acosh_f64); }
Expr atanh_expr(Expr x) { return in_f64(x, atanh_f64); }
Expr atan2_expr(Expr y, Expr x) {
  if (x.is(ElementType::f64)) return atan2_f64(y, x);
  return atan2_f64(y.as(ElementType::f64), x.as(ElementType::f64)).as(ElementType::f32);
}

}  // namespace hloc::loops
