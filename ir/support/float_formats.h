// Narrow floating-point formats as C++ types: bits in memory, exact conversion to double, one correct rounding from it.
//
// A format is a sign bit (or none), E exponent bits, M mantissa bits and a bias, and one of four conventions for what the
// largest exponent means (OCP "Microscaling formats" 1.0, OCP FP8, and Graphcore/AMD's fnuz variants):
//   ieee    infinities and NaNs as in IEEE 754                      f16 bf16 f8e5m2 f8e4m3 f8e3m4
//   fn      finite; the all-ones code is NaN                         f8e4m3fn
//   fnuz    finite; no -0, whose code is the only NaN                f8e4m3fnuz f8e5m2fnuz f8e4m3b11fnuz
//   finite  every code is a number; NaN and overflow saturate        f4e2m1fn f6e2m3fn f6e3m2fn
//   e8m0    no sign, no mantissa, no zero: powers of two; 255 is NaN f8e8m0fnu
#pragma once

#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "include/hloc/tensor.h"
#include "ir/support/check.h"

namespace hloc {

enum class FloatConvention : uint8_t { ieee, fn, fnuz, finite, e8m0 };

struct FloatFormat {
  int exponent_bits, mantissa_bits, bias;
  FloatConvention convention;
};

namespace float_detail {

inline uint64_t nan_code(FloatFormat f, bool negative) {
  uint64_t sign = uint64_t{1} << (f.exponent_bits + f.mantissa_bits);
  switch (f.convention) {
    case FloatConvention::ieee:
      return (negative ? sign : 0) | (((uint64_t{1} << f.exponent_bits) - 1) << f.mantissa_bits) |
             (uint64_t{1} << (f.mantissa_bits - 1));
    case FloatConvention::fn: return (negative ? sign : 0) | (sign - 1);
    case FloatConvention::fnuz: return sign;
    case FloatConvention::finite: return sign;  // -0: these formats have no NaN
    case FloatConvention::e8m0: return 255;
  }
  return 0;
}

// The code of the largest finite magnitude.
inline uint64_t max_code(FloatFormat f) {
  uint64_t all = (uint64_t{1} << (f.exponent_bits + f.mantissa_bits)) - 1;
  switch (f.convention) {
    case FloatConvention::ieee: return all - (uint64_t{1} << f.mantissa_bits);
    case FloatConvention::fn: return all - 1;
    case FloatConvention::fnuz:
    case FloatConvention::finite: return all;
    case FloatConvention::e8m0: return 254;
  }
  return all;
}

// The code after rounding beyond max_code.
inline uint64_t overflow_code(FloatFormat f, bool negative) {
  uint64_t sign = negative ? uint64_t{1} << (f.exponent_bits + f.mantissa_bits) : 0;
  if (f.convention == FloatConvention::ieee) return sign | (((uint64_t{1} << f.exponent_bits) - 1) << f.mantissa_bits);
  if (f.convention == FloatConvention::finite) return sign | max_code(f);
  return nan_code(f, negative);
}

inline double decode(uint64_t code, FloatFormat f) {
  if (f.convention == FloatConvention::e8m0) {
    return code == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, static_cast<int>(code) - f.bias);
  }
  uint64_t sign_bit = uint64_t{1} << (f.exponent_bits + f.mantissa_bits);
  bool negative = (code & sign_bit) != 0;
  uint64_t magnitude = code & (sign_bit - 1);
  double sign = negative ? -1.0 : 1.0;
  if (f.convention == FloatConvention::fnuz && code == sign_bit) return std::numeric_limits<double>::quiet_NaN();
  if (magnitude > max_code(f)) {
    bool is_inf = f.convention == FloatConvention::ieee && (magnitude & ((uint64_t{1} << f.mantissa_bits) - 1)) == 0;
    return std::copysign(is_inf ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN(), sign);
  }
  auto exponent = static_cast<int>(magnitude >> f.mantissa_bits);
  auto mantissa = static_cast<double>(magnitude & ((uint64_t{1} << f.mantissa_bits) - 1));
  double one = static_cast<double>(uint64_t{1} << f.mantissa_bits);
  return exponent == 0 ? sign * std::ldexp(mantissa, 1 - f.bias - f.mantissa_bits)
                       : sign * std::ldexp(one + mantissa, exponent - f.bias - f.mantissa_bits);
}

// To nearest even, once.
inline uint64_t encode(double x, FloatFormat f) {
  if (f.convention == FloatConvention::e8m0) {
    if (!(x > 0) || std::isinf(x)) return 255;
    int e;
    double m = std::frexp(x, &e);  // x = m * 2^e, m in [0.5, 1)
    int code = e - 1 + f.bias + (m >= 0.75 ? 1 : 0);  // the next power of two from 1.5 on, as ml_dtypes and XLA do
    return code < 0 ? 0 : code > 254 ? 255 : static_cast<uint64_t>(code);
  }
  bool negative = std::signbit(x);
  if (std::isnan(x)) return nan_code(f, negative);
  double magnitude = std::fabs(x);
  uint64_t sign = negative ? uint64_t{1} << (f.exponent_bits + f.mantissa_bits) : 0;
  if (std::isinf(magnitude)) return overflow_code(f, negative);
  if (magnitude == 0) return f.convention == FloatConvention::fnuz ? 0 : sign;
  int e = std::ilogb(magnitude);
  int lowest = 1 - f.bias;  // exponent of the smallest normal
  int quantum = (e < lowest ? lowest : e) - f.mantissa_bits;
  double scaled = std::ldexp(magnitude, -quantum);  // exact
  auto rounded = static_cast<uint64_t>(std::nearbyint(scaled));
  // `rounded` counts quanta of 2^quantum: subnormals count from 0, normals carry the hidden bit; a carry into the next
  // binade is what adding to the code does by itself.
  uint64_t code = e < lowest ? rounded
                             : (static_cast<uint64_t>(e - lowest) << f.mantissa_bits) + rounded;
  if (code > max_code(f)) return overflow_code(f, negative);
  if (code == 0 && f.convention == FloatConvention::fnuz) return 0;
  return sign | code;
}

}  // namespace float_detail

