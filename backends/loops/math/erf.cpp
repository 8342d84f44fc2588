// erf, erfc and the inverse of erf.
#include <limits>

#include "backends/loops/math/expr.h"

namespace hloc::loops {
namespace {

// f32, own minimax fits: erf x = x + x p(x^2) for |x| < 1.35, error 2^-28; erf x = q(x - erf_center) up to 4, error 2^-25. erf 4
// rounds to 1; the center is a number whose erf is next to one of 24 bits.
constexpr double erf_p32[] = {0x1.06eba8p-3,  -0x1.81273ap-2,  0x1.ce2c9ap-4,  -0x1.b7feacp-6,
                              0x1.54c092p-8, -0x1.b07f8ep-11, 0x1.a25a14p-14, -0x1.c91ff8p-18};
constexpr double erf_q32[] = {0x1.ffcaa8p-1,  0x1.1d88fap-9,   -0x1.64f6aep-8,  0x1.119cbcp-7,  -0x1.1a4b02p-7,
                              0x1.910590p-8,  -0x1.7237c8p-9,  0x1.1d2aecp-11,  0x1.39d548p-12, -0x1.102e0cp-12,
                              0x1.b0a888p-15, 0x1.0b21c4p-16, -0x1.9fc71ep-18};
constexpr double erf_center = 0x1.3fff92p+1;

// f64: the rational approximations of Sun's fdlibm (s_erf.c, 1993).
constexpr double erf_pp[] = {1.28379167095512558561e-01, -3.25042107247001499370e-01, -2.84817495755985104766e-02,
                             -5.77027029648944159157e-03, -2.37630166566501626084e-05};
constexpr double erf_qq[] = {1, 3.97917223959155352819e-01, 6.50222499887672944485e-02, 5.08130628187576562776e-03,
                             1.32494738004321644526e-04, -3.96022827877536812320e-06};
constexpr double erf_pa[] = {-2.36211856075265944077e-03, 4.14856118683748331666e-01, -3.72207876035701323847e-01,
                             3.18346619901161753674e-01, -1.10894694282396677476e-01, 3.54783043256182359371e-02,
                             -2.16637559486879084300e-03};
constexpr double erf_qa[] = {1, 1.06420880400844228286e-01, 5.40397917702171048937e-01, 7.18286544141962662868e-02,
                             1.26171219808761642112e-01, 1.36370839120290507362e-02, 1.19844998467991074170e-02};
constexpr double erf_ra[] = {-9.86494403484714822705e-03, -6.93858572707181764372e-01, -1.05586262253232909814e+01,
                             -6.23753324503260060396e+01, -1.62396669462573470355e+02, -1.84605092906711035994e+02,
                             -8.12874355063065934246e+01, -9.81432934416914548592e+00};
constexpr double erf_sa[] = {1, 1.96512716674392571292e+01, 1.37657754143519042600e+02, 4.34565877475229228821e+02,
                             6.45387271733267880336e+02, 4.29008140027567833386e+02, 1.08635005541779435134e+02,
                             6.57024977031928170135e+00, -6.04244152148580987438e-02};
constexpr double erf_rb[] = {-9.86494292470009928597e-03, -7.99283237680523006574e-01, -1.77579549177547519889e+01,
                             -1.60636384855821916062e+02, -6.37566443368389627722e+02, -1.02509513161107724954e+03,
                             -4.83519191608651397019e+02};
constexpr double erf_sb[] = {1, 3.03380607434824582924e+01, 3.25792512996573918826e+02, 1.53672958608443695994e+03,
                             3.19985821950859553908e+03, 2.55305040643316442583e+03, 4.74528541206955367215e+02,
                             -2.24409524465858183362e+01};
constexpr double erf_at_one = 8.45062911510467529297e-01;  // erf(1) rounded to 24 bits

Expr ratio(Expr x, std::span<const double> p, std::span<const double> q) { return polynomial(x, p) / polynomial(x, q); }

// erfc(a) for a >= 1.25: e^(-a^2) / a * (1 + …), with a^2 split so that its rounding does not show.
Expr erfc_far(Expr a) {
  Expr s = 1.0 / (a * a), is_near = a < 1 / 0.35;
  Expr tail = select(is_near, ratio(s, erf_ra, erf_sa), ratio(s, erf_rb, erf_sb));
  ElementType whole = ElementType::s64;
  Expr z = a.bits(whole);
  z = (z & z.like_bits(0xffffffff00000000u)).bits(ElementType::f64);
  return exp_expr(fma_of(-z, z, z.like(-0.5625))) * exp_expr(fma_of(z - a, z + a, tail)) / a;
}

struct ErfParts {
  Expr is_small, is_middle;      // |x| < 0.84375, |x| < 1.25
  Expr small, middle, far;       // erf x / x - 1; erf |x| - erf_at_one; erfc |x|
};
ErfParts erf_parts(Expr a) {
  Expr t = a - 1.0, z = a * a, clamped = select(a > 28, 28.0, select(a < 1.25, 1.25, a));
  return {a < 0.84375, a < 1.25, ratio(z, erf_pp, erf_qq), ratio(t, erf_pa, erf_qa), erfc_far(clamped)};
}

Expr erf_f64(Expr x) {
  Expr a = abs_of(x);
  ErfParts p = erf_parts(a);
  Expr y = select(p.is_middle, p.middle + erf_at_one, 1.0 - p.far);
  return select(x != x, x, with_sign(select(p.is_small, fma_of(a, p.small, a), y), x));
}

Expr erfc_f64(Expr x) {
  Expr a = abs_of(x), is_negative = x < 0;
  ErfParts p = erf_parts(a);
  // 1 - (x + x p): from 1/4 on x is near enough to 1/2 for the half to be taken first.
  Expr product = a * p.small;
  Expr small = select(is_negative, fma_of(a, p.small, a) + 1.0,
                      select(a < 0.25, 1.0 - (a + product), 0.5 - ((a - 0.5) + product)));
  Expr middle = select(is_negative, (p.middle + erf_at_one) + 1.0, (1.0 - erf_at_one) - p.middle);
  Expr far = select(is_negative, 2.0 - p.far, select(a > 28, 0.0, p.far));
  return select(x != x, x, select(p.is_small, small, select(p.is_middle, middle, far)));
}

// Giles, "Approximating the erfinv function" (2010), single precision: good to about 2^-22 of itself.
constexpr double erf_inv_near[] = {1.50140941, 0.246640727, -0.00417768164, -0.00125372503, 0.00021858087,
                                   -4.39150654e-06, -3.5233877e-06, 3.43273939e-07, 2.81022636e-08};
constexpr double erf_inv_far[] = {2.83297682, 1.00167406, 0.00943887047, -0.0076224613, 0.00573950773,
                                  -0.00367342844, 0.00134934322, 0.000100950558, -0.000200214257};

// Giles' start and two Halley steps. The error of a step is taken from erfc near 1, where erf has no digits left.
Expr erf_inv_f64(Expr y) {
  Expr a = abs_of(y), w = -log_expr((1.0 - a) * (a + 1.0)), is_near = w < 5;
  Expr x = a * select(is_near, polynomial(w - 2.5, erf_inv_near), polynomial(sqrt_of(select(w < 0, 0.0, w)) - 3.0, erf_inv_far));
  for (int step = 0; step < 2; ++step) {
    Expr error = select(a < 0.5, erf_f64(x) - a, (1.0 - a) - erfc_f64(x));
    Expr slope = exp_expr(-(x * x)) * 0x1.20dd750429b6dp+0;  // 2 / sqrt(pi)
    Expr delta = error / slope;
    x = x - delta / fma_of(x, delta, x.like(1));
  }
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Expr ends = select(a == 1.0, infinity, y.like(std::numeric_limits<double>::quiet_NaN()));
  return with_sign(select(a == 0, a, select(a < 1, x, ends)), y);
}

}  // namespace

Expr erf_expr(Expr x) {
  if (x.is(ElementType::f64)) return erf_f64(x);
  Expr a = abs_of(x);
  Expr far = polynomial(select(a > 4, 4.0, a) - erf_center, erf_q32);
  return select(a < 1.35, fma_of(x, horner(x * x, erf_p32), x), with_sign(far, x));
}

Expr erfc_expr(Expr x) {
  return x.is(ElementType::f64) ? erfc_f64(x) : erfc_f64(x.as(ElementType::f64)).as(ElementType::f32);
}

Expr erf_inv_expr(Expr x) {
  return x.is(ElementType::f64) ? erf_inv_f64(x) : erf_inv_f64(x.as(ElementType::f64)).as(ElementType::f32);
}

}  // namespace hloc::loops
