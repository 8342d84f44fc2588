// Elements in memory and the wide values that the evaluator computes with.
//
// Every op is written on five kinds of wide value; a loop widens, applies one plain function and narrows, which rounds
// (or wraps) once:
//   bool            pred
//   int64_t         s1…s64
//   uint64_t        u1…u64
//   double          all floats. + - * / sqrt of two f32 rounded through double are the f32 results: 53 >= 2*24 + 2
//   complex<double> c64, c128
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "ir/support/float_formats.h"

namespace hloc::ir::eval {

using Complex = std::complex<double>;

template <class T>
constexpr bool is_signed_element() {
  if constexpr (is_narrow_int<T>) return std::is_signed_v<typename T::Storage>;
  else return std::is_signed_v<T>;
}

template <class T>
struct WideOf {
  using type = std::conditional_t<
      std::is_same_v<T, bool>, bool,
      std::conditional_t<is_complex_type<T>, Complex,
                         std::conditional_t<is_float_type<T>, double,
                                            std::conditional_t<is_signed_element<T>(), int64_t, uint64_t>>>>;
};
template <class T>
using Wide = typename WideOf<T>::type;

// The 256 values of an 8-bit format.
template <class T>
const std::array<double, 256>& byte_float_values() {
  static const std::array<double, 256> values = [] {
    std::array<double, 256> v;
    for (unsigned code = 0; code < 256; ++code)
      v[code] = static_cast<double>(T::from_bits(static_cast<decltype(T::bits)>(code)));
    return v;
  }();
  return values;
}

inline float half_value(uint16_t bits) {
  uint32_t magnitude = (bits & 0x7fffu) << 13;
  float scaled = std::bit_cast<float>(magnitude) * 0x1p112f;  // rebias; subnormals come out right
  uint32_t out = (bits & 0x7c00u) == 0x7c00u ? magnitude | 0x7f800000u : std::bit_cast<uint32_t>(scaled);
  return std::bit_cast<float>(out | (bits & 0x8000u) << 16);
}

// x cut to f32 towards zero with the lowest bit set when something was cut: rounding that again to 22 bits or fewer
// gives what rounding x at once gives.
inline uint32_t float_bits_to_odd(double x) {
  auto f = static_cast<float>(x);
  auto bits = std::bit_cast<uint32_t>(f);
  if (static_cast<double>(f) == x || x != x) return bits;
  if (std::fabs(static_cast<double>(f)) > std::fabs(x)) --bits;
  return bits | 1;
}

// Whatever NaN the host makes, results have the positive quiet one: the same on every machine. Only ops that handle bits
// (negate, abs, select, data movement) keep a NaN's sign and payload.
template <class F>
inline F canonical(F x) {
  return x != x ? std::numeric_limits<F>::quiet_NaN() : x;
}

inline uint16_t bf16_code(double x) {
  if (x != x) return 0x7fc0;
  uint32_t bits = float_bits_to_odd(x);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

inline uint16_t half_code(double x) {
  if (x != x) return 0x7e00;
  auto sign = static_cast<uint16_t>(std::signbit(x) ? 0x8000 : 0);
  uint32_t bits = float_bits_to_odd(std::fabs(x));
  if (bits >= std::bit_cast<uint32_t>(65520.0f)) return sign | 0x7c00;
  if (bits < std::bit_cast<uint32_t>(0x1p-14f))  // one ulp of 0.5f is the smallest half
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(std::bit_cast<float>(bits) + 0.5f) - 0x3f000000u));
  return static_cast<uint16_t>(sign | ((bits + 0xfffu + (bits >> 13 & 1) - (112u << 23)) >> 13));
}

template <class T>
inline Wide<T> widen(T x) {
  if constexpr (std::is_same_v<T, BF16>) return static_cast<double>(std::bit_cast<float>(uint32_t{x.bits} << 16));
  else if constexpr (std::is_same_v<T, F16>) return static_cast<double>(half_value(x.bits));
  else if constexpr (is_narrow_float<T>) return byte_float_values<T>()[x.bits];
  else if constexpr (is_narrow_int<T>) return static_cast<Wide<T>>(x.value);
  else if constexpr (is_complex_type<T>) return Complex(x.real(), x.imag());
  else return static_cast<Wide<T>>(x);
}

template <class T>
inline T narrow(Wide<T> x) {
  if constexpr (std::is_same_v<T, BF16>) return BF16::from_bits(bf16_code(x));
  else if constexpr (std::is_same_v<T, F16>) return F16::from_bits(half_code(x));
  else if constexpr (is_narrow_float<T>) return T(canonical(x));
  else if constexpr (is_narrow_int<T>) return T(static_cast<int64_t>(x));
  else if constexpr (is_complex_type<T>) return T(narrow<typename T::value_type>(x.real()), narrow<typename T::value_type>(x.imag()));
  else if constexpr (std::is_floating_point_v<T>) return static_cast<T>(canonical(x));
  else return static_cast<T>(x);
}

// What dot, convolution and their relatives add up in: f32 for f32 and all narrower floats, own precision for f64 and
// complex, 32 or 64 bits that wrap for integers, or-of-ands for pred.
template <class T>
using Accumulator = std::conditional_t<
    std::is_same_v<T, double> || is_complex_type<T> || std::is_same_v<T, bool>, T,
    std::conditional_t<is_float_type<T>, float, std::conditional_t<(sizeof(T) > 4), uint64_t, uint32_t>>>;

template <class T>
inline T load(const std::byte* p, int64_t i = 0) {
  T x;
  std::memcpy(&x, p + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return x;
}
template <class T>
inline void store(std::byte* p, int64_t i, T x) {
  std::memcpy(p + i * static_cast<int64_t>(sizeof(T)), &x, sizeof(T));
}

}  // namespace hloc::ir::eval
