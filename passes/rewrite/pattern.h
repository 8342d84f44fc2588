// Rewrite rules as data. A rule is one declaration that reads like algebra:
//
//   {"neg-neg",   -(-x),      x},
//   {"add-zero",  x + 0,      x,      Valid::integers},     // -0.0 + 0 is +0.0
//   {"transpose-transpose", transpose(transpose(x, p), q), transpose(x, compose(p, q))},
//
// A pattern is an array of nodes in postfix order, built by operators while compiling. The parts:
//   x, y, z, w   a value; the same name twice means the same value
//   c            a uniform constant, seen through broadcasts
//   0, 1, ones   a uniform constant of this value
//   p, q         the instruction at this place: its attribute and types; at(p) on the right is that instruction itself
// Where operators do not reach, a rule names a function: a condition on the match, an attribute computed from the match,
// or one that builds the whole replacement. Commuted operands are the engine's business.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ir/target.h"
#include "passes/rewrite/scalar.h"

namespace hloc::passes {

struct Match;
class Replacement;

// An attribute of an op on the right side: that of the instruction in a slot, or computed from the match.
struct AttrExpr {
  enum Kind : uint8_t { none, slot, computed, direction } kind = none;
  uint8_t a = 0, b = 0;  // slots
  uint8_t slots = 0;     // how many of a, b are used
  ir::Direction compare = ir::Direction::EQ;
  std::optional<ir::Attr> (*compute)(const Match&, ir::Value a, ir::Value b) = nullptr;
  std::string_view name;
};

// p, q in a pattern.
struct Slot {
  uint8_t number;
  constexpr operator AttrExpr() const { return {AttrExpr::slot, number, number, 1, {}, nullptr, {}}; }
};

struct PatNode {
  enum Kind : uint8_t { variable, constant, literal, operation, any_elementwise, bound } kind = variable;
  static constexpr uint8_t no_slot = 255, any_arity = 255;
  uint8_t number = 0;        // variable, constant, bound: which variable or slot
  uint8_t arity = 0;         // op: how many children; any_arity: no children are matched
  uint8_t nodes = 1;         // of this subtree
  uint8_t commuted = 0;      // op: its bit in the engine's choice of operand orders, 0 when it has none
  Special special = Special::number;
  ir::Op op = ir::Op::Add;
  int32_t value = 0;         // literal
  AttrExpr attr;             // op: left side: a slot that is bound, or a direction demanded; right side: the attribute
};

struct Pat {
  static constexpr size_t capacity = 10;
  std::array<PatNode, capacity> nodes{};
  uint8_t size = 0;
  uint16_t variables = 0, slots = 0;  // bit sets

  constexpr Pat() = default;
  constexpr Pat(int number) : size(1) {  // a literal
    nodes[0].kind = PatNode::literal;
    nodes[0].value = number;
  }
  constexpr const PatNode& root() const { return nodes[size - 1]; }
};

// The op table's fact, for use while compiling.
constexpr bool commutes(ir::Op op) {
  using namespace ir;
  constexpr uint32_t traits_of[] = {
#define HLOC_OP(Name, hlo, stablehlo, min, max, attr, traits) traits,
#include "ir/ops.def"
#undef HLOC_OP
  };
  return (traits_of[static_cast<size_t>(op)] & commutative) != 0;
}

constexpr Pat make_leaf(PatNode::Kind kind, uint8_t number) {
  Pat p;
  p.size = 1;
  p.nodes[0].kind = kind;
  p.nodes[0].number = number;
  p.variables = static_cast<uint16_t>(1u << number);
  return p;
}

constexpr Pat make_special(Special special) {
  Pat p(0);
  p.nodes[0].special = special;
  return p;
}

template <class... Pats>
constexpr Pat make_op(ir::Op op, AttrExpr attr, Pats... children) {
  Pat p;
  [[maybe_unused]] auto append = [&p](const Pat& child) {
    for (uint8_t i = 0; i < child.size; ++i) p.nodes[p.size++] = child.nodes[i];  // too long: a compile error
    p.variables |= child.variables;
    p.slots |= child.slots;
  };
  (append(children), ...);
  PatNode& node = p.nodes[p.size++];
  node.kind = PatNode::operation;
  node.op = op;
  node.arity = sizeof...(children);
  node.nodes = p.size;
  node.attr = attr;
  if (attr.slots > 0) p.slots |= static_cast<uint16_t>(1u << attr.a);
  if (attr.slots > 1) p.slots |= static_cast<uint16_t>(1u << attr.b);
  return p;
}

// An op with whatever operands it has, bound to a slot.
constexpr Pat make_any(ir::Op op, Slot slot) {
  Pat p = make_op(op, slot);
  p.nodes[0].arity = PatNode::any_arity;
  return p;
}
constexpr Pat make_any_elementwise(Slot slot) {
  Pat p = make_any(ir::Op::Add, slot);
  p.nodes[0].kind = PatNode::any_elementwise;
  return p;
}

// The same pattern, its root bound to a slot.
constexpr Pat bind(Slot slot, Pat pattern) {
  pattern.nodes[pattern.size - 1u].attr = slot;
  pattern.slots |= static_cast<uint16_t>(1u << slot.number);
  return pattern;
}
// The instruction that a slot is bound to, as a value.
constexpr Pat at(Slot slot) {
  Pat pattern;
  pattern.size = 1;
  pattern.nodes[0].kind = PatNode::bound;
  pattern.nodes[0].number = slot.number;
  pattern.slots = static_cast<uint16_t>(1u << slot.number);
  return pattern;
}

// A successful match: what variables and slots stand for.
struct Match {
  ir::Context& context;
  const ir::Target& target;
  ir::Value root = nullptr;
  std::array<ir::Value, 8> variables{};
  std::array<ir::Value, 8> slots{};
  const std::vector<uint32_t>* uses = nullptr;  // by id, as far as they are known; null: everything is used once

