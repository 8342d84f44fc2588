// ranges: what counters of loops may be decides comparisons, choices and clamps.
//
// A carry that starts at a number, grows by a number and is compared with a number has a known range in the body, and a
// known value after the loop. From there ranges go forward through a computation (rewrite/range.h), and into the loops
// in it: a carry that does not change has the range it starts with, another the ranges of its start and of what the body
// makes of anything. Callers come before what they call, so an inner loop sees what the outer one knows. So
// `select(i < 0, i + n, i)`, as frontends write for every index, is i.
#include "passes/ranges.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include <fmt/format.h>

#include "passes/rebuild.h"
#include "passes/rewrite/range.h"
#include "passes/rewrite/scalar.h"
#include "passes/while_shape.h"

namespace hloc::passes {
namespace {

using ir::Computation;
using ir::ComputationRef;
using ir::Op;
using ir::Value;

// By index: elements of a tuple.
using Elements = std::vector<MaybeRange>;

MaybeRange either(const MaybeRange& a, const MaybeRange& b) {
  if (!a || !b) return std::nullopt;
  return IntRange{std::min(a->low, b->low), std::max(a->high, b->high)};
}

// Ranges of the values of one computation.
struct Facts {
  std::vector<MaybeRange> ranges;   // by id
  std::vector<Elements> elements;   // by id; of tuples, empty where nothing is known

  MaybeRange element(Value tuple, size_t i) const { return i < elements[tuple->id].size() ? elements[tuple->id][i] : std::nullopt; }
};

MaybeRange range_of_instruction(const Facts& facts, Value v, std::vector<MaybeRange>& in) {
  if (v->op == Op::GetTupleElement) {
    MaybeRange known = facts.element(v->operand(0), static_cast<size_t>(v->as<ir::TupleIndexAttr>().index));
    return known || !v->type.is_array() ? known : range_of_type(v->type.element());
  }
  in.clear();
  for (Value operand : v->operands()) in.push_back(facts.ranges[operand->id]);
  return range_of(v, in);
}

// Goes through a computation whose parameter, a tuple, has these elements. `loop` says what is known after a loop.
template <class Loop>
Facts facts_of(const Computation& computation, const Elements& parameter, Loop loop) {
  Facts facts;
  facts.ranges.resize(computation.size());
  facts.elements.resize(computation.size());
  std::vector<MaybeRange> in;
  for (Value v : computation.instructions()) {
    if (v->type.is_array()) facts.ranges[v->id] = range_of_instruction(facts, v, in);
    else if (v->op == Op::Parameter && computation.parameters().size() == 1) facts.elements[v->id] = parameter;
    else if (v->op == Op::While) facts.elements[v->id] = loop(v, facts);
    else if (v->op == Op::Tuple)
      for (Value operand : v->operands()) facts.elements[v->id].push_back(facts.ranges[operand->id]);
  }
  return facts;
}

// first, first + step, …, `rounds` of them; nothing when these leave 64 bits. The element type holds them, since trip counts
// are known only of counters that stay in theirs; others are checked against `all`.
MaybeRange counted(int64_t first, int64_t step, int64_t rounds, const MaybeRange& all) {
  int64_t last = 0;
  if (!all || rounds < 1 || __builtin_mul_overflow(step, rounds - 1, &last) || __builtin_add_overflow(first, last, &last)) return std::nullopt;
  IntRange out{std::min(first, last), std::max(first, last)};
  return out.within(*all) ? std::optional(out) : std::nullopt;
}

// What is known of the carries of a loop: when the body begins, when the condition does, and afterwards.
struct Carried {
  Elements body, condition, after;
};

class Analysis {
 public:
  explicit Analysis(const ir::ModuleRef& module) {
    count_calls(*module);
    // A module lists what is called before its callers.
    std::span<const ComputationRef> all = module->computations();
    for (size_t i = all.size(); i-- > 0;) known_[all[i].get()] = facts_at(*all[i]);
  }

