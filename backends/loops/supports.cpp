// Which ops the lowering knows, with their types and attributes: one answer for the planner and for lower_fusion.
#include <algorithm>

#include "backends/loops/elements.h"
#include "backends/loops/lower.h"

namespace hloc::loops {
namespace {

bool is_plain_array(ir::Type t) { return t.is_array() && t.is_static() && !t->quant && is_scalar_type(t.element()); }

bool has_plain_types(const ir::Instruction& v) {
  auto plain_operand = [](ir::Value o) { return is_plain_array(o->type); };
  return is_plain_array(v.type) && std::all_of(v.operands().begin(), v.operands().end(), plain_operand);
}

bool is_uniform(const ir::Literal& value) {
  constexpr int64_t most = 64;  // larger constants are buffers
  if (value.is_elided() || value.is_tuple() || value.type().count() < 1 || value.type().count() > most) return false;
  auto width = static_cast<std::ptrdiff_t>(byte_width(value.type().element()));
  auto bytes = value.bytes();
  return std::equal(bytes.begin() + width, bytes.end(), bytes.begin());
}

bool supports_elementwise(const ir::Instruction& v) {
  using ir::Op;
  ElementType from = v.operand(0)->type.element(), to = v.type.element();
  if (v.op == Op::Compare || v.op == Op::Convert || v.op == Op::Select || v.op == Op::Real) return true;
  if (v.op == Op::Imag || v.op == Op::ReducePrecision) return is_float(from);
  if (v.op == Op::ChloSquare) return from != ElementType::pred;
  return scalar_op_of(v.op, from).has_value() && (v.op == Op::IsFinite || from == to);
}

// A computation on scalars that can be written out in a loop.
bool supports_inlined(const ir::Computation& body) {
  using ir::Op;
  for (ir::Value v : body.instructions()) {
    if (v->op == Op::Tuple) {
      if (v != body.root()) return false;
      continue;
    }
    if (!has_plain_types(*v) || v->type.count() != 1) return false;
    bool is_known = v->op == Op::Parameter || v->op == Op::Broadcast || v->op == Op::Reshape || v->op == Op::Copy ||
                    (v->op == Op::Constant && is_uniform(v->as<ir::ConstantAttr>().value)) ||
                    (v->op == Op::BitcastConvert && bit_width(v->type.element()) == bit_width(v->operand(0)->type.element())) ||
                    (ir::is_elementwise(v->op) && v->op != Op::Map && supports_elementwise(*v));
    if (!is_known) return false;
  }
  return true;
}

bool supports_reducing(const ir::Instruction& v) {
  auto plain = [](ir::Value o) { return is_plain_array(o->type); };
  for (ir::Type leaf : ir::leaves(v.type))
    if (!is_plain_array(leaf)) return false;
  return std::all_of(v.operands().begin(), v.operands().end(), plain) && supports_inlined(v.callee(0));
}

bool one_scalar_each(const ir::Instruction& v, size_t first) {
  if (v.operand_count != first + static_cast<size_t>(v.type.rank())) return false;
  for (size_t i = first; i < v.operand_count; ++i)
    if (v.operand(i)->type.rank() != 0 || !is_integer(v.operand(i)->type.element())) return false;
  return true;
}

bool supports_scatter(const ir::Instruction& v) {
  size_t n = (v.operand_count - 1) / 2;
  for (size_t i = 0; i < n; ++i)  // the reducer works on the operand's type
    if (v.callee(0).parameters()[i]->type.element() != v.operand(i)->type.element() ||
        v.callee(0).parameters()[n + i]->type.element() != v.operand(n + 1 + i)->type.element())
      return false;
  return supports_reducing(v) && is_integer(v.operand(n)->type.element());
}

bool supports_sort(const ir::Instruction& v) {
  for (size_t i = 0; i < v.operand_count; ++i)
    if (v.callee(0).parameters()[2 * i]->type.element() != v.operand(i)->type.element()) return false;
  return v.operand(0)->type.rank() > 0 && supports_reducing(v);
}

bool supports_topk(const ir::Instruction& v) {
  ir::Type from = v.operand(0)->type;
  if (!is_plain_array(from) || from.rank() == 0) return false;
  ir::Type values = v.type.element_type(0), positions = v.type.element_type(1);
  return is_plain_array(values) && is_plain_array(positions) && is_integer(positions.element()) &&
         values.dim(from.rank() - 1) <= from.dim(from.rank() - 1);
}

bool supports_select_and_scatter(const ir::Instruction& v) {
  for (const ir::Computation* body : {&v.callee(0), &v.callee(1)}) {
    if (!supports_inlined(*body)) return false;
    for (ir::Value p : body->parameters())
      if (p->type.element() != v.type.element()) return false;
  }
  return has_plain_types(v);
}

bool row_major(ir::Type t) { return t.layout().is_row_major(); }

}  // namespace

bool supports(const ir::Instruction& v) {
  using ir::Op;
  if (v.op == Op::Reduce || v.op == Op::ReduceWindow) return supports_reducing(v);
  if (v.op == Op::Scatter) return supports_scatter(v);
  if (v.op == Op::Sort) return supports_sort(v);
  if (v.op == Op::TopK) return supports_topk(v);
  if (v.op == Op::SelectAndScatter) return supports_select_and_scatter(v);
  if (!has_plain_types(v)) return false;
  if (v.op == Op::Parameter || v.op == Op::Iota || v.op == Op::Broadcast || v.op == Op::Reshape || v.op == Op::Transpose ||
      v.op == Op::Slice || v.op == Op::Reverse || v.op == Op::Pad || v.op == Op::Concatenate || v.op == Op::Copy)
    return v.op != Op::Iota || v.type.element() != ElementType::pred;
  if (v.op == Op::Constant) return is_uniform(v.as<ir::ConstantAttr>().value);
  if (v.op == Op::Bitcast) return row_major(v.type) && row_major(v.operand(0)->type) && v.type.element() == v.operand(0)->type.element();
  if (v.op == Op::BitcastConvert) {
    ElementType from = v.operand(0)->type.element(), to = v.type.element();
    return bit_width(from) == bit_width(to) && (from == to || (from != ElementType::pred && to != ElementType::pred));
  }
  if (v.op == Op::DynamicSlice) return one_scalar_each(v, 1);
  if (v.op == Op::DynamicUpdateSlice) return one_scalar_each(v, 2);
  if (v.op == Op::Gather) return is_integer(v.operand(1)->type.element());
  if (v.op == Op::Dot) return is_float(v.type.element()) == is_float(v.operand(0)->type.element()) && is_float(v.type.element()) == is_float(v.operand(1)->type.element());
  if (v.op == Op::Convolution) return v.operand_count == 2 && is_float(v.type.element()) == is_float(v.operand(0)->type.element());
  if (v.op == Op::Map) return supports_inlined(v.callee(0));
  return ir::is_elementwise(v.op) && supports_elementwise(v);
}

}  // namespace hloc::loops
