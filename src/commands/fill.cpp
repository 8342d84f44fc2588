#include "src/commands/fill.h"

#include <cstring>

namespace hloc::cli {
namespace {

uint64_t fill_bits(uint64_t seed, uint64_t i) {
  uint64_t z = seed * 0x9E3779B97F4A7C15u + (i + 1) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

float uniform_value(uint64_t seed, uint64_t i, double lo, double hi) {
  float u = static_cast<float>(fill_bits(seed, i) >> 40) * 0x1p-24f;
  auto range = static_cast<float>(hi - lo);
  float product = range * u;
  return static_cast<float>(lo) + product;
}

}  // namespace

Bytes fill_uniform(const Shape& shape, uint64_t seed, double lo, double hi) {
  Bytes out(shape.bytes());
  auto width = static_cast<size_t>(byte_width(shape.element));
  auto count = static_cast<uint64_t>(shape.count());
  for (uint64_t i = 0; i < count; ++i) {
    std::byte* at = out.data() + i * width;
    float value = uniform_value(seed, i, lo, hi);
    if (is_complex(shape.element)) {
      ElementType part = shape.element == ElementType::c64 ? ElementType::f32 : ElementType::f64;
      element_from_double(part, value, at);
      element_from_double(part, uniform_value(seed + 1000003, i, lo, hi), at + width / 2);
    } else {
      element_from_double(shape.element, value, at);
    }
  }
  return out;
}

Bytes fill_integers(const Shape& shape, uint64_t seed, int64_t lo, int64_t hi) {
  Bytes out(shape.bytes());
  auto width = static_cast<size_t>(byte_width(shape.element));
  auto count = static_cast<uint64_t>(shape.count());
  uint64_t range = hi > lo ? static_cast<uint64_t>(hi) - static_cast<uint64_t>(lo) : 1;
  for (uint64_t i = 0; i < count; ++i) {
    auto value = static_cast<int64_t>(static_cast<uint64_t>(lo) + fill_bits(seed, i) % range);
    if (is_integer(shape.element) && bit_width(shape.element) >= 8)
      std::memcpy(out.data() + i * width, &value, width);  // little endian; keeps all 64 bits
    else
      element_from_double(shape.element, static_cast<double>(value), out.data() + i * width);
  }
  return out;
}

Bytes fill_constant(const Shape& shape, double value) {
  Bytes out(shape.bytes());
  auto width = static_cast<size_t>(byte_width(shape.element));
  for (size_t at = 0; at < out.size(); at += width) element_from_double(shape.element, value, out.data() + at);
  return out;
}

Bytes fill_default(const Shape& shape, uint64_t seed) {
  if (shape.element == ElementType::pred) return fill_integers(shape, seed, 0, 2);
  if (is_integer(shape.element)) return fill_integers(shape, seed, 0, 100);
  return fill_uniform(shape, seed, -1, 1);
}

}  // namespace hloc::cli
