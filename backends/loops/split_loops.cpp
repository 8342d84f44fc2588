// Index set splitting: a loop whose guards change at a few of its iterations becomes several loops in which every guard
// of its variable is known.
//
//   for i in 128 { %0 = load x[i - 127] if 127 <= i < 128 else 0; %1 = load x[i + 1] if 0 <= i < 127 else %0; … }
//     → for i in 127 { %1 = load x[i + 1]; … }; for i in 1 { %0 = load x[i]; … }
//
// So padding, concatenation and rotation cost nothing in the middle of a row. Only loops without loops inside are split,
// into few parts, and not for more code than that is worth.
#include <algorithm>
#include <unordered_map>

#include "backends/loops/schedule.h"
#include "backends/loops/walk.h"

namespace hloc::loops {
namespace {

constexpr size_t most_parts = 5;
constexpr int64_t most_statements = 256;  // of all parts together
constexpr int64_t least_extent = 8;       // below, a few masked iterations are as good

int64_t ceil_quotient(int64_t a, int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }  // b > 0

// The iterations of `loop` for which a guard that depends on its variable alone holds, as [lo, hi); nothing for others.
std::optional<Range> holds_for(const Guard& guard, IndexId loop) {
  if (guard.affine.terms.size() != 1 || guard.affine.terms[0].index != loop) return std::nullopt;
  int64_t c = guard.affine.terms[0].coefficient, base = guard.affine.base;
  constexpr int64_t far = int64_t{1} << 60;
  if (std::abs(c) > far || std::abs(base) > far || std::abs(guard.lo) > far || std::abs(guard.hi) > far) return std::nullopt;
  if (c > 0) return Range{ceil_quotient(guard.lo - base, c), ceil_quotient(guard.hi - base, c)};
  // lo <= base - |c| i < hi: i > (base - hi) / |c|, i <= (base - lo) / |c|
  c = -c;
  return Range{ceil_quotient(base - guard.hi + 1, c), ceil_quotient(base - guard.lo + 1, c)};
}

const std::vector<Guard>* guards_of(const Statement& s) {
  if (auto* load = s.as<Load>()) return &load->access.guards;
  if (auto* store = s.as<Store>()) return &store->access.guards;
  if (auto* test = s.as<Test>()) return &test->guards;
  return nullptr;
}

// Where guards change, in order, within the loop; empty when the loop is not to be split.
std::vector<int64_t> split_points(const Kernel& kernel, const Loop& loop) {
  std::vector<int64_t> points;
  if (loop.extent < least_extent) return points;
  for (const Statement& s : loop.body) {
    if (s.as<Loop>() || s.as<Contract>()) return {};
    if (auto* derive = s.as<Derive>(); derive && kernel.indices[derive->index].of.coefficient(loop.index) != 0) return {};
    const std::vector<Guard>* guards = guards_of(s);
    if (!guards) continue;
    for (const Guard& guard : *guards) {
      std::optional<Range> range = holds_for(guard, loop.index);
      if (!range) continue;
      for (int64_t at : {range->lo, range->hi})
        if (at > 0 && at < loop.extent && std::ranges::find(points, at) == points.end()) points.push_back(at);
    }
    if (points.size() >= most_parts) return {};
  }
  if (static_cast<int64_t>(points.size() + 1) * statement_count(loop.body) > most_statements) return {};
  std::ranges::sort(points);
  return points;
}

// The body for iterations [begin, end), with names of its own.
class LoopPart {
 public:
  LoopPart(Kernel& kernel, const Loop& loop, int64_t begin, int64_t end) : kernel_(kernel), old_(loop), begin_(begin), end_(end) {
    Index index = kernel.indices[loop.index];
    index.range = {0, end - begin - 1};
    kernel.indices.push_back(index);
    part_ = {static_cast<IndexId>(kernel.indices.size() - 1), end - begin, loop.kind, loop.grain, {}};
  }

  Loop run() {
    for (const Statement& s : old_.body) copy(s);
    return std::move(part_);
  }

 private:
  void copy(Statement s) {
    for_each_affine(s, [this](Affine& a) { moved(a); });
    bool fails = false;
    if (auto* load = s.as<Load>()) {
      fails = !keep_undecided(load->access.guards);
      if (fails) {
        values_[load->result] = value(load->otherwise);
        return;
      }
      load->otherwise = load->access.guards.empty() ? no_id : value(load->otherwise);
    } else if (auto* store = s.as<Store>()) {
      if (!keep_undecided(store->access.guards)) return;
    } else if (auto* test = s.as<Test>()) {
      fails = !keep_undecided(test->guards);
      if (fails || test->guards.empty()) {
        values_[test->result] = constant_pred(!fails);
        return;
      }
    }
    std::visit([this](auto& what) { rename(what); }, s.what);
    part_.body.push_back(std::move(s));
  }