  const Facts* of(const Computation& computation) const {
    auto it = known_.find(&computation);
    return it == known_.end() ? nullptr : &it->second;
  }

 private:
  void count_calls(const ir::Module& module) {
    for (const ComputationRef& computation : module.computations())
      for (Value v : computation->instructions())
        for (const Computation* callee : v->callees()) ++calls_[callee];
  }

  Facts facts_at(const Computation& computation) {
    auto it = parameters_.find(&computation);
    return facts_of(computation, it == parameters_.end() ? Elements{} : it->second,
                    [this](Value loop, const Facts& facts) { return through_loop(loop, facts); });
  }

  Elements through_loop(Value loop, const Facts& facts) {
    if (loop->callee_count != 2) return {};
    std::optional<WhileShape> shape = while_shape(loop, loop->callees()[0], loop->callees()[1]);
    if (!shape) return {};
    Elements initial(shape->carries);
    for (size_t i = 0; i < shape->carries; ++i) initial[i] = facts.element(loop->operand(0), i);
    Carried carried = carried_by(*shape, loop->operand(0), initial);
    // A computation that is called from elsewhere too is left alone.
    if (calls_[shape->body] == 1) parameters_[shape->body] = std::move(carried.body);
    if (calls_[shape->condition] == 1) parameters_[shape->condition] = std::move(carried.condition);
    return std::move(carried.after);
  }

  Carried carried_by(const WhileShape& shape, Value state, const Elements& initial) {
    std::vector<Value> first(shape.carries);
    if (state->op == Op::Tuple)
      for (size_t i = 0; i < shape.carries; ++i) first[i] = state->operand(i);
    std::optional<int64_t> trips = trip_count(shape, first);
    Carried out{initial, initial, initial};
    std::vector<bool> counts(shape.carries);
    for (size_t i = 0; i < shape.carries; ++i) {
      if (shape.is_invariant(i)) continue;
      out.body[i] = out.condition[i] = out.after[i] = std::nullopt;
      std::optional<int64_t> step = step_of(shape, first, i);
      if (!step || !initial[i]) continue;
      MaybeRange all = range_of_type(state->type.element_type(i).element());
      if (trips && initial[i]->is_point()) {
        out.body[i] = counted(initial[i]->low, *step, *trips, all);
        out.condition[i] = counted(initial[i]->low, *step, *trips + 1, all);
        if (out.condition[i]) out.after[i] = counted(initial[i]->low + *trips * *step, 0, 1, all);
      } else {
        bounded(shape, i, *step, *initial[i], all, initial, out);
      }
      counts[i] = out.condition[i].has_value();
    }
    settle_others(shape, initial, counts, out);
    return out;
  }

  // A counter of which only the sides of start and limit are known: the body runs while it is below, or above, the limit.
  void bounded(const WhileShape& shape, size_t i, int64_t step, IntRange first, const MaybeRange& all, const Elements& initial, Carried& out) {
    std::optional<LoopLimit> limit = loop_limit(shape);
    if (!limit || limit->carry != i || !all || step == 0) return;
    std::optional<size_t> other = carry_of(limit->value);
    const MaybeRange known = other ? initial[*other] : range_nearby(limit->value);
    if (!known) return;
    const IntRange to = *known;
    bool up = limit->direction == ir::Direction::LT || limit->direction == ir::Direction::LE;
    bool down = limit->direction == ir::Direction::GT || limit->direction == ir::Direction::GE;
    int64_t strict = limit->direction == ir::Direction::LT || limit->direction == ir::Direction::GT ? 1 : 0, last = 0, next = 0;
    if (!(up && step > 0) && !(down && step < 0)) return;
    if (__builtin_sub_overflow(up ? to.high : to.low, up ? strict : -strict, &last) || __builtin_add_overflow(last, step, &next)) return;
    if (!all->holds(next)) return;
    // When the body does not run at all, nothing is said of it; the condition sees the start.
    out.body[i] = up ? IntRange{std::min(first.low, last), last} : IntRange{last, std::max(first.high, last)};
    out.condition[i] = out.after[i] = up ? IntRange{first.low, std::max(first.high, next)} : IntRange{std::min(first.low, next), first.high};
  }

