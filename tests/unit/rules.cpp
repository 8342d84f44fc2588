// The rewrite rules and their engine: every rule is proved, the fixed point is one, and rewriting ends.
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "ir/eval/eval.h"
#include "passes/canonical.h"
#include "passes/call_inline.h"
#include "passes/rewrite/check.h"
#include "passes/rewrite/engine.h"
#include "passes/rewrite/rules.h"
#include "passes/rewrite/sample.h"

namespace hloc::passes {
namespace {

std::vector<const Rule*> rule_list() {
  std::vector<const Rule*> out;
  for (const RuleEntry& entry : all_rules()) out.push_back(entry.rule);
  return out;
}

ir::ModuleRef module_of(const ir::ContextRef& context, ir::ComputationRef computation, std::span<const ir::ComputationRef> called = {}) {
  ir::ModuleBuilder builder(context, "test");
  for (const ir::ComputationRef& callee : called) builder.add(callee);
  builder.add(std::move(computation));
  return builder.finish();
}

// A random graph of ops that many rules are about; the root is a tuple of its last values.
ir::ModuleRef random_module(const ir::ContextRef& context, uint64_t seed, std::vector<ir::Literal>& arguments) {
  constexpr ElementType elements[] = {ElementType::f32, ElementType::s32, ElementType::u8, ElementType::pred,
                                      ElementType::bf16, ElementType::c64};
  constexpr ir::Op ops[] = {ir::Op::Negate, ir::Op::Not, ir::Op::Abs, ir::Op::Add, ir::Op::Subtract, ir::Op::Multiply,
                            ir::Op::Divide, ir::Op::And, ir::Op::Or, ir::Op::Xor, ir::Op::Maximum, ir::Op::Minimum,
                            ir::Op::Compare, ir::Op::Select, ir::Op::Convert, ir::Op::Reshape, ir::Op::Transpose,
                            ir::Op::Broadcast, ir::Op::Slice, ir::Op::Reverse, ir::Op::Pad, ir::Op::Dot, ir::Op::Power,
                            ir::Op::Concatenate, ir::Op::DynamicSlice, ir::Op::DynamicUpdateSlice, ir::Op::Iota};
  Sampler s(context, seed, elements[seed % std::size(elements)]);
  std::vector<ir::Value> values;
  for (int i = 0; i < 3; ++i) values.push_back(s.parameter(s.array(s.element(), s.shape())));
  for (int i = 0; i < 3; ++i) values.push_back(s.constant(s.array(s.element(), s.shape()), true));
  auto some = [&] { return values[static_cast<size_t>(s.below(static_cast<int64_t>(values.size())))]; };
  for (int i = 0; i < 60; ++i) {
    ir::Op op = ops[s.below(static_cast<int64_t>(std::size(ops)))];
    std::vector<ir::Value> operands;
    for (int k = 0; k < ir::facts(op).min_operands; ++k) operands.push_back(some());
    ir::Value made = s.random_op(op, operands);
    if (made && made->type.count() <= 4096 && ir::can_evaluate(made)) values.push_back(made);
  }
  std::vector<ir::Value> results(values.end() - std::min<ptrdiff_t>(6, std::ssize(values)), values.end());
  ir::Value root = s.make(ir::Op::Tuple, results, ir::NoAttr{});
  ir::ComputationRef computation = s.builder().finish(root);
  for (ir::Value p : computation->parameters()) arguments.push_back(s.fill(p->type));
  return module_of(context, std::move(computation));
}

}  // namespace

TEST_CASE("rules have unique kebab-case names") {
  std::set<std::string_view> names;
  for (const RuleEntry& entry : all_rules()) {
    CHECK(names.insert(entry.name).second);
    CHECK(std::ranges::all_of(entry.name, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; }));
    CHECK(find_rule(entry.name) == entry.rule);
    CHECK_FALSE(entry.rule->law().empty());
  }
  CHECK(find_rule("no-such-rule") == nullptr);
}

TEST_CASE("every rule agrees with the evaluator") {
  for (const RuleEntry& entry : all_rules()) {
    Result<RuleProof> proof = check_rule(*entry.rule, 20240517);
    INFO((proof ? std::string(entry.name) : proof.error().message));
    CHECK(proof.ok());
  }
}

TEST_CASE("the proof refutes what is wrong") {
  static constexpr Pat x = make_leaf(PatNode::variable, 0), y = make_leaf(PatNode::variable, 1);
  static constexpr Pat sum = make_op(ir::Op::Add, {}, x, 0), difference = make_op(ir::Op::Subtract, {}, x, x);
  static constexpr Pat quotient = make_op(ir::Op::Divide, {}, make_op(ir::Op::Multiply, {}, x, y), y);
  static constexpr Rule wrong[] = {{"add-zero", sum, x}, {"sub-self", difference, 0}, {"cancel", quotient, x, Valid::integers}};
  for (const Rule& rule : wrong) CHECK_FALSE(check_rule(rule, 1).ok());
}

