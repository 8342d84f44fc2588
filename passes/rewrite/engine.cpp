#include "passes/rewrite/engine.h"

#include <algorithm>

#include "passes/rewrite/replace.h"

namespace hloc::passes {

using ir::Computation;
using ir::ComputationRef;
using ir::Op;
using ir::Value;

RuleSet::RuleSet(std::span<const Rule* const> rules, std::span<const std::string> disabled)
    : by_op_(ir::all_ops().size()) {
  for (const Rule* rule : rules) {
    if (std::ranges::find(disabled, rule->name) != disabled.end()) continue;
    const PatNode& root = rule->left.root();
    if (root.kind == PatNode::operation) {
      by_op_[static_cast<size_t>(root.op)].push_back(rule);
      continue;
    }
    for (size_t op = 0; op < by_op_.size(); ++op)
      if (ir::is_elementwise(static_cast<Op>(op))) by_op_[op].push_back(rule);
  }
}

namespace {

// Whether an instruction says something that a replacement would lose.
bool is_pinned(Value v) {
  return v->extras && (!v->extras->control_predecessors.empty() || v->extras->sharding || !v->extras->unknown.empty());
}

bool may_rewrite(Value v) { return !is_pinned(v) && !ir::has_effect(v); }

// Whether a rule would fire somewhere in a settled computation; tried on the side, so most sweeps need not begin.
bool any_rule_fires(const Computation& from, const ir::ContextRef& context, const RuleSet& rules, const ir::Target& target) {
  std::optional<ir::ComputationBuilder> scratch;
  std::vector<bool> live = live_instructions(from);
  std::vector<uint32_t> uses = ir::use_counts(from, live);
  for (Value v : from.instructions()) {
    if (!live[v->id]) continue;
    std::span<const Rule* const> candidates = rules.at(v->op);
    if (candidates.empty() || !may_rewrite(v)) continue;
    for (const Rule* rule : candidates) {
      Match match{*context, target};
      match.uses = &uses;
      if (!match_rule(*rule, v, match)) continue;
      if (!scratch) scratch.emplace(context, from.name());
      if (Value now = apply_rule(*rule, *scratch, v, target, &uses); now && now != v) return true;
    }
  }
  return false;
}

// A replacement in the making, for the instruction `target`: the right side of a rule, or a run of instructions that a
// build function has made and that are settled one after the other.
struct ReplacementFrame {
  Value target = nullptr;
  size_t rule_index = 0;  // among the rules of the target's op
  const Rule* rule = nullptr;
  std::optional<RightSide> right;
  Value built = nullptr;
  uint32_t begin = 0, end = 0;
  std::vector<Value> settled;  // by id - begin
};

class Sweep {
 public:
  Sweep(const Computation& from, const CalleeMap& callees, const ir::ContextRef& context, const RuleSet& rules,
        PassContext& pass, RewriteStats& stats, size_t budget)
      : rebuild_(from, callees, context), rules_(rules), pass_(pass), stats_(stats), budget_(budget),
        out_(rebuild_.builder()) {}

  ComputationRef run() {
    const Computation& from = rebuild_.from();
    std::vector<bool> live = live_instructions(from);
    std::vector<uint32_t> uses = ir::use_counts(from, live);
    size_t fired_before = stats_.fired;
    for (Value v : from.instructions()) {
      if (!live[v->id]) continue;
      origin_ = v;
      Value made = rebuild_.copy_normal(v);
      Value now = normal_form(made);
      add_uses(now, uses[v->id]);
      if (now != made) rebuild_.replace(v, now);
      origins_.resize(rebuild_.builder().size(), v);
    }
    if (stats_.fired == fired_before) return rebuild_.finish();
    return compacted(live);
  }

 private:
  Value known_form(Value v) const { return v->id < forms_.size() ? forms_[v->id] : nullptr; }
  void set_form(Value v, Value form) {
    if (forms_.size() <= v->id) forms_.resize(std::max<size_t>(v->id + 1, forms_.size() * 2));
    forms_[v->id] = form;
  }

  // Users of old instructions use what these have become. What only a replacement uses counts as unknown.
  void add_uses(Value now, uint32_t count) {
    if (uses_.size() <= now->id) uses_.resize(std::max<size_t>(now->id + 1, uses_.size() * 2));
    uses_[now->id] += count;
  }

