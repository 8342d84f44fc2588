// Expressions over values.
#include "ir/read/chlo_expr.h"

#include <bit>
#include <cstring>
#include <numeric>

#include "ir/literal_text.h"

#include <fmt/format.h>

namespace hloc::ir::mlir {

Value Formula::make(Op op, Type type, std::initializer_list<Value> operands, Attr attr) {
  return b_.aux(op, type, operands, std::move(attr));
}

// A scalar in the shape of `like`; where that has unknown sizes, its own are asked for.
Expr Formula::spread(Literal scalar, Type like) {
  Value v = b_.builder().constant(std::move(scalar));
  if (like.rank() == 0) return of(v);
  return of(make(Op::Broadcast, like, {v}, BroadcastAttr{}));
}

Expr Formula::constant(Type like, double x) {
  auto key = std::make_pair(like.node(), std::bit_cast<uint64_t>(x));
  if (auto it = constants_.find(key); it != constants_.end()) return of(it->second);
  Literal scalar = Literal::uninitialized(b_.context().scalar(like.element()));
  std::span<std::byte> bytes = scalar.mutable_bytes();
  if (is_integer(like.element())) {
    int64_t value = static_cast<int64_t>(x);
    std::memcpy(bytes.data(), &value, bytes.size());
  } else if (is_complex(like.element())) {
    ElementType part = like.element() == ElementType::c64 ? ElementType::f32 : ElementType::f64;
    std::memset(bytes.data(), 0, bytes.size());
    parse_element(fmt::format("{}", x), part, bytes.data());
  } else {
    parse_element(fmt::format("{}", x), like.element(), bytes.data());
  }
  Expr out = spread(scalar, like);
  constants_[key] = out.value();
  return out;
}

Expr Formula::constant_bits(Type like, uint64_t bits) {
  Literal scalar = Literal::uninitialized(b_.context().scalar(like.element()));
  std::span<std::byte> bytes = scalar.mutable_bytes();
  std::memcpy(bytes.data(), &bits, bytes.size());
  return spread(scalar, like);
}

Expr Expr::number(double x) const { return formula_->constant(type(), x); }

Expr apply(Op op, Expr x) {
  bool unary = facts(op).attr == "UnaryAttr";
  return x.formula().of(x.formula().make(op, x.type(), {x.value()}, unary ? Attr(UnaryAttr{}) : Attr(NoAttr{})));
}

Expr apply(Op op, Expr x, Expr y) {
  bool unary = facts(op).attr == "UnaryAttr";
  return x.formula().of(x.formula().make(op, x.type(), {x.value(), y.value()}, unary ? Attr(UnaryAttr{}) : Attr(NoAttr{})));
}

namespace {

Type with_element_of(Expr x, ElementType element) { return x.formula().builder().context().with_element(x.type(), element); }

Expr comparison(Expr a, Expr b, Direction direction) {
  Formula& f = a.formula();
  return f.of(f.make(Op::Compare, with_element_of(a, ElementType::pred), {a.value(), b.value()}, CompareAttr{direction, CompareType::unset}));
}

ElementType part_of(Expr x) { return x.type().element() == ElementType::c64 ? ElementType::f32 : ElementType::f64; }

}  // namespace

Expr operator+(Expr a, Expr b) { return apply(Op::Add, a, b); }
Expr operator-(Expr a, Expr b) { return apply(Op::Subtract, a, b); }
Expr operator*(Expr a, Expr b) { return apply(Op::Multiply, a, b); }
Expr operator/(Expr a, Expr b) { return apply(Op::Divide, a, b); }
Expr operator-(Expr a) { return apply(Op::Negate, a); }
Expr operator&(Expr a, Expr b) { return apply(Op::And, a, b); }
Expr operator|(Expr a, Expr b) { return apply(Op::Or, a, b); }
Expr operator!(Expr a) { return apply(Op::Not, a); }
Expr operator<(Expr a, Expr b) { return comparison(a, b, Direction::LT); }
Expr operator<=(Expr a, Expr b) { return comparison(a, b, Direction::LE); }
Expr operator>(Expr a, Expr b) { return comparison(a, b, Direction::GT); }
Expr operator>=(Expr a, Expr b) { return comparison(a, b, Direction::GE); }
Expr operator==(Expr a, Expr b) { return comparison(a, b, Direction::EQ); }
Expr operator!=(Expr a, Expr b) { return comparison(a, b, Direction::NE); }

Expr select(Expr condition, Expr yes, Expr no) {
  Formula& f = yes.formula();
  return f.of(f.make(Op::Select, yes.type(), {condition.value(), yes.value(), no.value()}));
}

Expr is_finite(Expr x) {
  Formula& f = x.formula();
  return f.of(f.make(Op::IsFinite, with_element_of(x, ElementType::pred), {x.value()}, UnaryAttr{}));
}

Expr convert(Expr x, ElementType to) {
  if (x.type().element() == to) return x;
  return x.formula().of(x.formula().make(Op::Convert, with_element_of(x, to), {x.value()}));
}

Expr bitcast(Expr x, ElementType to) { return x.formula().of(x.formula().make(Op::BitcastConvert, with_element_of(x, to), {x.value()})); }

Expr real_part(Expr x) { return x.formula().of(x.formula().make(Op::Real, with_element_of(x, part_of(x)), {x.value()}, UnaryAttr{})); }
Expr imag_part(Expr x) { return x.formula().of(x.formula().make(Op::Imag, with_element_of(x, part_of(x)), {x.value()}, UnaryAttr{})); }

Expr complex_of(Expr re, Expr im) {
  ElementType whole = re.type().element() == ElementType::f32 ? ElementType::c64 : ElementType::c128;
  return re.formula().of(re.formula().make(Op::Complex, with_element_of(re, whole), {re.value(), im.value()}));
}

Expr polynomial(Expr x, std::span<const double> coefficients) {
  if (coefficients.size() == 1) return x.number(coefficients[0]);
  Expr sum = x * coefficients[0] + coefficients[1];
  for (double c : coefficients.subspan(2)) sum = sum * x + c;
  return sum;
}

Expr chebyshev(Expr x, std::span<const double> coefficients) {
  Expr b0 = x.number(0), b1 = x.number(0), b2 = x.number(0);
  for (double c : coefficients) {
    b2 = b1;
    b1 = b0;
    b0 = x * b1 - b2 + c;
  }
  return (b0 - b2) * 0.5;
}

}  // namespace hloc::ir::mlir
