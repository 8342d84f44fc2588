// What the text tests of graphs do: read, print, verify, evaluate, run passes, plan.
#include <cstring>

#include <fmt/format.h>

#include "ir/eval/eval.h"
#include "ir/graph.h"
#include "ir/print/print.h"
#include "ir/support/float_formats.h"
#include "passes/plan_check.h"
#include "src/program.h"
#include "tests/harness/text_test.h"

namespace hloc::test {
namespace {

Result<Module> read_test(const TextTest& t) { return read(t.text, t.path); }

TextOutcome failing(Diagnostic d) {
  TextOutcome out;
  out.error = std::move(d);
  return out;
}

// Deterministic operands for a parameter: small numbers that arithmetic keeps apart, with a few special ones.
ir::Literal test_input(ir::Type type, uint64_t seed) {
  if (type.is_tuple()) {
    std::vector<ir::Literal> parts;
    for (size_t i = 0; i < type.tuple_size(); ++i) parts.push_back(test_input(type.element_type(i), seed * 31 + i));
    return ir::Literal::tuple(type, std::move(parts));
  }
  if (!type.is_array()) return ir::Literal::token(type);
  ir::Literal out = ir::Literal::uninitialized(type);
  auto width = static_cast<size_t>(byte_width(type.element()));
  auto bytes = out.mutable_bytes();
  uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  for (size_t at = 0; at < bytes.size(); at += width) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    double value = is_integer(type.element()) ? static_cast<double>(state % 7) : static_cast<double>(static_cast<int64_t>(state % 4001) - 2000) / 512.0;
    if (type.element() == ElementType::pred) value = static_cast<double>(state & 1);
    element_from_double(type.element(), value, bytes.data() + at);
  }
  return out;
}

std::string leaves_text(const ir::Literal& value) {
  std::string out;
  std::vector<const ir::Literal*> todo{&value};
  while (!todo.empty()) {
    const ir::Literal* l = todo.back();
    todo.pop_back();
    for (size_t i = l->parts().size(); i-- > 0;) todo.push_back(&l->parts()[i]);
    if (!l->is_tuple() && l->type().is_array()) out += fmt::format("{} {}\n", ir::to_string(l->type()), ir::to_string(*l));
  }
  return out;
}

}  // namespace

std::optional<std::string> compare_by_evaluation(const Module& before, const Module& after) {
  std::vector<ir::Literal> inputs;
  for (ir::Value p : before.ir()->entry().parameters()) {
    for (ir::Type leaf : ir::leaves(p->type))
      if (leaf.is_array() && (!leaf.is_static() || leaf.count() > 1 << 20)) return {};
    inputs.push_back(test_input(p->type, inputs.size() + 1));
  }
  ir::EvalOptions bounded;  // a test may hold a loop without end
  bounded.max_steps = 1 << 20;
  auto a = ir::evaluate(*before.ir(), inputs, bounded);
  if (!a) return {};  // not evaluable before: nothing to compare
  auto b = ir::evaluate(*after.ir(), inputs, bounded);
  if (!b) return "the result can't be evaluated any more: " + b.error().message;
  std::string x = leaves_text(*a), y = leaves_text(*b);
  if (x != y) return fmt::format("the passes change values: before\n{}after\n{}", x, y);
  return {};
}

TextOutcome run_read(const TextTest& t) {
  auto modules = read_all(t.text, t.path);
  return modules ? TextOutcome{} : failing(modules.error());
}

TextOutcome run_round_trip(const TextTest& t) {
  auto module = read_test(t);
  if (!module) return failing(module.error());
  bool hlo = !t.path.ends_with(".mlir");
  auto text = print(*module, hlo ? Format::hlo : Format::stablehlo);
  if (!text) return failing(text.error());
  TextOutcome out;
  out.output = *text;
  auto again = read(*text, "printed");
  std::string why;
  if (!again) {
    out.failure = "what was printed does not read:\n" + again.error().render() + *text;
  } else if (hlo && !equal(*module, *again, &why)) {
    out.failure = "what was printed reads differently: " + why + "\n" + *text;
  } else if (!hlo) {
    auto twice = print(*again, Format::stablehlo);
    if (!twice || *twice != *text) out.failure = "printing what was printed gives another text:\n" + *text;
  }
  return out;
}

TextOutcome run_verify(const TextTest& t) {
  auto module = read_test(t);
  if (!module) return failing(module.error());
  auto ok = verify(*module);
  return ok ? TextOutcome{} : failing(ok.error());
}

TextOutcome run_values(const TextTest& t) {
  auto module = read_test(t);
  if (!module) return failing(module.error());
  if (auto ok = verify(*module); !ok) return failing(ok.error());
  auto value = ir::evaluate(*module->ir(), {});
  if (!value) return failing(value.error());
  TextOutcome out;
  out.output = leaves_text(*value);
  return out;
}

TextOutcome run_opt(const TextTest& t) {
  auto module = read_test(t);
  if (!module) return failing(module.error());
  std::vector<std::string> passes;
  std::string list = t.option("passes");
  for (size_t at = 0; at < list.size();) {
    size_t end = std::min(list.find(',', at), list.size());
    passes.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  CompileOptions options;
  options.target = "x86-64-v3";
  if (std::string rule = t.option("disable-rule"); !rule.empty()) options.disabled_rules = {rule};
  auto optimized = optimize(*module, passes, options);
  if (!optimized) return failing(optimized.error());
  auto text = print(*optimized);
  if (!text) return failing(text.error());
  TextOutcome out;
  out.output = *text;
  out.failure = compare_by_evaluation(*module, *optimized);
  return out;
}

TextOutcome run_plan(const TextTest& t) {
  auto module = read_test(t);
  if (!module) return failing(module.error());
  auto lowered = lower(*module, {.target = "x86-64-v3"});
  if (!lowered) return failing(lowered.error());
  TextOutcome out;
  out.output = plan::to_string(*lowered->plan);
  if (auto sound = plan::check_program(*lowered->plan, *lowered->target); !sound)
    out.failure = "the plan reads what is not there: " + sound.error().message + "\n" + out.output;
  return out;
}

TextOutcome run_emit(const TextTest& t) {
  auto module = read_test(t);
  if (!module) return failing(module.error());
  auto text = emit(*module, t.option("kind"), {.target = t.option("target")});
  if (!text) return failing(text.error());
  TextOutcome out;
  out.output = *text;
  return out;
}

}  // namespace hloc::test
