// Which step of the compiler changes a result: passes are run one by one and the evaluator asked after each.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "passes/pass.h"

namespace hloc::passes {

// Empty names: no pass changes the result.
struct Culprit {
  std::string pass;
  std::string rule;  // the rule without which that pass is right; empty: it is not one rule alone
};

// `arguments`: one literal per parameter of the entry. A result counts as changed when a bit of it changes, but for NaN
// payloads. `rules`: the names that are switched off one by one in a pass that changes the result.
Result<Culprit> bisect(const ir::ModuleRef& module, std::span<const ir::Literal> arguments,
                       std::span<const Pass* const> passes, const PassContext& context,
                       std::span<const std::string_view> rules);

}  // namespace hloc::passes
