// How a pass makes a new module from an old one: computations callees first, instructions in order, a memo from old to
// new. What comes out equal to what went in is shared, so "unchanged" is a pointer comparison.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"

namespace hloc::passes {

// Old computations to the new ones that stand for them.
class CalleeMap {
 public:
  const ir::Computation* operator()(const ir::Computation* old) const {
    auto it = map_.find(old);
    return it == map_.end() ? old : it->second;
  }
  void set(const ir::Computation* old, const ir::Computation* now) { map_[old] = now; }
  // Whether any computation that `from` calls has become another one.
  bool touches(const ir::Computation& from) const;

 private:
  std::unordered_map<const ir::Computation*, const ir::Computation*> map_;
};

// What must be kept: the root, parameters, effects, and whatever these need as operands or control predecessors. By id.
std::vector<bool> live_instructions(const ir::Computation& computation);

// Whether rebuilding through the interning builder would change nothing: all live, no two instructions equal, no uniform
// constant written out, no callee replaced. Cheaper than to build and compare.
bool is_settled(const ir::Computation& computation, const CalleeMap& callees);

// Makes one computation anew from an old one. The pass goes through `from().instructions()` in order and says for each
// what becomes of it: copied, mapped to some other new value, or nothing (it must be dead then).
class Rebuild {
 public:
  Rebuild(const ir::Computation& from, const CalleeMap& callees, const ir::ContextRef& context,
          ir::Interning interning = ir::Interning::intern);

  const ir::Computation& from() const { return from_; }
  ir::ComputationBuilder& builder() { return builder_; }
  const std::vector<ir::Value>& map() const { return map_; }
  ir::Value mapped(ir::Value old) const { return map_[old->id]; }
  // Operands of `old` in the new computation; valid until the next call.
  std::span<const ir::Value> operands(ir::Value old);
  std::span<const ir::Computation* const> callees(ir::Value old);

  // The same instruction over mapped operands, callees and control predecessors, with its name and location.
  ir::Value copy(ir::Value old);
  // The same, but a uniform constant becomes a broadcast of a scalar.
  ir::Value copy_normal(ir::Value old);
  // `now` stands for `old` from here on. Any difference from a one-to-one copy makes the computation a changed one.
  void replace(ir::Value old, ir::Value now);
  void name_after(ir::Value now, ir::Value old);

  bool changed() const { return changed_ || builder_.size() != from_.size(); }
  // The new computation, or null when it would equal the old one.
  ir::ComputationRef finish();

 private:
  const ir::Computation& from_;
  const CalleeMap& callees_;
  ir::ComputationBuilder builder_;
  std::vector<ir::Value> map_;  // by old id; null: not rebuilt
  std::vector<ir::Value> operands_;
  std::vector<const ir::Computation*> callee_list_;
  bool changed_ = false;
};

// Calls `rewrite` for every computation that the entry reaches, callees first; it returns the new one, or null when
// nothing changed (it must not when `callees.touches(computation)`). The very same module when nothing changed at all.
using RewriteComputation =
    std::function<ir::ComputationRef(const ir::Computation& computation, const CalleeMap& callees)>;
// What `rewrite` leaves in `made` are computations that the one it returns calls.
ir::ModuleRef rebuild_module(const ir::ModuleRef& module, const RewriteComputation& rewrite,
                             std::vector<ir::ComputationRef>* made = nullptr);

// Whether two computations are the same up to names: instruction by instruction, in order.
bool same_computation(const ir::Computation& a, const ir::Computation& b);
uint64_t structure_hash(const ir::Computation& computation);

// A dense constant of several equal elements is a broadcast of one: returns that, else the plain constant.
ir::Value normal_constant(ir::ComputationBuilder& builder, const ir::Literal& value);
bool is_uniform(const ir::Literal& value);

}  // namespace hloc::passes
