// canonical: dead code, common subexpressions, equal computations and unreachable ones go, all by construction.
//
// Every live instruction is made again through the interning builder, in its old order, so effects keep theirs.
// Parameters stay. What a live instruction names as control predecessor is alive too. Computations that have become
// equal up to names (the many `add` regions of a frontend's reductions) become one, which lets their callers merge.
// Operands keep their order, so nothing moves that a reader would look for.
#include "passes/canonical.h"

#include "passes/rebuild.h"

namespace hloc::passes {
namespace {

ir::ComputationRef canonical_computation(const ir::Computation& old, const CalleeMap& callees,
                                         const ir::ContextRef& context) {
  if (is_settled(old, callees)) return nullptr;
  std::vector<bool> live = live_instructions(old);
  Rebuild rebuild(old, callees, context);
  for (ir::Value v : old.instructions())
    if (live[v->id]) rebuild.copy_normal(v);
  return rebuild.finish();
}

Result<ir::ModuleRef> run_canonical(const ir::ModuleRef& module, PassContext&) {
  // Computations seen so far, by structure; callees are already the merged ones when a computation comes.
  std::unordered_multimap<uint64_t, ir::ComputationRef> seen;
  std::unordered_map<const ir::Computation*, ir::ComputationRef> owners;
  for (const ir::ComputationRef& c : module->computations()) owners.emplace(c.get(), c);
  ir::ModuleRef out = rebuild_module(module, [&](const ir::Computation& old, const CalleeMap& callees) {
    ir::ComputationRef fresh = canonical_computation(old, callees, module->context());
    ir::ComputationRef now = fresh ? fresh : owners.at(&old);
    uint64_t h = structure_hash(*now);
    auto [begin, end] = seen.equal_range(h);
    for (auto it = begin; it != end; ++it)
      if (same_computation(*it->second, *now)) return it->second;
    seen.emplace(h, now);
    return fresh;
  });
  // Nothing rewritten, but some computations may be unreachable.
  if (out == module && ir::reachable(module->entry()).size() != module->computations().size()) {
    ir::ModuleBuilder builder(*module);
    for (const ir::Computation* c : ir::reachable(module->entry())) builder.add(owners.at(c));
    out = builder.finish(&module->entry());
  }
  return out;
}

}  // namespace

const Pass canonical_pass{"canonical", "dead code goes, and what is equal becomes one", run_canonical};

}  // namespace hloc::passes