  // What `v` becomes when no rule applies any more.
  Value normal_form(Value v) {
    Value current = v, result = nullptr;
    for (;;) {
      if (current) {
        result = known_form(current);
        if (!result && !start(current, 0)) set_form(current, result = current);
        current = nullptr;
      }
      if (frames_.empty()) return result;
      std::tie(current, result) = step(frames_.back(), result);
    }
  }

  // Begins the replacement by the first rule from `index` on that matches; false when there is none.
  bool start(Value v, size_t index) {
    if (stats_.out_of_budget || !may_rewrite(v)) return false;
    std::span<const Rule* const> rules = rules_.at(v->op);
    for (; index < rules.size(); ++index) {
      Match match{out_.context(), pass_.target};
      match.uses = &uses_;
      if (!match_rule(*rules[index], v, match)) continue;
      ReplacementFrame frame;
      frame.target = v;
      frame.rule_index = index;
      frame.rule = rules[index];
      if (!rules[index]->build.make) {
        frame.right.emplace(*rules[index], match);
      } else if (!build(frame, match)) {
        continue;
      }
      set_form(v, v);  // should the replacement lead back here, it ends here
      frames_.push_back(std::move(frame));
      return true;
    }
    return false;
  }

  bool build(ReplacementFrame& frame, const Match& match) {
    frame.begin = static_cast<uint32_t>(rebuild_.builder().size());
    frame.built = frame.rule->build.make(match, out_);
    if (!frame.built || frame.built->type != frame.target->type || frame.built == frame.target) return false;
    frame.end = static_cast<uint32_t>(rebuild_.builder().size());
    return true;
  }

  // Goes on with a frame, given what the instruction it waited for has become: {instruction to settle, null}, or
  // {null, the form of its target} when it has ended.
  std::pair<Value, Value> step(ReplacementFrame& frame, Value result) {
    Value value = nullptr;
    if (!frame.right) return step_build(frame, result);
    if (result) frame.right->settle(result);
    switch (frame.right->run(out_, value)) {
      case RightSide::Step::made: return {value, nullptr};
      case RightSide::Step::done: return {nullptr, finish_frame(value)};
      case RightSide::Step::failed: break;
    }
    Value target = frame.target;
    size_t next = frame.rule_index + 1;
    frames_.pop_back();
    if (start(target, next)) return {nullptr, nullptr};
    set_form(target, target);
    return {nullptr, target};
  }

  std::pair<Value, Value> step_build(ReplacementFrame& frame, Value result) {
    if (result) frame.settled.push_back(result);
    uint32_t next = frame.begin + static_cast<uint32_t>(frame.settled.size());
    if (next == frame.end) {
      Value built = frame.built->id >= frame.begin ? frame.settled[frame.built->id - frame.begin] : frame.built;
      if (Value form = known_form(built)) built = form;
      return {nullptr, finish_frame(built)};
    }
    Value v = rebuild_.builder().instructions()[next];
    std::vector<Value> operands(v->operands().begin(), v->operands().end());
    bool same = true;
    for (Value& operand : operands) {
      Value form = operand->id >= frame.begin && operand->id < frame.end ? frame.settled[operand->id - frame.begin]
                                                                         : known_form(operand);
      if (!form || form == operand) continue;
      operand = form;
      same = false;
    }
    return {same ? v : rebuild_.builder().make(v->op, v->type, operands, *v->attr, v->callees(), v->extras, v->flags),
            nullptr};
  }

  Value finish_frame(Value form) {
    const ReplacementFrame& frame = frames_.back();
    if (form == frame.target) ++stats_.cycles;
    set_form(frame.target, form);
    if (++stats_.fired >= budget_) stats_.out_of_budget = true;
    if (pass_.remarks) {
      const Computation& from = rebuild_.from();
      pass_.remarks->push_back({"simplify", std::string(frame.rule->name), std::string(from.name()),
                                std::string(from.name(origin_)), frame.rule->law()});
    }
    frames_.pop_back();
    return form;
  }

