#include "passes/rewrite/check.h"

#include <cmath>
#include <cstring>
#include <map>

#include <fmt/format.h>

#include "ir/eval/eval.h"
#include "ir/infer/infer.h"
#include "ir/print/print.h"
#include "ir/support/float_formats.h"
#include "passes/rewrite/engine.h"
#include "passes/rewrite/sample.h"

namespace hloc::passes {
namespace {

using ir::Literal;
using ir::Value;

template <class T>
bool same_element(const T& a, const T& b) {
  if constexpr (is_complex_type<T>) {
    return same_element(a.real(), b.real()) && same_element(a.imag(), b.imag());
  } else {
    if constexpr (is_float_type<T>)
      if (std::isnan(static_cast<double>(a)) && std::isnan(static_cast<double>(b))) return true;
    return std::memcmp(&a, &b, sizeof a) == 0;
  }
}

std::string listing(const ir::Computation& computation, std::span<const Literal> arguments) {
  std::string out;
  for (Value v : computation.instructions()) {
    out += "  " + ir::to_string(computation, v);
    if (v->op == ir::Op::Parameter)
      out += "  = " + ir::to_string(arguments[static_cast<size_t>(v->as<ir::ParameterAttr>().number)], 64);
    out += '\n';
  }
  return out;
}

// What is wrong with an instruction that a rule has made, as the verifier would see it.
std::string complaint(ir::Context& context, Value v) {
  std::vector<ir::Type> types;
  for (Value operand : v->operands()) types.push_back(operand->type);
  Result<ir::Type> type = ir::infer(context, v->op, types, *v->attr, v->callees());
  if (!type) return type.error().message;
  if (*type && !ir::same_shape(*type, v->type)) return "its type is " + ir::to_string(v->type) + ", not " + ir::to_string(*type);
  return ir::can_evaluate(v) ? "" : "the evaluator does not know it with these types";
}

Diagnostic refuted(const Rule& rule, const std::string& what, const std::string& graph) {
  return error(ErrorKind::bug, fmt::format("rule '{}' ({}) is wrong: {}\n{}", rule.name, rule.law(), what, graph));
}

// The element type for which an agreement counts.
ElementType tried_element(const Rule& rule, Value root, ir::Context& context, const ir::Target& target) {
  Match match{context, target};
  return match_rule(rule, root, match) ? deciding_element(match) : ElementType::invalid;
}

// One random graph: nothing when the rule does not fire on it, or when the evaluator has no such ops.
Result<bool> try_once(const Rule& rule, const ir::ContextRef& context, uint64_t seed, ElementType element,
                      std::map<ElementType, int64_t>& agreed) {
  const ir::Target target{};
  Sampler sampler(context, seed, element);
  ir::ComputationBuilder& builder = sampler.builder();
  Value before = rule.sample ? rule.sample(sampler) : sampler.instance(rule.left);
  if (!before) return false;
  size_t made = builder.size();
  for (Value v : builder.instructions())
    if (!v->type.is_static() || !ir::can_evaluate(v) || !complaint(*context, v).empty()) return false;
  Value after = apply_rule(rule, builder, before, target);
  if (!after) return false;

  ElementType tried = tried_element(rule, before, *context, target);
  Value results[] = {before, after};
  ir::Type types[] = {before->type, after->type};
  Value root = builder.make(ir::Op::Tuple, context->tuple(types), results);
  ir::ComputationRef computation = builder.finish(root);
  std::vector<Literal> arguments;
  for (Value v : computation->parameters()) arguments.push_back(sampler.fill(v->type));
  std::string graph = listing(*computation, arguments);
  for (Value v : computation->instructions().subspan(made))
    if (std::string wrong = complaint(*context, v); !wrong.empty())
      return refuted(rule, fmt::format("it makes a bad {}: {}", ir::name_of(v->op), wrong), graph);
  Result<Literal> value = ir::evaluate(*computation, arguments);
  if (!value) return refuted(rule, "the evaluator fails: " + value.error().message, graph);
  const Literal &left = value->parts()[0], &right = value->parts()[1];
  if (int64_t at = first_difference(left, right); at >= 0)
    return refuted(rule, fmt::format("element {} differs; before: {}, after: {} (seed {})", at, ir::to_string(left, 64),
                                     ir::to_string(right, 64), seed), graph);
  ++agreed[tried];
  return true;
}

}  // namespace

int64_t first_difference(const Literal& a, const Literal& b) {
  if (a.is_tuple()) {
    std::vector<const Literal*> x = ir::leaves(a), y = ir::leaves(b);
    for (size_t i = 0; i < x.size(); ++i)
      if (int64_t at = first_difference(*x[i], *y[i]); at >= 0) return at;
    return -1;
  }
  if (!a.type().is_array()) return -1;
  return visit_element(a.type().element(), [&](auto tag) -> int64_t {
    using T = decltype(tag);
    auto x = a.data<T>(), y = b.data<T>();
    for (size_t i = 0; i < x.size(); ++i)
      if (!same_element(x[i], y[i])) return static_cast<int64_t>(i);
    return -1;
  });
}

Result<RuleProof> check_rule(const Rule& rule, uint64_t seed) {
  constexpr int64_t enough_per_type = 8, tries_per_type = 160, least = 8;
  auto context = std::make_shared<ir::Context>();
  RuleProof proof;
  std::map<ElementType, int64_t> agreed;
  for (auto e = static_cast<int>(ElementType::pred); e <= static_cast<int>(ElementType::c128); ++e) {
    auto element = static_cast<ElementType>(e);
    for (int64_t i = 0, fired = 0; i < tries_per_type && fired < 4 * enough_per_type; ++i) {
      if (agreed[element] >= enough_per_type && fired >= enough_per_type) break;
      uint64_t at = mix(seed + mix(static_cast<uint64_t>(e * 1000 + i)));
      Result<bool> ok = try_once(rule, context, at, element, agreed);
      if (!ok) return std::move(ok).error();
      fired += *ok;
      proof.instances += *ok;
    }
  }
  for (auto [element, count] : agreed) proof.element_types += element != ElementType::invalid && count > 0;
  if (proof.instances < least)
    return error(ErrorKind::bug, fmt::format("rule '{}' ({}) could not be tried: only {} of the graphs made for it match",
                                             rule.name, rule.law(), proof.instances));
  return proof;
}

}  // namespace hloc::passes
