#include "passes/bisect.h"

#include "ir/eval/eval.h"
#include "passes/rewrite/check.h"

namespace hloc::passes {

Result<Culprit> bisect(const ir::ModuleRef& module, std::span<const ir::Literal> arguments,
                       std::span<const Pass* const> passes, const PassContext& context,
                       std::span<const std::string_view> rules) {
  Result<ir::Literal> want = ir::evaluate(*module, arguments);
  if (!want) return want.error();
  // Whether the pass leaves the result as it is, with one more rule switched off.
  auto is_right = [&](const ir::ModuleRef& before, const Pass& pass, std::string_view disabled) -> Result<bool> {
    PassContext with = context;
    with.remarks = nullptr;
    if (!disabled.empty()) with.disabled_rules.emplace_back(disabled);
    Result<ir::ModuleRef> after = pass.run(before, with);
    if (!after) return after.error();
    Result<ir::Literal> got = ir::evaluate(**after, arguments);
    if (!got) return got.error();
    return first_difference(*want, *got) < 0;
  };
  ir::ModuleRef state = module;
  for (const Pass* pass : passes) {
    Result<bool> right = is_right(state, *pass, {});
    if (!right) return right.error();
    if (!*right) {
      for (std::string_view rule : rules) {
        Result<bool> without = is_right(state, *pass, rule);
        if (without && *without) return Culprit{std::string(pass->name), std::string(rule)};
      }
      return Culprit{std::string(pass->name), {}};
    }
    PassContext with = context;
    Result<ir::ModuleRef> after = pass->run(state, with);
    if (!after) return after.error();
    state = *std::move(after);
  }
  return Culprit{};
}

}  // namespace hloc::passes
