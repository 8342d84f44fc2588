#include "src/commands/tolerance.h"

#include <cmath>
#include <complex>
#include <cstring>

namespace hloc::cli {
namespace {

std::complex<double> complex_at(ElementType type, const std::byte* at) {
  if (!is_complex(type)) return element_to_double(type, at);
  ElementType part = type == ElementType::c64 ? ElementType::f32 : ElementType::f64;
  return {element_to_double(part, at), element_to_double(part, at + byte_width(part))};
}

}  // namespace

bool close_enough(const Tolerance& t, ElementType type, const std::byte* got, const std::byte* want) {
  if (std::memcmp(got, want, static_cast<size_t>(byte_width(type))) == 0) return true;
  if (type == ElementType::s64 || type == ElementType::u64) {
    if (t.relative == 0 && t.absolute == 0) return false;
  }
  std::complex<double> g = complex_at(type, got), w = complex_at(type, want);
  if (!is_complex(type)) {
    if (std::isnan(w.real())) return std::isnan(g.real());
    if (std::isinf(w.real()) || std::isinf(g.real())) return g.real() == w.real();
  } else if (std::isnan(std::abs(w)) || std::isinf(std::abs(w))) {
    return std::isnan(std::abs(w)) ? std::isnan(std::abs(g)) : std::isinf(std::abs(g));
  }
  return std::abs(g - w) <= t.absolute + t.relative * std::abs(w);
}

}  // namespace hloc::cli