TEST_CASE("rewriting ends, is idempotent and keeps values") {
  auto context = std::make_shared<ir::Context>();
  ir::Target target;
  PassContext pass{target, {}};
  RuleSet rules(rule_list());
  for (uint64_t seed = 0; seed < 300; ++seed) {
    INFO("seed " << seed);
    std::vector<ir::Literal> arguments;
    ir::ModuleRef before = random_module(context, seed, arguments);
    RewriteStats stats, again;
    ir::ModuleRef after = rewrite_module(before, rules, pass, stats);
    CHECK_FALSE(stats.out_of_budget);
    CHECK(stats.cycles == 0);
    ir::ModuleRef twice = rewrite_module(after, rules, pass, again);
    CHECK(twice == after);
    CHECK(again.fired == 0);
    Result<ir::Literal> want = ir::evaluate(*before, arguments), got = ir::evaluate(*after, arguments);
    REQUIRE(want.ok());
    REQUIRE(got.ok());
    CHECK(first_difference(*want, *got) == -1);
  }
}

// All rules together on the left sides that each rule's proof is made of.
TEST_CASE("rewriting ends and is idempotent on what any rule fires at") {
  ir::Target target;
  PassContext pass{target, {}};
  RuleSet rules(rule_list());
  constexpr ElementType elements[] = {ElementType::f32, ElementType::s32, ElementType::u8, ElementType::pred, ElementType::bf16};
  for (const RuleEntry& entry : all_rules()) {
    for (uint64_t seed = 0; seed < 40; ++seed) {
      INFO(entry.name << ", seed " << seed);
      auto context = std::make_shared<ir::Context>();
      Sampler s(context, mix(seed), elements[seed % std::size(elements)]);
      ir::Value root = entry.rule->sample ? entry.rule->sample(s) : s.instance(entry.rule->left);
      if (!root || !std::ranges::all_of(s.builder().instructions(), ir::can_evaluate)) continue;
      if (!std::ranges::all_of(s.builder().instructions(), [](ir::Value v) { return v->type.is_static(); })) continue;
      ir::ComputationRef computation = s.builder().finish(root);
      std::vector<ir::Literal> arguments;
      for (ir::Value p : computation->parameters()) arguments.push_back(s.fill(p->type));
      ir::ModuleRef before = module_of(context, std::move(computation), s.kept());
      RewriteStats stats, again;
      ir::ModuleRef after = rewrite_module(before, rules, pass, stats);
      CHECK_FALSE(stats.out_of_budget);
      CHECK(stats.cycles == 0);
      CHECK(rewrite_module(after, rules, pass, again) == after);
      Result<ir::Literal> want = ir::evaluate(*before, arguments), got = ir::evaluate(*after, arguments);
      if (!want.ok()) continue;
      REQUIRE(got.ok());
      CHECK(first_difference(*want, *got) == -1);
    }
  }
}

TEST_CASE("long chains are rewritten without recursion") {
  auto context = std::make_shared<ir::Context>();
  ir::ComputationBuilder builder(context, "chain");
  ir::Type type = context->array(ElementType::f32, {4});
  ir::Value v = builder.parameter(0, type, "x");
  for (int i = 0; i < 100000; ++i) v = builder.make(ir::Op::Negate, type, {v}, ir::UnaryAttr{});
  ir::ModuleRef module = module_of(context, builder.finish(v));
  ir::Target target;
  PassContext pass{target, {}};
  RewriteStats stats;
  ir::ModuleRef after = rewrite_module(module, RuleSet(rule_list()), pass, stats);
  CHECK(after->entry().size() == 1);
  CHECK_FALSE(stats.out_of_budget);
  CHECK(canonical_pass.run(module, pass).ok());
}

TEST_CASE("calls that double at every level stay bounded") {
  auto context = std::make_shared<ir::Context>();
  ir::Type type = context->scalar(ElementType::f32);
  ir::ModuleBuilder module(context, "doubling");
  const ir::Computation* last = nullptr;
  for (int level = 0; level < 64; ++level) {
    ir::ComputationBuilder builder(context, "level");
    ir::Value v = builder.parameter(0, type, "x");
    for (int k = 0; k < 2; ++k)
      v = last ? builder.make(ir::Op::Call, type, {v}, ir::CallAttr{}, {last}) : builder.make(ir::Op::Sin, type, {v}, ir::UnaryAttr{});
    last = module.add(builder.finish(v));
  }
  ir::Target target;
  PassContext pass{target, {}};
  Result<ir::ModuleRef> out = inline_pass.run(module.finish(), pass);
  REQUIRE(out.ok());
  size_t total = 0;
  for (const ir::ComputationRef& c : (*out)->computations()) total += c->size();
  CHECK(total < (size_t{10} << 20));
}

TEST_CASE("a pass that changes nothing returns the module it was given") {
  auto context = std::make_shared<ir::Context>();
  ir::ComputationBuilder builder(context, "e");
  ir::Type type = context->array(ElementType::f32, {4});
  ir::Value x = builder.parameter(0, type, "x");
  ir::ModuleRef module = module_of(context, builder.finish(builder.make(ir::Op::Sin, type, {x}, ir::UnaryAttr{})));
  ir::Target target;
  PassContext context_of_pass{target, {}};
  for (const Pass& pass : all_passes()) {
    if (pass.name == "fuse" || pass.name == "schedule") continue;  // these always have something to say
    Result<ir::ModuleRef> out = pass.run(module, context_of_pass);
    REQUIRE(out.ok());
    CHECK(*out == module);
  }
}

}  // namespace hloc::passes
