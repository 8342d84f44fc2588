#include "passes/rewrite/replace.h"

#include "ir/infer/infer.h"
#include "passes/rewrite/engine.h"

namespace hloc::passes {

using ir::Op;
using ir::Type;
using ir::Value;

ir::Attr default_attr(Op op) {
  switch (op) {
#define HLOC_OP(Name, hlo, stablehlo, min, max, attr, traits) \
  case Op::Name: return ir::attr{};
#include "ir/ops.def"
#undef HLOC_OP
  }
  HLOC_UNREACHABLE();
}

Value Replacement::splat(Type type, ir::Literal scalar) {
  Type scalar_type = scalar.type();
  Value one = make(Op::Constant, scalar_type, {}, ir::ConstantAttr{std::move(scalar)});
  return type.rank() == 0 ? one : make(Op::Broadcast, type, {one}, ir::BroadcastAttr{});
}

Value Replacement::reshape(Value x, Type type) {
  return x->type == type ? x : make(Op::Reshape, type, {x}, ir::ReshapeAttr{});
}

Value Replacement::broadcast(Value x, Type type, ir::Ints dims) {
  bool identity = x->type == type;
  for (size_t i = 0; i < dims.size(); ++i) identity &= dims[i] == static_cast<int64_t>(i);
  return identity ? x : make(Op::Broadcast, type, {x}, ir::BroadcastAttr{std::move(dims)});
}

std::optional<ir::Attr> RightSide::attribute(const PatNode& node) const {
  const AttrExpr& how = node.attr;
  switch (how.kind) {
    case AttrExpr::none: return default_attr(node.op);
    case AttrExpr::slot: return *match_.slots[how.a]->attr;
    case AttrExpr::computed: return how.compute(match_, match_.slots[how.a], match_.slots[how.b]);
    case AttrExpr::direction: return ir::CompareAttr{how.compare, ir::CompareType::unset};
  }
  return std::nullopt;
}

Value RightSide::literal(const PatNode& node, Type type, Replacement& out) {
  if (!type.is_array() || type->quant) return nullptr;
  std::optional<ir::Literal> scalar = scalar_literal(out.context(), type.element(), node.special, node.value);
  return scalar ? out.splat(type, *std::move(scalar)) : nullptr;
}

Value RightSide::make(const PatNode& node, bool is_root, Replacement& out) {
  std::array<Item, Pat::capacity> items;
  for (size_t i = node.arity; i-- > 0;) items[i] = stack_[--depth_];
  Type neighbour;
  for (size_t i = 0; i < node.arity; ++i)
    if (items[i].value) neighbour = items[i].value->type;
  std::vector<Value> operands;
  std::vector<Type> types;
  for (size_t i = 0; i < node.arity; ++i) {
    Value operand = items[i].value;
    if (!operand && neighbour) operand = literal(*items[i].literal, neighbour, out);
    if (!operand) return nullptr;
    operands.push_back(operand);
    types.push_back(operand->type);
  }
  std::optional<ir::Attr> attr = attribute(node);
  if (!attr) return nullptr;
  Result<Type> type = ir::infer(out.context(), node.op, types, *attr, {});
  if (!type) return nullptr;
  Type whole = match_.root->type;
  if (is_root && (!*type || ir::same_shape(*type, whole))) type = whole;
  return *type ? out.make(node.op, *type, operands, *std::move(attr)) : nullptr;
}

RightSide::Step RightSide::run(Replacement& out, Value& value) {
  const Pat& right = rule_->right;
  while (next_ < right.size) {
    const PatNode& node = right.nodes[next_++];
    switch (node.kind) {
      case PatNode::variable:
      case PatNode::constant: push({match_.variables[node.number], nullptr}); break;
      case PatNode::literal: push({nullptr, &node}); break;
      case PatNode::bound: push({match_.slots[node.number], nullptr}); break;
      case PatNode::any_elementwise: return Step::failed;
      case PatNode::operation:
        value = make(node, next_ == right.size, out);
        return value ? Step::made : Step::failed;
    }
  }
  Item last = stack_[depth_ - 1];
  value = last.value ? last.value : literal(*last.literal, match_.root->type, out);
  return value && value->type == match_.root->type ? Step::done : Step::failed;
}

}  // namespace hloc::passes