  // i of the loop is i + begin of the part.
  void moved(Affine& a) {
    int64_t c = a.coefficient(old_.index);
    if (c != 0) {
      std::erase_if(a.terms, [this](const Term& t) { return t.index == old_.index; });
      a += Affine::of(part_.index, c);
      a.base += c * begin_;
    }
    for (Term& t : a.terms)
      if (auto it = indices_.find(t.index); it != indices_.end()) t.index = it->second;
    std::ranges::sort(a.terms, {}, &Term::index);
  }

  // Drops what holds throughout the part; false when one never does.
  bool keep_undecided(std::vector<Guard>& guards) {
    bool possible = true;
    std::erase_if(guards, [&](const Guard& guard) {
      std::optional<Range> range = holds_for(guard, part_.index);
      if (!range) return false;
      if (range->lo <= 0 && range->hi >= end_ - begin_) return true;
      possible &= range->hi > 0 && range->lo < end_ - begin_ && range->lo < range->hi;
      return false;
    });
    return possible;
  }

  ValueId value(ValueId v) const {
    auto it = values_.find(v);
    return it == values_.end() ? v : it->second;
  }
  ValueId fresh(ValueId& v) {
    kernel_.values.push_back(kernel_.values[v]);
    auto now = static_cast<ValueId>(kernel_.values.size() - 1);
    values_[v] = now;
    return v = now;
  }
  ValueId constant_pred(bool holds) {
    kernel_.values.push_back({ElementType::pred, true, holds ? 1u : 0u});
    return static_cast<ValueId>(kernel_.values.size() - 1);
  }
  AccId accumulator(AccId a) const {
    auto it = accumulators_.find(a);
    return it == accumulators_.end() ? a : it->second;
  }

  void rename(Compute& c) {
    for (ValueId& v : c.args)
      if (v != no_id) v = value(v);
    fresh(c.result);
  }
  void rename(Load& l) { fresh(l.result); }
  void rename(Store& s) { s.value = value(s.value); }
  void rename(IndexValue& i) { fresh(i.result); }
  void rename(Test& t) { fresh(t.result); }
  void rename(Derive& d) {
    Index index = kernel_.indices[d.index];
    moved(index.of);
    if (index.value != no_id) index.value = value(index.value);
    kernel_.indices.push_back(index);
    auto now = static_cast<IndexId>(kernel_.indices.size() - 1);
    indices_[d.index] = now;
    d.index = now;
  }
  void rename(Declare& d) {
    d.init = value(d.init);
    kernel_.accumulators.push_back(kernel_.accumulators[d.acc]);
    auto now = static_cast<AccId>(kernel_.accumulators.size() - 1);
    accumulators_[d.acc] = now;
    d.acc = now;
  }
  void rename(Accumulate& a) { a.acc = accumulator(a.acc), a.value = value(a.value); }
  void rename(Set& s) { s.acc = accumulator(s.acc), s.value = value(s.value); }
  void rename(Get& g) {
    g.acc = accumulator(g.acc);
    fresh(g.result);
  }
  void rename(Loop&) {}
  void rename(Contract&) {}

  Kernel& kernel_;
  const Loop& old_;
  int64_t begin_, end_;
  Loop part_;
  std::unordered_map<ValueId, ValueId> values_;
  std::unordered_map<IndexId, IndexId> indices_;
  std::unordered_map<AccId, AccId> accumulators_;
};

void split_in(Kernel& kernel, Block& block) {
  for (size_t at = 0; at < block.size(); ++at) {
    for_each_block(block[at], [&](Block& inner) { split_in(kernel, inner); });
    const Loop* loop = block[at].as<Loop>();
    if (!loop) continue;
    std::vector<int64_t> points = split_points(kernel, *loop);
    if (points.empty()) continue;
    Loop whole = std::move(*block[at].as<Loop>());
    Block parts;
    int64_t begin = 0;
    points.push_back(whole.extent);
    for (int64_t end : points) {
      parts.push_back({LoopPart(kernel, whole, begin, end).run()});
      begin = end;
    }
    block.erase(block.begin() + static_cast<std::ptrdiff_t>(at));
    block.insert(block.begin() + static_cast<std::ptrdiff_t>(at), std::make_move_iterator(parts.begin()), std::make_move_iterator(parts.end()));
    at += parts.size() - 1;
  }
}

}  // namespace

void split_loops(Kernel& kernel) { split_in(kernel, kernel.body); }

}  // namespace hloc::loops
