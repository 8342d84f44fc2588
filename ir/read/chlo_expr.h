// Expressions over values, for writing down what a chlo op means: `x * x + 1.0` makes the instructions.
#pragma once

#include <functional>
#include <map>
#include <span>

#include "ir/read/stablehlo_build.h"

namespace hloc::ir::mlir {

class Formula;

// A value within a formula; a number stands for a constant in the shape and type of the other operand.
class Expr {
 public:
  Expr(Formula& formula, Value v) : formula_(&formula), value_(v) {}
  Value value() const { return value_; }
  Type type() const { return value_->type; }
  Formula& formula() const { return *formula_; }
  Expr number(double x) const;  // like this value

 private:
  Formula* formula_;
  Value value_;
};

Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator/(Expr a, Expr b);
Expr operator-(Expr a);
Expr operator&(Expr a, Expr b);
Expr operator|(Expr a, Expr b);
Expr operator<(Expr a, Expr b);
Expr operator<=(Expr a, Expr b);
Expr operator>(Expr a, Expr b);
Expr operator>=(Expr a, Expr b);
Expr operator==(Expr a, Expr b);
Expr operator!=(Expr a, Expr b);
Expr operator!(Expr a);

#define HLOC_NUMBER_OPERATOR(op)                                        \
  inline Expr operator op(Expr a, double b) { return a op a.number(b); } \
  inline Expr operator op(double a, Expr b) { return b.number(a) op b; }
HLOC_NUMBER_OPERATOR(+)
HLOC_NUMBER_OPERATOR(-)
HLOC_NUMBER_OPERATOR(*)
HLOC_NUMBER_OPERATOR(/)
HLOC_NUMBER_OPERATOR(<)
HLOC_NUMBER_OPERATOR(<=)
HLOC_NUMBER_OPERATOR(>)
HLOC_NUMBER_OPERATOR(>=)
HLOC_NUMBER_OPERATOR(==)
HLOC_NUMBER_OPERATOR(!=)
#undef HLOC_NUMBER_OPERATOR

Expr apply(Op op, Expr x);          // one operand, the result has its type
Expr apply(Op op, Expr x, Expr y);  // two
Expr select(Expr condition, Expr yes, Expr no);
inline Expr select(Expr condition, double yes, Expr no) { return select(condition, no.number(yes), no); }
inline Expr select(Expr condition, Expr yes, double no) { return select(condition, yes, yes.number(no)); }
inline Expr abs(Expr x) { return apply(Op::Abs, x); }
inline Expr exp(Expr x) { return apply(Op::Exp, x); }
inline Expr log(Expr x) { return apply(Op::Log, x); }
inline Expr log1p(Expr x) { return apply(Op::Log1p, x); }
inline Expr sqrt(Expr x) { return apply(Op::Sqrt, x); }
inline Expr rsqrt(Expr x) { return apply(Op::Rsqrt, x); }
inline Expr sin(Expr x) { return apply(Op::Sin, x); }
inline Expr cos(Expr x) { return apply(Op::Cos, x); }
inline Expr floor(Expr x) { return apply(Op::Floor, x); }
inline Expr sign(Expr x) { return apply(Op::Sign, x); }
inline Expr pow(Expr x, Expr y) { return apply(Op::Power, x, y); }
inline Expr remainder(Expr x, Expr y) { return apply(Op::Remainder, x, y); }
Expr is_finite(Expr x);
Expr convert(Expr x, ElementType to);
Expr bitcast(Expr x, ElementType to);
Expr real_part(Expr x);
Expr imag_part(Expr x);
Expr complex_of(Expr re, Expr im);
// c[0] x^(n-1) + … + c[n-1]
Expr polynomial(Expr x, std::span<const double> coefficients);
// The same sum in Chebyshev polynomials, by Clenshaw's recurrence, as Cephes' chbevl.
Expr chebyshev(Expr x, std::span<const double> coefficients);

// The state of one formula: where instructions go, and constants already made.
class Formula {
 public:
  explicit Formula(PieceBuilder& b) : b_(b) {}
  Expr of(Value v) { return Expr(*this, v); }
  Expr constant(Type like, double x);            // of a float or integer type
  Expr constant_bits(Type like, uint64_t bits);  // of an integer type
  Value make(Op op, Type type, std::initializer_list<Value> operands, Attr attr = NoAttr{});
  PieceBuilder& builder() { return b_; }

 private:
  Expr spread(Literal scalar, Type like);

  PieceBuilder& b_;
  std::map<std::pair<const TypeNode*, uint64_t>, Value> constants_;
};

}  // namespace hloc::ir::mlir
