#include "passes/shrink.h"

#include <algorithm>
#include <optional>

#include "ir/verify.h"
#include "passes/rebuild.h"

namespace hloc::passes {
namespace {

using ir::Computation;
using ir::ComputationRef;
using ir::ModuleRef;
using ir::Op;
using ir::Type;
using ir::Value;

// What is tried with one instruction.
struct Change {
  enum Kind : uint8_t { operand, zero, parameter, callee } kind = zero;
  size_t which = 0;  // operand: which; callee: which
};

Value zeros(ir::ComputationBuilder& builder, Type type) {
  if (type.is_tuple())
    return ir::build_up<Value>(type, [&](Type leaf) { return zeros(builder, leaf); }, [&](Type tuple, const std::vector<Value>& parts) {
      return std::ranges::find(parts, nullptr) != parts.end() ? nullptr : builder.make(Op::Tuple, tuple, parts);
    });
  if (!type.is_array() || !type.is_static() || type->quant) return nullptr;
  ir::Literal zero = ir::Literal::uninitialized(builder.context()->scalar(type.element()));
  std::ranges::fill(zero.mutable_bytes(), std::byte{0});
  Value scalar = builder.constant(std::move(zero));
  return type.rank() == 0 && type == scalar->type ? scalar : builder.make(Op::Broadcast, type, {scalar}, ir::BroadcastAttr{});
}

// A module in which instruction `id` of one computation is changed; null when that cannot be.
class Changed {
 public:
  Changed(const ir::Module& module, const Computation& where) : module_(module), where_(where) {}

  ModuleRef replaced(uint32_t id, Change change) {
    return rebuilt([&](Rebuild& r, Value v) {
      if (v->id != id) return false;
      Value now = instead(r, v, change);
      if (!now) failed_ = true;
      else r.replace(v, now);
      return now != nullptr;
    }, std::nullopt);
  }
  // The entry with these of its result's elements, or with another value as its result.
  ModuleRef with_results(const std::vector<Value>& results) {
    return rebuilt([](Rebuild&, Value) { return false; }, results);
  }

 private:
  Value instead(Rebuild& r, Value v, Change change) {
    switch (change.kind) {
      case Change::operand: return r.mapped(v->operand(change.which));
      case Change::zero: return zeros(r.builder(), v->type);
      case Change::parameter: return r.builder().parameter(std::ssize(where_.parameters()), v->type);
      case Change::callee: return v->callees()[change.which]->parameters().size() == 1
                                      ? r.builder().make(Op::Call, v->type, {r.mapped(v->operand(v->op == Op::Conditional ? change.which + 1 : 0))},
                                                         ir::CallAttr{}, {v->callees()[change.which]})
                                      : nullptr;
    }
    return nullptr;
  }

  template <class Replace>
  ModuleRef rebuilt(Replace replace, const std::optional<std::vector<Value>>& results) {
    ModuleRef whole = whole_module();
    ModuleRef out = rebuild_module(whole, [&](const Computation& old, const CalleeMap& callees) -> ComputationRef {
      if (&old != &where_) {
        if (!callees.touches(old)) return nullptr;
        Rebuild r(old, callees, whole->context());
        for (Value v : old.instructions()) r.copy(v);
        return r.finish();
      }
      Rebuild r(old, callees, whole->context(), ir::Interning::append);
      for (Value v : old.instructions())
        if (!replace(r, v) && !failed_) r.copy(v);
      if (failed_) return nullptr;
      return trimmed(r, results);
    });
    return failed_ ? nullptr : out;
  }

  // Without what the result does not need; in the entry, parameters too.
  ComputationRef trimmed(Rebuild& r, const std::optional<std::vector<Value>>& results) {
    std::vector<Value> wanted;
    if (results)
      for (Value v : *results) wanted.push_back(r.mapped(v));
    else wanted.push_back(r.mapped(where_.root()));
    bool is_entry = &where_ == &module_.entry();
    std::span<const Value> all = r.builder().instructions();
    std::vector<bool> live(all.size());
    for (Value v : wanted) live[v->id] = true;
    for (size_t i = all.size(); i-- > 0;) {
      if (ir::has_effect(all[i]) || (all[i]->op == Op::Parameter && !is_entry)) live[i] = true;
      if (live[i])
        for (Value operand : all[i]->operands()) live[operand->id] = true;
    }
    ir::ComputationBuilder out(r.builder().context(), where_.name());
    std::vector<Value> map(all.size()), operands;
    int64_t parameters = 0;
    for (Value v : all) {
      if (!live[v->id]) continue;
      operands.clear();
      for (Value operand : v->operands()) operands.push_back(map[operand->id]);
      if (v->op == Op::Parameter && is_entry) map[v->id] = out.parameter(parameters++, v->type);
      else map[v->id] = out.make(v->op, v->type, operands, *v->attr, v->callees(), nullptr, v->flags);
      out.set_name(map[v->id], r.builder().name(v));
    }
    Value root = map[wanted[0]->id];
    if (results && results->size() > 1) {
      operands.clear();
      std::vector<Type> types;
      for (Value v : wanted) operands.push_back(map[v->id]), types.push_back(map[v->id]->type);
      root = out.make(Op::Tuple, out.context()->tuple(types), operands);
    }
    return out.finish(root);
  }

