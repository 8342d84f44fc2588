#include "backends/cpu/machine/element.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "ir/support/check.h"
#include "ir/support/float_formats.h"

namespace hloc::machine {

uint64_t element_bits(ElementType t, double value) {
  switch (t) {
    case ElementType::f64: return std::bit_cast<uint64_t>(value);
    case ElementType::f32: return std::bit_cast<uint32_t>(static_cast<float>(value));
    case ElementType::f16: return F16(value).bits;
    case ElementType::bf16: return BF16(value).bits;
    case ElementType::pred: return value != 0;
    default: break;
  }
  HLOC_CHECK(is_integer(t), "not an element type of the machine");
  bool fits_signed = value > -9223372036854775808.0 && value < 9223372036854775808.0;
  uint64_t whole = fits_signed ? static_cast<uint64_t>(static_cast<int64_t>(value))
                   : value > 0 && value < 18446744073709551616.0 ? static_cast<uint64_t>(value)
                   : value > 0 ? ~uint64_t{0} : uint64_t{1} << 63;
  return whole & low_mask(bit_width(t));
}

double element_value(ElementType t, uint64_t bits) {
  switch (t) {
    case ElementType::f64: return std::bit_cast<double>(bits);
    case ElementType::f32: return std::bit_cast<float>(static_cast<uint32_t>(bits));
    case ElementType::f16: return static_cast<double>(F16::from_bits(static_cast<uint16_t>(bits)));
    case ElementType::bf16: return static_cast<double>(BF16::from_bits(static_cast<uint16_t>(bits)));
    default: break;
  }
  int unused = 64 - bit_width(t);
  if (is_signed_integer(t)) return static_cast<double>(static_cast<int64_t>(bits << unused) >> unused);
  return static_cast<double>(bits);
}

std::string element_text(ElementType t, uint64_t bits) {
  if (!is_float(t)) {
    int unused = 64 - bit_width(t);
    if (is_signed_integer(t)) return fmt::format("{}", static_cast<int64_t>(bits << unused) >> unused);
    return fmt::format("{}", bits);
  }
  double value = element_value(t, bits);
  if (std::isnan(value)) return fmt::format("{:#x}", bits);
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return t == ElementType::f64 ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
}

bool parse_element(ElementType t, std::string_view text, uint64_t& bits) {
  const char* end = text.data() + text.size();
  if (text.substr(0, 2) == "0x") {
    auto r = std::from_chars(text.data() + 2, end, bits, 16);
    return r.ec == std::errc{} && r.ptr == end && (bits & ~low_mask(bit_width(t))) == 0;
  }
  if (is_float(t)) {
    double value = 0;
    if (t == ElementType::f32) {
      float f = 0;  // straight to f32: no double rounding
      auto r = std::from_chars(text.data(), end, f);
      if (r.ec != std::errc{} || r.ptr != end) return false;
      bits = std::bit_cast<uint32_t>(f);
      return true;
    }
    auto r = std::from_chars(text.data(), end, value);
    if (r.ec != std::errc{} || r.ptr != end) return false;
    bits = element_bits(t, value);
    return true;
  }
  if (is_signed_integer(t)) {
    int64_t value = 0;
    auto r = std::from_chars(text.data(), end, value);
    bits = static_cast<uint64_t>(value) & low_mask(bit_width(t));
    int unused = 64 - bit_width(t);
    return r.ec == std::errc{} && r.ptr == end && static_cast<int64_t>(bits << unused) >> unused == value;
  }
  auto r = std::from_chars(text.data(), end, bits);
  return r.ec == std::errc{} && r.ptr == end && bits <= (t == ElementType::pred ? 1 : low_mask(bit_width(t)));
}

}  // namespace hloc::machine
