// Elements as text. Floats print as the fewest digits that read back to the same bits. Decimal text is rounded once:
// f32 and f64 by std::from_chars, narrow formats by way of f64, where a tie of the narrow format that f64's own rounding
// may have made is decided by the exact decimal digits.
#include "ir/literal_text.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "ir/support/float_formats.h"

namespace hloc::ir {
namespace {

template <class T>
T load_element(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

template <class T>
void store_element(std::byte* out, T value) {
  std::memcpy(out, &value, sizeof(T));
}

// ---- floats as text

// Digits without an exponent where that is readable, else with one.
template <class F>
void append_shortest(std::string& out, F x) {
  char buffer[64];
  F magnitude = std::fabs(x);
  bool plain = magnitude == 0 || (magnitude >= F(1e-5) && magnitude < F(1e15));
  auto r = plain ? std::to_chars(buffer, buffer + sizeof buffer, x, std::chars_format::fixed)
                 : std::to_chars(buffer, buffer + sizeof buffer, x, std::chars_format::scientific);
  out.append(buffer, r.ptr);
  if (x == 0 && std::signbit(x)) out += ".0";  // XLA reads "-0" as the integer 0
}

struct IeeeLayout {
  int mantissa_bits;
  uint64_t sign;  // the bit
};

void append_nan(std::string& out, uint64_t code, IeeeLayout layout) {
  uint64_t payload = code & ((uint64_t{1} << layout.mantissa_bits) - 1);
  if (code & layout.sign) out += '-';
  out += "nan";
  if (payload != uint64_t{1} << (layout.mantissa_bits - 1)) fmt::format_to(std::back_inserter(out), "(0x{:x})", payload);
}

template <class F, class Bits>
void append_float(std::string& out, F x) {
  if (std::isnan(x)) {
    constexpr int mantissa = std::numeric_limits<F>::digits - 1;
    append_nan(out, std::bit_cast<Bits>(x), {mantissa, uint64_t{1} << (sizeof(F) * 8 - 1)});
  } else if (std::isinf(x)) {
    out += x < 0 ? "-inf" : "inf";
  } else {
    append_shortest(out, x);
  }
}

template <class N>
void append_narrow(std::string& out, N x) {
  constexpr FloatFormat f = N::format;
  auto value = static_cast<double>(x);
  if (std::isnan(value)) {
    if constexpr (f.convention == FloatConvention::ieee) {
      append_nan(out, x.bits, {f.mantissa_bits, uint64_t{1} << (f.exponent_bits + f.mantissa_bits)});
    } else {
      bool negative = f.convention == FloatConvention::fn && (x.bits >> (f.exponent_bits + f.mantissa_bits)) != 0;
      out += negative ? "-nan" : "nan";
    }
    return;
  }
  if (!std::isinf(value) && value != 0) {
    // The fewest digits whose value rounds to these bits; the widest of these formats needs 5.
    for (int precision = 1; precision <= 9; ++precision) {
      char buffer[64];
      auto r = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific, precision - 1);
      double shortened;
      std::from_chars(buffer, r.ptr, shortened);
      if (N(shortened).bits != x.bits) continue;
      value = shortened;
      break;
    }
  }
  append_float<double, uint64_t>(out, value);
}

// ---- text as floats

// The sign of (decimal `text`) - `value` for finite positive numbers, by exact digits. `text` has digits, a point and an
// exponent only.
int compare_decimal(std::string_view text, double value) {
  char buffer[1100];
  auto r = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific, 1074);
  std::string_view exact(buffer, static_cast<size_t>(r.ptr - buffer));
  // Both as d.ddd… × 10^e with a non-zero first digit.
  auto split = [](std::string_view s, std::string& digits) {
    int64_t exponent = 0;
    if (size_t e = s.find_first_of("eE"); e != std::string_view::npos) {
      std::string_view number = s.substr(e + 1);
      if (number.starts_with('+')) number.remove_prefix(1);
      if (std::from_chars(number.data(), number.data() + number.size(), exponent).ec != std::errc())
        exponent = number.starts_with('-') ? -1'000'000'000 : 1'000'000'000;
      s = s.substr(0, e);
    }
    size_t point = std::min(s.find('.'), s.size());
    exponent += static_cast<int64_t>(point) - 1;
    for (char c : s)
      if (c != '.') digits += c;
    size_t first = digits.find_first_not_of('0');
    if (first == std::string::npos) first = digits.size();
    exponent -= static_cast<int64_t>(first);
    digits.erase(0, first);
    size_t last = digits.find_last_not_of('0');
    digits.resize(last == std::string::npos ? 0 : last + 1);
    return exponent;
  };
  std::string a, b;
  int64_t ea = split(text, a), eb = split(exact, b);
  if (a.empty() || b.empty()) return static_cast<int>(!a.empty()) - static_cast<int>(!b.empty());
  if (ea != eb) return ea < eb ? -1 : 1;
  int order = a.compare(b);
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}

// Decimal text to f64; an underflow gives 0 (or the nearest subnormal), an overflow an infinity.
bool parse_double(std::string_view text, double& out) {
  auto r = std::from_chars(text.data(), text.data() + text.size(), out);
  if (r.ec == std::errc::invalid_argument || r.ptr != text.data() + text.size()) return false;
  if (r.ec == std::errc::result_out_of_range) {
    bool negative = text.starts_with('-');
    std::string_view magnitude = negative ? text.substr(1) : text;
    double size = compare_decimal(magnitude, 1.0) < 0 ? 0 : std::numeric_limits<double>::infinity();
    out = negative ? -size : size;
  }
  return true;
}

template <class F>
ElementError parse_ieee(std::string_view text, std::byte* out) {
  F value;
  auto r = std::from_chars(text.data(), text.data() + text.size(), value);
  if (r.ec == std::errc::invalid_argument || r.ptr != text.data() + text.size()) return ElementError::not_a_number;
  if (r.ec == std::errc::result_out_of_range || std::isinf(value)) {
    double wide;
    if (!parse_double(text, wide)) return ElementError::not_a_number;
    if (std::fabs(wide) > 1) return ElementError::out_of_range;
    value = static_cast<F>(wide);
  }
  store_element(out, value);
  return ElementError::none;
}

template <class N>
ElementError parse_narrow(std::string_view text, std::byte* out) {
  constexpr FloatFormat f = N::format;
  double value;
  if (!parse_double(text, value)) return ElementError::not_a_number;
  bool negative = std::signbit(value);
  double magnitude = std::fabs(value);
  // Nudge f64's rounding out of the way when it may have landed on a tie of the narrow format.
  if (std::isfinite(value)) {
    auto below = static_cast<double>(N(std::nextafter(magnitude, 0.0)));
    auto above = static_cast<double>(N(std::nextafter(magnitude, std::numeric_limits<double>::infinity())));
    if (!(below == above)) {
      int order = compare_decimal(negative ? text.substr(1) : text, magnitude);
      if (order < 0) magnitude = std::nextafter(magnitude, 0.0);
      if (order > 0) magnitude = std::nextafter(magnitude, std::numeric_limits<double>::infinity());
    }
  }
  if (f.convention == FloatConvention::e8m0 && (negative || magnitude == 0)) return ElementError::out_of_range;
  N narrow(negative ? -magnitude : magnitude);
  if (f.convention != FloatConvention::finite) {
    auto back = static_cast<double>(narrow);
    if (std::isinf(back) || std::isnan(back)) return ElementError::out_of_range;
  }
  store_element(out, narrow);
  return ElementError::none;
}

// "nan", "nan(0x1)": the payload is 0 when none is given.
bool parse_nan(std::string_view text, uint64_t& payload) {
  payload = 0;
  if (!text.starts_with("nan")) return false;
  text.remove_prefix(3);
  if (text.empty()) return true;
  if (!text.starts_with("(0x") || !text.ends_with(')') || text.size() < 5) return false;
  text = text.substr(3, text.size() - 4);
  auto r = std::from_chars(text.data(), text.data() + text.size(), payload, 16);
  return r.ec == std::errc() && r.ptr == text.data() + text.size() && payload != 0;
}

template <class Bits>
ElementError store_ieee_nan(uint64_t payload, bool negative, int mantissa_bits, int exponent_bits, std::byte* out) {
  if (payload >> mantissa_bits) return ElementError::out_of_range;
  uint64_t code = (((uint64_t{1} << exponent_bits) - 1) << mantissa_bits) |
                  (payload ? payload : uint64_t{1} << (mantissa_bits - 1)) |
                  (negative ? uint64_t{1} << (mantissa_bits + exponent_bits) : 0);
  store_element(out, static_cast<Bits>(code));
  return ElementError::none;
}

// Infinities and NaNs; `text` has no sign any more.
template <class T>
ElementError parse_special(std::string_view text, bool negative, std::byte* out) {
  if constexpr (is_narrow_float<T>) {
    constexpr FloatFormat f = T::format;
    if (text == "inf") {
      store_element(out, T(negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity()));
      return ElementError::none;
    }
    uint64_t payload;
    if (!parse_nan(text, payload)) return ElementError::not_a_number;
    if constexpr (f.convention == FloatConvention::ieee)
      return store_ieee_nan<decltype(T::bits)>(payload, negative, f.mantissa_bits, f.exponent_bits, out);
    using Bits = decltype(T::bits);
    store_element(out, static_cast<Bits>(float_detail::nan_code(f, negative)));
    return ElementError::none;
  } else {
    if (text == "inf") {
      T inf = std::numeric_limits<T>::infinity();
      store_element(out, negative ? -inf : inf);
      return ElementError::none;
    }
    uint64_t payload;
    if (!parse_nan(text, payload)) return ElementError::not_a_number;
    constexpr int mantissa = std::numeric_limits<T>::digits - 1;
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    return store_ieee_nan<Bits>(payload, negative, mantissa, static_cast<int>(sizeof(T)) * 8 - 1 - mantissa, out);
  }
}

template <class T>
ElementError parse_any_float(std::string_view text, std::byte* out) {
  bool negative = text.starts_with('-');
  std::string_view magnitude = negative ? text.substr(1) : text;
  if (magnitude.empty()) return ElementError::not_a_number;
  char first = magnitude[0];
  if (first == 'i' || first == 'n') return parse_special<T>(magnitude, negative, out);
  if (first != '.' && (first < '0' || first > '9')) return ElementError::not_a_number;
  if constexpr (is_narrow_float<T>) return parse_narrow<T>(text, out);
  else return parse_ieee<T>(text, out);
}

// ---- integers

template <class T>
ElementError parse_any_int(std::string_view text, ElementType element, std::byte* out) {
  bool negative = text.starts_with('-');
  uint64_t magnitude = 0;
  std::string_view digits = negative ? text.substr(1) : text;
  auto r = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude);
  if (r.ec == std::errc::invalid_argument || r.ptr != digits.data() + digits.size()) return ElementError::not_a_number;
  if (r.ec == std::errc::result_out_of_range) return ElementError::out_of_range;
  int bits = bit_width(element);
  bool is_signed = is_signed_integer(element);
  // 64-bit integers of either sign may be written as the other kind: XLA takes the bits.
  bool fits = bits == 64 ? !negative || magnitude <= uint64_t{1} << 63
              : is_signed ? magnitude < (uint64_t{1} << (bits - 1)) + (negative ? 1 : 0)
                          : (!negative || magnitude == 0) && magnitude >> bits == 0;
  if (!fits) return ElementError::out_of_range;
  uint64_t value = negative ? 0 - magnitude : magnitude;
  if constexpr (is_narrow_int<T>) store_element(out, T(static_cast<int64_t>(value)));
  else store_element(out, static_cast<T>(value));
  return ElementError::none;
}

