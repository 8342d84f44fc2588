// A short loop around a long reduction becomes one reduction for each of its iterations, so that `merge_loops` can put them
// into an earlier loop over the same range: a row is then read, or made, once for all of them.
//
//   for j in 1000 { store row[j] … }; for k in 3 { declare a; for j in 1000 { accumulate a row[j] * x[3*j + k] }; … }
//     → for j in 1000 { … }; declare a0; for j in 1000 { accumulate a0 … x[3*j] }; …; declare a1; …
//
// What the short loop computes before its reduction from inputs moves in front of the earlier loop.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "backends/loops/schedule.h"
#include "backends/loops/rename.h"
#include "backends/loops/walk.h"

namespace hloc::loops {
namespace {

constexpr int64_t most_copies = 4, most_statements = 24, least_extent = 16;

// The value of a pure statement depends on its operands alone.
bool is_pure(const Kernel& kernel, const Statement& s) {
  auto* load = s.as<Load>();
  if (load) return load->access.guards.empty() && kernel.buffers[load->access.buffer].role == BufferRole::input;
  return s.as<Compute>() || s.as<IndexValue>();
}

// The body of iteration `at` of a loop, with names of its own.
class Iteration {
 public:
  Iteration(Kernel& kernel, IndexId index, int64_t at) : kernel_(kernel), index_(index), at_(at) {}

  // `s` and what is in it holds Compute, Load, IndexValue, Declare, Accumulate, Get, Store and Loop only.
  Statement copy(Statement s) {
    for_each_affine(s, [this](Affine& a) { fix(a); });
    for_each_value_slot(s, [this](ValueId& v) {
      if (auto it = values_.find(v); it != values_.end()) v = it->second;
    });
    if (auto* c = s.as<Compute>()) fresh(c->result);
    if (auto* l = s.as<Load>()) fresh(l->result);
    if (auto* i = s.as<IndexValue>()) fresh(i->result);
    if (auto* g = s.as<Get>()) fresh(g->result), g->acc = accumulators_.at(g->acc);
    if (auto* a = s.as<Accumulate>()) a->acc = accumulators_.at(a->acc);
    if (auto* d = s.as<Declare>()) {
      kernel_.accumulators.push_back(kernel_.accumulators[d->acc]);
      d->acc = accumulators_[d->acc] = static_cast<AccId>(kernel_.accumulators.size() - 1);
    }
    if (auto* loop = s.as<Loop>()) {
      kernel_.indices.push_back(kernel_.indices[loop->index]);
      loop->index = indices_[loop->index] = static_cast<IndexId>(kernel_.indices.size() - 1);
      for (Statement& inner : loop->body) inner = copy(std::move(inner));
    }
    return s;
  }

 private:
  void fix(Affine& a) {
    a = replaced(a, index_, at_);
    for (Term& t : a.terms)
      if (auto it = indices_.find(t.index); it != indices_.end()) t.index = it->second;
    std::ranges::sort(a.terms, {}, &Term::index);
  }
  void fresh(ValueId& v) {
    kernel_.values.push_back(kernel_.values[v]);
    v = values_[v] = static_cast<ValueId>(kernel_.values.size() - 1);
  }

  Kernel& kernel_;
  IndexId index_;
  int64_t at_;
  std::unordered_map<ValueId, ValueId> values_;
  std::unordered_map<IndexId, IndexId> indices_;
  std::unordered_map<AccId, AccId> accumulators_;
};

class LoopJammer {
 public:
  explicit LoopJammer(Kernel& kernel) : kernel_(kernel) {}

  void run(Block& block) {
    for (size_t p = 0; p < block.size(); ++p) {
      size_t before = 0;
      if (is_candidate(block, p, before)) p = jam(block, p, before);
    }
    for (Statement& s : block) for_each_block(s, [this](Block& inner) { run(inner); });
  }

