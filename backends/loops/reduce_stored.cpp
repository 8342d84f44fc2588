// Reductions of an array where it is stored:
//
//   for i { for j { store y[8 i + j], v } };  declare a; for e { t = load y[e]; u = load x[e]; accumulate a add t - u }
//     → declare a; for i { for j { store y[8 i + j], v; u = load x[8 i + j]; accumulate a add v - u } }
#include <algorithm>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "backends/loops/forward.h"
#include "backends/loops/rename.h"
#include "backends/loops/walk.h"

namespace hloc::loops {
namespace {

constexpr size_t most_stores = 16;  // of the array
constexpr size_t most_added = 128;  // statements, behind all stores together

// A store with the loops around it, outermost first.
struct PlacedStore {
  const Store* store;
  std::vector<const Loop*> loops;
};

// All stores to a buffer.
struct Stores {
  std::vector<PlacedStore> places;  // each, if it is countable
  bool countable = true;            // few, none in a contraction, in a loop that ends early or in one whose iterations are apart
  size_t last = 0;                  // statement of the kernel's block
};

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
  StoredReduction(Kernel& kernel, const Overlaps& overlaps)
      : kernel_(kernel), overlaps_(overlaps), declared_(kernel.accumulators.size(), never), used_(declared_),
        first_store_(kernel.buffers.size(), never) {
    std::vector<const Loop*> around;
    for (size_t at = 0; at < kernel_.body.size(); ++at) note(kernel_.body[at], at, around, true);
  }

  bool run() {
    for (size_t at = 1; at < kernel_.body.size(); ++at)
      if (auto* loop = kernel_.body[at].as<Loop>(); loop && is_reduction(*loop, at) && may_move(*loop, at)) return move(at), true;
    return false;
  }

 private:
  static constexpr size_t never = SIZE_MAX;

  // What statement `at` of the kernel's block does, by one walk for all reductions.
  void note(const Statement& s, size_t at, std::vector<const Loop*>& around, bool countable) {
    auto use = [&](AccId acc) { used_[acc] = std::min(used_[acc], at); };
    if (auto* d = s.as<Declare>(); d && around.empty() && kernel_.is_constant(d->init)) declared_[d->acc] = at;
    if (auto* a = s.as<Accumulate>()) use(a->acc);
    if (auto* g = s.as<Get>()) use(g->acc);
    if (auto* x = s.as<Set>()) use(x->acc);
    if (auto* store = s.as<Store>()) {
      BufferId buffer = store->access.buffer;
      Stores& stores = stores_[buffer];
      first_store_[buffer] = std::min(first_store_[buffer], at);
      stores.last = at;
      stores.countable &= countable && stores.places.size() < most_stores;
      if (stores.countable) stores.places.push_back({store, around});
    }
    if (auto* loop = s.as<Loop>()) {
      around.push_back(loop);
      for (const Statement& inner : loop->body) note(inner, at, around, countable && loop->go_on == no_id && loop->grain == 0);
      around.pop_back();
    }
    if (auto* c = s.as<Contract>())
      for (const Statement& inner : c->epilogue) note(inner, at, around, false);
  }

  // Over whole arrays, element by element, into accumulators that begin with constants before the loop.
  bool is_reduction(const Loop& loop, size_t at) const {
    if (loop.go_on != no_id) return false;
    bool accumulates = false;
    std::unordered_set<ValueId> made;
    for (const Statement& s : loop.body) {
      if (auto* load = s.as<Load>()) {
        if (!load->access.guards.empty() || load->access.offset != Affine::of(loop.index)) return false;
      } else if (auto* a = s.as<Accumulate>()) {
        accumulates = true;
        if (declared_[a->acc] >= at || used_[a->acc] < at) return false;
      } else if (!s.as<Compute>()) {
        return false;
      }
      bool foreign = false;  // a scalar that is made after the stores
      for_each_value(s, [&](ValueId v) { foreign |= !kernel_.is_constant(v) && !made.contains(v); });
      if (foreign) return false;
      made.insert(result_of(s));
    }
    return accumulates;
  }

  // Whether what it loads is there when the one array of them that has been stored before is.
  bool may_move(const Loop& loop, size_t at) {
    stored_ = no_id;
    for (const Statement& s : loop.body) {
      auto* load = s.as<Load>();
      if (!load || load->access.buffer == stored_ || !is_written(load->access.buffer, at)) continue;
      if (stored_ != no_id || kernel_.buffers[load->access.buffer].count != loop.extent) return false;
      stored_ = load->access.buffer;
    }
    if (stored_ == no_id || !overlaps_of(stored_).empty()) return false;
    const Stores& stores = stores_[stored_];
    if (!stores.countable || stores.last >= at || stores.places.size() * loop.body.size() > most_added) return false;
    return cover_once(stores.places, loop.extent);
  }

  std::span<const BufferId> overlaps_of(BufferId buffer) const {
    if (buffer < overlaps_.size()) return overlaps_[buffer];
    return {};
  }

  // Before statement `end` of the kernel's block.
  bool is_written(BufferId buffer, size_t end) const {
    return first_store_[buffer] < end || std::ranges::any_of(overlaps_of(buffer), [&](BufferId b) { return first_store_[b] < end; });
  }

  void move(size_t at) {
    const Loop reduction = std::move(*kernel_.body[at].as<Loop>());
    kernel_.body.erase(kernel_.body.begin() + static_cast<std::ptrdiff_t>(at));
    std::vector<AccId> moved;
    for (const Statement& s : reduction.body) {
      auto* a = s.as<Accumulate>();
      if (!a || std::ranges::find(moved, a->acc) != moved.end()) continue;
      auto from = std::ranges::find_if(kernel_.body, [a](const Statement& d) { return d.as<Declare>() && d.as<Declare>()->acc == a->acc; });
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
      auto behind = block.begin() + static_cast<std::ptrdiff_t>(i + 1);
      block.insert(behind, std::make_move_iterator(added.begin()), std::make_move_iterator(added.end()));
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
  // Statements of the kernel's block, by accumulator: that which declares it to be a constant, and the first that uses it; by
  // buffer: the first that stores to it.
  std::vector<size_t> declared_, used_, first_store_;
  std::unordered_map<BufferId, Stores> stores_;
  BufferId stored_ = no_id;  // what the reduction reads and earlier statements store
};

}  // namespace

bool reduce_as_stored(Kernel& kernel, const Overlaps& overlaps) { return StoredReduction(kernel, overlaps).run(); }

}  // namespace hloc::loops