  // Any other carry is what it starts as, or what the body makes, whatever the others are.
  static void settle_others(const WhileShape& shape, const Elements& initial, const std::vector<bool>& counts, Carried& out) {
    Facts facts = facts_of(*shape.body, out.body, [](Value, const Facts&) { return Elements{}; });
    for (size_t i = 0; i < shape.carries; ++i) {
      if (shape.is_invariant(i) || counts[i]) continue;
      out.body[i] = out.condition[i] = out.after[i] = either(initial[i], facts.ranges[shape.next(i)->id]);
    }
  }

  std::unordered_map<const Computation*, Facts> known_;
  std::unordered_map<const Computation*, Elements> parameters_;
  std::unordered_map<const Computation*, int> calls_;
};

// What takes the place of an instruction whose operands' ranges decide it, or whose own range is one number.
Value decided_value(Rebuild& rebuild, Value v, const Facts& facts) {
  if (!v->type.is_array() || v->op == Op::Parameter || v->op == Op::Constant || v->op == Op::Broadcast || v->extras || ir::has_effect(v)) return nullptr;
  const MaybeRange& own = facts.ranges[v->id];
  std::array<MaybeRange, 3> in;
  Decided known;
  if (own && own->is_point()) known = {Decided::number, 0, own->low};
  else if (v->operand_count > 0 && v->operand_count <= in.size()) {
    for (size_t i = 0; i < v->operand_count; ++i) in[i] = facts.ranges[v->operand(i)->id];
    known = decided_by_ranges(v, std::span(in).first(v->operand_count));
  }
  if (known.kind == Decided::operand) return v->operand(known.index)->type == v->type ? rebuild.mapped(v->operand(known.index)) : nullptr;
  if (known.kind == Decided::nothing || !v->type.is_static()) return nullptr;
  ir::ComputationBuilder& builder = rebuild.builder();
  std::optional<ir::Literal> number = scalar_literal(*builder.context(), v->type.element(), Special::number, known.value);
  if (!number) return nullptr;
  Value scalar = builder.constant(*std::move(number));
  return v->type == scalar->type ? scalar : builder.make(Op::Broadcast, v->type, {scalar}, ir::BroadcastAttr{});
}

Result<ir::ModuleRef> run_ranges(const ir::ModuleRef& module, PassContext& pass) {
  auto loops = [](const ComputationRef& computation) {
    return std::ranges::any_of(computation->instructions(), [](Value v) { return v->op == Op::While; });
  };
  if (std::ranges::none_of(module->computations(), loops)) return module;  // rules see what is near
  Analysis analysis(module);
  return rebuild_module(module, [&](const Computation& old, const CalleeMap& callees) -> ComputationRef {
    const Facts* facts = analysis.of(old);
    if (!facts) return nullptr;
    Rebuild rebuild(old, callees, module->context(), ir::Interning::append);
    for (Value v : old.instructions()) {
      Value now = decided_value(rebuild, v, *facts);
      if (!now) {
        rebuild.copy(v);
        continue;
      }
      rebuild.replace(v, now);
      if (pass.remarks)
        pass.remarks->push_back({"ranges", "", std::string(old.name()), std::string(old.name(v)),
                                 fmt::format("the {} is decided by what its operands may be", ir::name_of(v->op))});
    }
    return rebuild.finish();
  });
}

}  // namespace

const Pass ranges_pass{"ranges", "what counters of loops may be decides compares, selects and clamps", run_ranges};

}  // namespace hloc::passes
