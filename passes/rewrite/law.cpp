// A rule as text, printed from its pattern: "x - x => 0 [integers]".
#include <fmt/format.h>

#include "passes/rewrite/pattern.h"

namespace hloc::passes {
namespace {

std::string_view infix_sign(ir::Op op) {
  constexpr std::pair<ir::Op, std::string_view> signs[] = {
      {ir::Op::Add, "+"}, {ir::Op::Subtract, "-"}, {ir::Op::Multiply, "*"}, {ir::Op::Divide, "/"},
      {ir::Op::Remainder, "%"}, {ir::Op::And, "&"}, {ir::Op::Or, "|"}, {ir::Op::Xor, "^"}};
  for (auto [of, sign] : signs)
    if (of == op) return sign;
  return {};
}

std::string_view compare_sign(ir::Direction direction) {
  switch (direction) {
    case ir::Direction::EQ: return "==";
    case ir::Direction::NE: return "!=";
    case ir::Direction::GE: return ">=";
    case ir::Direction::GT: return ">";
    case ir::Direction::LE: return "<=";
    case ir::Direction::LT: return "<";
  }
  return {};
}

std::string literal_text(const PatNode& node) {
  switch (node.special) {
    case Special::number: return std::to_string(node.value);
    case Special::minus_zero: return "-0.0";
    case Special::lowest: return "lowest";
    case Special::highest: return "highest";
    case Special::ones: return "ones";
  }
  return {};
}

char slot_letter(uint8_t slot) { return static_cast<char>('p' + slot); }

std::string attribute_text(const AttrExpr& attr) {
  switch (attr.kind) {
    case AttrExpr::slot: return std::string(1, slot_letter(attr.a));
    case AttrExpr::computed:
      return attr.slots == 2 ? fmt::format("{}({}, {})", attr.name, slot_letter(attr.a), slot_letter(attr.b))
                             : fmt::format("{}({})", attr.name, slot_letter(attr.a));
    case AttrExpr::none:
    case AttrExpr::direction: break;
  }
  return {};
}

// Texts of the subtrees so far, with whether they need parentheses inside another operator.
struct LawPiece {
  std::string text;
  bool compound;
};

std::string enclosed(const LawPiece& piece) { return piece.compound ? "(" + piece.text + ")" : piece.text; }

LawPiece operation_piece(const PatNode& node, std::span<const LawPiece> operands) {
  if (std::string_view sign = infix_sign(node.op); !sign.empty() && operands.size() == 2) {
    std::string name = node.attr.kind == AttrExpr::slot ? fmt::format("{} = ", slot_letter(node.attr.a)) : "";
    return {fmt::format("{}{} {} {}", name, enclosed(operands[0]), sign, enclosed(operands[1])), true};
  }
  if (node.op == ir::Op::Compare && node.attr.kind == AttrExpr::direction)
    return {fmt::format("{} {} {}", enclosed(operands[0]), compare_sign(node.attr.compare), enclosed(operands[1])), true};
  if (node.op == ir::Op::Negate) return {"-" + enclosed(operands[0]), true};
  if (node.op == ir::Op::Not) return {"!" + enclosed(operands[0]), false};
  std::string list;
  auto add = [&list](std::string_view text) {
    if (!list.empty()) list += ", ";
    list += text;
  };
  for (const LawPiece& operand : operands) add(operand.text);
  if (node.arity == PatNode::any_arity) add("…");
  if (std::string attr = attribute_text(node.attr); !attr.empty()) add(attr);
  std::string_view name = node.kind == PatNode::any_elementwise ? "elementwise" : ir::name_of(node.op);
  return {fmt::format("{}({})", name, list), false};
}

std::string pattern_text(const Pat& pattern) {
  std::vector<LawPiece> stack;
  constexpr std::string_view names[] = {"x", "y", "z", "c", "w"};
  for (uint8_t i = 0; i < pattern.size; ++i) {
    const PatNode& node = pattern.nodes[i];
    switch (node.kind) {
      case PatNode::variable:
      case PatNode::constant: stack.push_back({std::string(names[node.number]), false}); break;
      case PatNode::bound: stack.push_back({std::string(1, slot_letter(node.number)), false}); break;
      case PatNode::literal: stack.push_back({literal_text(node), false}); break;
      case PatNode::any_elementwise:
      case PatNode::operation: {
        size_t arity = node.arity == PatNode::any_arity ? 0 : node.arity;
        LawPiece whole = operation_piece(node, std::span(stack).last(arity));
        stack.resize(stack.size() - arity);
        stack.push_back(std::move(whole));
        break;
      }
    }
  }
  return stack.back().text;
}

}  // namespace

std::string Rule::law() const {
  std::string text = pattern_text(left) + " => ";
  text += build.make ? std::string(build.text) : pattern_text(right);
  if (where.holds) text += fmt::format(" where {}", where.text);
  if (valid != Valid::exact) text += fmt::format(" [{}]", name_of(valid));
  return text;
}

}  // namespace hloc::passes
