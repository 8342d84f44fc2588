// Tuples, tokens, calls, loops, branches, asynchronous pairs, and collectives of a lone device.
#include <algorithm>

#include <fmt/format.h>

#include "ir/eval/copy.h"
#include "ir/eval/ops.h"

namespace hloc::ir::eval {
namespace {

std::vector<Literal> taken(std::span<Literal> operands) {
  return {std::make_move_iterator(operands.begin()), std::make_move_iterator(operands.end())};
}

// A value for parts of a result that carry none: contexts of asynchronous pairs, tokens.
Literal empty_part(Call& c, Type type) { return type.is_array() ? c.eval.zeros(type) : Literal::token(type); }

// (first, second, contexts…) as the type of a -start op says.
Result<Literal> start_tuple(Call& c, Literal first, Literal second) {
  if (!c.type.is_tuple() || c.type.tuple_size() < 2)
    return c.eval.fail("the result of a start has at least two parts");
  std::vector<Literal> parts{std::move(first), std::move(second)};
  for (size_t i = 2; i < c.type.tuple_size(); ++i) parts.push_back(empty_part(c, c.type.element_type(i)));
  return Literal::tuple(c.type, std::move(parts));
}

Result<void> check_lone(Call& c) {
  if (c.eval.device_count == 1) return {};
  return c.eval.fail(fmt::format("'{}' needs all {} devices of the program; the evaluator runs one",
                                 name_of(c.v->op), c.eval.device_count), ErrorKind::target);
}

bool same_leaves(std::span<const Literal> values, Type type) {
  if (!type.is_tuple()) return values.size() == 1 && values[0].type().is_array() && type.is_array() && values[0].type().count() == type.count();
  if (type.tuple_size() != values.size()) return false;
  for (size_t i = 0; i < values.size(); ++i)
    if (!same_leaves(values.subspan(i, 1), type.element_type(i))) return false;
  return true;
}

// What a group of one device gets from a collective: its own values.
Result<Literal> own_values(Call& c, Type type) {
  if (auto ok = check_lone(c); !ok) return ok.error();
  if (c.in.size() == 1 && c.in[0].is_tuple()) return std::move(c.in[0]);
  if (!same_leaves(c.in, type))
    return c.eval.fail(fmt::format("'{}' has a result of another size than its operand, so it needs other devices",
                                   name_of(c.v->op)), ErrorKind::target);
  return type.is_tuple() ? Literal::tuple(type, taken(c.in)) : c.in[0].with_type(type);
}

}  // namespace

Result<Literal> eval_tuple(Call& c) {
  std::vector<Literal> parts = taken(c.in);
  for (size_t i = 0; i < parts.size(); ++i) {
    Type type = c.type.element_type(i);
    if (type.is_array() && parts[i].type() != type) parts[i] = parts[i].with_type(type);
  }
  return Literal::tuple(c.type, std::move(parts));
}

Result<Literal> eval_get_tuple_element(Call& c) { return c.in[0].parts()[static_cast<size_t>(c.attr<TupleIndexAttr>().index)]; }

Result<Literal> eval_first_operand(Call& c) { return std::move(c.in[0]); }

Result<Literal> eval_barrier(Call& c) {
  if (c.in.size() == 1) return std::move(c.in[0]);
  return Literal::tuple(c.type, taken(c.in));
}

Result<Literal> eval_token(Call& c) {
  return c.type.is_tuple() && c.type.tuple_size() == 0 ? Literal::tuple(c.type, {}) : Literal::token(c.type);
}

Result<Literal> eval_call(Call& c) {
  if (c.v->callees().empty()) return c.eval.fail(fmt::format("'{}' calls nothing", name_of(c.v->op)));
  const Computation& callee = c.v->callee(0);
  if (callee.parameters().size() != c.in.size())
    return c.eval.fail(fmt::format("'{}' gives {} values to a computation with {} parameters", name_of(c.v->op),
                                   c.in.size(), callee.parameters().size()));
  return c.eval.run(callee, taken(c.in));
}

Result<Literal> eval_while(Call& c) {
  const Computation &condition = c.v->callee(0), &body = c.v->callee(1);
  Literal state = std::move(c.in[0]);
  while (true) {
    auto more = c.eval.run(condition, {state});
    if (!more) return more;
    if (!load<bool>(more->bytes().data())) return state;
    std::vector<Literal> argument;
    argument.push_back(std::move(state));
    auto next = c.eval.run(body, std::move(argument));
    if (!next) return next;
    state = *std::move(next);
  }
}

// A pred chooses the first branch when true, the second when false; an index out of range the last.
Result<Literal> eval_conditional(Call& c) {
  auto branches = static_cast<int64_t>(c.v->callees().size());
  int64_t index = integer_at(c.in[0], 0);
  if (c.in[0].type().element() == ElementType::pred) index = index != 0 ? 0 : 1;
  if (index < 0 || index >= branches) index = branches - 1;
  const Computation& branch = c.v->callee(static_cast<size_t>(index));
  std::vector<Literal> arguments;
  if (!branch.parameters().empty()) {
    auto operand = static_cast<size_t>(index) + 1;
    if (branch.parameters().size() != 1 || operand >= c.in.size())
      return c.eval.fail("a branch takes one value, the operand that belongs to it");
    arguments.push_back(std::move(c.in[operand]));
  }
  return c.eval.run(branch, std::move(arguments));
}

// An asynchronous computation is run when it is started.
Result<Literal> eval_async_start(Call& c) {
  auto result = c.eval.run(c.v->callee(0), std::vector<Literal>(c.in.begin(), c.in.end()));
  if (!result || !c.type.is_tuple()) return result;
  Type operands = c.type.element_type(0);
  if (!operands.is_tuple()) return start_tuple(c, std::move(c.in[0]), *std::move(result));
  return start_tuple(c, Literal::tuple(operands, taken(c.in)), *std::move(result));
}

Result<Literal> eval_async_done(Call& c) {
  bool is_bundle = c.v->operand(0)->type.is_tuple();
  return is_bundle ? c.in[0].parts()[1] : std::move(c.in[0]);
}

Result<Literal> eval_copy_start(Call& c) { return start_tuple(c, c.in[0], c.in[0]); }

Result<Literal> eval_copy_done(Call& c) { return c.in[0].parts()[0]; }

Result<Literal> eval_zero(Call& c) {
  if (auto ok = check_lone(c); !ok) return ok.error();
  return c.eval.zeros(c.type);
}

Result<Literal> eval_lone_collective(Call& c) { return own_values(c, c.type); }

Result<Literal> eval_lone_collective_start(Call& c) {
  if (c.v->op == Op::AllReduceStart) return own_values(c, c.type);
  Literal operand = c.in.size() == 1 ? c.in[0] : Literal::tuple(c.type.element_type(0), std::vector<Literal>(c.in.begin(), c.in.end()));
  auto result = own_values(c, c.type.element_type(1));
  if (!result) return result;
  return start_tuple(c, std::move(operand), *std::move(result));
}

Result<Literal> eval_lone_collective_done(Call& c) {
  return c.v->operand(0)->op == Op::AllReduceStart ? std::move(c.in[0]) : c.in[0].parts()[1];
}

// A device that is no target gets zeros.
Result<Literal> eval_lone_permute(Call& c) {
  const auto& attr = c.attr<PermuteAttr>();
  bool is_target = std::ranges::find(attr.source_target_pairs, Ints{0, 0}) != attr.source_target_pairs.end();
  if (c.in.size() != 1) return c.eval.fail("an in-place collective-permute can't be evaluated", ErrorKind::target);
  bool is_start = c.v->op == Op::CollectivePermuteStart;
  Literal operand = c.in[0];
  auto result = own_values(c, is_start ? c.type.element_type(1) : c.type);
  if (!result) return result;
  Literal received = is_target ? *std::move(result) : empty_part(c, is_start ? c.type.element_type(1) : c.type);
  if (!is_start) return received;
  return start_tuple(c, std::move(operand), std::move(received));
}

}  // namespace hloc::ir::eval
