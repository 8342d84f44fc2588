#include "src/commands/tolerance.h"

#include <cmath>
#include <complex>
#include <cstring>

namespace hloc::cli {
namespace {

ElementType part_of(ElementType complex) { return complex == ElementType::c64 ? ElementType::f32 : ElementType::f64; }

std::complex<double> complex_at(ElementType type, const std::byte* at) {
  if (!is_complex(type)) return element_to_double(type, at);
  ElementType part = part_of(type);
  return {element_to_double(part, at), element_to_double(part, at + byte_width(part))};
}

}  // namespace

bool identical(ElementType type, const std::byte* a, const std::byte* b) {
  if (std::memcmp(a, b, static_cast<size_t>(byte_width(type))) == 0) return true;
  if (is_float(type)) return std::isnan(element_to_double(type, a)) && std::isnan(element_to_double(type, b));
  if (!is_complex(type)) return false;
  ElementType part = part_of(type);
  return identical(part, a, b) && identical(part, a + byte_width(part), b + byte_width(part));
}

bool close_enough(const Tolerance& t, ElementType type, const std::byte* got, const std::byte* want) {
  if (identical(type, got, want)) return true;
  if (type == ElementType::s64 || type == ElementType::u64) {
    if (t.relative == 0 && t.absolute == 0) return false;
  }
  std::complex<double> g = complex_at(type, got), w = complex_at(type, want);
  if (!is_complex(type)) {
    if (std::isnan(w.real())) return false;
    if (std::isinf(w.real()) || std::isinf(g.real())) return g.real() == w.real();
  } else if (std::isnan(std::abs(w)) || std::isinf(std::abs(w))) {
    return std::isnan(std::abs(w)) ? std::isnan(std::abs(g)) : std::isinf(std::abs(g));
  }
  return std::abs(g - w) <= t.absolute + t.relative * std::abs(w);
}

}  // namespace hloc::cli
