#include "backends/loops/forward.h"

#include <algorithm>
#include <unordered_map>

#include "backends/loops/rename.h"
#include "backends/loops/walk.h"

namespace hloc::loops {
namespace {

constexpr int64_t most_joined = 96;  // statements of a loop that was joined from several

bool may_share_bytes(const Overlaps& overlaps, BufferId a, BufferId b) {
  if (a == b) return true;
  return a < overlaps.size() && std::ranges::find(overlaps[a], b) != overlaps[a].end();
}

// ---- Joining loops -------------------------------------------------------------------------------------------------

struct AccessUse {
  const Access* access;
  bool is_store;
};

std::vector<AccessUse> accesses_in(const Statement& statement) {
  std::vector<AccessUse> out;
  auto add = [&out](const Statement& s) {
    if (const Access* a = access_of(s)) out.push_back({a, s.as<Store>() != nullptr});
  };
  add(statement);
  for_each_block(statement, [&](const Block& inner) { for_each_statement(inner, add); });
  return out;
}

// Loops of plain statements only can be joined.
bool is_plain_loop(const Loop& loop) {
  if (loop.go_on != no_id) return false;
  return std::ranges::none_of(loop.body, [](const Statement& s) {
    return s.as<Loop>() || s.as<Contract>() || s.as<Derive>() || s.as<Set>() || s.as<Get>() || s.as<Declare>();
  });
}

class LoopJoiner {
 public:
  LoopJoiner(Kernel& kernel, const Overlaps& overlaps) : kernel_(kernel), overlaps_(overlaps) {}

  void run() {
    Block& block = kernel_.body;
    for (size_t p = 1; p < block.size(); ++p) {
      auto* loop = block[p].as<Loop>();
      if (!loop || !is_plain_loop(*loop)) continue;
      size_t target = p - 1;
      while (target > 0 && !block[target].as<Loop>()) --target;
      auto* into = block[target].as<Loop>();
      if (!into || !may_join(*into, *loop) || !may_lift(target, p)) continue;
      join(target, p);
      --p;
    }
  }

 private:
  bool may_join(const Loop& a, const Loop& b) const {
    if (a.extent != b.extent || a.kind != b.kind || !is_plain_loop(a)) return false;
    return statement_count(a.body) + statement_count(b.body) <= most_joined && depend_within_iterations(a, b);
  }

  // All pairs of accesses that might touch the same element, one to store, have one address, which is another one in each
  // iteration.
  bool depend_within_iterations(const Loop& a, const Loop& b) const {
    for (const Statement& s : a.body) {
      const Access* x = access_of(s);
      if (!x) continue;
      for (const Statement& t : b.body) {
        const Access* y = access_of(t);
        if (!y || (!s.as<Store>() && !t.as<Store>()) || !may_share_bytes(overlaps_, x->buffer, y->buffer)) continue;
        Affine moved = y->offset;
        int64_t c = moved.coefficient(b.index);
        std::erase_if(moved.terms, [&](const Term& term) { return term.index == b.index; });
        moved += Affine::of(a.index, c);
        if (c == 0 || x->buffer != y->buffer || moved != x->offset) return false;
      }
    }
    return true;
  }

  // Whether the statements between the two can run before the first.
  bool may_lift(size_t target, size_t p) const {
    std::vector<AccessUse> first = accesses_in(kernel_.body[target]);
    for (size_t i = target + 1; i < p; ++i) {
      const Statement& s = kernel_.body[i];
      if (s.as<Get>() || s.as<Set>() || s.as<Accumulate>() || s.as<Contract>()) return false;
      const Access* access = access_of(s);
      bool is_store = s.as<Store>() != nullptr;
      if (!access) continue;
      for (const AccessUse& use : first)
        if ((is_store || use.is_store) && may_share_bytes(overlaps_, access->buffer, use.access->buffer)) return false;
    }
    return true;
  }

  void join(size_t target, size_t p) {
    Block& block = kernel_.body;
    Loop moved = std::move(*block[p].as<Loop>());
    block.erase(block.begin() + static_cast<std::ptrdiff_t>(p));
    Loop& into = *block[target].as<Loop>();
    replace_index(kernel_, moved.body, moved.index, Affine::of(into.index));
    std::move(moved.body.begin(), moved.body.end(), std::back_inserter(into.body));
    auto at = block.begin() + static_cast<std::ptrdiff_t>(target);
    std::rotate(at, at + 1, block.begin() + static_cast<std::ptrdiff_t>(p));  // what stood between comes first
  }

