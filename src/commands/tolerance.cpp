#include "src/commands/tolerance.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>

#include <fmt/format.h>

namespace hloc::cli {
namespace {

ElementType part_of(ElementType complex) { return complex == ElementType::c64 ? ElementType::f32 : ElementType::f64; }

std::complex<double> complex_at(ElementType type, const std::byte* at) {
  if (!is_complex(type)) return element_to_double(type, at);
  ElementType part = part_of(type);
  return {element_to_double(part, at), element_to_double(part, at + byte_width(part))};
}

std::string index_text(const Shape& shape, int64_t flat) {
  std::vector<int64_t> index(shape.dims.size());
  for (size_t d = index.size(); d-- > 0;) {
    index[d] = flat % shape.dims[d];
    flat /= shape.dims[d];
  }
  return fmt::format("[{}]", fmt::join(index, ","));
}

// Distance in representable values between two elements of a float type; -1 where that has no meaning.
int64_t ulps_between(ElementType type, const std::byte* a, const std::byte* b) {
  if (!is_float(type)) return -1;
  auto ordered = [&](const std::byte* p) {
    int64_t bits = 0;
    std::memcpy(&bits, p, static_cast<size_t>(byte_width(type)));
    int64_t sign = int64_t{1} << (bit_width(type) - 1);
    if (bit_width(type) < 64) return bits & sign ? -(bits & (sign - 1)) : bits;
    return bits < 0 ? static_cast<int64_t>(static_cast<uint64_t>(sign) - static_cast<uint64_t>(bits)) : bits;
  };
  int64_t d = 0;
  if (__builtin_sub_overflow(ordered(a), ordered(b), &d)) return -1;
  return std::abs(d);
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

std::optional<std::string> first_difference(size_t k, const Shape& shape, std::span<const std::byte> got, std::span<const std::byte> want,
                                            const Allowed& allowed) {
  auto width = static_cast<size_t>(byte_width(shape.element));
  int64_t wrong = 0, first = -1, count = static_cast<int64_t>(want.size() / width);
  for (int64_t i = 0; i < count; ++i) {
    const std::byte* element = got.data() + static_cast<size_t>(i * allowed.every) * width;
    if (close_enough(allowed.tolerance, shape.element, element, want.data() + static_cast<size_t>(i) * width)) continue;
    if (wrong++ == 0) first = i;
  }
  if (static_cast<double>(wrong) <= allowed.mismatch_fraction * static_cast<double>(count)) return std::nullopt;
  const std::byte* element = got.data() + static_cast<size_t>(first * allowed.every) * width;
  const std::byte* expected = want.data() + static_cast<size_t>(first) * width;
  int64_t ulps = ulps_between(shape.element, element, expected);
  return fmt::format("out{}{}: got {}, want {}{}; {} of {} elements are wrong", k, index_text(shape, first * allowed.every),
                     element_text(shape.element, element), element_text(shape.element, expected), ulps >= 0 ? fmt::format(" ({} ulps)", ulps) : "", wrong,
                     count);
}

Tolerance usual_tolerance(const Shape& shape, std::span<const std::byte> want) {
  if (!is_float(shape.element) && !is_complex(shape.element)) return {};
  ElementType part = is_complex(shape.element) ? part_of(shape.element) : shape.element;
  double relative = part == ElementType::f64 ? 1e-11 : part == ElementType::f32 ? 1e-4 : part == ElementType::f16 ? 1e-2 : part == ElementType::bf16 ? 3e-2 : 0.3;
  double most = 0;
  auto width = static_cast<size_t>(byte_width(part));
  for (size_t at = 0; at + width <= want.size(); at += width) {
    double x = std::abs(element_to_double(part, want.data() + at));
    if (std::isfinite(x)) most = std::max(most, x);
  }
  return {relative, relative * most};
}

}  // namespace hloc::cli
