// while: loops carry only what they need.
//
// A carry that the body hands on unchanged is what it was before the loop: whoever reads it afterwards reads that, and
// when it is a scalar constant the body and the condition have it for themselves. A carry that is never read, or only to
// compute itself, goes. Dear work of the body that depends on unchanging carries alone is done before the loop and
// carried; cheap work stays, since recomputing it costs less than to load it. A loop that never runs is its initial
// state; one that runs once is its body.
#include "passes/while_loops.h"

#include <algorithm>

#include <fmt/format.h>

#include "passes/fusion/cost.h"
#include "passes/rebuild.h"
#include "passes/rewrite/scalar.h"
#include "passes/while_shape.h"

namespace hloc::passes {
namespace {

using ir::Computation;
using ir::ComputationRef;
using ir::Op;
using ir::Value;

// In additions: work from which on a value is worth carrying rather than computing in every round, and what an element of an
// elementwise one must take, since a load takes time too.
constexpr double dear_flops = 128, dear_element = 8;

bool is_dear(Value v) {
  if (!v->type.is_array() || !v->type.is_static() || flops_of(v) < dear_flops) return false;
  return !ir::is_elementwise(v->op) || flops_per_element(v) >= dear_element;
}

// Whether doing `v` when the loop does not run at all changes nothing: no effect, and it ends.
bool may_be_early(Value v) {
  if (ir::has_effect(v) || v->op == Op::While || v->op == Op::Conditional || v->op == Op::CustomCall || v->op == Op::Call) return false;
  return v->type.is_array() && v->type.is_static() && !v->extras;
}

// What becomes of one loop.
struct LoopPlan {
  std::vector<bool> keep;         // by carry
  std::vector<Value> constants;   // by carry: the scalar constant that it always is, or null
  std::vector<Value> hoisted;     // instructions of the body whose values are carried from the start
  std::optional<int64_t> trips;

  bool changes(size_t carries) const {
    if (!hoisted.empty() || (trips && *trips <= 1)) return true;
    return std::ranges::count(keep, true) != static_cast<ptrdiff_t>(carries);
  }
};

// By id of the body: depends on unchanging carries and constants alone.
std::vector<bool> unchanging(const WhileShape& shape) {
  std::vector<bool> out(shape.body->size());
  for (Value v : shape.body->instructions()) {
    if (std::optional<size_t> i = carry_of(v)) out[v->id] = shape.is_invariant(*i);
    else out[v->id] = v->op != Op::Parameter && may_be_early(v) && std::ranges::all_of(v->operands(), [&](Value o) { return out[o->id]; });
  }
  return out;
}

// The values where unchanging work meets the rest of the body, if something dear lies behind them.
std::vector<Value> hoistable(const WhileShape& shape) {
  std::vector<bool> same = unchanging(shape), dear(shape.body->size()), wanted(shape.body->size());
  for (Value v : shape.body->instructions()) {
    if (!same[v->id] || carry_of(v)) continue;
    dear[v->id] = is_dear(v) || std::ranges::any_of(v->operands(), [&](Value o) { return dear[o->id]; });
  }
  std::vector<Value> out;
  auto want = [&](Value v) {
    // Broadcasts and reshapes stay with their readers: they cost nothing there.
    while ((v->op == Op::Broadcast || v->op == Op::Reshape) && dear[v->operand(0)->id]) v = v->operand(0);
    if (wanted[v->id]) return;
    wanted[v->id] = true;
    out.push_back(v);
  };
  for (Value v : shape.body->instructions()) {
    if (same[v->id]) continue;
    for (Value operand : v->operands())
      if (dear[operand->id]) want(operand);
  }
  return out;
}

// Carries that the condition, an effect or `needed` ones read, over any number of rounds.
// `hoisted` values need none.
std::vector<bool> live_carries(const WhileShape& shape, std::vector<bool> needed, const std::vector<Value>& hoisted) {
  for (Value v : shape.condition->instructions())
    if (std::optional<size_t> i = carry_of(v)) needed[*i] = true;
  std::vector<bool> reached(shape.body->size());
  for (Value v : hoisted) reached[v->id] = true;
  std::vector<Value> todo(shape.body->effects().begin(), shape.body->effects().end());
  std::vector<bool> entered(shape.carries);
  for (bool grows = true; grows;) {
    grows = false;
    for (size_t i = 0; i < shape.carries; ++i) {
      if (!needed[i] || entered[i]) continue;
      entered[i] = grows = true;
      todo.push_back(shape.next(i));
    }
    while (!todo.empty()) {
      Value v = todo.back();
      todo.pop_back();
      if (reached[v->id]) continue;
      reached[v->id] = true;
      if (std::optional<size_t> i = carry_of(v)) needed[*i] = grows = true;
      for (Value operand : v->operands()) todo.push_back(operand);
    }
  }
  return needed;
}

class LoopRewriter {
 public:
  LoopRewriter(const Computation& from, const CalleeMap& callees, const ir::ContextRef& context, PassContext& pass,
               std::vector<ComputationRef>& made)
      : rebuild_(from, callees, context, ir::Interning::append), callees_(callees), pass_(pass), made_(made) {}

