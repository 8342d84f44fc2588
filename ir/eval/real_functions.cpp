// Real functions that <cmath> lacks or defines otherwise, and complex functions.
//
// Complex functions are computed in long double and rounded once to double: where parts cancel, double would lose what the
// result type can show.
#include "ir/eval/real_functions.h"

#include <numbers>

namespace hloc::ir::eval {
namespace {

using LongComplex = std::complex<long double>;

LongComplex wide_complex(Complex z) { return {z.real(), z.imag()}; }
Complex narrow_complex(LongComplex z) { return {static_cast<double>(z.real()), static_cast<double>(z.imag())}; }

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

// B_2k for k = 1…12.
constexpr double bernoulli[] = {1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730,
                                7.0 / 6, -3617.0 / 510, 43867.0 / 798, -174611.0 / 330, 854513.0 / 138,
                                -236364091.0 / 2730};

}  // namespace

double round_even(double x) {
  double r = std::round(x);  // halves go away from zero
  if (std::fabs(x - std::trunc(x)) == 0.5 && std::fmod(r, 2) != 0) r -= std::copysign(1.0, x);
  return std::copysign(r, x);
}

// In long double, so that cubes have their roots.
double cbrt_of(double x) { return static_cast<double>(std::cbrt(static_cast<long double>(x))); }

double logistic_of(double x) { return 1 / (1 + std::exp(-x)); }

double sign_of(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

double fmod_of(double a, double b) { return std::fmod(a, b); }

double max_of(double a, double b) {
  if (a != a) return a;
  if (b != b) return b;
  return a > b ? a : b > a ? b : std::signbit(a) ? b : a;
}

double min_of(double a, double b) {
  if (a != a) return a;
  if (b != b) return b;
  return a < b ? a : b < a ? b : std::signbit(a) ? a : b;
}

// Giles' approximation refined by two Halley steps; near ±1 the error is taken from erfc, where erf has no digits left.
double erf_inv_of(double y) {
  if (!(std::fabs(y) <= 1)) return not_a_number;
  if (std::fabs(y) == 1) return std::copysign(infinity, y);
  if (y == 0) return y;
  double w = -std::log((1 - y) * (1 + y)), x;
  if (w < 5) {
    w -= 2.5;
    x = ((((2.8e-8 * w + 3.43e-7) * w - 3.52e-6) * w - 4.39e-6) * w + 2.1858e-4) * w;
    x = (((x - 1.2537e-3) * w - 4.1777e-3) * w + 0.246641) * w + 1.50141;
  } else {
    w = std::sqrt(w) - 3;
    x = ((((-2.0e-4 * w + 1.01e-4) * w + 1.349e-3) * w - 3.674e-3) * w + 5.74e-3) * w;
    x = (((x - 7.622e-3) * w + 9.44e-3) * w + 1.00167) * w + 2.83298;
  }
  x *= y;
  for (int step = 0; step < 3; ++step) {
    double error = std::fabs(y) < 0.5 ? std::erf(x) - y
                                      : std::copysign((1 - std::fabs(y)) - std::erfc(std::fabs(x)), y);
    double slope = 2 / std::sqrt(std::numbers::pi) * std::exp(-x * x);
    double delta = error / slope;
    x -= delta / (1 + x * delta);
  }
  return x;
}

double digamma_of(double x) {
  if (x <= 0) {
    if (x == std::floor(x)) return not_a_number;
    double f = x - std::floor(x);  // tan has period pi
    return digamma_of(1 - x) - std::numbers::pi / std::tan(std::numbers::pi * f);
  }
  double sum = 0;
  for (; x < 12; x += 1) sum -= 1 / x;
  double inverse = 1 / (x * x), tail = 0;
  for (int k = 8; k >= 1; --k) tail = (tail + bernoulli[k - 1] / (2 * k)) * inverse;
  return sum + std::log(x) - 0.5 / x - tail;
}

double lgamma_of(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

// exp(-|x|) I1(x): the power series has only positive terms; from 30 on the asymptotic series is exact in double.
double bessel_i1e_of(double x) {
  double a = std::fabs(x), sum = 0;
  if (a != a) return x;
  if (a <= 30) {
    double term = a / 2;
    for (int k = 1; term > sum * 1e-18; ++k) {
      sum += term;
      term *= (a / 2) * (a / 2) / (k * (k + 1.0));
    }
    sum *= std::exp(-a);
  } else {
    double term = 1;
    for (int k = 1; k < 40 && std::fabs(term) > 1e-18; ++k) {
      sum += term;
      double odd = 2 * k - 1;
      term *= -(4 - odd * odd) / (k * 8 * a);
    }
    sum /= std::sqrt(2 * std::numbers::pi * a);
  }
  return std::copysign(sum, x);
}

// Hurwitz zeta by Euler-Maclaurin.
double zeta_of(double s, double q) {
  if (s == 1) return infinity;
  if (!(s > 1)) return not_a_number;
  if (q <= 0) {
    if (q == std::floor(q)) return infinity;
    if (s != std::floor(s)) return not_a_number;
  }
  if (std::isinf(q)) return 0;
  constexpr int direct = 12;
  double sum = 0, at = q;
  for (int n = 0; n < direct || at < direct; ++n, at += 1) {
    double term = std::pow(at, -s);
    sum += term;
    if (n >= direct && std::fabs(term) < std::fabs(sum) * 1e-17) return sum;
  }
  double power = std::pow(at, -s);
  sum += power * at / (s - 1) + power / 2;
  double factor = s * power / at, factorial = 2;
  for (int k = 1; k <= 12; ++k) {
    sum += bernoulli[k - 1] / factorial * factor;
    factor *= (s + 2 * k - 1) * (s + 2 * k) / (at * at);
    factorial *= (2 * k + 1.0) * (2 * k + 2.0);
  }
  return sum;
}

double polygamma_of(double n, double x) {
  if (n != std::floor(n) || n < 0) return not_a_number;
  if (n == 0) return digamma_of(x);
  double sign = std::fmod(n, 2) == 0 ? -1 : 1;
  return sign * std::exp(lgamma_of(n + 1)) * zeta_of(n + 1, x);
}

Complex multiply_of(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

Complex divide_of(Complex a, Complex b) { return narrow_complex(wide_complex(a) / wide_complex(b)); }

Complex power_of(Complex a, Complex b) {
  if (b == Complex(0)) return 1;
  if (a == Complex(0) && b.real() > 0) return 0;
  return narrow_complex(std::pow(wide_complex(a), wide_complex(b)));
}

Complex sign_of(Complex z) {
  if (std::isnan(z.real()) || std::isnan(z.imag())) return {not_a_number, not_a_number};
  if (z == Complex(0)) return z;
  LongComplex w = wide_complex(z);
  return narrow_complex(w / std::abs(w));
}

Complex sqrt_of(Complex z) { return narrow_complex(std::sqrt(wide_complex(z))); }

Complex rsqrt_of(Complex z) {
  if (std::isinf(z.real()) || std::isinf(z.imag())) {
    if (std::isnan(z.real()) || std::isnan(z.imag())) return {not_a_number, not_a_number};
    return {0, std::copysign(0.0, -z.imag())};
  }
  if (z == Complex(0)) return {infinity, not_a_number};
  return narrow_complex(LongComplex(1) / std::sqrt(wide_complex(z)));
}

Complex cbrt_of(Complex z) {
  if (z == Complex(0)) return z;
  return narrow_complex(std::pow(wide_complex(z), 1.0L / 3));
}

Complex log_of(Complex z) { return narrow_complex(std::log(wide_complex(z))); }

// log|1+z| = log1p(x(x+2) + y*y) / 2 keeps digits near zero; far from it the plain logarithm is as good.
Complex log1p_of(Complex z) {
  long double x = z.real(), y = z.imag();
  if (std::fabs(x) > 0.5L || std::fabs(y) > 0.5L) return narrow_complex(std::log(LongComplex(1 + x, y)));
  return narrow_complex({std::log1p(x * (x + 2) + y * y) / 2, std::atan2(y, 1 + x)});
}

// exp(x) cos(y) - 1 = expm1(x) cos(y) - 2 sin(y/2)^2
Complex expm1_of(Complex z) {
  long double x = z.real(), y = z.imag();
  if (y == 0) return {std::expm1(z.real()), z.imag()};
  long double half = std::sin(y / 2);
  return narrow_complex({std::expm1(x) * std::cos(y) - 2 * half * half, std::exp(x) * std::sin(y)});
}

Complex logistic_of(Complex z) {
  return narrow_complex(LongComplex(1) / (LongComplex(1) + std::exp(-wide_complex(z))));
}

}  // namespace hloc::ir::eval