  // The rebuilt computation without what replacements have left over. An instruction is named after the first old one
  // that it stands for; parts of a replacement have the place, but not the name, of what was replaced.
  ComputationRef compacted(const std::vector<bool>& live_before) {
    const Computation& from = rebuild_.from();
    std::span<const Value> all = rebuild_.builder().instructions();
    std::vector<bool> live(all.size());
    std::vector<Value> todo, named(all.size()), map(all.size());
    auto mark = [&](Value v) {
      if (live[v->id]) return;
      live[v->id] = true;
      todo.push_back(v);
    };
    for (Value old : from.instructions()) {
      if (!live_before[old->id]) continue;
      Value now = rebuild_.mapped(old);
      if (!named[now->id]) named[now->id] = old;
      if (old == from.root() || old->op == Op::Parameter || ir::has_effect(now)) mark(now);
    }
    while (!todo.empty()) {
      Value v = todo.back();
      todo.pop_back();
      for (Value operand : v->operands()) mark(operand);
      if (v->extras)
        for (Value before : v->extras->control_predecessors) mark(before);
    }
    ir::ComputationBuilder out(rebuild_.builder().context(), from.name());
    if (!from.execution_thread().empty()) out.set_thread(from.execution_thread());
    std::vector<Value> operands;
    for (Value v : all) {
      if (!live[v->id]) continue;
      operands.clear();
      for (Value operand : v->operands()) operands.push_back(map[operand->id]);
      std::optional<ir::Extras> extras;
      if (v->extras) {
        extras = *v->extras;
        for (Value& before : extras->control_predecessors) before = map[before->id];
      }
      Value now = out.make(v->op, v->type, operands, *v->attr, v->callees(), extras ? &*extras : nullptr, v->flags);
      if (named[v->id]) out.set_name(now, from.name(named[v->id]));
      const ir::Location& at = from.location(origins_[v->id]);
      if (at.metadata || at.text.end != 0) out.set_location(now, at);
      map[v->id] = now;
    }
    return out.finish(map[rebuild_.mapped(from.root())->id]);
  }

  Rebuild rebuild_;
  const RuleSet& rules_;
  PassContext& pass_;
  RewriteStats& stats_;
  size_t budget_;
  BuilderReplacement out_;
  Value origin_ = nullptr;      // the old instruction in hand
  std::vector<Value> origins_;  // by new id: the old instruction that it was made for
  std::vector<Value> forms_;    // by new id: the settled form; null: not settled
  std::vector<uint32_t> uses_;  // by new id
  std::vector<ReplacementFrame> frames_;
};

}  // namespace

ComputationRef rewrite_computation(const Computation& old, const CalleeMap& callees, const ir::ContextRef& context,
                                   const RuleSet& rules, PassContext& pass, RewriteStats& stats) {
  constexpr int most_sweeps = 16;
  const CalleeMap unchanged;
  size_t budget = stats.fired + 64 * (old.size() + 64);
  ComputationRef now;
  for (int sweep = 0; sweep < most_sweeps; ++sweep) {
    size_t fired = stats.fired;
    ++stats.sweeps;
    const Computation& from = now ? *now : old;
    const CalleeMap& callee_map = now ? unchanged : callees;
    if (is_settled(from, callee_map) && !any_rule_fires(from, context, rules, pass.target)) return now;
    ComputationRef next = Sweep(from, callee_map, context, rules, pass, stats, budget).run();
    if (next) now = std::move(next);
    if (stats.fired == fired) return now;
  }
  stats.out_of_budget = true;
  return now;
}

ir::ModuleRef rewrite_module(const ir::ModuleRef& module, const RuleSet& rules, PassContext& pass, RewriteStats& stats) {
  return rebuild_module(module, [&](const Computation& old, const CalleeMap& callees) {
    return rewrite_computation(old, callees, module->context(), rules, pass, stats);
  });
}

Value apply_rule(const Rule& rule, ir::ComputationBuilder& builder, Value root, const ir::Target& target,
                 const std::vector<uint32_t>* uses) {
  BuilderReplacement out(builder);
  Match match{*builder.context(), target};
  match.uses = uses;
  if (!match_rule(rule, root, match)) return nullptr;
  if (rule.build.make) {
    Value built = rule.build.make(match, out);
    return built && built->type == root->type ? built : nullptr;
  }
  RightSide right(rule, match);
  Value value = nullptr;
  for (;;) {
    switch (right.run(out, value)) {
      case RightSide::Step::made: right.settle(value); break;
      case RightSide::Step::done: return value;
      case RightSide::Step::failed: return nullptr;
    }
  }
}

}  // namespace hloc::passes
