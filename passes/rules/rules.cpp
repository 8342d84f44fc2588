#include "passes/rewrite/rules.h"

#include "passes/rules/arithmetic.h"
#include "passes/rules/broadcast.h"
#include "passes/rules/compare.h"
#include "passes/rules/convert.h"
#include "passes/rules/dot.h"
#include "passes/rules/dynamic_slices.h"
#include "passes/rules/gathers.h"
#include "passes/rules/ranges.h"
#include "passes/rules/reduce.h"
#include "passes/rules/shape_motion.h"
#include "passes/rules/sinking.h"
#include "passes/rules/slices.h"
#include "passes/rules/strength.h"
#include "passes/rules/tuple.h"

namespace hloc::passes {

std::span<const RuleFamily> rule_families() {
  // Within one op, rules are tried in this order.
  static constexpr RuleFamily families[] = {
      {"tuple", false, rules::tuples},
      {"convert", false, rules::conversion},
      {"arithmetic", false, rules::arithmetic},
      {"logic", false, rules::logic},
      {"compare", false, rules::comparison_rules},
      {"choice", false, rules::choice},
      {"shape-motion", false, rules::shape_motion},
      {"broadcast", false, rules::broadcast_rules},
      {"dot", false, rules::contraction},
      {"reduce", false, rules::reduction},
      {"slices", false, rules::slice_rules},
      {"dynamic-slices", false, rules::dynamic_slices},
      {"gathers", false, rules::gathers},
      {"ranges", false, rules::ranges},
      {"sinking", true, rules::sinking},
      {"strength", true, rules::strength},
  };
  return families;
}

std::vector<RuleEntry> all_rules() {
  std::vector<RuleEntry> out;
  for (const RuleFamily& family : rule_families())
    for (const Rule& rule : family.rules) out.push_back({&rule, rule.name, family.name, family.profitable, rule.valid});
  return out;
}

const Rule* find_rule(std::string_view name) {
  for (const RuleFamily& family : rule_families())
    for (const Rule& rule : family.rules)
      if (rule.name == name) return &rule;
  return nullptr;
}

}  // namespace hloc::passes
