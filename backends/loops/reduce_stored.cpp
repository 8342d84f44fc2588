// Reductions of an array where it is stored:
//
//   for i { for j { store y[8 i + j], v } };  declare a; for e { t = load y[e]; u = load x[e]; accumulate a add t - u }
//     → declare a; for i { for j { store y[8 i + j], v; u = load x[8 i + j]; accumulate a add v - u } }
#include <algorithm>
#include <optional>

#include "backends/loops/forward.h"
#include "backends/loops/rename.h"
#include "backends/loops/walk.h"

namespace hloc::loops {
namespace {

constexpr size_t most_stores = 16;
constexpr size_t most_added = 128;  // statements

// A store with the loops around it, outermost first.
struct PlacedStore {
  const Store* store;
  std::vector<const Loop*> loops;
};

// All stores to the buffer in the block; false where one is in a contraction or in a loop that ends early.
bool find_stores(const Block& block, BufferId buffer, std::vector<const Loop*>& around, std::vector<PlacedStore>& out) {
  for (const Statement& s : block) {
    if (auto* store = s.as<Store>(); store && store->access.buffer == buffer) out.push_back({store, around});
    if (auto* loop = s.as<Loop>()) {
      size_t before = out.size();
      around.push_back(loop);
      if (!find_stores(loop->body, buffer, around, out)) return false;
      around.pop_back();
      if (loop->go_on != no_id && out.size() > before) return false;
    }
    if (auto* c = s.as<Contract>())
      for (const Statement& e : c->epilogue)
        if (auto* store = e.as<Store>(); store && store->access.buffer == buffer) return false;
  }
  return out.size() <= most_stores;
}

// Addresses as numbers in a mixed radix system, and what a store reaches as a box of digits.
struct Digits {
  std::vector<int64_t> weights;  // falling to 1, each a multiple of the next
  int64_t count;

  int64_t radix(size_t d) const { return (d == 0 ? count : weights[d - 1]) / weights[d]; }
};
using Box = std::vector<Range>;

std::optional<Digits> digits_of(const std::vector<PlacedStore>& stores, int64_t count) {
  Digits out{{1}, count};
  for (const PlacedStore& s : stores)
    for (const Term& t : s.store->access.offset.terms) out.weights.push_back(t.coefficient);
  std::ranges::sort(out.weights, std::greater<>());
  out.weights.erase(std::ranges::unique(out.weights).begin(), out.weights.end());
  if (out.weights.back() < 1) return std::nullopt;
  int64_t above = count;
  for (int64_t w : out.weights) {
    if (above % w != 0) return std::nullopt;
    above = w;
  }
  return out;
}

// Nothing where two iterations may store to one place.
std::optional<Box> box_of(const PlacedStore& s, const Digits& digits) {
  const Affine& a = s.store->access.offset;
  Box box;
  int64_t rest = a.base;
  if (rest < 0) return std::nullopt;
  for (int64_t w : digits.weights) {
    box.push_back({rest / w, rest / w});
    rest %= w;
  }
  for (const Loop* loop : s.loops) {
    int64_t c = a.coefficient(loop->index);
    if (loop->extent == 1) continue;
    auto d = static_cast<size_t>(std::ranges::find(digits.weights, c) - digits.weights.begin());
    if (c == 0 || box[d].lo != box[d].hi) return std::nullopt;
    box[d].hi += loop->extent - 1;
  }
  for (const Term& t : a.terms)
    if (std::ranges::find(s.loops, t.index, &Loop::index) == s.loops.end()) return std::nullopt;
  for (size_t d = 0; d < box.size(); ++d)
    if (box[d].hi >= digits.radix(d)) return std::nullopt;
  return box;
}

bool meet(const Box& a, const Box& b) {
  for (size_t d = 0; d < a.size(); ++d)
    if (a[d].hi < b[d].lo || b[d].hi < a[d].lo) return false;
  return true;
}

// Do the stores reach each of `count` elements, and each once?
bool cover_once(const std::vector<PlacedStore>& stores, int64_t count) {
  if (stores.empty() || !std::ranges::all_of(stores, [](const PlacedStore& s) { return s.store->access.guards.empty(); })) return false;
  std::optional<Digits> digits = digits_of(stores, count);
  if (!digits) return false;
  std::vector<Box> boxes;
  int64_t sum = 0;
  for (const PlacedStore& s : stores) {
    std::optional<Box> box = box_of(s, *digits);
    if (!box || std::ranges::any_of(boxes, [&](const Box& other) { return meet(other, *box); })) return false;
    int64_t elements = 1;
    for (const Range& r : *box) elements *= r.hi - r.lo + 1;
    sum += elements;
    boxes.push_back(*std::move(box));
  }
  return sum == count;
}

class StoredReduction {
 public:
  StoredReduction(Kernel& kernel, const Overlaps& overlaps) : kernel_(kernel), overlaps_(overlaps) {}

  bool run() {
    for (size_t at = 1; at < kernel_.body.size(); ++at)
      if (auto* loop = kernel_.body[at].as<Loop>(); loop && is_reduction(*loop, at) && may_move(*loop, at)) return move(at), true;
    return false;
  }

 private:
  // Over whole arrays, element by element, into accumulators that begin with constants before the loop.
  bool is_reduction(const Loop& loop, size_t at) const {
    if (loop.go_on != no_id) return false;
    bool accumulates = false;
    for (const Statement& s : loop.body) {
      if (auto* load = s.as<Load>()) {
        if (!load->access.guards.empty() || load->access.offset != Affine::of(loop.index)) return false;
      } else if (auto* a = s.as<Accumulate>()) {
        accumulates = true;
        if (find_declare(a->acc, at) == at || is_used(a->acc, at)) return false;
      } else if (!s.as<Compute>()) {
        return false;
      }
      bool foreign = false;  // a scalar that is made after the stores
      for_each_value(s, [&](ValueId v) { foreign |= !kernel_.is_constant(v) && !is_made_in(loop, v); });
      if (foreign) return false;
    }
    return accumulates;
  }