  // Whether `v` is needed for nothing else, so that doing it otherwise does not do it twice.
  bool single_use(ir::Value v) const { return !uses || (v->id < uses->size() && (*uses)[v->id] == 1); }

  ir::Value operator[](const Pat& variable) const { return variables[variable.nodes[0].number]; }
  ir::Value operator[](Slot slot) const { return slots[slot.number]; }
};

// What a build function makes its instructions with.
class Replacement {
 public:
  virtual ~Replacement() = default;
  virtual ir::Context& context() = 0;
  virtual ir::Value make(ir::Op op, ir::Type type, std::span<const ir::Value> operands, ir::Attr attr = ir::NoAttr{},
                         std::span<const ir::Computation* const> callees = {}) = 0;
  ir::Value make(ir::Op op, ir::Type type, std::initializer_list<ir::Value> operands, ir::Attr attr = ir::NoAttr{}) {
    return make(op, type, std::span(operands.begin(), operands.size()), std::move(attr));
  }
  // A constant that is `scalar` everywhere.
  ir::Value splat(ir::Type type, ir::Literal scalar);
  // Reshape, transpose, slice and broadcast of `x`; `x` itself where that changes nothing.
  ir::Value reshape(ir::Value x, ir::Type type);
  ir::Value broadcast(ir::Value x, ir::Type type, ir::Ints dims);
};

struct Condition {
  std::string_view text;
  bool (*holds)(const Match&) = nullptr;
};

// A function that makes the replacement, or returns null when there is none.
struct Build {
  std::string_view text;
  ir::Value (*make)(const Match&, Replacement&) = nullptr;
};

// Which element types a rule is right for, told by those of its first variable (or of its root when it has none).
enum class Valid : uint8_t {
  exact,     // all that the ops admit, bit by bit
  real,      // all but complex
  negatable, // all but the one format without a sign
  integers,  // signed and unsigned
  floats,    // real floating point, with a sign
  pred,
};
std::string_view name_of(Valid valid);
bool admits(Valid valid, ElementType element);

class Sampler;
using SampleFn = ir::Value (*)(Sampler&);

// The left side is matched at an instruction; where the condition holds, the right side (or what the build function makes) replaces it.
struct Rule {
  std::string_view name;
  Pat left, right;
  Valid valid = Valid::exact;
  Condition where;
  Build build;
  SampleFn sample = nullptr;  // makes left sides for the proof where random ones would hardly match
  std::array<uint8_t, 3> children{};  // nodes of the root's operands, for a look before the match

  consteval Rule(std::string_view rule_name, Pat lhs, Pat rhs, Valid valid_for = Valid::exact, Condition condition = {},
                 SampleFn sample_fn = nullptr)
      : name(rule_name), left(lhs), right(rhs), valid(valid_for), where(condition), sample(sample_fn) {
    if (rhs.variables & ~lhs.variables) throw "the replacement uses a variable that the pattern does not bind";
    if (rhs.slots & ~lhs.slots) throw "the replacement uses an attribute that the pattern does not bind";
    check_left();
  }
  consteval Rule(std::string_view rule_name, Pat lhs, Pat rhs, Condition condition, SampleFn sample_fn = nullptr)
      : Rule(rule_name, lhs, rhs, Valid::exact, condition, sample_fn) {}
  consteval Rule(std::string_view rule_name, Pat lhs, Build build_fn, Valid valid_for = Valid::exact,
                 SampleFn sample_fn = nullptr)
      : name(rule_name), left(lhs), valid(valid_for), build(build_fn), sample(sample_fn) {
    check_left();
  }
  consteval Rule(std::string_view rule_name, Pat lhs, Build build_fn, SampleFn sample_fn)
      : Rule(rule_name, lhs, build_fn, Valid::exact, sample_fn) {}

  std::string law() const;  // "x * 1 => x"

 private:
  consteval void check_left() {
    if (left.root().kind != PatNode::operation && left.root().kind != PatNode::any_elementwise)
      throw "the root of a pattern is an op";
    uint8_t end = left.size - 1;
    if (left.root().arity != PatNode::any_arity)
      for (size_t i = left.root().arity; i-- > 0; end = static_cast<uint8_t>(end - left.nodes[end - 1].nodes))
        children[i] = end - 1;  // more than three operands: a compile error
    uint8_t bit = 1;
    for (uint8_t i = 0; i < left.size; ++i) {
      PatNode& node = left.nodes[i];
      if (node.kind != PatNode::operation || node.arity != 2 || !commutes(node.op)) continue;
      node.commuted = bit;
      bit = static_cast<uint8_t>(bit << 1);
    }
  }
};

// Tries `rule` at `root`; true fills `match`.
bool match_rule(const Rule& rule, ir::Value root, Match& match);

// The element type that decides whether a rule is valid: of its first variable, or of the root when it has none.
ElementType deciding_element(const Match& match);

}  // namespace hloc::passes
