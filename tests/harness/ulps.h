// Errors of floating-point results in units of the last place.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace hloc::test {

using Real = long double;

// The distance between neighbouring numbers of type T around x; of the subnormal ones below them.
template <class T>
Real last_place(Real x) {
  constexpr int digits = std::numeric_limits<T>::digits, lowest = std::numeric_limits<T>::min_exponent - 1;
  int exponent = x == 0 ? lowest : std::max(std::ilogb(x), lowest);
  return std::ldexp(Real{1}, std::min(exponent, std::numeric_limits<T>::max_exponent - 1) - digits + 1);
}

// Infinity stands for the number after the largest; a wrong sign of zero or a missing NaN is infinitely wrong.
template <class T>
double error_in_ulps(T got, Real want) {
  constexpr double wrong = std::numeric_limits<double>::infinity();
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : wrong;
  if (std::isinf(want)) return want == static_cast<Real>(got) ? 0 : wrong;
  if (got == 0 && static_cast<T>(want) == 0) return std::signbit(got) == std::signbit(want) ? 0 : wrong;
  if (std::isinf(got) && static_cast<T>(want) == got) return 0;  // beyond the largest number by whatever distance
  Real value = got;
  if (std::isinf(got)) value = std::copysign(std::ldexp(Real{1}, std::numeric_limits<T>::max_exponent), static_cast<Real>(got));
  return static_cast<double>(std::fabs(value - want) / last_place<T>(want));
}

// The inverse of erf: Winitzki's start (2008) and Halley's steps, on erfc where erf has no digits left.
template <class R>
R erf_inverse(R y) {
  R a = std::fabs(y);
  if (!(a <= 1)) return std::numeric_limits<R>::quiet_NaN();
  if (a == 1) return std::copysign(std::numeric_limits<R>::infinity(), y);
  if (a == 0) return y;
  R w = -std::log((1 - a) * (1 + a)), t = R(4.3307467508L) - w / 2;
  R x = std::sqrt(std::sqrt(t * t + w / R(0.147L)) - t);
  for (int step = 0; step < 8; ++step) {
    R error = a < R(0.5L) ? std::erf(x) - a : (1 - a) - std::erfc(x);
    R delta = error / (std::exp(-x * x) * R(1.12837916709551257390L));
    x -= delta / (1 + x * delta);
  }
  return std::copysign(x, y);
}

}  // namespace hloc::test