template <class Bits, int E, int M, int Bias, FloatConvention C>
struct NarrowFloat {
  static constexpr FloatFormat format{E, M, Bias, C};
  Bits bits = 0;

  NarrowFloat() = default;
  explicit NarrowFloat(double x) : bits(static_cast<Bits>(float_detail::encode(x, format))) {}
  explicit operator double() const { return float_detail::decode(bits, format); }
  explicit operator float() const { return static_cast<float>(float_detail::decode(bits, format)); }
  static NarrowFloat from_bits(Bits b) {
    NarrowFloat f;
    f.bits = b;
    return f;
  }
};

// bf16 and f16 are hot: bit tricks instead of the general way; same results.
template <>
inline NarrowFloat<uint16_t, 8, 7, 127, FloatConvention::ieee>::operator float() const {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

using F4e2m1fn = NarrowFloat<uint8_t, 2, 1, 1, FloatConvention::finite>;
using F6e2m3fn = NarrowFloat<uint8_t, 2, 3, 1, FloatConvention::finite>;
using F6e3m2fn = NarrowFloat<uint8_t, 3, 2, 3, FloatConvention::finite>;
using F8e3m4 = NarrowFloat<uint8_t, 3, 4, 3, FloatConvention::ieee>;
using F8e4m3 = NarrowFloat<uint8_t, 4, 3, 7, FloatConvention::ieee>;
using F8e4m3fn = NarrowFloat<uint8_t, 4, 3, 7, FloatConvention::fn>;
using F8e4m3fnuz = NarrowFloat<uint8_t, 4, 3, 8, FloatConvention::fnuz>;
using F8e4m3b11fnuz = NarrowFloat<uint8_t, 4, 3, 11, FloatConvention::fnuz>;
using F8e5m2 = NarrowFloat<uint8_t, 5, 2, 15, FloatConvention::ieee>;
using F8e5m2fnuz = NarrowFloat<uint8_t, 5, 2, 16, FloatConvention::fnuz>;
using F8e8m0fnu = NarrowFloat<uint8_t, 8, 0, 127, FloatConvention::e8m0>;
using BF16 = NarrowFloat<uint16_t, 8, 7, 127, FloatConvention::ieee>;
using F16 = NarrowFloat<uint16_t, 5, 10, 15, FloatConvention::ieee>;

// Integers of fewer than 8 bits, stored in a byte; arithmetic wraps on construction.
template <int Bits, bool Signed>
struct NarrowInt {
  using Storage = std::conditional_t<Signed, int8_t, uint8_t>;
  Storage value = 0;

  NarrowInt() = default;
  explicit NarrowInt(int64_t x) {
    auto low = static_cast<uint64_t>(x) & ((uint64_t{1} << Bits) - 1);
    if (Signed && (low >> (Bits - 1))) low |= ~((uint64_t{1} << Bits) - 1);
    value = static_cast<Storage>(low);
  }
  explicit operator int64_t() const { return value; }
};

// Calls f(tag) with a value-initialised object of the C++ type that holds one element of `e` in memory:
// bool, (u)int8…64, NarrowInt, NarrowFloat, float, double, std::complex. Bytes other than 0 and 1 in a pred are not
// expected (readers normalise them).
template <class F>
decltype(auto) visit_element(ElementType e, F&& f) {
  switch (e) {
    case ElementType::invalid: break;
    case ElementType::pred: return f(bool{});
    case ElementType::s1: return f(NarrowInt<1, true>{});
    case ElementType::s2: return f(NarrowInt<2, true>{});
    case ElementType::s4: return f(NarrowInt<4, true>{});
    case ElementType::s8: return f(int8_t{});
    case ElementType::s16: return f(int16_t{});
    case ElementType::s32: return f(int32_t{});
    case ElementType::s64: return f(int64_t{});
    case ElementType::u1: return f(NarrowInt<1, false>{});
    case ElementType::u2: return f(NarrowInt<2, false>{});
    case ElementType::u4: return f(NarrowInt<4, false>{});
    case ElementType::u8: return f(uint8_t{});
    case ElementType::u16: return f(uint16_t{});
    case ElementType::u32: return f(uint32_t{});
    case ElementType::u64: return f(uint64_t{});
    case ElementType::f4e2m1fn: return f(F4e2m1fn{});
    case ElementType::f6e2m3fn: return f(F6e2m3fn{});
    case ElementType::f6e3m2fn: return f(F6e3m2fn{});
    case ElementType::f8e3m4: return f(F8e3m4{});
    case ElementType::f8e4m3: return f(F8e4m3{});
    case ElementType::f8e4m3fn: return f(F8e4m3fn{});
    case ElementType::f8e4m3fnuz: return f(F8e4m3fnuz{});
    case ElementType::f8e4m3b11fnuz: return f(F8e4m3b11fnuz{});
    case ElementType::f8e5m2: return f(F8e5m2{});
    case ElementType::f8e5m2fnuz: return f(F8e5m2fnuz{});
    case ElementType::f8e8m0fnu: return f(F8e8m0fnu{});
    case ElementType::bf16: return f(BF16{});
    case ElementType::f16: return f(F16{});
    case ElementType::f32: return f(float{});
    case ElementType::f64: return f(double{});
    case ElementType::c64: return f(std::complex<float>{});
    case ElementType::c128: return f(std::complex<double>{});
  }
  HLOC_UNREACHABLE();
}

// Kinds of the C++ types above, for `if constexpr`.
template <class T>
inline constexpr bool is_narrow_float = false;
template <class B, int E, int M, int Bias, FloatConvention C>
inline constexpr bool is_narrow_float<NarrowFloat<B, E, M, Bias, C>> = true;
template <class T>
inline constexpr bool is_narrow_int = false;
template <int Bits, bool Signed>
inline constexpr bool is_narrow_int<NarrowInt<Bits, Signed>> = true;
template <class T>
inline constexpr bool is_complex_type = false;
template <class T>
inline constexpr bool is_complex_type<std::complex<T>> = true;
template <class T>
inline constexpr bool is_float_type = std::is_floating_point_v<T> || is_narrow_float<T>;
template <class T>
inline constexpr bool is_int_type = (std::is_integral_v<T> && !std::is_same_v<T, bool>) || is_narrow_int<T>;

}  // namespace hloc
