// Loop IR written like arithmetic, for the expansions of composite ops.
//
//   Expr y = select(x < 0, -x, x) * 0.5;      numbers take the type of the expression beside them
#pragma once

#include <span>

#include "backends/loops/builder.h"

namespace hloc::loops {

struct Expr {
  KernelBuilder* builder = nullptr;
  ValueId id = no_id;

  ElementType type() const { return builder->type(id); }
  bool is(ElementType t) const { return type() == t; }
  Expr like(double number) const { return {builder, builder->constant(type(), number)}; }
  Expr like_bits(uint64_t bits) const { return {builder, builder->constant_of_bits(type(), bits)}; }
  Expr as(ElementType to) const { return {builder, builder->convert(to, id)}; }   // by value
  Expr bits(ElementType to) const { return {builder, builder->bitcast(to, id)}; }  // the same bits
};

inline Expr unary_expr(ScalarOp op, Expr a) { return {a.builder, a.builder->make(op, {a.id})}; }
inline Expr binary_expr(ScalarOp op, Expr a, Expr b) { return {a.builder, a.builder->make(op, {a.id, b.id})}; }
inline Expr compare_expr(Predicate p, Expr a, Expr b) { return {a.builder, a.builder->compare(p, a.id, b.id)}; }

#define HLOC_EXPR(symbol, op)                                                                  \
  inline Expr operator symbol(Expr a, Expr b) { return binary_expr(ScalarOp::op, a, b); }      \
  inline Expr operator symbol(Expr a, double b) { return binary_expr(ScalarOp::op, a, a.like(b)); } \
  inline Expr operator symbol(double a, Expr b) { return binary_expr(ScalarOp::op, b.like(a), b); }
HLOC_EXPR(+, Add)
HLOC_EXPR(-, Sub)
HLOC_EXPR(*, Mul)
HLOC_EXPR(/, Div)
HLOC_EXPR(&, And)
HLOC_EXPR(|, Or)
HLOC_EXPR(^, Xor)
#undef HLOC_EXPR

#define HLOC_EXPR(symbol, predicate)                                                                      \
  inline Expr operator symbol(Expr a, Expr b) { return compare_expr(Predicate::predicate, a, b); }        \
  inline Expr operator symbol(Expr a, double b) { return compare_expr(Predicate::predicate, a, a.like(b)); }
HLOC_EXPR(==, eq)
HLOC_EXPR(!=, ne)
HLOC_EXPR(<, lt)
HLOC_EXPR(<=, le)
HLOC_EXPR(>, gt)
HLOC_EXPR(>=, ge)
#undef HLOC_EXPR

inline Expr operator-(Expr a) { return unary_expr(ScalarOp::Neg, a); }
inline Expr operator~(Expr a) { return unary_expr(ScalarOp::Not, a); }
inline Expr operator<<(Expr a, int n) { return binary_expr(ScalarOp::Shl, a, a.like_bits(static_cast<uint64_t>(n))); }
inline Expr shift_right(Expr a, int n) { return binary_expr(ScalarOp::ShrLogic, a, a.like_bits(static_cast<uint64_t>(n))); }
inline Expr shift_right_signed(Expr a, int n) { return binary_expr(ScalarOp::ShrArith, a, a.like_bits(static_cast<uint64_t>(n))); }

inline Expr abs_of(Expr a) { return unary_expr(ScalarOp::Abs, a); }
inline Expr sqrt_of(Expr a) { return unary_expr(ScalarOp::Sqrt, a); }
inline Expr trunc_of(Expr a) { return unary_expr(ScalarOp::Trunc, a); }
inline Expr round_even_of(Expr a) { return unary_expr(ScalarOp::RoundEven, a); }
inline Expr scale_of(Expr a, Expr b) { return binary_expr(ScalarOp::Scale, a, b); }  // a * 2^b, b whole
inline Expr fma_of(Expr a, Expr b, Expr c) { return {a.builder, a.builder->make(ScalarOp::Fma, {a.id, b.id, c.id})}; }
inline Expr fma_of(Expr a, double b, Expr c) { return fma_of(a, a.like(b), c); }
inline Expr fma_of(Expr a, Expr b, double c) { return fma_of(a, b, a.like(c)); }
inline Expr select(Expr p, Expr a, Expr b) { return {a.builder, a.builder->make(ScalarOp::Select, {p.id, a.id, b.id})}; }
inline Expr select(Expr p, double a, Expr b) { return select(p, b.like(a), b); }
inline Expr select(Expr p, Expr a, double b) { return select(p, a, a.like(b)); }

// c[0] + c[1] x + c[2] x^2 + …: even and odd powers apart where that makes the chain of operations shorter.
Expr polynomial(Expr x, std::span<const double> c);
// By Horner's rule: where even and odd powers nearly cancel.
Expr horner(Expr x, std::span<const double> c);

// The integer type with the bits of a float, and facts of its format.
ElementType bits_type(ElementType f);
int mantissa_bits_of(ElementType f);
int exponent_bias_of(ElementType f);
// All bits from `shift` on, for an integer like x.
Expr field_mask(Expr x, int shift);
// |x| with the sign of `sign_of`; x must not be negative.
Expr with_sign(Expr x, Expr sign_of);
// 2^n for an integer n (of bits_type(f)) within the normal exponents.
Expr power_of_two(Expr n, ElementType f);

// The functions, of f32 or f64.
Expr exp_expr(Expr x);
Expr expm1_expr(Expr x);
Expr logistic_expr(Expr x);
Expr tanh_expr(Expr x);
Expr sinh_expr(Expr x);
Expr cosh_expr(Expr x);
Expr log_expr(Expr x);
Expr log1p_expr(Expr x);
Expr sin_expr(Expr x);
Expr cos_expr(Expr x);
Expr tan_expr(Expr x);
Expr asin_expr(Expr x);
Expr acos_expr(Expr x);
Expr atan_expr(Expr x);
Expr atan2_expr(Expr y, Expr x);
Expr asinh_expr(Expr x);
Expr acosh_expr(Expr x);
Expr atanh_expr(Expr x);
Expr rsqrt_expr(Expr x);
Expr cbrt_expr(Expr x);
Expr pow_expr(Expr x, Expr y);
Expr rem_expr(Expr x, Expr y);  // fmod, to the bit
Expr erf_expr(Expr x);
Expr erfc_expr(Expr x);
Expr erf_inv_expr(Expr x);

}  // namespace hloc::loops