ElementError parse_pred(std::string_view text, std::byte* out) {
  if (text == "true" || text == "false") {
    *out = std::byte{text == "true"};
    return ElementError::none;
  }
  std::byte wide[8];
  ElementError e = parse_any_int<int64_t>(text, ElementType::s64, wide);
  if (e == ElementError::none) *out = std::byte{load_element<int64_t>(wide) != 0};
  return e;
}

}  // namespace

void append_element(std::string& out, ElementType element, const std::byte* bytes) {
  visit_element(element, [&]<class T>(T) {
    if constexpr (std::is_same_v<T, bool>) {
      out += *bytes != std::byte{0} ? "true" : "false";
    } else if constexpr (is_complex_type<T>) {
      using Part = typename T::value_type;
      constexpr ElementType part = sizeof(Part) == 4 ? ElementType::f32 : ElementType::f64;
      out += '(';
      append_element(out, part, bytes);
      out += ", ";
      append_element(out, part, bytes + sizeof(Part));
      out += ')';
    } else if constexpr (std::is_same_v<T, float>) {
      append_float<float, uint32_t>(out, load_element<float>(bytes));
    } else if constexpr (std::is_same_v<T, double>) {
      append_float<double, uint64_t>(out, load_element<double>(bytes));
    } else if constexpr (is_narrow_float<T>) {
      append_narrow(out, load_element<T>(bytes));
    } else if constexpr (is_narrow_int<T>) {
      fmt::format_to(std::back_inserter(out), "{}", static_cast<int64_t>(load_element<T>(bytes)));
    } else {
      fmt::format_to(std::back_inserter(out), "{}", load_element<T>(bytes));
    }
  });
}

ElementError parse_element(std::string_view text, ElementType element, std::byte* out) {
  return visit_element(element, [&]<class T>(T) -> ElementError {
    if constexpr (std::is_same_v<T, bool>) return parse_pred(text, out);
    else if constexpr (is_complex_type<T>) return ElementError::not_a_number;
    else if constexpr (is_float_type<T>) return parse_any_float<T>(text, out);
    else return parse_any_int<T>(text, element, out);
  });
}

}  // namespace hloc::ir
