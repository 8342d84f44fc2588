// The engine: applies rules until none fires, one computation at a time.
//
// A sweep rebuilds the computation bottom-up through an interning builder. Each new instruction is settled at once: the
// first rule that matches makes its replacement, whose parts are settled in turn, on an explicit stack. So one sweep
// reaches the fixed point but for what only a later sweep can see; sweeps go on until one changes nothing. Both sweeps and
// firings are bounded; a bound that is hit means that the rules run in circles and is reported.
#pragma once

#include <array>
#include <vector>

#include "passes/pass.h"
#include "passes/rebuild.h"
#include "passes/rewrite/pattern.h"

namespace hloc::passes {

// Rules by the op at their root, in the order of their lists.
class RuleSet {
 public:
  explicit RuleSet(std::span<const Rule* const> rules, std::span<const std::string> disabled = {});
  std::span<const Rule* const> at(ir::Op op) const { return by_op_[static_cast<size_t>(op)]; }

 private:
  std::vector<std::vector<const Rule*>> by_op_;
};

struct RewriteStats {
  size_t fired = 0, sweeps = 0;
  bool out_of_budget = false;  // never, unless rules undo each other
  size_t cycles = 0;           // a replacement led back to what it replaces; never, either
};

// The rewritten computation, or null when no rule fired and nothing else changed.
ir::ComputationRef rewrite_computation(const ir::Computation& old, const CalleeMap& callees,
                                       const ir::ContextRef& context, const RuleSet& rules, PassContext& pass,
                                       RewriteStats& stats);

// The rules over a whole module.
ir::ModuleRef rewrite_module(const ir::ModuleRef& module, const RuleSet& rules, PassContext& pass, RewriteStats& stats);

// One rule, once, at `root`, which `builder` has made; null when it does not apply. For proofs; `uses` as in Match.
ir::Value apply_rule(const Rule& rule, ir::ComputationBuilder& builder, ir::Value root, const ir::Target& target,
                     const std::vector<uint32_t>* uses = nullptr);

// The attribute that an op has when nothing else is said.
ir::Attr default_attr(ir::Op op);

}  // namespace hloc::passes
