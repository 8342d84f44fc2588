// chlo operations that HLO cannot say, rewritten while they are read: simple ones here, special functions in
// chlo_special.cpp, implicit broadcasting in chlo_broadcast.cpp.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "ir/print/print.h"
#include "ir/read/chlo.h"
#include "ir/read/stablehlo_ops.h"

namespace hloc::ir::mlir {
namespace {

// ---- Elementwise functions of one operand ----

Expr chlo_atan(Expr x) {
  if (!is_complex(x.type().element())) return apply(Op::Atan2, x, x.number(1));
  // atan(z) = -i atanh(i z)
  Expr inside = apply(Op::Atanh, complex_of(-imag_part(x), real_part(x)));
  return complex_of(imag_part(inside), -real_part(inside));
}

Expr chlo_square(Expr x) { return x * x; }
Expr chlo_conj(Expr x) { return is_complex(x.type().element()) ? complex_of(real_part(x), -imag_part(x)) : x; }
Expr chlo_is_inf(Expr x) { return abs(x) == HUGE_VAL; }
Expr chlo_is_pos_inf(Expr x) { return x == HUGE_VAL; }
Expr chlo_is_neg_inf(Expr x) { return x == -HUGE_VAL; }

// How wide a formula must compute at least.
enum class Width : uint8_t { any, f32 };

struct UnaryRow {
  std::string_view op;
  Expr (*formula)(Expr);
  Width width = Width::any;
  bool floats_only = false;
};

constexpr UnaryRow unary_rows[] = {
    {"chlo.atan", chlo_atan},
    {"chlo.square", chlo_square},
    {"chlo.conj", chlo_conj},
    {"chlo.is_inf", chlo_is_inf, Width::any, true},
    {"chlo.is_pos_inf", chlo_is_pos_inf, Width::any, true},
    {"chlo.is_neg_inf", chlo_is_neg_inf, Width::any, true},
    {"chlo.erfc", chlo_erfc, Width::f32, true},
    {"chlo.erf_inv", chlo_erf_inv, Width::f32, true},
    {"chlo.lgamma", chlo_lgamma, Width::f32, true},
    {"chlo.digamma", chlo_digamma, Width::f32, true},
    {"chlo.bessel_i1e", chlo_bessel_i1e, Width::f32, true},
};

bool is_narrow(ElementType type) { return is_float(type) && type != ElementType::f32 && type != ElementType::f64; }

bool finish_formula(PieceBuilder& b, const Operation& op, Expr y) {
  if (!b.expect_results(op, 1)) return false;
  if (y.type() != op.result_types[0])
    return b.fail(op, fmt::format("the result of '{}' is written as {}, but its operands give {}", op.name, mlir_type(op.result_types[0]), mlir_type(y.type())));
  b.set_value(op.first_result, y.value());
  return true;
}

bool read_chlo_unary(PieceBuilder& b, const Operation& op) {
  const UnaryRow& row = *std::find_if(std::begin(unary_rows), std::end(unary_rows), [&](const UnaryRow& r) { return r.op == op.name; });
  if (!b.expect_operands(op, 1, 1)) return false;
  Value v = b.operand(op, 0);
  if (!v->type.is_array() || v->type->quant) return b.fail(op, fmt::format("'{}' takes a tensor of numbers, not {}", op.name, mlir_type(v->type)));
  ElementType type = v->type.element();
  if (row.floats_only && !is_float(type)) return b.fail(op, fmt::format("'{}' takes floats, not {}", op.name, mlir_type(v->type)));
  Formula f(b);
  Expr x = f.of(v);
  bool widen = row.width == Width::f32 && is_narrow(type);
  Expr y = row.formula(widen ? convert(x, ElementType::f32) : x);
  return finish_formula(b, op, widen ? convert(y, type) : y);
}

// sinh and cosh are ops of HLO, but in f32 XLA and JAX have always written them out; results of public programs are
// right to a few units in the last place only when the same is done here.
Expr chlo_cosh(Expr x) {
  double log_half = std::log(0.5);
  return exp(x + log_half) + exp(log_half - x);
}

Expr chlo_sinh(Expr x) {
  double log_half = std::log(0.5);
  Expr grown = apply(Op::Expm1, x);
  return select(abs(x) < 1, 0.5 * (grown + grown / (grown + 1)), exp(x + log_half) - exp(log_half - x));
}

bool read_hyperbolic(PieceBuilder& b, const Operation& op) {
  if (!b.expect_operands(op, 1, 1)) return false;
  Value v = b.operand(op, 0);
  if (!v->type.is_array() || v->type.element() != ElementType::f32) return read_plain(b, op);
  Formula f(b);
  return finish_formula(b, op, op.name == "chlo.cosh" ? chlo_cosh(f.of(v)) : chlo_sinh(f.of(v)));
}

// ---- Two operands ----

bool read_chlo_binary(PieceBuilder& b, const Operation& op) {
  if (!b.expect_operands(op, 2, 2)) return false;
  Value x = b.operand(op, 0), y = b.operand(op, 1);
  if (x->type != y->type || !x->type.is_array() || !is_float(x->type.element()))
    return b.fail(op, fmt::format("'{}' takes two tensors of floats of one type, not {} and {}", op.name, mlir_type(x->type), mlir_type(y->type)));
  Formula f(b);
  return finish_formula(b, op, chlo_binary(op.name, f.of(x), f.of(y)));
}

// ---- One to one ----

bool read_renamed(PieceBuilder& b, const Operation& op) {
  struct Names { std::string_view op; Op hlo; };
  constexpr Names names[] = {{"chlo.tan", Op::Tan},     {"mhlo.tan", Op::Tan},     {"mhlo.erf", Op::Erf},     {"mhlo.copy", Op::Copy},
                             {"mhlo.acos", Op::Acos},   {"mhlo.acosh", Op::Acosh}, {"mhlo.asin", Op::Asin},   {"mhlo.asinh", Op::Asinh},
                             {"mhlo.atanh", Op::Atanh}, {"mhlo.cosh", Op::Cosh},   {"mhlo.sinh", Op::Sinh}};
  if (!b.expect_operands(op, 1, 1) || !b.expect_results(op, 1)) return false;
  Op hlo = std::find_if(std::begin(names), std::end(names), [&](const Names& n) { return n.op == op.name; })->hlo;
  return b.finish(op, b.emit(op, hlo, op.result_types[0], b.operands(op), hlo == Op::Copy ? Attr(NoAttr{}) : Attr(UnaryAttr{})));
}

// A constant in the operand's shape.
bool read_constant_like(PieceBuilder& b, const Operation& op) {
  const Attribute* value = b.require(op, "value");
  if (!value || !b.expect_operands(op, 1, 1) || !b.expect_results(op, 1)) return false;
  Type type = op.result_types[0];
  if (!type.is_array() || !type.is_static()) return b.fail(op, "'chlo.constant_like' needs a result with known sizes");
  Attribute scalar = *value;
  Value v = b.constant(op, scalar, b.context().scalar(type.element()));
  if (!v) return false;
  b.set_value(op.first_result, b.broadcast_scalar(v, type));
  return true;
}

}  // namespace

Expr chlo_binary(std::string_view name, Expr x, Expr y) {
  ElementType type = x.type().element();
  if (name.ends_with("next_after")) return chlo_next_after(x, y);
  bool widen = is_narrow(type);
  Expr wide_x = widen ? convert(x, ElementType::f32) : x, wide_y = widen ? convert(y, ElementType::f32) : y;
  Expr z = name.ends_with("zeta") ? chlo_zeta(wide_x, wide_y) : chlo_polygamma(wide_x, wide_y);
  return widen ? convert(z, type) : z;
}

OpHandler find_chlo_handler(std::string_view name) {
  for (const UnaryRow& row : unary_rows)
    if (row.op == name) return read_chlo_unary;
  if (name == "chlo.cosh" || name == "chlo.sinh") return read_hyperbolic;
  if (name == "chlo.next_after" || name == "chlo.zeta" || name == "chlo.polygamma") return read_chlo_binary;
  if (name == "chlo.constant_like") return read_constant_like;
  if (name.starts_with("chlo.broadcast_")) return read_chlo_broadcast;
  if (name == "chlo.tan" || name.starts_with("mhlo.")) return name == "mhlo.topk" ? nullptr : read_renamed;
  return nullptr;
}

}  // namespace hloc::ir::mlir