  // The module without tables that speak of its parameters and results.
  ModuleRef whole_module() {
    ir::ModuleBuilder builder(module_);
    ir::ModuleConfig& config = builder.config();
    config.entry_layout.reset();
    config.aliases.clear();
    config.donors.clear();
    config.propagation_to_output.clear();
    config.propagation_to_parameters.clear();
    for (const ComputationRef& c : module_.computations()) builder.add(c);
    return builder.finish(&module_.entry());
  }

  const ir::Module& module_;
  const Computation& where_;
  bool failed_ = false;
};

class Shrinker {
 public:
  Shrinker(ModuleRef module, const StillFails& still_fails) : module_(std::move(module)), still_fails_(still_fails) {}

  ModuleRef run() {
    while (fewer_results() || fewer_instructions()) {}
    return module_;
  }

 private:
  bool accept(const ModuleRef& candidate) {
    if (!candidate || weight(*candidate) >= weight(*module_) || !ir::verify(*candidate).ok() || !still_fails_(candidate)) return false;
    module_ = candidate;
    return true;
  }

  // Instructions, and then those of them that are more than a parameter or a constant.
  static size_t weight(const ir::Module& m) {
    size_t out = 0;
    for (const Computation* c : ir::reachable(m.entry()))
      for (Value v : c->instructions()) out += v->op == Op::Parameter || v->op == Op::Constant || v->op == Op::Broadcast ? 2 : 3;
    return out;
  }

  // Halves of the results, ever smaller ones, then what one result is made of.
  bool fewer_results() {
    bool any = false;
    for (bool again = true; again;) {
      again = false;
      Value root = module_->entry().root();
      std::vector<Value> results(root->operands().begin(), root->operands().end());
      if (root->op != Op::Tuple) {
        for (Value operand : results)
          if (operand->type.is_array() && accept(Changed(*module_, module_->entry()).with_results({operand}))) return true;
        return any;
      }
      for (size_t part = (results.size() + 1) / 2; part > 0 && !again; part = part == 1 ? 0 : (part + 1) / 2) {
        for (size_t at = 0; at < results.size() && !again; at += part) {
          std::vector<Value> some(results.begin() + static_cast<ptrdiff_t>(at), results.begin() + static_cast<ptrdiff_t>(std::min(at + part, results.size())));
          again = accept(Changed(*module_, module_->entry()).with_results(some));
        }
      }
      any |= again;
    }
    return any;
  }

  bool fewer_instructions() {
    bool any = false;
    for (size_t c = module_->computations().size(); c-- > 0;) {
      if (c >= module_->computations().size()) continue;
      // From the last to the first: what is cut off at once is much.
      for (size_t i = module_->computations()[c]->size(); i-- > 0;) {
        if (c >= module_->computations().size() || i >= module_->computations()[c]->size()) continue;
        any |= simpler(*module_->computations()[c], module_->computations()[c]->instructions()[i]);
      }
    }
    return any;
  }

  bool simpler(const Computation& where, Value v) {
    if (ir::has_effect(v)) return false;
    bool is_entry = &where == &module_->entry();
    std::vector<Change> changes;
    for (size_t k = 0; k < v->operand_count; ++k)
      if (v->operand(k)->type == v->type) changes.push_back({Change::operand, k});
    if (v->op == Op::While) changes.push_back({Change::callee, 1});
    if (v->op == Op::Conditional)
      for (size_t k = 0; k < v->callee_count && k + 1 < v->operand_count; ++k) changes.push_back({Change::callee, k});
    if (v->op != Op::Parameter && v->op != Op::Constant) {
      if (is_entry && (v->type.is_array() || v->type.is_tuple())) changes.push_back({Change::parameter, 0});
      changes.push_back({Change::zero, 0});
    }
    for (const Change& change : changes)
      if (accept(Changed(*module_, where).replaced(v->id, change))) return true;
    return false;
  }

  ModuleRef module_;
  const StillFails& still_fails_;
};

}  // namespace

ModuleRef shrink(ModuleRef module, const StillFails& still_fails) { return Shrinker(std::move(module), still_fails).run(); }

}  // namespace hloc::passes
