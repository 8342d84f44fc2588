// Changes of the element type: convert, stochastic-convert, reduce-precision, and the bits of a value under another type.
#include "ir/eval/convert.h"

#include <algorithm>

#include "ir/eval/kernel.h"

namespace hloc::ir::eval {
namespace {

constexpr int64_t convert_chunk = 256;

// x as a double with 53 bits, rounded to odd: narrowing it afterwards rounds as if x were narrowed at once.
double rounded_to_odd(uint64_t x) {
  if (x < (uint64_t{1} << 53)) return static_cast<double>(x);
  int shift = 64 - std::countl_zero(x) - 53;
  uint64_t lost = x & ((uint64_t{1} << shift) - 1);
  return std::ldexp(static_cast<double>((x >> shift) | (lost != 0)), shift);
}
double rounded_to_odd(int64_t x) {
  return x < 0 ? -rounded_to_odd(0 - static_cast<uint64_t>(x)) : rounded_to_odd(static_cast<uint64_t>(x));
}

template <class T>
inline constexpr int bits_of = static_cast<int>(sizeof(T)) * 8;
template <int Bits, bool Signed>
inline constexpr int bits_of<NarrowInt<Bits, Signed>> = Bits;

// Towards zero, into the type's range; NaN is 0.
template <class T>
T saturated(double x) {
  constexpr int bits = bits_of<T>;
  constexpr bool has_sign = is_signed_element<T>();
  double limit = std::ldexp(1.0, has_sign ? bits - 1 : bits);  // exact; the largest value is limit - 1
  using W = Wide<T>;
  uint64_t largest = ~uint64_t{0} >> (64 - (has_sign ? bits - 1 : bits) % 64) % 64;
  if (has_sign && bits == 1) largest = 0;
  if (x != x) return narrow<T>(W{0});
  if (x >= limit) return narrow<T>(static_cast<W>(largest));
  if (has_sign && x < -limit) return narrow<T>(static_cast<W>(-static_cast<int64_t>(largest) - 1));
  if (!has_sign && x <= 0) return narrow<T>(W{0});
  return narrow<T>(static_cast<W>(x));
}

template <class W, class R>
R converted(W x) {
  if constexpr (std::is_same_v<R, bool>) {
    return x != W(0);
  } else if constexpr (std::is_same_v<W, Complex>) {
    if constexpr (is_complex_type<R>) return narrow<R>(x);
    else return converted<double, R>(x.real());
  } else if constexpr (is_complex_type<R>) {
    return R(converted<W, typename R::value_type>(x), 0);
  } else if constexpr (is_int_type<R>) {
    if constexpr (std::is_same_v<W, double>) return saturated<R>(x);
    else return narrow<R>(static_cast<Wide<R>>(x));
  } else if constexpr (std::is_same_v<W, double> || std::is_same_v<W, bool>) {
    return narrow<R>(static_cast<double>(x));
  } else if constexpr (std::is_same_v<R, double>) {
    return static_cast<double>(x);
  } else {
    return narrow<R>(rounded_to_odd(x));
  }
}

template <class W, class R>
void store_converted(const W* in, std::byte* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) store<R>(out, i, converted<W, R>(in[i]));
}

template <class T>
void run_convert(const Kernel& k, const std::byte* const* in, std::byte* out, int64_t n) {
  using W = Wide<T>;
  auto store_all = reinterpret_cast<void (*)(const W*, std::byte*, int64_t)>(k.function);
  W wide[convert_chunk];
  for (int64_t at = 0; at < n; at += convert_chunk) {
    int64_t m = std::min(convert_chunk, n - at);
    for (int64_t i = 0; i < m; ++i) wide[i] = widen(load<T>(in[0], at + i));
    store_all(wide, out + at * k.width, m);
  }
}

void run_same(const Kernel& k, const std::byte* const* in, std::byte* out, int64_t n) {
  if (n > 0) std::memmove(out, in[0], static_cast<size_t>(n * k.width));
}

// float, random bits -> integer: away from zero with the probability that the cut fraction says.
int64_t stochastic(double x, uint64_t random, int random_bits) {
  double magnitude = std::fabs(x);
  if (!(magnitude < 0x1p63)) return x != x ? 0 : x < 0 ? INT64_MIN : INT64_MAX;
  double whole = std::trunc(magnitude);
  double threshold = std::ldexp(magnitude - whole, random_bits);
  auto rounded = static_cast<int64_t>(whole) + (static_cast<double>(random) < std::floor(threshold) ? 1 : 0);
  return std::signbit(x) ? -rounded : rounded;
}

void run_stochastic(const Kernel& k, const std::byte* const* in, std::byte* out, int64_t n) {
  auto from = static_cast<ElementType>(k.a), to = static_cast<ElementType>(k.b);
  int from_width = byte_width(from), random_bits = bit_width(from);
  Kernel to_double = converter(from, ElementType::f64);
  auto random_type = random_bits == 8    ? ElementType::u8
                     : random_bits == 16 ? ElementType::u16
                     : random_bits == 32 ? ElementType::u32 : ElementType::u64;
  Kernel to_u64 = converter(random_type, ElementType::u64);
  for (int64_t i = 0; i < n; ++i) {
    double x = 0;
    uint64_t random = 0;
    const std::byte* at[] = {in[0] + i * from_width, in[1] + i * from_width};
    to_double.run(to_double, &at[0], reinterpret_cast<std::byte*>(&x), 1);
    to_u64.run(to_u64, &at[1], reinterpret_cast<std::byte*>(&random), 1);
    int64_t result = stochastic(x, random, random_bits);
    int64_t limit = bit_width(to) == 64 ? INT64_MAX : (int64_t{1} << (bit_width(to) - 1)) - 1;
    result = std::clamp(result, -limit - 1, limit);
    std::memcpy(out + i * k.width, &result, static_cast<size_t>(k.width));
  }
}

// The bit pattern of a float cut to fewer exponent and mantissa bits: the mantissa to nearest even, then infinity above the
// smaller range and zero below its normals.
uint64_t reduced_bits(uint64_t x, FloatFormat own, int exponent_bits, int mantissa_bits) {
  uint64_t sign = x & (uint64_t{1} << (own.exponent_bits + own.mantissa_bits));
  uint64_t magnitude = x ^ sign;
  if (mantissa_bits < own.mantissa_bits) {
    uint64_t last = uint64_t{1} << (own.mantissa_bits - mantissa_bits);
    magnitude += (last >> 1) - 1 + ((magnitude & last) != 0);
    magnitude &= ~(last - 1);
  }
  uint64_t exponent = magnitude >> own.mantissa_bits;
  uint64_t all_ones = (uint64_t{1} << own.exponent_bits) - 1;
  if (exponent_bits < own.exponent_bits) {
    uint64_t bias = all_ones >> 1, reduced_bias = (uint64_t{1} << (exponent_bits - 1)) - 1;
    if (exponent > bias + reduced_bias) magnitude = all_ones << own.mantissa_bits;
    if (exponent <= bias - reduced_bias) magnitude = 0;
  }
  return sign | magnitude;
}

template <class T>
constexpr FloatFormat format_of() {
  if constexpr (std::is_same_v<T, float>) return {8, 23, 127, FloatConvention::ieee};
  else if constexpr (std::is_same_v<T, double>) return {11, 52, 1023, FloatConvention::ieee};
  else return T::format;
}

template <class T>
void run_reduce_precision(const Kernel& k, const std::byte* const* in, std::byte* out, int64_t n) {
  constexpr FloatFormat own = format_of<T>();
  for (int64_t i = 0; i < n; ++i) {
    auto x = load<T>(in[0], i);
    uint64_t bits = 0;
    std::memcpy(&bits, &x, sizeof(T));
    bool is_nan = std::isnan(widen(x));
    uint64_t reduced = reduced_bits(bits, own, static_cast<int>(k.a), static_cast<int>(k.b));
    if (is_nan) {
      uint64_t infinity_bits = ((uint64_t{1} << own.exponent_bits) - 1) << own.mantissa_bits;
      uint64_t sign = bits & (uint64_t{1} << (own.exponent_bits + own.mantissa_bits));
      reduced = k.b > 0 ? bits : sign | infinity_bits;
    }
    std::memcpy(out + i * static_cast<int64_t>(sizeof(T)), &reduced, sizeof(T));
  }
}

Kernel reduce_precision_kernel(const ElementwiseOp& e) {
  const auto& attr = get<ReducePrecisionAttr>(e.attr);
  Kernel k;
  k.a = attr.exponent_bits;
  k.b = attr.mantissa_bits;
  visit_element(e.result, [&k](auto tag) {
    using T = decltype(tag);
    if constexpr (is_float_type<T>) k.run = run_reduce_precision<T>;
  });
  return k;
}

uint64_t element_code(const std::byte* p, int64_t i, int bytes, int bits) {
  uint64_t code = 0;
  std::memcpy(&code, p + i * bytes, static_cast<size_t>(bytes));
  return bits == 64 ? code : code & ((uint64_t{1} << bits) - 1);
}

// A code as the type's element in memory: narrow signed integers are sign-extended, preds are 0 or 1.
void set_element_code(std::byte* p, int64_t i, ElementType t, uint64_t code) {
  int bits = bit_width(t), bytes = byte_width(t);
  if (is_signed_integer(t) && bits < 8 && (code >> (bits - 1)) != 0) code |= ~uint64_t{0} << bits;
  if (t == ElementType::pred) code = code != 0;
  std::memcpy(p + i * bytes, &code, static_cast<size_t>(bytes));
}

}  // namespace

