// Special functions by their published approximations: erf and erfc, Bessel and zeta functions after Cephes
// (S. Moshier), the inverse of erf after M. Giles, the gamma functions after C. Lanczos (g = 7, n = 9).
#include <cmath>

#include "ir/read/chlo.h"

namespace hloc::ir::mlir {
namespace {

bool is_double(Expr x) { return x.type().element() == ElementType::f64; }

// ---- erfc ----

constexpr double erf_t_f32[] = {+7.853861353153693E-5, -8.010193625184903E-4, +5.188327685732524E-3, -2.685381193529856E-2,
                                +1.128358514861418E-1, -3.761262582423300E-1, +1.128379165726710E+0};
constexpr double erfc_p_f32[] = {+2.326819970068386E-2, -1.387039388740657E-1, +3.687424674597105E-1, -5.824733027278666E-1, +6.210004621745983E-1,
                                 -4.944515323274145E-1, +3.404879937665872E-1, -2.741127028184656E-1, +5.638259427386472E-1};
constexpr double erfc_r_f32[] = {-1.047766399936249E+1, +1.297719955372516E+1, -7.495518717768503E+0, +2.921019019210786E+0,
                                 -1.015265279202700E+0, +4.218463358204948E-1, -2.820767439740514E-1, +5.641895067754075E-1};

// For |x| >= 1: exp(-x^2) P(1/x^2) / |x|.
Expr erfc_far_f32(Expr x) {
  Expr square = x * x, exponent = -square, magnitude = abs(x);
  Expr inverse = 1 / square;
  Expr factor = exp(exponent) * (1 / magnitude);
  Expr series = select(magnitude < 2, polynomial(inverse, erfc_p_f32), polynomial(inverse, erfc_r_f32));
  Expr y = select(exponent < -88.72283905206835, 0, factor * series);
  return select(x < 0, 2 - y, y);
}

constexpr double erf_t_f64[] = {9.60497373987051638749E0, 9.00260197203842689217E1, 2.23200534594684319226E3, 7.00332514112805075473E3,
                                5.55923013010394962768E4};
constexpr double erf_u_f64[] = {1.00000000000000000000E0, 3.35617141647503099647E1, 5.21357949780152679795E2,
                                4.59432382970980127987E3, 2.26290000613890934246E4, 4.92673942608635921086E4};
constexpr double erfc_p_f64[] = {2.46196981473530512524E-10, 5.64189564831068821977E-1, 7.46321056442269912687E0,
                                 4.86371970985681366614E1,   1.96520832956077098242E2,  5.26445194995477358631E2,
                                 9.34528527171957607540E2,   1.02755188689515710272E3,  5.57535335369399327526E2};
constexpr double erfc_q_f64[] = {1.00000000000000000000E0, 1.32281951154744992508E1, 8.67072140885989742329E1,
                                 3.54937778887819891062E2, 9.75708501743205489753E2, 1.82390916687909736289E3,
                                 2.24633760818710981792E3, 1.65666309194161350182E3, 5.57535340817727675546E2};
constexpr double erfc_r_f64[] = {5.64189583547755073984E-1, 1.27536670759978104416E0, 5.01905042251180477414E0,
                                 6.16021097993053585195E0,  7.40974269950448939160E0, 2.97886665372100240670E0};
constexpr double erfc_s_f64[] = {1.00000000000000000000E0, 2.26052863220117276590E0, 9.39603524938001434673E0, 1.20489539808096656605E1,
                                 1.70814450747565897222E1, 9.60896809063285878198E0, 3.36907645100081516050E0};

Expr erfc_far_f64(Expr x) {
  Expr exponent = -(x * x), magnitude = abs(x);
  Expr near = polynomial(magnitude, erfc_p_f64) / polynomial(magnitude, erfc_q_f64);
  Expr far = polynomial(magnitude, erfc_r_f64) / polynomial(magnitude, erfc_s_f64);
  Expr y = exp(exponent) * select(magnitude < 8, near, far);
  y = select(exponent < -7.09782712893383996843E2, 0, y);
  return select(x < 0, 2 - y, y);
}

// For |x| < 1.
Expr erf_near(Expr x) {
  Expr square = x * x;
  if (is_double(x)) return x * polynomial(square, erf_t_f64) / polynomial(square, erf_u_f64);
  return x * polynomial(square, erf_t_f32);
}

}  // namespace

Expr chlo_erfc(Expr x) { return select(abs(x) < 1, 1 - erf_near(x), is_double(x) ? erfc_far_f64(x) : erfc_far_f32(x)); }

// ---- erf_inv ----

namespace {

constexpr double erf_inv_near_f32[] = {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                                       -0.00125372503, -0.00417768164, 0.246640727,    1.50140941};
constexpr double erf_inv_far_f32[] = {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                                      -0.0076224613,   0.00943887047,  1.00167406,    2.83297682};
constexpr double erf_inv_near_f64[] = {
    -3.6444120640178196996e-21, -1.685059138182016589e-19,  1.2858480715256400167e-18,  1.115787767802518096e-17,   -1.333171662854620906e-16,
    2.0972767875968561637e-17,  6.6376381343583238325e-15,  -4.0545662729752068639e-14, -8.1519341976054721522e-14, 2.6335093153082322977e-12,
    -1.2975133253453532498e-11, -5.4154120542946279317e-11, 1.051212273321532285e-09,   -4.1126339803469836976e-09, -2.9070369957882005086e-08,
    4.2347877827932403518e-07,  -1.3654692000834678645e-06, -1.3882523362786468719e-05, 0.0001867342080340571352,   -0.00074070253416626697512,
    -0.0060336708714301490533,  0.24015818242558961693,     1.6536545626831027356};
constexpr double erf_inv_middle_f64[] = {
    2.2137376921775787049e-09, 9.0756561938885390979e-08,  -2.7517406297064545428e-07, 1.8239629214389227755e-08, 1.5027403968909827627e-06,
    -4.013867526981545969e-06, 2.9234449089955446044e-06,  1.2475304481671778723e-05,  -4.7318229009055733981e-05, 6.8284851459573175448e-05,
    2.4031110387097893999e-05, -0.0003550375203628474796,  0.00095328937973738049703,  -0.0016882755560235047313, 0.0024914420961078508066,
    -0.0037512085075692412107, 0.005370914553590063617,    1.0052589676941592334,      3.0838856104922207635};
constexpr double erf_inv_far_f64[] = {
    -2.7109920616438573243e-11, -2.5556418169965252055e-10, 1.5076572693500548083e-09,  -3.7894654401267369937e-09, 7.6157012080783393804e-09,
    -1.4960026627149240478e-08, 2.9147953450901080826e-08,  -6.7711997758452339498e-08, 2.2900482228026654717e-07,  -9.9298272942317002539e-07,
    4.5260625972231537039e-06,  -1.9681778105531670567e-05, 7.5995277030017761139e-05,  -0.00021503011930044477347, -0.00013871931833623122026,
    1.0103004648645343977,      4.8499064014085844221};

Expr erf_inv_f32(Expr x) {
  Expr w = -log1p(x * -x);
  Expr near = w < 5;
  w = select(near, w - 2.5, sqrt(w) - 3);
  Expr p = select(near, erf_inv_near_f32[0], w.number(erf_inv_far_f32[0]));
  for (size_t i = 1; i < std::size(erf_inv_near_f32); ++i) p = select(near, erf_inv_near_f32[i], w.number(erf_inv_far_f32[i])) + p * w;
  return select(abs(x) == 1, x * HUGE_VAL, p * x);
}

Expr erf_inv_f64(Expr x) {
  Expr w = -log1p(x * -x);
  Expr near = w < 6.25, middle = w < 16;
  Expr root = sqrt(w);
  Expr y = select(near, polynomial(w - 3.125, erf_inv_near_f64),
                  select(middle, polynomial(root - 3.25, erf_inv_middle_f64), polynomial(root - 5, erf_inv_far_f64)));
  return select(abs(x) == 1, x * HUGE_VAL, y * x);
}

}  // namespace

Expr chlo_erf_inv(Expr x) { return is_double(x) ? erf_inv_f64(x) : erf_inv_f32(x); }

// ---- Gamma functions ----

namespace {

constexpr double lanczos_gamma = 7;
constexpr double lanczos_base = 0.99999999999980993227684700473478;
constexpr double lanczos_terms[] = {676.520368121885098567009190444019, -1259.13921672240287047156078755283, 771.3234287776530788486528258894,
                                    -176.61502916214059906584551354,    12.507343278686904814458936853,      -0.13857109526572011689554707,
                                    9.984369578019570859563e-6,         1.50563273514931155834e-7};
constexpr double pi = 3.14159265358979323846;

// Gamma is known right of 1/2; the rest is reflected there.
struct Reflected {
  Expr reflect, z;
};
Reflected reflected(Expr x) {
  Expr reflect = x < 0.5;
  return {reflect, select(reflect, -x, x - 1)};
}

// log(z + g + 1/2)
Expr lanczos_log(Expr z) {
  constexpr double offset = lanczos_gamma + 0.5;
  return std::log(offset) + log1p(z / offset);
}

}  // namespace

Expr chlo_lgamma(Expr x) {
  constexpr double offset = lanczos_gamma + 0.5;
  auto [reflect, z] = reflected(x);
  Expr a = z.number(lanczos_base);
  for (size_t i = 0; i < std::size(lanczos_terms); ++i) a = a + lanczos_terms[i] / (z + static_cast<double>(i + 1));
  Expr t = offset + z, log_t = lanczos_log(z);
  Expr direct = (std::log(2 * pi) / 2 + ((z + 0.5) - t / log_t) * log_t) + log(a);
  // log(pi / |sin(pi x)|) - lgamma(1 - x), the sine taken of the distance to the nearest integer
  Expr magnitude = abs(x);
  Expr fraction = magnitude - floor(magnitude);
  fraction = select(0.5 < fraction, 1 - fraction, fraction);
  Expr log_sine = log(sin(pi * fraction));
  Expr reflection = select(is_finite(log_sine), (std::log(pi) - log_sine) - direct, -log_sine);
  Expr y = select(reflect, reflection, direct);
  return select(magnitude == HUGE_VAL, HUGE_VAL, y);
}

Expr chlo_digamma(Expr x) {
  constexpr double offset = lanczos_gamma + 0.5;
  auto [reflect, z] = reflected(x);
  Expr a = z.number(lanczos_base), slope = z.number(0);
  for (size_t i = 0; i < std::size(lanczos_terms); ++i) {
    Expr shifted = z + static_cast<double>(i + 1);
    slope = slope - lanczos_terms[i] / (shifted * shifted);
    a = a + lanczos_terms[i] / shifted;
  }
  Expr t = offset + z;
  Expr direct = (lanczos_log(z) + slope / a) - lanczos_gamma / t;
  // digamma(1 - x) - pi cot(pi x), with x moved to the nearest integer first
  Expr reduced = x + abs(floor(x + 0.5));
  Expr angle = pi * reduced;
  Expr y = select(reflect, direct - (pi * cos(angle)) / sin(angle), direct);
  Expr pole = (x <= 0) & (x == floor(x));
  return select(pole, std::nan(""), y);
}

// ---- Bessel I1, scaled ----

namespace {

constexpr double i1e_near_f32[] = {9.38153738649577178388E-9, -4.44505912879632808065E-8, 2.00329475355213526229E-7, -8.56872026469545474066E-7,
                                   3.47025130813767847674E-6, -1.32731636560394358279E-5, 4.78156510755005422638E-5, -1.61760815825896745588E-4,
                                   5.12285956168575772895E-4, -1.51357245063125314899E-3, 4.15642294431288815669E-3, -1.05640848946261981558E-2,
                                   2.47264490306265168283E-2, -5.29459812080949914269E-2, 1.02643658689847095384E-1, -1.76416518357834055153E-1,
                                   2.52587186443633654823E-1};
constexpr double i1e_far_f32[] = {-3.83538038596423702205E-9, -2.63146884688951950684E-8, -2.51223623787020892529E-7, -3.88256480887769039346E-6,
                                  -1.10588938762623716291E-4, -9.76109749136146840777E-3, 7.78576235018280120474E-1};
constexpr double i1e_near_f64[] = {2.77791411276104639959E-18, -2.11142121435816608115E-17, 1.55363195773620046921E-16, -1.10559694773538630805E-15,
                                   7.60068429473540693410E-15, -5.04218550472791168711E-14, 3.22379336594557470981E-13, -1.98397439776494371520E-12,
                                   1.17361862988909016308E-11, -6.66348972350202774223E-11, 3.62559028155211703701E-10, -1.88724975172282928790E-9,
                                   9.38153738649577178388E-9,  -4.44505912879632808065E-8,  2.00329475355213526229E-7,  -8.56872026469545474066E-7,
                                   3.47025130813767847674E-6,  -1.32731636560394358279E-5,  4.78156510755005422638E-5,  -1.61760815825896745588E-4,
                                   5.12285956168575772895E-4,  -1.51357245063125314899E-3,  4.15642294431288815669E-3,  -1.05640848946261981558E-2,
                                   2.47264490306265168283E-2,  -5.29459812080949914269E-2,  1.02643658689847095384E-1,  -1.76416518357834055153E-1,
                                   2.52587186443633654823E-1};
constexpr double i1e_far_f64[] = {7.51729631084210481353E-18,  4.41434832307170791151E-18,  -4.65030536848935832153E-17, -3.20952592199342395980E-17,
                                  2.96262899764595013876E-16,  3.30820231092092828324E-16,  -1.88035477551078244854E-15, -3.81440307243700780478E-15,
                                  1.04202769841288027642E-14,  4.27244001671195135429E-14,  -2.10154184277266431302E-14, -4.08355111109219731823E-13,
                                  -7.19855177624590851209E-13, 2.03562854414708950722E-12,  1.41258074366137813316E-11,  3.25260358301548823856E-11,
                                  -1.89749581235054123450E-11, -5.58974346219658380687E-10, -3.83538038596423702205E-9,  -2.63146884688951950684E-8,
                                  -2.51223623787020892529E-7,  -3.88256480887769039346E-6,  -1.10588938762623716291E-4,  -9.76109749136146840777E-3,
                                  7.78576235018280120474E-1};

}  // namespace

Expr chlo_bessel_i1e(Expr x) {
  Expr z = abs(x);
  bool wide = is_double(x);
  std::span<const double> near_terms = wide ? std::span<const double>(i1e_near_f64) : std::span<const double>(i1e_near_f32);
  std::span<const double> far_terms = wide ? std::span<const double>(i1e_far_f64) : std::span<const double>(i1e_far_f32);
  Expr near = z * chebyshev(z * 0.5 - 2, near_terms);
  Expr far = chebyshev(32 / z - 2, far_terms) / sqrt(z);
  return sign(x) * select(z <= 8, near, far);
}

// ---- Hurwitz zeta, polygamma ----

namespace {

// (2k)! / B_2k for k = 12 … 1
constexpr double zeta_terms[] = {-7.1661652561756670113e18, 1.8152105401943546773e17, -4.5979787224074726105e15, 1.1646782814350067249e14,
                                 -2.950130727918164224e12,  7.47242496e10,            -1.8924375803183791606e9,  47900160.0,
                                 -604800.0,                 30240.0,                  -720.0,                    12.0};

}  // namespace

// Nine terms of the sum, then the Euler-Maclaurin formula for the rest.
Expr chlo_zeta(Expr x, Expr q) {
  double epsilon = is_double(x) ? 0x1p-52 : 0x1p-23;
  Expr power = -x, a = q, sum = pow(q, power), term = x.number(0);
  for (int i = 0; i < 9; ++i) {
    a = a + 1;
    term = pow(a, power);
    sum = sum + term;
  }
  a = a + 1;
  term = pow(a, power);
  Expr total = sum + term * a / (x - 1);
  Expr inverse = 1 / (a * a), rest = x.number(0);
  for (int i = 0; i < 11; ++i) rest = (x + (22.0 - 2 * i)) * (x + (21.0 - 2 * i)) * inverse * (rest + 1 / zeta_terms[i]);
  total = total + term * (0.5 + x / a * (1 / zeta_terms[11] + rest));
  Expr y = select(abs(term) < abs(sum) * epsilon, sum, total);
  Expr at_integer = q == floor(q);
  Expr even = remainder(abs(x), x.number(2)) == 0;
  Expr left = q <= 0;
  y = select(left & (x != floor(x)), std::nan(""), y);
  y = select(left & at_integer, select(even & (x == floor(x)), HUGE_VAL, x.number(std::nan(""))), y);
  y = select(x == 1, HUGE_VAL, y);
  return select(x < 1, std::nan(""), y);
}

// (-1)^(n+1) n! zeta(n + 1, x); n = 0 is digamma.
Expr chlo_polygamma(Expr n, Expr x) {
  Expr next = n + 1;
  Expr factor = select(remainder(n, n.number(2)) == 0, -1, n.number(1));
  Expr y = factor * exp(chlo_lgamma(next)) * chlo_zeta(next, x);
  y = select(n == 0, chlo_digamma(x), y);
  return select((n != floor(n)) | (n < 0), std::nan(""), y);
}

// ---- next_after: a step of one in the bits ----

Expr chlo_next_after(Expr from, Expr to) {
  Formula& f = from.formula();
  ElementType type = from.type().element();
  int bits = bit_width(type);
  ElementType word = bits == 64 ? ElementType::s64 : bits == 32 ? ElementType::s32 : bits == 16 ? ElementType::s16 : ElementType::s8;
  Expr x = bitcast(from, word), y = bitcast(to, word);
  uint64_t top = uint64_t{1} << (bits - 1);
  Expr sign_mask = f.constant_bits(x.type(), top), magnitude_mask = f.constant_bits(x.type(), top - 1);
  Expr x_size = x & magnitude_mask, y_size = y & magnitude_mask, x_sign = x & sign_mask, y_sign = y & sign_mask;
  Expr toward_zero = (x_size > y_size) | (x_sign != y_sign);
  Expr step = x + select(toward_zero, f.constant_bits(x.type(), ~uint64_t{0}), f.constant_bits(x.type(), 1));
  Expr smallest = y_sign | f.constant_bits(x.type(), 1);  // out of zero, to the side of `to`
  Expr bits_out = select(x_size == 0, select(y_size == 0, y, smallest), select(x == y, y, step));
  Expr no_number = (from != from) | (to != to);
  return select(no_number, std::nan(""), bitcast(bits_out, type));
}

}  // namespace hloc::ir::mlir
