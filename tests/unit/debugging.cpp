// Finding what is wrong: bisection over passes and rules, and shrinking.
#include <catch2/catch.hpp>

#include "ir/eval/eval.h"
#include "ir/print/print.h"
#include "ir/read/read.h"
#include "passes/bisect.h"
#include "passes/rewrite/algebra.h"
#include "passes/rewrite/engine.h"
#include "passes/shrink.h"

namespace hloc::passes {
namespace {

ir::ModuleRef parsed(std::string text) {
  auto context = std::make_shared<ir::Context>();
  auto source = std::make_shared<const Source>(Source{"test", std::move(text)});
  Result<ir::ModuleRef> module = ir::read_hlo(source, context);
  REQUIRE(module.ok());
  return *module;
}

constexpr Pat a = make_leaf(PatNode::variable, 0), b = make_leaf(PatNode::variable, 1);
constexpr Rule good_rule{"good", -(-a), a};
constexpr Rule wrong_rule{"wrong", a - b, a + b};

Result<ir::ModuleRef> run_wrong_rules(const ir::ModuleRef& module, PassContext& pass) {
  RewriteStats stats;
  const Rule* rules[] = {&good_rule, &wrong_rule};
  return rewrite_module(module, RuleSet(rules, pass.disabled_rules), pass, stats);
}
const Pass wrong_pass{"wrong-rules", "has a rule that is wrong", run_wrong_rules};

constexpr const char* subtraction = R"(HloModule m
ENTRY e {
  x = s32[] parameter(0)
  y = s32[] parameter(1)
  n = s32[] negate(x)
  m = s32[] negate(n)
  ROOT d = s32[] subtract(m, y)
}
)";

ir::Literal scalar(const ir::ModuleRef& module, int32_t value) {
  ir::Literal out = ir::Literal::uninitialized(module->context()->scalar(ElementType::s32));
  out.mutable_data<int32_t>()[0] = value;
  return out;
}

}  // namespace

TEST_CASE("bisection names the pass and the rule that change a result") {
  ir::ModuleRef module = parsed(subtraction);
  ir::Literal arguments[] = {scalar(module, 7), scalar(module, 3)};
  ir::Target target;
  PassContext context{target, {}};
  const Pass* passes[] = {find_pass("canonical"), &wrong_pass, find_pass("canonical")};
  std::string_view rules[] = {"good", "wrong"};
  Result<Culprit> found = bisect(module, arguments, passes, context, rules);
  REQUIRE(found.ok());
  CHECK(found->pass == "wrong-rules");
  CHECK(found->rule == "wrong");
  Result<Culprit> none = bisect(module, arguments, std::span(passes).first(1), context, rules);
  REQUIRE(none.ok());
  CHECK(none->pass.empty());
}

TEST_CASE("shrinking keeps what fails and little else") {
  ir::ModuleRef module = parsed(R"(HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
body {
  s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[4] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  c = f32[4] cosine(x)
  t = f32[4] tanh(c)
  ROOT r = (s32[], f32[4]) tuple(j, t)
}
condition {
  s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT p = pred[] compare(i, n), direction=LT
}
ENTRY e {
  x = f32[4] parameter(0)
  y = f32[8] parameter(1)
  zero = s32[] constant(0)
  z = f32[] constant(0)
  init = (s32[], f32[4]) tuple(zero, x)
  w = (s32[], f32[4]) while(init), condition=condition, body=body
  e = f32[4] get-tuple-element(w), index=1
  f = f32[4] exponential(e)
  u = f32[8] sine(y)
  r = f32[] reduce(f, z), dimensions={0}, to_apply=add
  ROOT t = (f32[], f32[8]) tuple(r, u)
}
)");
  auto has_cosine = [](const ir::ModuleRef& m) {
    for (const ir::Computation* c : ir::reachable(m->entry()))
      for (ir::Value v : c->instructions())
        if (v->op == ir::Op::Cos) return true;
    return false;
  };
  ir::ModuleRef small = shrink(module, has_cosine);
  size_t instructions = 0;
  for (const ir::Computation* c : ir::reachable(small->entry())) instructions += c->size();
  INFO(*ir::print_hlo(*small));
  CHECK(has_cosine(small));
  CHECK(instructions <= 8);
}

}  // namespace hloc::passes
