// What the functions of this folder share.
#include "backends/loops/math/expr.h"

namespace hloc::loops {

Expr polynomial(Expr x, std::span<const double> c) {
  Expr sum = x.like(c.back());
  for (size_t i = c.size() - 1; i-- > 0;) sum = fma_of(sum, x, c[i]);
  return sum;
}

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