Kernel converter(ElementType from, ElementType to) {
  Kernel k;
  k.width = byte_width(to);
  k.bits = bit_width(from);
  if (from == to) {
    k.run = run_same;
    return k;
  }
  visit_element(from, [&](auto from_tag) {
    using T = decltype(from_tag);
    k.run = run_convert<T>;
  });
  auto set = [&]<class W>() {
    visit_element(to, [&](auto tag) {
      k.function = reinterpret_cast<void (*)()>(&store_converted<W, decltype(tag)>);
    });
  };
  if (from == ElementType::pred) set.template operator()<bool>();
  else if (is_signed_integer(from)) set.template operator()<int64_t>();
  else if (is_unsigned_integer(from)) set.template operator()<uint64_t>();
  else if (is_complex(from)) set.template operator()<Complex>();
  else set.template operator()<double>();
  return k;
}

std::optional<Kernel> convert_kernel(const ElementwiseOp& e) {
  ElementType from = e.operands[0], to = e.result;
  if (e.op == Op::Convert) return converter(from, to);
  if (e.op == Op::ReducePrecision && is_float(from) && from == to) return reduce_precision_kernel(e);
  if (e.op == Op::StochasticConvert && is_float(from) && is_signed_integer(to) && bit_width(to) >= 8 &&
      bit_width(from) >= 8) {
    Kernel k;
    k.a = static_cast<int64_t>(from);
    k.b = static_cast<int64_t>(to);
    k.run = run_stochastic;
    return k;
  }
  return std::nullopt;
}

