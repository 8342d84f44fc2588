// The evaluator's interface: checks of arguments, and what can be evaluated at all.
#include "ir/eval/eval.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "ir/eval/ops.h"
#include "ir/print/print.h"

namespace hloc::ir {
namespace {

Result<Literal> run_checked(eval::Evaluator& evaluator, const Computation& computation, std::span<const Literal> arguments) {
  auto parameters = computation.parameters();
  if (arguments.size() != parameters.size())
    return error(ErrorKind::input, fmt::format("'{}' takes {} arguments, {} are given", computation.name(),
                                               parameters.size(), arguments.size()));
  for (size_t k = 0; k < arguments.size(); ++k) {
    Type want = parameters[k]->type, got = arguments[k].type();
    if (got && same_shape(got, want) && !arguments[k].is_elided()) continue;
    return error(ErrorKind::input, fmt::format("argument {} of '{}' is {}, its parameter {}", k, computation.name(),
                                               got ? to_string(got) : "missing", to_string(want)));
  }
  return evaluator.run(computation, std::vector<Literal>(arguments.begin(), arguments.end()));
}

bool knows_types(Value v) {
  bool is_static = v->type.is_static();
  for (Value operand : v->operands()) is_static &= operand->type.is_static();
  if (!is_static) return false;
  if (v->op == Op::CustomCall) return eval::is_known_custom_call(v);
  if (!is_elementwise(v->op) || v->op == Op::Map) return true;
  std::vector<ElementType> types;
  auto computed = [](Type t) { return t->quant ? t->quant->expressed : t.element(); };
  for (Value operand : v->operands()) {
    if (!operand->type.is_array()) return false;
    types.push_back(computed(operand->type));
  }
  return v->type.is_array() && eval::elementwise_kernel({v->op, *v->attr, types, computed(v->type)}).has_value();
}

bool knows(Value v) {
  bool is_leaf = v->op == Op::Parameter;
  return (is_leaf || eval::find_op_row(v->op) != nullptr) && (is_leaf ? v->type.is_static() : knows_types(v));
}

}  // namespace

Result<Literal> evaluate(const Module& module, std::span<const Literal> arguments, const EvalOptions& options) {
  eval::Evaluator evaluator(options, module.source().get());
  const ModuleConfig& config = module.config();
  evaluator.device_count = config.replica_count * std::max<int64_t>(1, config.num_partitions);
  return run_checked(evaluator, module.entry(), arguments);
}

Result<Literal> evaluate(const Computation& computation, std::span<const Literal> arguments, const EvalOptions& options) {
  eval::Evaluator evaluator(options);
  return run_checked(evaluator, computation, arguments);
}

Result<Literal> evaluate(Value instruction, std::span<const Literal> operands, const EvalOptions& options) {
  eval::Evaluator evaluator(options);
  HLOC_CHECK(operands.size() == instruction->operands().size(), "an op is evaluated on as many values as it has operands");
  std::vector<Literal> values(operands.begin(), operands.end());
  return evaluator.apply(instruction, values);
}

bool can_evaluate(Value instruction) {
  if (!knows(instruction)) return false;
  // Callees count too; each once, however often it is called.
  std::vector<const Computation*> todo(instruction->callees().begin(), instruction->callees().end());
  std::unordered_set<const Computation*> seen(todo.begin(), todo.end());
  while (!todo.empty()) {
    const Computation& c = *todo.back();
    todo.pop_back();
    for (Value v : c.instructions()) {
      if (!knows(v)) return false;
      for (const Computation* callee : v->callees())
        if (seen.insert(callee).second) todo.push_back(callee);
    }
  }
  return true;
}

}  // namespace hloc::ir