  ComputationRef run() {
    const Computation& from = rebuild_.from();
    count_readers();
    for (Value v : from.instructions()) {
      if (v->op == Op::While && rewrite(v)) continue;
      if (v->op == Op::GetTupleElement && !elements_[v->operand(0)->id].empty()) {
        Value element = elements_[v->operand(0)->id][static_cast<size_t>(v->as<ir::TupleIndexAttr>().index)];
        rebuild_.replace(v, element);
        if (element->op == Op::GetTupleElement) rebuild_.name_after(element, v);
        continue;
      }
      rebuild_.copy(v);
    }
    return rebuild_.finish();
  }

 private:
  // Which elements of each loop's result are read, and whether something wants the result whole.
  void count_readers() {
    const Computation& from = rebuild_.from();
    elements_.resize(from.size());
    whole_.resize(from.size());
    read_.resize(from.size());
    for (Value v : from.instructions()) {
      if (v->op == Op::While && v->type.is_tuple()) read_[v->id].resize(v->type.tuple_size());
      for (Value operand : v->operands()) {
        if (operand->op != Op::While || read_[operand->id].empty()) continue;
        if (v->op == Op::GetTupleElement) read_[operand->id][static_cast<size_t>(v->as<ir::TupleIndexAttr>().index)] = true;
        else whole_[operand->id] = true;
      }
      if (v->extras)
        for (Value before : v->extras->control_predecessors) whole_[before->id] = true;
    }
    whole_[from.root()->id] = true;
  }

  // False when the loop stays as it is.
  bool rewrite(Value loop) {
    if (loop->extras || loop->callee_count != 2) return false;
    std::optional<WhileShape> shape = while_shape(loop, callees_(loop->callees()[0]), callees_(loop->callees()[1]));
    if (!shape) return false;
    std::vector<Value> initial = initial_values(loop);
    LoopPlan plan = plan_for(loop, *shape, initial);
    bool nothing_left = std::ranges::count(plan.keep, true) == 0 && !(plan.trips && *plan.trips <= 1);
    if (nothing_left || !plan.changes(shape->carries)) return false;
    std::vector<Value> result;
    if (plan.trips == 0) result = initial;
    else if (plan.trips == 1) result = taken_apart(once(loop, *shape, initial));
    else result = rebuilt(loop, *shape, plan, initial);
    if (whole_[loop->id]) {
      Value tuple = rebuild_.builder().make(Op::Tuple, loop->type, result);
      rebuild_.name_after(tuple, loop);
      rebuild_.replace(loop, tuple);
    }
    elements_[loop->id] = std::move(result);
    remark(loop, *shape, plan);
    return true;
  }

  std::vector<Value> taken_apart(Value tuple) {
    std::vector<Value> out;
    for (size_t i = 0; i < tuple->type.tuple_size(); ++i)
      out.push_back(tuple->op == Op::Tuple ? tuple->operand(i)
                                           : rebuild_.builder().make(Op::GetTupleElement, tuple->type.element_type(i), {tuple},
                                                                     ir::TupleIndexAttr{static_cast<int64_t>(i)}));
    return out;
  }
  std::vector<Value> initial_values(Value loop) { return taken_apart(rebuild_.mapped(loop->operand(0))); }

