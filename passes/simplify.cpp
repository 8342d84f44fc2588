// simplify: the rewrite rules, canonical and profitable, to a fixed point.
#include "passes/simplify.h"

#include "passes/rewrite/engine.h"
#include "passes/rewrite/rules.h"

namespace hloc::passes {
namespace {

Result<ir::ModuleRef> run_simplify(const ir::ModuleRef& module, PassContext& pass) {
  std::vector<const Rule*> rules;
  for (const RuleEntry& entry : all_rules()) rules.push_back(entry.rule);
  RewriteStats stats;
  ir::ModuleRef out = rewrite_module(module, RuleSet(rules, pass.disabled_rules), pass, stats);
  if (stats.out_of_budget && pass.remarks)
    pass.remarks->push_back({"simplify", "", "", "", "stopped: rules went on firing beyond the budget"});
  return out;
}

}  // namespace

const Pass simplify_pass{"simplify", "rewrite rules fire until none does", run_simplify};

}  // namespace hloc::passes
