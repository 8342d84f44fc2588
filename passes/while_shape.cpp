#include "passes/while_shape.h"

#include "passes/rewrite/scalar.h"

namespace hloc::passes {

using ir::Computation;
using ir::Op;
using ir::Value;

std::optional<size_t> carry_of(Value v) {
  if (v->op != Op::GetTupleElement || v->operand(0)->op != Op::Parameter) return std::nullopt;
  return static_cast<size_t>(v->as<ir::TupleIndexAttr>().index);
}

bool WhileShape::is_invariant(size_t i) const { return carry_of(next(i)) == i; }

namespace {

bool sees_elements_only(const Computation& computation) {
  if (computation.parameters().size() != 1) return false;
  Value state = computation.parameters()[0];
  if (state == computation.root()) return false;
  for (Value v : computation.instructions()) {
    if (v->extras && !v->extras->control_predecessors.empty()) return false;
    for (Value operand : v->operands())
      if (operand == state && v->op != Op::GetTupleElement) return false;
  }
  return true;
}

// A scalar integer that is known: a constant, or a carry that starts as one and never changes.
std::optional<int64_t> known_int(const WhileShape& shape, const std::vector<Value>& initial, Value v) {
  if (!v->type.is_array() || v->type.rank() != 0 || !is_integer(v->type.element())) return std::nullopt;
  if (std::optional<size_t> i = carry_of(v))
    return shape.is_invariant(*i) && initial[*i] ? uniform_int(initial[*i]) : std::nullopt;
  return uniform_int(v);
}

ir::Direction mirrored(ir::Direction d) {
  switch (d) {
    case ir::Direction::LT: return ir::Direction::GT;
    case ir::Direction::LE: return ir::Direction::GE;
    case ir::Direction::GT: return ir::Direction::LT;
    case ir::Direction::GE: return ir::Direction::LE;
    case ir::Direction::EQ:
    case ir::Direction::NE: break;
  }
  return d;
}

// Rounds of `for (i = from; i < to; i += step)`, when no value of i leaves the element type.
std::optional<int64_t> rounds_below(int64_t from, int64_t to, int64_t step, int64_t highest) {
  if (from >= to) return 0;
  if (step <= 0) return std::nullopt;
  int64_t distance = 0, last = 0;
  if (__builtin_sub_overflow(to, from, &distance)) return std::nullopt;
  int64_t rounds = (distance - 1) / step + 1;
  if (__builtin_mul_overflow(rounds, step, &last) || __builtin_add_overflow(from, last, &last)) return std::nullopt;
  return last <= highest ? std::optional(rounds) : std::nullopt;
}

}  // namespace

std::optional<WhileShape> while_shape(Value loop, const Computation* condition, const Computation* body) {
  if (loop->op != Op::While || loop->operand_count != 1 || !loop->type.is_tuple()) return std::nullopt;
  WhileShape shape{body, condition, loop->type.tuple_size()};
  if (body->root()->op != Op::Tuple || body->root()->operand_count != shape.carries) return std::nullopt;
  if (!sees_elements_only(*body) || !sees_elements_only(*condition)) return std::nullopt;
  for (size_t i = 0; i < shape.carries; ++i)  // layouts may differ from round to round as written
    if (shape.next(i)->type != loop->type.element_type(i)) return std::nullopt;
  ir::Type state = loop->type;
  if (loop->operand(0)->type != state || body->parameters()[0]->type != state) return std::nullopt;
  return condition->parameters()[0]->type == state ? std::optional(shape) : std::nullopt;
}

std::optional<int64_t> step_of(const WhileShape& shape, const std::vector<Value>& initial, size_t i) {
  Value next = shape.next(i);
  if (next->op != Op::Add && next->op != Op::Subtract) return std::nullopt;
  bool first = carry_of(next->operand(0)) == i, second = next->op == Op::Add && carry_of(next->operand(1)) == i;
  if (!first && !second) return std::nullopt;
  std::optional<int64_t> step = known_int(shape, initial, next->operand(first ? 1 : 0));
  if (!step || next->op == Op::Add) return step;
  return *step == INT64_MIN ? std::nullopt : std::optional(-*step);
}

std::optional<LoopLimit> loop_limit(const WhileShape& shape) {
  Value test = shape.condition->root();
  if (test->op != Op::Compare) return std::nullopt;
  ir::Direction direction = test->as<ir::CompareAttr>().direction;
  for (size_t side : {0, 1}) {
    Value limit = test->operand(1 - side);
    std::optional<size_t> i = carry_of(test->operand(side)), other = carry_of(limit);
    if (!i || shape.is_invariant(*i) || !(other ? shape.is_invariant(*other) : uniform_int(limit).has_value())) continue;
    return LoopLimit{*i, limit, side == 0 ? direction : mirrored(direction)};
  }
  return std::nullopt;
}

std::optional<int64_t> trip_count(const WhileShape& shape, const std::vector<Value>& initial) {
  Value test = shape.condition->root();
  if (std::optional<int64_t> always = uniform_int(test)) return *always == 0 ? std::optional<int64_t>(0) : std::nullopt;
  std::optional<LoopLimit> bound = loop_limit(shape);
  if (!bound || !initial[bound->carry]) return std::nullopt;
  std::optional<int64_t> limit = known_int(shape, initial, bound->value), from = uniform_int(initial[bound->carry]);
  std::optional<int64_t> step = step_of(shape, initial, bound->carry);
  ElementType element = initial[bound->carry]->type.element();
  if (!limit || !from || !step || !is_integer(element)) return std::nullopt;
  int bits = bit_width(element) - (is_signed_integer(element) ? 1 : 0);
  int64_t highest = bits >= 63 ? INT64_MAX : (int64_t{1} << bits) - 1;
  int64_t lowest = is_signed_integer(element) ? -highest - 1 : 0;
  switch (bound->direction) {
    case ir::Direction::LT: return rounds_below(*from, *limit, *step, highest);
    case ir::Direction::LE:
      return *limit == INT64_MAX ? std::nullopt : rounds_below(*from, *limit + 1, *step, highest);
    case ir::Direction::GT:
    case ir::Direction::GE: {
      // Counting down is counting up with all signs turned.
      int64_t to = bound->direction == ir::Direction::GE ? *limit : *limit == INT64_MAX ? *limit : *limit + 1;
      if (*from == INT64_MIN || to == INT64_MIN || *step == INT64_MIN || lowest == INT64_MIN) return std::nullopt;
      if (bound->direction == ir::Direction::GT && *limit == INT64_MAX) return 0;
      return rounds_below(-*from, -to + 1, -*step, -lowest);
    }
    case ir::Direction::NE: {
      int64_t distance = 0;
      if (__builtin_sub_overflow(*limit, *from, &distance)) return std::nullopt;
      if (distance == 0) return 0;
      bool meets = *step != 0 && *step != -1 && distance % *step == 0 && distance / *step > 0;
      if (*step == -1 && distance < 0 && distance != INT64_MIN) return -distance;
      return meets ? std::optional(distance / *step) : std::nullopt;
    }
    case ir::Direction::EQ: return *from == *limit ? std::nullopt : std::optional<int64_t>(0);
  }
  return std::nullopt;
}

}  // namespace hloc::passes