  LoopPlan plan_for(Value loop, const WhileShape& shape, const std::vector<Value>& initial) {
    LoopPlan plan;
    plan.constants.resize(shape.carries);
    std::vector<bool> needed(shape.carries);
    for (size_t i = 0; i < shape.carries; ++i) {
      bool same = shape.is_invariant(i);
      bool known = same && initial[i]->op == Op::Constant && initial[i]->type.is_array() && initial[i]->type.rank() == 0 && !initial[i]->extras;
      if (known && !initial[i]->as<ir::ConstantAttr>().value.is_elided()) plan.constants[i] = initial[i];
      needed[i] = !same && (whole_[loop->id] || read_[loop->id][i]);
    }
    plan.trips = trip_count(shape, initial);
    plan.hoisted = hoistable(shape);
    plan.keep = live_carries(shape, std::move(needed), plan.hoisted);
    for (size_t i = 0; i < shape.carries; ++i)
      if (plan.constants[i]) plan.keep[i] = false;
    return plan;
  }

  Value once(Value loop, const WhileShape& shape, const std::vector<Value>& initial) {
    Value state = rebuild_.mapped(loop->operand(0));
    if (state->op != Op::Tuple) state = rebuild_.builder().make(Op::Tuple, loop->type, initial);
    return rebuild_.builder().make(Op::Call, loop->type, {state}, ir::CallAttr{}, {shape.body});
  }

  // The new loop; for each old carry, what it is afterwards.
  std::vector<Value> rebuilt(Value loop, const WhileShape& shape, const LoopPlan& plan, const std::vector<Value>& initial) {
    std::vector<Value> state;
    for (size_t i = 0; i < shape.carries; ++i)
      if (plan.keep[i]) state.push_back(initial[i]);
    size_t kept = state.size();
    hoist(shape, plan, initial, state);
    std::vector<ir::Type> types;
    for (Value v : state) types.push_back(v->type);
    ir::ComputationBuilder& builder = rebuild_.builder();
    ir::Type type = builder.context()->tuple(types);
    ComputationRef condition = reduced(*shape.condition, type, plan, kept), body = reduced(*shape.body, type, plan, kept);
    Value now = builder.make(Op::While, type, std::array{builder.make(Op::Tuple, type, state)}, ir::NoAttr{},
                             std::array<const Computation*, 2>{condition.get(), body.get()}, nullptr, loop->flags);
    rebuild_.name_after(now, loop);
    made_.push_back(std::move(condition));
    made_.push_back(std::move(body));
    std::vector<Value> out;
    int64_t at = 0;
    for (size_t i = 0; i < shape.carries; ++i) {
      Value element = initial[i];
      if (plan.keep[i]) {
        Value after = builder.make(Op::GetTupleElement, loop->type.element_type(i), {now}, ir::TupleIndexAttr{at++});
        if (!shape.is_invariant(i)) element = after;
      }
      out.push_back(element);
    }
    return out;
  }

  // Does the hoisted work in this computation and adds its values to the state.
  void hoist(const WhileShape& shape, const LoopPlan& plan, const std::vector<Value>& initial, std::vector<Value>& state) {
    if (plan.hoisted.empty()) return;
    std::vector<bool> wanted(shape.body->size());
    for (Value v : plan.hoisted) wanted[v->id] = true;
    std::span<const Value> all = shape.body->instructions();
    for (size_t i = all.size(); i-- > 0;)
      if (wanted[all[i]->id])
        for (Value operand : all[i]->operands()) wanted[operand->id] = true;
    std::vector<Value> map(shape.body->size()), operands;
    for (Value v : all) {
      if (!wanted[v->id] || v->op == Op::Parameter) continue;
      if (std::optional<size_t> i = carry_of(v)) {
        map[v->id] = initial[*i];
        continue;
      }
      operands.clear();
      for (Value operand : v->operands()) operands.push_back(map[operand->id]);
      map[v->id] = rebuild_.builder().copy(*shape.body, v, operands);
    }
    for (Value v : plan.hoisted) state.push_back(map[v->id]);
  }