  Kernel& kernel_;
  const Overlaps& overlaps_;
};

// ---- Known elements ------------------------------------------------------------------------------------------------

struct KnownElement {
  BufferId buffer;
  Affine offset;
  ValueId value;
};

class StoreForwarder {
 public:
  StoreForwarder(Kernel& kernel, const Overlaps& overlaps) : kernel_(kernel), overlaps_(overlaps) {}

  void run() { block(kernel_.body); }

 private:
  void block(Block& statements) {
    std::erase_if(statements, [this](Statement& s) { return becomes_known(s); });
  }

  // True: the statement is a load of what is known.
  bool becomes_known(Statement& s) {
    for_each_value_slot(s, [this](ValueId& v) { replace(v); });
    if (auto* derive = s.as<Derive>())
      if (ValueId& v = kernel_.indices[derive->index].value; v != no_id) replace(v);
    if (auto* load = s.as<Load>()) return load_element(*load);
    if (auto* store = s.as<Store>()) store_element(*store);
    else if (s.as<Loop>() || s.as<Contract>()) inside(s);
    return false;
  }

  void replace(ValueId& v) const {
    if (auto it = now_.find(v); it != now_.end()) v = it->second;
  }

  bool load_element(const Load& load) {
    if (!load.access.guards.empty()) return false;
    auto it = std::ranges::find_if(known_, [&](const KnownElement& k) { return k.buffer == load.access.buffer && k.offset == load.access.offset; });
    if (it != known_.end()) {
      now_[load.result] = it->value;
      return true;
    }
    remember({load.access.buffer, load.access.offset, load.result});
    return false;
  }

  void store_element(const Store& store) {
    forget(store.access, store.access.guards.empty());
    if (store.access.guards.empty()) remember({store.access.buffer, store.access.offset, store.value});
  }

  // What the store may change. Elements of one buffer whose addresses differ by a constant are different.
  void forget(const Access& to, bool is_sure) {
    std::erase_if(known_, [&](const KnownElement& k) {
      if (!may_share_bytes(overlaps_, to.buffer, k.buffer)) return false;
      if (k.buffer != to.buffer || k.offset.terms != to.offset.terms) return true;
      return k.offset.base == to.offset.base && is_sure;
    });
    if (!is_sure) std::erase_if(known_, [&](const KnownElement& k) { return k.buffer == to.buffer; });
  }

  // What the statement's blocks store is unknown at the beginning of each of them and afterwards.
  void inside(Statement& s) {
    for (const AccessUse& use : accesses_in(s))
      if (use.is_store) std::erase_if(known_, [&](const KnownElement& k) { return may_share_bytes(overlaps_, use.access->buffer, k.buffer); });
    std::vector<KnownElement> before = known_;
    for_each_block(s, [&](Block& inner) {
      block(inner);
      known_ = before;
    });
  }

  void remember(KnownElement k) {
    constexpr size_t most_known = 256;
    if (known_.size() == most_known) known_.erase(known_.begin());
    known_.push_back(std::move(k));
  }

  Kernel& kernel_;
  const Overlaps& overlaps_;
  std::vector<KnownElement> known_;
  std::unordered_map<ValueId, ValueId> now_;
};

void remove_stores(Block& block, const std::vector<bool>& dead) {
  for (Statement& s : block) for_each_block(s, [&](Block& inner) { remove_stores(inner, dead); });
  std::erase_if(block, [&](const Statement& s) {
    if (auto* store = s.as<Store>()) return bool(dead[store->access.buffer]);
    auto* loop = s.as<Loop>();
    return loop && loop->body.empty();
  });
}

}  // namespace

void join_loops(Kernel& kernel, const Overlaps& overlaps) { LoopJoiner(kernel, overlaps).run(); }

void forward_stores(Kernel& kernel, const Overlaps& overlaps) { StoreForwarder(kernel, overlaps).run(); }

void remove_dead_stores(Kernel& kernel, const Overlaps& overlaps, const std::vector<bool>& is_read_later) {
  std::vector<bool> dead(kernel.buffers.size());
  for (size_t b = 0; b < is_read_later.size(); ++b) dead[b] = !is_read_later[b];
  for_each_statement(kernel.body, [&](const Statement& s) {
    auto* load = s.as<Load>();
    if (!load) return;
    dead[load->access.buffer] = false;
    if (load->access.buffer < overlaps.size())
      for (BufferId other : overlaps[load->access.buffer]) dead[other] = false;
  });
  remove_stores(kernel.body, dead);
}

}  // namespace hloc::loops
