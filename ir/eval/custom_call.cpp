// The custom calls that the evaluator knows: checks, and markers that hand their operand on.
#include <algorithm>

#include <fmt/format.h>

#include "ir/eval/check.h"
#include "ir/eval/ops.h"

namespace hloc::ir::eval {
namespace {

constexpr std::string_view markers[] = {
    "Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement", "LayoutConstraint",
    "MoveToHost", "MoveToDevice", "Pin", "Unpin", "xla.sdy.FuncResultSharding", "xla.sdy.GlobalToLocalShape",
    "xla.sdy.LocalToGlobalShape",
};

struct CheckTarget {
  std::string_view name;
  Closeness closeness;
};
constexpr CheckTarget checks[] = {
    {"check.expect_eq", {}},
    {"check.expect_almost_eq", {Closeness::almost, 0.001, 0, 0}},
    {"check.expect_close", {Closeness::ulps, 0, 0, 3}},
};

Result<Literal> run_check(Call& c, const CheckTarget& check) {
  std::string difference = first_difference(c.in[0], c.in[1], check.closeness);
  if (!difference.empty()) return c.eval.fail(fmt::format("{} failed: {}", check.name, difference));
  return eval_token(c);
}

// check.eq(expected, actual) -> pred
Result<Literal> run_check_eq(Call& c) {
  bool equal = first_difference(c.in[1], c.in[0], {Closeness::almost, 0.0001, 0, 0}).empty();
  Literal out = c.eval.allocate(c.type);
  store(out.mutable_bytes().data(), 0, equal);
  return out;
}

}  // namespace

bool is_known_custom_call(Value v) {
  const std::string& target = v->as<CustomCallAttr>().target;
  size_t operands = v->operands().size();
  if (std::ranges::find(markers, target) != std::end(markers))
    return operands == 1 && same_shape(v->operand(0)->type, v->type);
  if (target == "check.eq") return operands == 2;
  return operands == 2 && std::ranges::find(checks, target, &CheckTarget::name) != std::end(checks);
}

Result<Literal> eval_custom_call(Call& c) {
  const std::string& target = c.attr<CustomCallAttr>().target;
  if (!is_known_custom_call(c.v))
    return c.eval.fail(fmt::format("the evaluator does not know the custom call target \"{}\"", target), ErrorKind::target);
  for (const CheckTarget& check : checks)
    if (check.name == target) return run_check(c, check);
  if (target == "check.eq") return run_check_eq(c);
  return std::move(c.in[0]);
}

}  // namespace hloc::ir::eval
