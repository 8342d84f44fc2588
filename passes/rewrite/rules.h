// All rules, by family, for whoever lists, runs or proves them.
#pragma once

#include <span>
#include <string_view>

#include "passes/rewrite/pattern.h"

namespace hloc::passes {

struct RuleFamily {
  std::string_view name;
  bool profitable;  // asks the target's facts; the others are right and good everywhere
  std::span<const Rule> rules;
};

std::span<const RuleFamily> rule_families();

// One line of `hloc rules`: `law` is the rule as text.
struct RuleEntry {
  const Rule* rule;
  std::string_view name, family;
  bool profitable;
  Valid valid;
};
std::vector<RuleEntry> all_rules();
const Rule* find_rule(std::string_view name);

}  // namespace hloc::passes