 private:
  // Pure statements, declarations and one reduction, which only reads and accumulates; then its results and stores. All of its
  // accumulators are declared in the loop.
  const Loop* reduction_of(const Loop& loop) const {
    const Loop* reduction = nullptr;
    std::unordered_set<AccId> declared;
    for (const Statement& s : loop.body) {
      if (auto* d = s.as<Declare>()) declared.insert(d->acc);
      if (auto* g = s.as<Get>(); g && !declared.contains(g->acc)) return nullptr;
      auto* inner = s.as<Loop>();
      bool fine = inner ? !reduction && inner->go_on == no_id && inner->extent >= least_extent && inner->grain == 0
                        : s.as<Declare>() || s.as<Compute>() || s.as<Load>() || (reduction && (s.as<Get>() || s.as<Store>()));
      if (!fine) return nullptr;
      if (inner) reduction = inner;
    }
    if (!reduction) return nullptr;
    for (const Statement& s : reduction->body) {
      auto* a = s.as<Accumulate>();
      if (a ? !declared.contains(a->acc) : !s.as<Compute>() && !s.as<Load>()) return nullptr;
    }
    return reduction;
  }

  // `before`: the earlier loop that the reductions may be merged with.
  bool is_candidate(const Block& block, size_t p, size_t& before) const {
    auto* loop = block[p].as<Loop>();
    if (!loop || loop->go_on != no_id || loop->grain != 0 || loop->extent < 2 || loop->extent > most_copies) return false;
    if (statement_count(loop->body) > most_statements) return false;
    const Loop* reduction = reduction_of(*loop);
    if (!reduction) return false;
    for (before = 0; before < p; ++before) {
      auto* earlier = block[before].as<Loop>();
      if (earlier && earlier->extent == reduction->extent && earlier->grain == 0 && earlier->go_on == no_id) break;
    }
    return before < p && needs_nothing_after(block, before, p);
  }

  // Whether what stands in the loop at `p` before its reduction uses nothing that the block makes from `before` on, and only
  // pure statements stand there.
  bool needs_nothing_after(const Block& block, size_t before, size_t p) const {
    std::unordered_set<ValueId> made;
    std::unordered_set<IndexId> derived;
    for (size_t i = before; i < p; ++i) {
      if (ValueId v = result_of(block[i]); v != no_id) made.insert(v);
      if (auto* d = block[i].as<Derive>()) derived.insert(d->index);
    }
    for (const Statement& s : block[p].as<Loop>()->body) {
      if (s.as<Loop>()) return true;
      bool fine = s.as<Declare>() || is_pure(kernel_, s);
      for_each_value(s, [&](ValueId v) { fine &= !made.contains(v); });
      for_each_affine(s, [&](const Affine& a) {
        for (const Term& t : a.terms) fine &= !derived.contains(t.index);
      });
      if (!fine) return false;
    }
    return false;
  }

  // The place of the last statement that came of the loop.
  size_t jam(Block& block, size_t p, size_t before) {
    Loop loop = std::move(*block[p].as<Loop>());
    Block first, rest;
    for (int64_t at = 0; at < loop.extent; ++at) {
      Iteration iteration(kernel_, loop.index, at);
      bool reduced = false;
      for (const Statement& s : loop.body) {
        reduced |= s.as<Loop>() != nullptr;
        (reduced || s.as<Declare>() ? rest : first).push_back(iteration.copy(s));
      }
    }
    size_t last = p + first.size() + rest.size() - 1;
    block.erase(block.begin() + static_cast<std::ptrdiff_t>(p));
    block.insert(block.begin() + static_cast<std::ptrdiff_t>(p), std::make_move_iterator(rest.begin()), std::make_move_iterator(rest.end()));
    block.insert(block.begin() + static_cast<std::ptrdiff_t>(before), std::make_move_iterator(first.begin()), std::make_move_iterator(first.end()));
    return last;
  }

  Kernel& kernel_;
};

}  // namespace

void jam_loops(Kernel& kernel) { LoopJammer(kernel).run(kernel.body); }

}  // namespace hloc::loops