  // A body or condition over the new state.
  ComputationRef reduced(const Computation& old, ir::Type type, const LoopPlan& plan, size_t kept) {
    ir::ComputationBuilder builder(rebuild_.builder().context(), old.name());
    Value state = builder.parameter(0, type, old.name(old.parameters()[0]));
    auto element = [&](size_t i) {
      return builder.make(Op::GetTupleElement, type.element_type(i), {state}, ir::TupleIndexAttr{static_cast<int64_t>(i)});
    };
    bool is_body = old.root()->op == Op::Tuple && old.root()->type.is_tuple();
    std::vector<Value> map(old.size()), operands, hoisted;
    std::vector<size_t> place(plan.keep.size());  // of carries in the new state
    for (size_t i = 0, at = 0; i < place.size(); ++i) place[i] = plan.keep[i] ? at++ : 0;
    if (is_body)
      for (size_t k = 0; k < plan.hoisted.size(); ++k) builder.set_name(map[plan.hoisted[k]->id] = hoisted.emplace_back(element(kept + k)), old.name(plan.hoisted[k]));
    for (Value v : old.instructions()) {
      if (v->op == Op::Parameter || map[v->id] || (is_body && v == old.root())) continue;
      std::optional<size_t> i = carry_of(v);
      if (i && !plan.constants[*i] && !plan.keep[*i]) continue;  // only what is dead reads it
      if (i && plan.constants[*i]) {
        map[v->id] = builder.constant(plan.constants[*i]->as<ir::ConstantAttr>().value);
        continue;
      }
      operands.clear();
      for (Value operand : v->operands()) operands.push_back(i ? state : map[operand->id]);
      if (i) builder.set_name(map[v->id] = element(place[*i]), old.name(v));
      else if (std::ranges::find(operands, nullptr) == operands.end()) map[v->id] = builder.copy(old, v, operands);
    }
    if (!is_body) return builder.finish(map[old.root()->id]);
    operands.clear();
    for (size_t i = 0; i < plan.keep.size(); ++i)
      if (plan.keep[i]) operands.push_back(map[old.root()->operand(i)->id]);
    operands.insert(operands.end(), hoisted.begin(), hoisted.end());
    Value root = builder.make(Op::Tuple, type, operands);
    builder.set_name(root, old.name(old.root()));
    return builder.finish(root);
  }

  void remark(Value loop, const WhileShape& shape, const LoopPlan& plan) {
    if (!pass_.remarks) return;
    auto kept = static_cast<size_t>(std::ranges::count(plan.keep, true));
    std::string text = plan.trips && *plan.trips <= 1
                           ? fmt::format("runs {}", *plan.trips == 0 ? "never" : "once")
                           : fmt::format("{} of {} carries stay, {} values are computed before it", kept, shape.carries, plan.hoisted.size());
    pass_.remarks->push_back({"while", "", std::string(rebuild_.from().name()), std::string(rebuild_.from().name(loop)), std::move(text)});
  }

  Rebuild rebuild_;
  const CalleeMap& callees_;
  PassContext& pass_;
  std::vector<ComputationRef>& made_;
  std::vector<std::vector<Value>> elements_;  // by old id of a rewritten loop: its result, element by element
  std::vector<std::vector<bool>> read_;       // by old id of a loop
  std::vector<bool> whole_;                   // by old id
};

Result<ir::ModuleRef> run_while(const ir::ModuleRef& module, PassContext& pass) {
  std::vector<ComputationRef> made;
  return rebuild_module(
      module,
      [&](const Computation& old, const CalleeMap& callees) -> ComputationRef {
        bool loops = std::ranges::any_of(old.instructions(), [](Value v) { return v->op == Op::While; });
        if (!loops && !callees.touches(old)) return nullptr;
        return LoopRewriter(old, callees, module->context(), pass, made).run();
      },
      &made);
}

}  // namespace

const Pass while_pass{"while", "loops carry less: constants, dead carries and invariant work leave them", run_while};

}  // namespace hloc::passes
