// Loop fusion inside a kernel: the sum and the maximum of a row in one pass over it.
//
//   declare a; for i { accumulate a … }; …; declare b; for j { accumulate b … }
//     → declare a; declare b; for i { accumulate a …; accumulate b … }; …
//
// and what one loop stores to a row buffer, the other takes from the register instead.
#include <algorithm>
#include <unordered_map>

#include "backends/loops/rename.h"
#include "backends/loops/schedule.h"
#include "backends/loops/walk.h"

namespace hloc::loops {
namespace {

// Where in a block each name is made: position of the statement; names made elsewhere are absent.
struct MadeAt {
  std::unordered_map<uint32_t, size_t> values, indices, accumulators;

  void add(const Statement& s, size_t position) {
    if (ValueId v = result_of(s); v != no_id) values[v] = position;
    if (auto* derive = s.as<Derive>()) indices[derive->index] = position;
    if (auto* declare = s.as<Declare>()) accumulators[declare->acc] = position;
  }
};

// Accumulators that a loop works on and that are declared outside it, and the last position in the block of anything else
// that it needs.
struct LoopNeeds {
  std::vector<AccId> accumulators;
  size_t last = 0;  // position + 1; 0: nothing of the block
  bool has_effects = false;
  std::vector<const Access*> loads;  // of buffers that the kernel writes
};

LoopNeeds needs_of(const Kernel& kernel, const Loop& loop, const MadeAt& made) {
  LoopNeeds n;
  auto at = [&n](const auto& table, uint32_t id) {
    if (auto it = table.find(id); it != table.end()) n.last = std::max(n.last, it->second + 1);
  };
  auto affine = [&](const Affine& a) {
    for (const Term& t : a.terms) at(made.indices, t.index);
  };
  auto accumulator = [&](AccId acc) {
    if (made.accumulators.count(acc) && std::find(n.accumulators.begin(), n.accumulators.end(), acc) == n.accumulators.end())
      n.accumulators.push_back(acc);
  };
  for_each_statement(loop.body, [&](const Statement& s) {
    for_each_value(s, [&](ValueId v) { at(made.values, v); });
    for_each_affine(s, affine);
    if (auto* derive = s.as<Derive>()) {
      affine(kernel.indices[derive->index].of);
      if (kernel.indices[derive->index].kind == IndexKind::from_value) at(made.values, kernel.indices[derive->index].value);
    }
    if (auto* a = s.as<Accumulate>()) accumulator(a->acc);
    if (auto* a = s.as<Set>()) accumulator(a->acc);
    if (auto* a = s.as<Get>()) accumulator(a->acc);
    if (auto* l = s.as<Loop>(); l && l->go_on != no_id) accumulator(l->go_on);
    n.has_effects |= s.as<Store>() || s.as<Contract>();
    if (auto* load = s.as<Load>(); load && kernel.buffers[load->access.buffer].role != BufferRole::input) n.loads.push_back(&load->access);
  });
  return n;
}

// The value that the loop's own block stores where `access` of another loop's iteration of the same number reads.
ValueId stored_value(const Loop& loop, const Access& access, IndexId other) {
  if (!access.guards.empty()) return no_id;
  ValueId found = no_id;
  for (const Statement& s : loop.body) {
    auto* store = s.as<Store>();
    if (!store || store->access.buffer != access.buffer) continue;
    if (!store->access.guards.empty() || store->access.offset != replaced(access.offset, other, Affine::of(loop.index))) return no_id;
    found = store->value;
  }
  return found;
}

bool touches(const Statement& statement, BufferId buffer) {
  bool any = false;
  auto look = [&](const Statement& s) {
    if (auto* store = s.as<Store>()) any |= store->access.buffer == buffer;
    if (auto* load = s.as<Load>()) any |= load->access.buffer == buffer;
    any |= s.as<Contract>() != nullptr;
  };
  look(statement);
  for_each_block(statement, [&](const Block& inner) { for_each_statement(inner, look); });
  return any;
}

class LoopMerger {
 public:
  explicit LoopMerger(Kernel& kernel) : kernel_(kernel) {}

  void run(Block& block) {
    for (size_t p = 0; p < block.size(); ++p)
      if (block[p].as<Loop>() && merge_into_earlier(block, p)) p = 0;
    for (Statement& s : block) for_each_block(s, [this](Block& inner) { run(inner); });
  }

 private:
  // Moves the loop at `p` into an earlier one; true when it did.
  bool merge_into_earlier(Block& block, size_t p) {
    MadeAt made;
    for (size_t i = 0; i < p; ++i) made.add(block[i], i);
    const Loop& loop = *block[p].as<Loop>();
    LoopNeeds needs = needs_of(kernel_, loop, made);
    if (needs.has_effects || needs.accumulators.empty() || loop.go_on != no_id) return false;
    for (AccId acc : needs.accumulators)  // their first values have to be there as well
      for (ValueId v : {block[made.accumulators[acc]].as<Declare>()->init})
        if (auto it = made.values.find(v); it != made.values.end()) needs.last = std::max(needs.last, it->second + 1);
    for (size_t i = needs.last; i < p; ++i) {
      auto* target = block[i].as<Loop>();
      if (!target || target->extent != loop.extent || target->kind != loop.kind || target->grain != loop.grain || target->go_on != no_id) continue;
      if (!may_take_loads(block, i, p, needs)) continue;
      merge(block, i, p, needs.accumulators, made);
      return true;
    }
    return false;
  }

  // Each load of what the kernel writes must get what the same iteration of the target stores, and nothing between the two
  // touches that buffer.
  static bool may_take_loads(const Block& block, size_t target, size_t p, const LoopNeeds& needs) {
    const Loop &into = *block[target].as<Loop>(), &moved = *block[p].as<Loop>();
    for (const Access* load : needs.loads) {
      if (stored_value(into, *load, moved.index) == no_id) return false;
      for (size_t i = target + 1; i < p; ++i)
        if (touches(block[i], load->buffer)) return false;
    }
    return true;
  }

  // Loads in the moved body that the target's stores make needless.
  void forward(Loop& into, Loop& moved) {
    ValueMap now;
    std::erase_if(moved.body, [&](const Statement& s) {
      auto* load = s.as<Load>();
      if (!load || kernel_.buffers[load->access.buffer].role == BufferRole::input) return false;
      now[load->result] = stored_value(into, load->access, moved.index);
      return true;
    });
    if (!now.empty()) replace_values(kernel_, moved.body, now);
  }

  void merge(Block& block, size_t target, size_t p, const std::vector<AccId>& accumulators, MadeAt& made) {
    Loop moved = std::move(*block[p].as<Loop>());
    block.erase(block.begin() + static_cast<std::ptrdiff_t>(p));
    Loop& into = *block[target].as<Loop>();
    forward(into, moved);
    replace_index(kernel_, moved.body, moved.index, Affine::of(into.index));
    std::move(moved.body.begin(), moved.body.end(), std::back_inserter(into.body));
    std::vector<size_t> late;  // declarations between the two
    for (AccId acc : accumulators)
      if (made.accumulators[acc] > target) late.push_back(made.accumulators[acc]);
    std::sort(late.begin(), late.end());
    for (size_t i = 0; i < late.size(); ++i) {
      auto from = block.begin() + static_cast<std::ptrdiff_t>(late[i]);
      std::rotate(block.begin() + static_cast<std::ptrdiff_t>(target + i), from, from + 1);
    }
  }

  Kernel& kernel_;
};

}  // namespace

void merge_loops(Kernel& kernel) { LoopMerger(kernel).run(kernel.body); }

}  // namespace hloc::loops
