// The matcher: a pattern is walked from its root, the last node of the postfix array, towards the leaves. Operand orders
// of commutative ops are tried one combination after the other, so one walk never has to go back.
#include <cstring>

#include "passes/rewrite/pattern.h"

namespace hloc::passes {
namespace {

using ir::Value;

struct PatternWalk {
  const Pat& pattern;
  Match& match;
  uint8_t swapped;  // commuted bits whose operands are taken the other way round

  bool node(size_t at, Value v) {
    const PatNode& n = pattern.nodes[at];
    switch (n.kind) {
      case PatNode::variable: return bind(n.number, v);
      case PatNode::constant: return !uniform_bytes(v).empty() && bind(n.number, v);
      case PatNode::literal: return literal(n, v);
      case PatNode::any_elementwise:
        if (!ir::is_elementwise(v->op) || v->op == ir::Op::Map) return false;
        match.slots[n.attr.a] = v;
        return true;
      case PatNode::operation: return operation(at, n, v);
      case PatNode::bound: return false;  // only on right sides
    }
    return false;
  }

  bool bind(uint8_t number, Value v) {
    Value& bound = match.variables[number];
    if (bound) return bound == v;
    bound = v;
    return true;
  }

  bool literal(const PatNode& n, Value v) {
    std::span<const std::byte> bytes = uniform_bytes(v);
    if (bytes.empty()) return false;
    std::optional<ir::Literal> want = scalar_literal(match.context, v->type.element(), n.special, n.value);
    return want && std::memcmp(want->bytes().data(), bytes.data(), bytes.size()) == 0;
  }

  bool operation(size_t at, const PatNode& n, Value v) {
    if (v->op != n.op) return false;
    if (n.attr.kind == AttrExpr::direction && v->as<ir::CompareAttr>().direction != n.attr.compare) return false;
    if (v != match.root && v->extras && !v->extras->control_predecessors.empty()) return false;
    if (!v->type.is_static()) return false;
    for (Value operand : v->operands())
      if (!operand->type.is_static()) return false;
    if (n.attr.kind == AttrExpr::slot) match.slots[n.attr.a] = v;
    if (n.arity == PatNode::any_arity) return true;
    if (v->operand_count != n.arity) return false;
    // Children from the last to the first: that is how they end in postfix order.
    size_t child = at;
    for (size_t i = n.arity; i-- > 0;) {
      size_t last = child - 1;
      size_t operand = (n.commuted & swapped) != 0 ? n.arity - 1 - i : i;
      if (!node(last, v->operand(operand))) return false;
      child = child - pattern.nodes[last].nodes;
    }
    return true;
  }
};

// Whether an operand can be what the pattern has at its root's operand: only the ops are looked at.
bool may_be(const PatNode& n, Value v) {
  switch (n.kind) {
    case PatNode::operation: return v->op == n.op;
    case PatNode::constant:
    case PatNode::literal: return v->op == ir::Op::Constant || v->op == ir::Op::Broadcast || v->op == ir::Op::Reshape;
    case PatNode::variable:
    case PatNode::any_elementwise:
    case PatNode::bound: break;
  }
  return true;
}

bool may_match(const Rule& rule, Value root) {
  const PatNode& n = rule.left.root();
  if (n.arity == PatNode::any_arity) return true;
  if (root->operand_count != n.arity) return false;
  for (size_t i = 0; i < n.arity; ++i) {
    const PatNode& child = rule.left.nodes[rule.children[i]];
    if (!may_be(child, root->operand(i)) && !(n.commuted && may_be(child, root->operand(1 - i)))) return false;
  }
  return true;
}

bool has_quantised(const Match& match) {
  auto quantised = [](Value v) { return v && v->type.is_array() && v->type->quant; };
  if (quantised(match.root)) return true;
  for (Value v : match.variables)
    if (quantised(v)) return true;
  return false;
}

}  // namespace

ElementType deciding_element(const Match& match) {
  Value v = match.root;
  for (size_t i = match.variables.size(); i-- > 0;)
    if (match.variables[i]) v = match.variables[i];
  return v->type.is_array() ? v->type.element() : ElementType::invalid;
}

bool match_rule(const Rule& rule, Value root, Match& match) {
  if (!may_match(rule, root)) return false;
  uint8_t orders = 1;
  for (uint8_t i = 0; i < rule.left.size; ++i)
    if (uint8_t bit = rule.left.nodes[i].commuted) orders = static_cast<uint8_t>(bit << 1);
  for (uint8_t swapped = 0; swapped < orders; ++swapped) {
    match.root = root;
    match.variables.fill(nullptr);
    match.slots.fill(nullptr);
    PatternWalk walk{rule.left, match, swapped};
    if (!walk.node(rule.left.size - 1u, root)) continue;
    if (rule.valid != Valid::exact && !admits(rule.valid, deciding_element(match))) continue;
    if (has_quantised(match)) continue;
    if (rule.where.holds && !rule.where.holds(match)) continue;
    return true;
  }
  return false;
}

bool admits(Valid valid, ElementType element) {
  switch (valid) {
    case Valid::exact: return true;
    case Valid::real: return !is_complex(element);
    case Valid::negatable: return element != ElementType::f8e8m0fnu;
    case Valid::integers: return is_integer(element);
    case Valid::floats: return is_float(element) && element != ElementType::f8e8m0fnu;
    case Valid::pred: return element == ElementType::pred;
  }
  return false;
}

std::string_view name_of(Valid valid) {
  switch (valid) {
    case Valid::exact: return "exact";
    case Valid::real: return "not complex";
    case Valid::negatable: return "not f8e8m0fnu";
    case Valid::integers: return "integers";
    case Valid::floats: return "floats";
    case Valid::pred: return "pred";
  }
  return "";
}

}  // namespace hloc::passes
