// Questions that schedules and targets ask of a kernel.
#include "backends/loops/walk.h"

namespace hloc::loops {
namespace {

class VaryingWalk {
 public:
  VaryingWalk(const Kernel& kernel, Varying& out) : kernel_(kernel), out_(out), accumulators_(kernel.accumulators.size()) {}

  void mark_index(IndexId index) { out_.indices[index] = true; }

  // Accumulators carry from a later statement of a loop to an earlier one: repeat until nothing changes.
  void run(const Block& block) {
    do {
      changed_ = false;
      visit(block);
    } while (changed_);
  }

 private:
  bool varies(const Affine& affine) const {
    for (const Term& t : affine.terms)
      if (out_.indices[t.index]) return true;
    return false;
  }

  void mark_accumulator(AccId acc) {
    if (!accumulators_[acc]) changed_ = true;
    accumulators_[acc] = true;
  }

  bool depends(const Statement& s) const {
    bool any = false;
    for_each_value(s, [&](ValueId v) { any |= out_.values[v]; });
    for_each_affine(s, [&](const Affine& a) { any |= varies(a); });
    if (auto* get = s.as<Get>()) any |= accumulators_[get->acc];
    return any;
  }

  // A local buffer that was written at varying addresses or with varying values is not tracked: its loads vary.
  bool is_local_load(const Statement& s) const {
    auto* load = s.as<Load>();
    return load && kernel_.buffers[load->access.buffer].role != BufferRole::input;
  }

  void visit(const Block& block) {
    for (const Statement& s : block) {
      bool any = depends(s) || is_local_load(s);
      if (auto* derive = s.as<Derive>()) {
        const Index& index = kernel_.indices[derive->index];
        if (index.kind == IndexKind::from_value ? out_.values[index.value] : varies(index.of)) mark_index(derive->index);
      }
      if (auto* declare = s.as<Declare>(); declare && any) mark_accumulator(declare->acc);
      if (auto* accumulate = s.as<Accumulate>(); accumulate && any) mark_accumulator(accumulate->acc);
      if (auto* set = s.as<Set>(); set && (any || leaves_early_ > 0)) mark_accumulator(set->acc);
      if (ValueId v = result_of(s); v != no_id && any) out_.values[v] = true;
      if (auto* contract = s.as<Contract>()) {
        for (const ContractDim& d : contract->dims) mark_index(d.index);
        out_.values[contract->result] = true;
      }
      auto* loop = s.as<Loop>();
      bool leaves = loop && loop->go_on != no_id && accumulators_[loop->go_on];  // how often it runs differs
      leaves_early_ += leaves;
      for_each_block(s, [&](const Block& inner) { visit(inner); });
      leaves_early_ -= leaves;
    }
  }

  const Kernel& kernel_;
  Varying& out_;
  std::vector<bool> accumulators_;
  bool changed_ = false;
  int leaves_early_ = 0;
};

}  // namespace

Varying varying_by(const Kernel& kernel, std::span<const IndexId> roots, const Block& block) {
  Varying out{std::vector<bool>(kernel.values.size()), std::vector<bool>(kernel.indices.size())};
  VaryingWalk walk(kernel, out);
  for (IndexId i : roots) walk.mark_index(i);
  walk.run(block);
  return out;
}

Varying varying_in(const Kernel& kernel, const Loop& loop) { return varying_by(kernel, {&loop.index, 1}, loop.body); }

LaneStep Varying::step(const Affine& affine, IndexId loop) const {
  LaneStep result;
  for (const Term& t : affine.terms) {
    if (t.index == loop) {
      result = {Step::strided, t.coefficient};
    } else if (indices[t.index]) {
      return {Step::varying, 0};
    }
  }
  return result;
}

const Load* plain_load(const Block& block, ValueId value) {
  if (block.size() != 1) return nullptr;
  auto* load = block[0].as<Load>();
  return load && load->result == value && load->access.guards.empty() ? load : nullptr;
}

int64_t statement_count(const Block& block) {
  int64_t n = 0;
  for_each_statement(block, [&n](const Statement&) { ++n; });
  return n;
}

}  // namespace hloc::loops