void reinterpret_elements(const BitCast& c, const std::byte* in, std::byte* out) {
  bool whole_bytes = c.from_bits % 8 == 0 && c.to_bits % 8 == 0;
  if (c.from == c.to || whole_bytes) {
    if (c.bits_total > 0) std::memcpy(out, in, static_cast<size_t>(c.bits_total / c.to_bits * byte_width(c.to)));
    if (c.to == ElementType::pred)
      for (int64_t i = 0; i < c.bits_total / c.to_bits; ++i) out[i] = std::byte{out[i] != std::byte{0}};
    return;
  }
  int from_width = byte_width(c.from);
  if (c.from_bits >= c.to_bits) {
    int ratio = c.from_bits / c.to_bits;
    uint64_t mask = c.to_bits == 64 ? ~uint64_t{0} : (uint64_t{1} << c.to_bits) - 1;
    for (int64_t i = 0; i < c.bits_total / c.from_bits; ++i) {
      uint64_t code = element_code(in, i, from_width, c.from_bits);
      for (int part = 0; part < ratio; ++part) set_element_code(out, i * ratio + part, c.to, code >> (part * c.to_bits) & mask);
    }
  } else {
    int ratio = c.to_bits / c.from_bits;
    for (int64_t i = 0; i < c.bits_total / c.to_bits; ++i) {
      uint64_t code = 0;
      for (int part = 0; part < ratio; ++part)
        code |= element_code(in, i * ratio + part, from_width, c.from_bits) << (part * c.from_bits);
      set_element_code(out, i, c.to, code);
    }
  }
}

}  // namespace hloc::ir::eval