  static bool is_made_in(const Loop& loop, ValueId v) {
    return std::ranges::any_of(loop.body, [v](const Statement& s) { return result_of(s) == v; });
  }

  bool is_used(AccId acc, size_t end) const {
    bool any = false;
    auto look = [&](const Statement& s) {
      if (auto* a = s.as<Accumulate>()) any |= a->acc == acc;
      if (auto* g = s.as<Get>()) any |= g->acc == acc;
      if (auto* x = s.as<Set>()) any |= x->acc == acc;
    };
    for (size_t i = 0; i < end; ++i) {
      look(kernel_.body[i]);
      for_each_block(kernel_.body[i], [&](const Block& inner) { for_each_statement(inner, look); });
    }
    return any;
  }

  // The position of its declaration, whose value is a constant; `at`: there is none before.
  size_t find_declare(AccId acc, size_t at) const {
    for (size_t i = 0; i < at; ++i)
      if (auto* d = kernel_.body[i].as<Declare>(); d && d->acc == acc && kernel_.is_constant(d->init)) return i;
    return at;
  }

  // Whether what it loads is there when the one array of them that has been stored before is.
  bool may_move(const Loop& loop, size_t at) {
    stored_ = no_id;
    stores_.clear();
    for (const Statement& s : loop.body) {
      auto* load = s.as<Load>();
      if (!load || load->access.buffer == stored_) continue;
      if (!is_written(load->access.buffer, at)) continue;
      if (stored_ != no_id || kernel_.buffers[load->access.buffer].count != loop.extent) return false;
      stored_ = load->access.buffer;
    }
    if (stored_ == no_id) return false;
    if (stored_ < overlaps_.size() && !overlaps_[stored_].empty()) return false;
    std::vector<const Loop*> around;
    if (!find_stores(kernel_.body, stored_, around, stores_) || stores_.size() * loop.body.size() > most_added) return false;
    return cover_once(stores_, loop.extent) && !stores_to(at, kernel_.body.size(), [&](BufferId b) { return b == stored_; });
  }

  // Do statements [begin, end) of the kernel's block store to a buffer that `is` says is one?
  template <class F>
  bool stores_to(size_t begin, size_t end, F is) const {
    bool any = false;
    auto look = [&](const Statement& s) {
      if (auto* store = s.as<Store>()) any |= is(store->access.buffer);
    };
    for (size_t i = begin; i < end; ++i) {
      look(kernel_.body[i]);
      for_each_block(kernel_.body[i], [&](const Block& inner) { for_each_statement(inner, look); });
    }
    return any;
  }

  bool is_written(BufferId buffer, size_t end) const {
    return stores_to(0, end, [&](BufferId b) {
      return b == buffer || (buffer < overlaps_.size() && std::ranges::find(overlaps_[buffer], b) != overlaps_[buffer].end());
    });
  }

  void move(size_t at) {
    const Loop reduction = std::move(*kernel_.body[at].as<Loop>());
    kernel_.body.erase(kernel_.body.begin() + static_cast<std::ptrdiff_t>(at));
    std::vector<AccId> moved;
    for (const Statement& s : reduction.body) {
      auto* a = s.as<Accumulate>();
      if (!a || std::ranges::find(moved, a->acc) != moved.end()) continue;
      auto from = kernel_.body.begin() + static_cast<std::ptrdiff_t>(find_declare(a->acc, at));
      std::rotate(kernel_.body.begin() + static_cast<std::ptrdiff_t>(moved.size()), from, from + 1);
      moved.push_back(a->acc);
    }
    add_to(kernel_.body, reduction);
  }

  void add_to(Block& block, const Loop& reduction) {
    for (size_t i = 0; i < block.size(); ++i) {
      for_each_block(block[i], [&](Block& inner) { add_to(inner, reduction); });
      auto* store = block[i].as<Store>();
      if (!store || store->access.buffer != stored_) continue;
      Block added = copy_at(store->access.offset, store->value, reduction);
      block.insert(block.begin() + static_cast<std::ptrdiff_t>(i + 1), std::make_move_iterator(added.begin()), std::make_move_iterator(added.end()));
    }
  }

  // The body of the reduction for one element, which is `value`.
  Block copy_at(const Affine& offset, ValueId value, const Loop& reduction) {
    Block out;
    ValueMap now;
    for (const Statement& original : reduction.body) {
      if (auto* load = original.as<Load>(); load && load->access.buffer == stored_) {
        now[load->result] = value;
        continue;
      }
      Block one{original};
      replace_values(kernel_, one, now);
      replace_index(kernel_, one, reduction.index, offset);
      if (ValueId old = result_of(original); old != no_id) {
        kernel_.values.push_back(kernel_.values[old]);
        now[old] = static_cast<ValueId>(kernel_.values.size() - 1);
        if (auto* load = one[0].as<Load>()) load->result = now[old];
        if (auto* compute = one[0].as<Compute>()) compute->result = now[old];
      }
      out.push_back(std::move(one[0]));
    }
    return out;
  }

  Kernel& kernel_;
  const Overlaps& overlaps_;
  BufferId stored_ = no_id;  // what the reduction reads and earlier statements store
  std::vector<PlacedStore> stores_;
};

}  // namespace

bool reduce_as_stored(Kernel& kernel, const Overlaps& overlaps) { return StoredReduction(kernel, overlaps).run(); }

}  // namespace hloc::loops
