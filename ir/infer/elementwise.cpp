// Elementwise ops: one shape for all operands; which element types an op admits is a table.
#include <array>

#include "ir/infer/rules.h"

namespace hloc::ir::shapes {
namespace {

struct AdmittedElements {
  Op op;
  unsigned classes;
};

constexpr unsigned class_real_number = class_integer | class_float;
constexpr unsigned class_number = class_real_number | class_complex;
constexpr unsigned class_wave = class_float | class_complex;
constexpr unsigned class_bits = class_pred | class_integer;

// Ops that are not here admit every element type.
constexpr AdmittedElements admitted_elements[] = {
    {Op::Abs, class_number},
    {Op::Acos, class_wave}, {Op::Acosh, class_wave}, {Op::Asin, class_wave}, {Op::Asinh, class_wave},
    {Op::Atanh, class_wave}, {Op::Cbrt, class_wave}, {Op::Cos, class_wave}, {Op::Cosh, class_wave},
    {Op::Exp, class_wave}, {Op::Expm1, class_wave}, {Op::Log, class_wave}, {Op::Log1p, class_wave},
    {Op::Logistic, class_wave}, {Op::Rsqrt, class_wave}, {Op::Sin, class_wave}, {Op::Sinh, class_wave},
    {Op::Sqrt, class_wave}, {Op::Tan, class_wave}, {Op::Tanh, class_wave},
    {Op::Real, class_wave}, {Op::Imag, class_wave},
    {Op::Ceil, class_float}, {Op::Floor, class_float}, {Op::Erf, class_float}, {Op::IsFinite, class_float},
    {Op::RoundAfz, class_float}, {Op::RoundEven, class_float}, {Op::ReducePrecision, class_float},
    {Op::Negate, class_number},
    {Op::Sign, class_signed | class_float | class_complex},
    {Op::Not, class_bits}, {Op::And, class_bits}, {Op::Or, class_bits}, {Op::Xor, class_bits},
    {Op::CountLeadingZeros, class_integer}, {Op::Popcnt, class_integer},
    {Op::ShiftLeft, class_integer}, {Op::ShiftRightArithmetic, class_integer}, {Op::ShiftRightLogical, class_integer},
    {Op::MulHi, class_integer},
    {Op::Subtract, class_number}, {Op::Divide, class_number}, {Op::Remainder, class_number}, {Op::Power, class_number},
    {Op::Atan2, class_wave}, {Op::Complex, class_float},
    {Op::ChloAsinAcosKernel, class_wave}, {Op::ChloAtan, class_wave}, {Op::ChloBesselI1e, class_float},
    {Op::ChloConj, class_wave}, {Op::ChloDigamma, class_float}, {Op::ChloErfInv, class_float},
    {Op::ChloErfc, class_float}, {Op::ChloIsInf, class_float}, {Op::ChloIsNegInf, class_float},
    {Op::ChloIsPosInf, class_float}, {Op::ChloLgamma, class_float}, {Op::ChloNextAfter, class_float},
    {Op::ChloPolygamma, class_float}, {Op::ChloSquare, class_number}, {Op::ChloZeta, class_float},
};

constexpr size_t op_total = 0
#define HLOC_OP(...) +1
#include "ir/ops.def"
#undef HLOC_OP
    ;

constexpr auto admitted_by_op = [] {
  std::array<unsigned, op_total> out{};
  for (unsigned& classes : out) classes = class_any;
  for (const AdmittedElements& row : admitted_elements) out[static_cast<size_t>(row.op)] = row.classes;
  return out;
}();

unsigned admitted(Op op) { return admitted_by_op[static_cast<size_t>(op)]; }

ElementType component_of(ElementType t) {
  if (t == ElementType::c64) return ElementType::f32;
  return t == ElementType::c128 ? ElementType::f64 : t;
}

bool gives_pred(Op op) {
  return op == Op::IsFinite || op == Op::ChloIsInf || op == Op::ChloIsNegInf || op == Op::ChloIsPosInf;
}

// Same shape and element type for all operands.
Problem check_alike(const Site& s) {
  for (size_t i = 0; i < s.operands.size(); ++i)
    if (Problem p = check_class(s, i, admitted(s.op))) return p;
  for (size_t i = 1; i < s.operands.size(); ++i) {
    if (Problem p = check_same_dims(s, 0, i)) return p;
    if (Problem p = check_same_element(s, 0, i)) return p;
  }
  return {};
}

std::vector<Dim> met_dims(const Site& s, size_t first = 0) {
  std::vector<Dim> dims = dims_of(s.operands[first]);
  for (size_t i = first + 1; i < s.operands.size(); ++i)
    for (size_t d = 0; d < dims.size(); ++d) dims[d] = meet(dims[d], s.operands[i].dims()[d]);
  return dims;
}

// The type that all operands have, with what each knows about the dimensions.
Type met_type(const Site& s, size_t first = 0) {
  Type type = s.operands[first];
  bool identical = true;
  for (size_t i = first + 1; i < s.operands.size(); ++i) identical = identical && s.operands[i] == type;
  return identical ? plain(s, type) : make_array(s, type, met_dims(s, first));
}

// A declared result of the operand's dimensions, for ops whose element type is free.
Problem check_declared_dims(const Site& s) {
  if (Problem p = check_declared_array(s)) return p;
  if (!s.declared || fits_dims(s.declared, s.operands[0])) return {};
  return reject(s, "the result is declared {}, but it must have the dimensions of the operand {}",
                shape_text(s.declared), shape_text(s.operands[0]));
}

}  // namespace

Result<Type> infer_unary(const Site& s) {
  if (Problem p = check_class(s, 0, admitted(s.op))) return *p;
  Type x = s.operands[0];
  if (gives_pred(s.op)) return s.context.array(ElementType::pred, dims_of(x));
  bool takes_part = s.op == Op::Abs || s.op == Op::Real || s.op == Op::Imag;
  if (takes_part && is_complex(x.element())) return s.context.array(component_of(x.element()), dims_of(x));
  return plain(s, x);
}

Result<Type> infer_binary(const Site& s) {
  if (Problem p = check_alike(s)) return *p;
  return met_type(s);
}

// compare's `type` only says how to order; it must suit the elements.
Result<Type> infer_compare(const Site& s) {
  if (Problem p = check_alike(s)) return *p;
  const CompareAttr& a = s.as<CompareAttr>();
  unsigned needed = class_any;
  switch (a.type) {
    case CompareType::unset: break;
    case CompareType::FLOAT: needed = class_float | class_complex; break;
    case CompareType::TOTALORDER: needed = class_float; break;
    case CompareType::SIGNED: needed = class_signed; break;
    case CompareType::UNSIGNED: needed = class_unsigned | class_pred; break;
  }
  unsigned elements = class_of(s.operands[0]);
  if (!(elements & needed))
    return reject(s, "type={} compares {} elements, but the operands are {}",
                  a.type == CompareType::FLOAT        ? "FLOAT"
                  : a.type == CompareType::TOTALORDER ? "TOTALORDER"
                  : a.type == CompareType::SIGNED     ? "SIGNED"
                                                      : "UNSIGNED",
                  class_text(needed), shape_text(s.operands[0]));
  if (elements == class_complex && a.direction != Direction::EQ && a.direction != Direction::NE)
    return reject(s, "complex numbers have no order: only EQ and NE compare {}", shape_text(s.operands[0]));
  return s.context.array(ElementType::pred, met_dims(s));
}

Result<Type> infer_complex(const Site& s) {
  if (Problem p = check_alike(s)) return *p;
  ElementType part = s.operands[0].element();
  if (s.operands[0]->quant || (part != ElementType::f32 && part != ElementType::f64))
    return reject(s, "the parts must be f32 or f64, but they are {}", shape_text(s.operands[0]));
  return s.context.array(part == ElementType::f32 ? ElementType::c64 : ElementType::c128, met_dims(s));
}

// clamp(min, x, max): each bound is a scalar or has the shape of x.
Result<Type> infer_clamp(const Site& s) {
  if (Problem p = check_arrays(s)) return *p;
  for (size_t bound : {0, 2}) {
    if (Problem p = check_same_element(s, bound, 1)) return *p;
    if (s.operands[bound].is_scalar()) continue;
    if (Problem p = check_same_dims(s, bound, 1)) return *p;
  }
  return plain(s, s.operands[1]);
}

// select(pred, t, f): the predicate is a scalar or has the shape of both.
Result<Type> infer_select(const Site& s) {
  if (Problem p = check_arrays(s)) return *p;
  if (Problem p = check_class(s, 0, class_pred)) return *p;
  if (Problem p = check_same_dims(s, 1, 2)) return *p;
  if (Problem p = check_same_element(s, 1, 2)) return *p;
  if (!s.operands[0].is_scalar())
    if (Problem p = check_same_dims(s, 0, 1)) return *p;
  return met_type(s, 1);
}

Result<Type> infer_convert(const Site& s) {
  if (Problem p = check_array(s, 0)) return *p;
  if (Problem p = check_declared_dims(s)) return *p;
  return Type();
}

// Rounds by random bits: as many of them as the operand has.
Result<Type> infer_stochastic_convert(const Site& s) {
  if (Problem p = check_class(s, 0, class_float)) return *p;
  if (Problem p = check_class(s, 1, class_unsigned)) return *p;
  if (Problem p = check_same_dims(s, 0, 1)) return *p;
  if (bit_width(s.operands[0].element()) != bit_width(s.operands[1].element()))
    return reject(s, "the random bits must be as wide as the operand, but the operands are {} and {}",
                  shape_text(s.operands[0]), shape_text(s.operands[1]));
  if (Problem p = check_declared_dims(s)) return *p;
  if (s.declared && !(class_of(s.declared) & class_real_number))
    return reject(s, "the result must be integer or float, but it is declared {}", shape_text(s.declared));
  return Type();
}

Result<Type> infer_reduce_precision(const Site& s) {
  if (Problem p = check_class(s, 0, class_float)) return *p;
  const ReducePrecisionAttr& a = s.as<ReducePrecisionAttr>();
  if (a.exponent_bits < 1) return reject(s, "exponent_bits={} must be at least 1", a.exponent_bits);
  if (a.mantissa_bits < 0) return reject(s, "mantissa_bits={} must not be negative", a.mantissa_bits);
  return plain(s, s.operands[0]);
}

Result<Type> infer_quantize(const Site& s) {
  if (Problem p = check_class(s, 0, class_float)) return *p;
  if (Problem p = check_declared_dims(s)) return *p;
  if (s.declared && !s.declared->quant)
    return reject(s, "the result must be quantised, but it is declared {}", shape_text(s.declared));
  return Type();
}

Result<Type> infer_dequantize(const Site& s) {
  if (Problem p = check_array(s, 0)) return *p;
  const QuantParams* quant = s.operands[0]->quant;
  if (!quant) return reject(s, "the operand must be quantised, but it is {}", shape_text(s.operands[0]));
  return s.context.array(quant->expressed, dims_of(s.operands[0]));
}

}  // namespace hloc::ir::shapes
