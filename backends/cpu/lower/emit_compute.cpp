// Scalar operations: one machine instruction each, or few.
#include <fmt/format.h>

#include "backends/cpu/lower/emit_block.h"

namespace hloc::cpu {

using loops::Predicate;
using loops::ScalarOp;
using machine::Cond;
using machine::Round;

namespace {

Cond condition_of(Predicate p) {
  switch (p) {
    case Predicate::eq: return Cond::eq;
    case Predicate::ne: return Cond::ne;
    case Predicate::lt: return Cond::lt;
    case Predicate::le: return Cond::le;
    case Predicate::gt: return Cond::gt;
    case Predicate::ge: return Cond::ge;
  }
  HLOC_UNREACHABLE();
}

}  // namespace

machine::Op vector_op(ScalarOp op) {
  switch (op) {
    case ScalarOp::Add: return machine::Op::VAdd;
    case ScalarOp::Sub: return machine::Op::VSub;
    case ScalarOp::Mul: return machine::Op::VMul;
    case ScalarOp::Div: return machine::Op::VDiv;
    case ScalarOp::Rem: return machine::Op::VRem;
    case ScalarOp::Min: return machine::Op::VMin;
    case ScalarOp::Max: return machine::Op::VMax;
    case ScalarOp::And: return machine::Op::VAnd;
    case ScalarOp::Or: return machine::Op::VOr;
    case ScalarOp::Xor: return machine::Op::VXor;
    default: HLOC_UNREACHABLE();
  }
}

void BlockEmitter::emit_compute(const loops::Compute& c) {
  if (c.op == ScalarOp::Compare) return emit_compare(c);
  if (c.op == ScalarOp::Select) return emit_select(c);
  if (c.op == ScalarOp::Convert) return emit_convert(c);
  if (kernel_.type(c.result) == ElementType::pred) return emit_pred_logic(c);
  emit_float_or_integer(c);
}

// By a constant amount: an immediate.
bool BlockEmitter::emit_constant_shift(const loops::Compute& c, VType t) {
  bool shifts = c.op == ScalarOp::Shl || c.op == ScalarOp::ShrLogic || c.op == ScalarOp::ShrArith;
  if (!shifts || !kernel_.is_constant(c.args[1])) return false;
  uint64_t amount = kernel_.values[c.args[1]].bits;
  if (amount >= static_cast<uint64_t>(8 * byte_width(t.element))) return false;
  Reg x = vector_of(c.args[0]);
  auto n = static_cast<int>(amount);
  define(c.result, c.op == ScalarOp::Shl ? b_.vshl(t, x, n) : c.op == ScalarOp::ShrLogic ? b_.vshr(t, x, n) : b_.vsar(t, x, n));
  return true;
}

void BlockEmitter::emit_float_or_integer(const loops::Compute& c) {
  VType t = type_of(kernel_.type(c.args[0]));
  if (emit_constant_shift(c, t)) return;
  Reg x = vector_of(c.args[0]);
  Reg y = c.args[1] == loops::no_id ? Reg{} : vector_of(c.args[1]);
  auto result = [&](Reg r) { define(c.result, r); };
  switch (c.op) {
    case ScalarOp::Add: return result(b_.vadd(t, x, y));
    case ScalarOp::Sub: return result(b_.vsub(t, x, y));
    case ScalarOp::Mul: return result(b_.vmul(t, x, y));
    case ScalarOp::Div: return result(b_.vdiv(t, x, y));
    case ScalarOp::Rem:
      if (is_integer(t.element)) return result(b_.vrem(t, x, y));
      break;
    case ScalarOp::Min: return result(b_.vmin(t, x, y));
    case ScalarOp::Max: return result(b_.vmax(t, x, y));
    case ScalarOp::Lesser: return result(b_.vmin_raw(t, x, y));
    case ScalarOp::Greater: return result(b_.vmax_raw(t, x, y));
    case ScalarOp::Fma: return result(b_.vfma(t, x, y, vector_of(c.args[2])));
    case ScalarOp::Scale: return result(b_.vscale(t, x, y));
    case ScalarOp::Neg: return result(b_.vneg(t, x));
    case ScalarOp::Abs: return result(is_unsigned_integer(t.element) ? x : b_.vabs(t, x));
    case ScalarOp::Sqrt: return result(b_.vsqrt(t, x));
    case ScalarOp::Floor: return result(b_.vround(t, Round::floor, x));
    case ScalarOp::Ceil: return result(b_.vround(t, Round::ceil, x));
    case ScalarOp::Trunc: return result(b_.vround(t, Round::trunc, x));
    case ScalarOp::RoundEven: return result(b_.vround(t, Round::nearest, x));
    case ScalarOp::And: return result(b_.vand(t, x, y));
    case ScalarOp::Or: return result(b_.vor(t, x, y));
    case ScalarOp::Xor: return result(b_.vxor(t, x, y));
    case ScalarOp::Not: return result(b_.vnot(t, x));
    case ScalarOp::Shl: return result(b_.vshl(t, x, y));
    case ScalarOp::ShrArith: return result(b_.vsar(t, x, y));
    case ScalarOp::ShrLogic: return result(b_.vshr(t, x, y));
    case ScalarOp::Popcnt: return result(b_.vpopcnt(t, x));
    case ScalarOp::Clz: return result(b_.vlzcnt(t, x));
    case ScalarOp::Bitcast: return result(b_.vmov(type_of(kernel_.type(c.result)), x));
    default: break;
  }
  unsupported(fmt::format("'{}' on {} has no machine code", loops::facts(c.op).text, name_of(t.element)));
}

// The type that logic on masks goes on in: that of an operand that is a mask of this loop's lanes. One from outside may be
// of elements too wide for so many lanes.
VType BlockEmitter::logic_type(const loops::Compute& c) const {
  for (loops::ValueId v : c.args)
    if (v != loops::no_id && values_[v].is_mask && values_[v].lanes == lanes_.count) return type_of(values_[v].mask_type.element);
  return type_of(ElementType::u8);
}

// and, or, xor, not, min, max on pred: on masks.
void BlockEmitter::emit_pred_logic(const loops::Compute& c) {
  VType t = logic_type(c);
  Reg x = mask_of(c.args[0], t);
  if (c.op == ScalarOp::Not) return define_mask(c.result, b_.mnot(t, x), t);
  if (c.args[1] == loops::no_id) return unsupported(fmt::format("'{}' on pred has no machine code", loops::facts(c.op).text));
  Reg y = mask_of(c.args[1], t);
  switch (c.op) {
    case ScalarOp::And:
    case ScalarOp::Min:
    case ScalarOp::Mul: return define_mask(c.result, b_.mand(t, x, y), t);
    case ScalarOp::Or:
    case ScalarOp::Max:
    case ScalarOp::Add: return define_mask(c.result, b_.mor(t, x, y), t);
    case ScalarOp::Xor: return define_mask(c.result, b_.mxor(t, x, y), t);
    default: return unsupported(fmt::format("'{}' on pred has no machine code", loops::facts(c.op).text));
  }
}

void BlockEmitter::emit_compare(const loops::Compute& c) {
  ElementType element = kernel_.type(c.args[0]);
  if (element == ElementType::pred) element = ElementType::u8;  // false < true, as bytes
  VType t = type_of(element);
  define_mask(c.result, b_.vcmp(t, condition_of(c.predicate), vector_of(c.args[0]), vector_of(c.args[1])), t);
}

void BlockEmitter::emit_select(const loops::Compute& c) {
  ElementType element = kernel_.type(c.result);
  if (element != ElementType::pred) {
    VType t = type_of(element);
    return define(c.result, b_.vselect(t, mask_of(c.args[0], t), vector_of(c.args[1]), vector_of(c.args[2])));
  }
  // p ? a : b on masks is (p & a) | (~p & b).
  VType t = logic_type(c);
  Reg p = mask_of(c.args[0], t), a = mask_of(c.args[1], t), b = mask_of(c.args[2], t);
  define_mask(c.result, b_.mor(t, b_.mand(t, p, a), b_.mand_not(t, p, b)), t);
}

void BlockEmitter::emit_convert(const loops::Compute& c) {
  ElementType from = kernel_.type(c.args[0]), to = kernel_.type(c.result);
  if (to == ElementType::pred) {
    VType t = type_of(from);
    Reg zero = b_.vzero(t);
    return define_mask(c.result, b_.vcmp(t, Cond::ne, vector_of(c.args[0]), zero), t);
  }
  VType t = type_of(to);
  if (from == ElementType::pred) {  // 1 or 0 of the type by its mask
    Reg one = b_.vconst(t, 1), zero = b_.vzero(t);
    return define(c.result, b_.vselect(t, mask_of(c.args[0], t), one, zero));
  }
  define(c.result, b_.vconvert(t, from, vector_of(c.args[0])));
}

void BlockEmitter::emit_declare(const loops::Declare& d) {
  HeldAccumulator& acc = accumulators_[d.acc];
  acc = {};
  acc.lanes = lanes_.count;
  acc.reg = b_.vmov(type_of(kernel_.accumulators[d.acc].type), vector_of(d.init));
}

void BlockEmitter::emit_set(const loops::Set& s) {
  ElementType element = kernel_.accumulators[s.acc].type;
  Reg to = accumulators_[s.acc].reg, value = vector_of(s.value);
  VType t = type_of(element == ElementType::pred ? ElementType::u8 : element);
  if (running_) b_.vselect(t, b_.mask_from_pred(t, running_), value, to, to);
  else b_.vmov(t, value, to);
}

void BlockEmitter::emit_accumulate(const loops::Accumulate& a) {
  HeldAccumulator& acc = accumulators_[a.acc];
  ElementType element = kernel_.accumulators[a.acc].type;
  VType t = type_of(element);
  Reg value = vector_of(a.value);
  bool across = acc.lanes != lanes_.count;  // declared outside of the vector loop: into this lane's partial result
  if (across && lanes_.active) {
    VType bits = element == ElementType::pred ? type_of(ElementType::u8) : t;
    Reg neutral = b_.vconst_bits(bits, loops::neutral_bits(a.op, element));
    value = b_.vselect(bits, active_mask(bits), value, neutral);
  }
  Reg into = across ? acc.partials[copy_ % acc.partials.size()] : acc.reg;
  ScalarOp op = a.op;
  if (element == ElementType::pred) {  // bytes 0 and 1
    t = type_of(ElementType::u8);
    if (op == ScalarOp::Min || op == ScalarOp::Mul) op = ScalarOp::And;
    if (op == ScalarOp::Max || op == ScalarOp::Add) op = ScalarOp::Or;
  }
  b_.emit({.op = vector_op(op), .type = t.element, .lanes = t.lanes, .dst = into, .a = into, .b = value});
}

}  // namespace hloc::cpu
