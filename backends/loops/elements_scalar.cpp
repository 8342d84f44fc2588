// Elemental lowering of elementwise ops: an instruction's scalar operations.
#include <algorithm>
#include <cstring>

#include "backends/loops/elements.h"
#include "ir/support/float_formats.h"

namespace hloc::loops {
namespace {

struct ScalarOpRow {
  ir::Op op;
  ScalarOp scalar;
};

// Ops with one scalar operation on the types that ops.def gives it.
constexpr ScalarOpRow scalar_op_rows[] = {
    {ir::Op::Abs, ScalarOp::Abs},
    {ir::Op::Acos, ScalarOp::Acos},
    {ir::Op::Acosh, ScalarOp::Acosh},
    {ir::Op::Asin, ScalarOp::Asin},
    {ir::Op::Asinh, ScalarOp::Asinh},
    {ir::Op::Atanh, ScalarOp::Atanh},
    {ir::Op::Cbrt, ScalarOp::Cbrt},
    {ir::Op::Ceil, ScalarOp::Ceil},
    {ir::Op::Cos, ScalarOp::Cos},
    {ir::Op::Cosh, ScalarOp::Cosh},
    {ir::Op::CountLeadingZeros, ScalarOp::Clz},
    {ir::Op::Erf, ScalarOp::Erf},
    {ir::Op::Exp, ScalarOp::Exp},
    {ir::Op::Expm1, ScalarOp::Expm1},
    {ir::Op::Floor, ScalarOp::Floor},
    {ir::Op::IsFinite, ScalarOp::IsFinite},
    {ir::Op::Log, ScalarOp::Log},
    {ir::Op::Log1p, ScalarOp::Log1p},
    {ir::Op::Logistic, ScalarOp::Logistic},
    {ir::Op::Negate, ScalarOp::Neg},
    {ir::Op::Not, ScalarOp::Not},
    {ir::Op::Popcnt, ScalarOp::Popcnt},
    {ir::Op::RoundAfz, ScalarOp::RoundAfz},
    {ir::Op::RoundEven, ScalarOp::RoundEven},
    {ir::Op::Rsqrt, ScalarOp::Rsqrt},
    {ir::Op::Sign, ScalarOp::Sign},
    {ir::Op::Sin, ScalarOp::Sin},
    {ir::Op::Sinh, ScalarOp::Sinh},
    {ir::Op::Sqrt, ScalarOp::Sqrt},
    {ir::Op::Tan, ScalarOp::Tan},
    {ir::Op::Tanh, ScalarOp::Tanh},
    {ir::Op::Add, ScalarOp::Add},
    {ir::Op::And, ScalarOp::And},
    {ir::Op::Atan2, ScalarOp::Atan2},
    {ir::Op::Divide, ScalarOp::Div},
    {ir::Op::Maximum, ScalarOp::Max},
    {ir::Op::Minimum, ScalarOp::Min},
    {ir::Op::MulHi, ScalarOp::MulHi},
    {ir::Op::Multiply, ScalarOp::Mul},
    {ir::Op::Or, ScalarOp::Or},
    {ir::Op::Power, ScalarOp::Pow},
    {ir::Op::Remainder, ScalarOp::Rem},
    {ir::Op::ShiftLeft, ScalarOp::Shl},
    {ir::Op::ShiftRightArithmetic, ScalarOp::ShrArith},
    {ir::Op::ShiftRightLogical, ScalarOp::ShrLogic},
    {ir::Op::Subtract, ScalarOp::Sub},
    {ir::Op::Xor, ScalarOp::Xor},
    {ir::Op::Clamp, ScalarOp::Clamp},
    {ir::Op::ChloAtan, ScalarOp::Atan},
    {ir::Op::ChloErfInv, ScalarOp::ErfInv},
    {ir::Op::ChloErfc, ScalarOp::Erfc},
};

}  // namespace

std::optional<ScalarOp> scalar_op_of(ir::Op op, ElementType type) {
  if (type == ElementType::pred) {  // arithmetic on truth values
    if (op == ir::Op::Add) return ScalarOp::Or;
    if (op == ir::Op::Multiply) return ScalarOp::And;
  }
  for (const ScalarOpRow& row : scalar_op_rows)
    if (row.op == op) return allows(row.scalar, type) ? std::optional(row.scalar) : std::nullopt;
  return std::nullopt;
}

ValueId Elements::constant(ir::Value v) {
  const ir::Literal& value = v->as<ir::ConstantAttr>().value;
  auto width = static_cast<size_t>(byte_width(v->type.element()));
  if (value.is_elided() || value.size() < width) return fail(v, "its value is not known");
  auto bytes = value.bytes();
  for (size_t i = width; i < bytes.size(); i += width)
    if (!std::equal(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(width), bytes.begin() + static_cast<std::ptrdiff_t>(i)))
      return fail(v, "its elements differ");
  uint64_t bits = 0;
  std::memcpy(&bits, bytes.data(), width);
  return b_.constant_of_bits(v->type.element(), v->type.element() == ElementType::pred ? bits != 0 : bits);
}

ValueId Elements::iota(ir::Value v, const Point& at) {
  const Affine& a = at.index[static_cast<size_t>(v->as<ir::IotaAttr>().dim)];
  ElementType type = v->type.element();
  if (is_integer(type)) return b_.index_value(type, a);
  Range r = b_.range(a);
  bool small = r.lo >= INT32_MIN && r.hi <= INT32_MAX;
  return b_.convert(type, b_.index_value(small ? ElementType::s32 : ElementType::s64, a));
}

ValueId Elements::elementwise(ir::Value v, const Point& at) {
  Values args;
  for (ir::Value operand : v->operands()) {
    bool is_scalar = operand->type.rank() == 0;  // clamp's bounds, select's condition
    args.push_back(need(operand, {is_scalar ? std::vector<Affine>{} : at.index, at.guards, no_id}));
  }
  if (pending()) return no_id;
  ValueId result = no_id;
  if (v->op == ir::Op::Map) {
    Values results = inlined(v->callee(0), args);
    if (!results.empty()) result = results[0];
  } else {
    result = scalar(v, args);
  }
  return error_ ? no_id : or_otherwise(result, at);
}

ValueId Elements::scalar(ir::Value v, std::span<const ValueId> args) {
  using ir::Op;
  ElementType type = v->type.element();
  if (v->op == Op::Compare) return compare(v, args[0], args[1]);
  if (v->op == Op::Convert) return b_.convert(type, args[0]);
  if (v->op == Op::Select) return b_.make(ScalarOp::Select, args);
  if (v->op == Op::ReducePrecision) return reduce_precision(v, args[0]);
  if (v->op == Op::Real) return args[0];
  if (v->op == Op::Imag) return b_.constant_of_bits(type, 0);
  if (v->op == Op::BitcastConvert && bit_width(type) == bit_width(b_.type(args[0]))) return b_.bitcast(type, args[0]);
  if (v->op == Op::ChloSquare) return b_.make(ScalarOp::Mul, {args[0], args[0]});
  if (auto op = scalar_op_of(v->op, b_.type(args[0]))) return b_.make(*op, args);
  return fail(v, "it has no scalar operation for its element type");
}

ValueId Elements::compare(ir::Value v, ValueId a, ValueId b) {
  const auto& attr = v->as<ir::CompareAttr>();
  constexpr Predicate predicates[] = {Predicate::eq, Predicate::ne, Predicate::ge, Predicate::gt, Predicate::le, Predicate::lt};
  if (attr.type == ir::CompareType::TOTALORDER && is_float(b_.type(a))) {
    a = b_.make(ScalarOp::TotalOrder, {a});
    b = b_.make(ScalarOp::TotalOrder, {b});
  }
  return b_.compare(predicates[static_cast<size_t>(attr.direction)], a, b);
}

// As the evaluator does: round the mantissa to nearest even in the bit pattern; above the smaller exponent range infinity,
// below its normals zero; NaN stays what it is.
ValueId Elements::reduce_precision(ir::Value v, ValueId x) {
  const auto& attr = v->as<ir::ReducePrecisionAttr>();
  ElementType type = b_.type(x);
  int mantissa = type == ElementType::f64 ? 52 : type == ElementType::f32 ? 23 : type == ElementType::f16 ? 10 : 7;
  int exponent = bit_width(type) - 1 - mantissa;
  ElementType whole = type == ElementType::f64 ? ElementType::u64 : type == ElementType::f32 ? ElementType::u32 : ElementType::u16;
  auto number = [&](uint64_t bits) { return b_.constant_of_bits(whole, bits); };
  uint64_t sign_bit = uint64_t{1} << (bit_width(type) - 1), infinity = ((uint64_t{1} << exponent) - 1) << mantissa;
  ValueId all = b_.bitcast(whole, x);
  ValueId sign = b_.make(ScalarOp::And, {all, number(sign_bit)});
  ValueId magnitude = b_.make(ScalarOp::And, {all, number(sign_bit - 1)});
  ValueId is_nan = b_.compare(Predicate::gt, magnitude, number(infinity));
  if (attr.mantissa_bits < mantissa) {
    int cut = mantissa - static_cast<int>(attr.mantissa_bits);
    ValueId odd = b_.make(ScalarOp::And, {b_.make(ScalarOp::ShrLogic, {magnitude, number(static_cast<uint64_t>(cut))}), number(1)});
    ValueId half = b_.make(ScalarOp::Add, {number((uint64_t{1} << (cut - 1)) - 1), odd});
    magnitude = b_.make(ScalarOp::And, {b_.make(ScalarOp::Add, {magnitude, half}), number(~((uint64_t{1} << cut) - 1) & (sign_bit - 1))});
  }
  if (attr.exponent_bits < exponent) {
    uint64_t bias = (uint64_t{1} << (exponent - 1)) - 1, reduced = (uint64_t{1} << (attr.exponent_bits - 1)) - 1;
    uint64_t first_too_large = (bias + reduced + 1) << mantissa, first_normal = (bias - reduced + 1) << mantissa;
    ValueId is_large = b_.compare(Predicate::ge, magnitude, number(first_too_large));
    magnitude = b_.make(ScalarOp::Select, {is_large, number(infinity), magnitude});
    ValueId is_small = b_.compare(Predicate::lt, magnitude, number(first_normal));
    magnitude = b_.make(ScalarOp::Select, {is_small, number(0), magnitude});
  }
  ValueId reduced = b_.bitcast(type, b_.make(ScalarOp::Or, {sign, magnitude}));
  return b_.make(ScalarOp::Select, {is_nan, x, reduced});
}

std::vector<ValueId> Elements::inlined(const ir::Computation& body, std::span<const ValueId> args) {
  std::vector<ValueId> made(body.size(), no_id);
  for (ir::Value v : body.instructions()) {
    Values operands;
    if (v->op != ir::Op::Tuple)
      for (ir::Value o : v->operands()) operands.push_back(made[o->id]);
    if (v->op == ir::Op::Parameter) made[v->id] = args[static_cast<size_t>(v->as<ir::ParameterAttr>().number)];
    else if (v->op == ir::Op::Constant) made[v->id] = constant(v);
    else if (v->op == ir::Op::Broadcast || v->op == ir::Op::Reshape || v->op == ir::Op::Copy) made[v->id] = operands[0];
    else if (v->op != ir::Op::Tuple) made[v->id] = scalar(v, operands);
    if (error_) return {};
  }
  Values results;
  if (body.root()->op != ir::Op::Tuple) return {made[body.root()->id]};
  for (ir::Value o : body.root()->operands()) results.push_back(made[o->id]);
  return results;
}

}  // namespace hloc::loops
