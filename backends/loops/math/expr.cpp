// What the functions of this folder share.
#include "backends/loops/math/expr.h"

namespace hloc::loops {

namespace {

// c[from] + c[from + step] x + …
Expr horner_steps(Expr x, std::span<const double> c, size_t from, size_t step) {
  size_t last = from + (c.size() - 1 - from) / step * step;
  Expr sum = x.like(c[last]);
  for (size_t i = last; i > from; i -= step) sum = fma_of(sum, x, c[i - step]);
  return sum;
}

}  // namespace

Expr polynomial(Expr x, std::span<const double> c) {
  constexpr size_t shortest = 6;  // that is worth a multiplication to halve the chain
  if (c.size() < shortest) return horner(x, c);
  Expr square = x * x;
  return fma_of(horner_steps(square, c, 1, 2), x, horner_steps(square, c, 0, 2));
}

Expr horner(Expr x, std::span<const double> c) { return horner_steps(x, c, 0, 1); }

ElementType bits_type(ElementType f) { return f == ElementType::f32 ? ElementType::s32 : ElementType::s64; }
int mantissa_bits_of(ElementType f) { return f == ElementType::f32 ? 23 : 52; }
int exponent_bias_of(ElementType f) { return f == ElementType::f32 ? 127 : 1023; }

Expr field_mask(Expr x, int shift) { return x.like(-static_cast<double>(int64_t{1} << shift)); }

Expr with_sign(Expr x, Expr sign_of) {
  ElementType whole = bits_type(x.type());
  Expr sign = sign_of.bits(whole);
  sign = sign & sign.like_bits(uint64_t{1} << (bit_width(whole) - 1));
  return (x.bits(whole) | sign).bits(x.type());
}

Expr power_of_two(Expr n, ElementType f) { return ((n + static_cast<double>(exponent_bias_of(f))) << mantissa_bits_of(f)).bits(f); }

}  // namespace hloc::loops
