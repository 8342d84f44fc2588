#include "passes/buffers/cells.h"

#include <algorithm>
#include <numeric>

namespace hloc::passes {
namespace {

uint64_t pair_key(ValueId from, ValueId to) { return uint64_t{from} << 32 | to; }

// Sorts ranges and melts those that meet. Ranges at neighbouring positions stay apart: a value that takes over at the end
// of one and is taken over at the beginning of the other fits between them.
void melt(std::vector<LiveRange>& ranges) {
  auto before = [](const LiveRange& a, const LiveRange& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); };
  if (!std::is_sorted(ranges.begin(), ranges.end(), before)) std::stable_sort(ranges.begin(), ranges.end(), before);
  size_t kept = 0;
  for (const LiveRange& r : ranges) {
    if (kept > 0 && r.begin <= ranges[kept - 1].end) {
      LiveRange& last = ranges[kept - 1];
      if (r.end >= last.end) last.end = r.end, last.last_value = r.last_value;
    } else {
      ranges[kept++] = r;
    }
  }
  ranges.resize(kept);
}

}  // namespace

Cells::Cells(const Draft& draft) : draft_(draft), cells_(draft.values.size()), parent_(draft.values.size()) {
  std::iota(parent_.begin(), parent_.end(), 0);
  for (ValueId v = 0; v < draft.values.size(); ++v) {
    const PlanValue& value = draft.values[v];
    cells_[v].bytes = value.type.byte_size();
    cells_[v].home = value.home;
    cells_[v].index = value.index;
    cells_[v].ranges = {{value.first, value.last, v, v}};
  }
  for (const LiveRange& r : draft.more) cells_[r.first_value].ranges.push_back(r);
  // Where the caller may give one memory for a parameter and a result, the result's holds the parameter until that is
  // read for the last time.
  for (const plan::Alias& alias : draft.aliases) {
    ValueId p = draft.parameters[alias.parameter];
    cells_[draft.results[alias.result]].ranges.push_back({0, draft.values[p].last, p, p});
  }
  for (Cell& cell : cells_) melt(cell.ranges);
  for (auto [a, b] : draft.same) join(of(a), of(b));
  for (const Move& m : draft.moves) continued_.insert(pair_key(m.from, m.to));
  for (auto [from, to] : draft.in_place) continued_.insert(pair_key(from, to));
}

CellId Cells::of(ValueId v) const {
  while (parent_[v] != v) v = parent_[v] = parent_[parent_[v]];
  return v;
}

CellId Cells::add_scratch(int64_t bytes, uint32_t position) {
  auto id = static_cast<CellId>(cells_.size());
  cells_.push_back({bytes, Home::free, 0, {{position, position, no_value, no_value}}});
  parent_.push_back(id);
  return id;
}

void Cells::keep(CellId c, uint32_t begin, uint32_t end) {
  cells_[c].ranges.push_back({begin, end, no_value, no_value});
  melt(cells_[c].ranges);
}

bool Cells::may_join(const Cell& a, const Cell& b) const {
  auto fixed = [](const Cell& c) { return c.home == Home::parameter || c.home == Home::constant; };
  if (fixed(a) || fixed(b) || a.bytes != b.bytes) return false;
  return a.home == Home::free || b.home == Home::free;
}

bool Cells::may_meet(const LiveRange& earlier, const LiveRange& later) const {
  return continued_.contains(pair_key(earlier.last_value, later.first_value));
}

bool Cells::apart(const Cell& few, const Cell& many) const {
  for (const LiveRange& r : few.ranges) {
    auto it = std::lower_bound(many.ranges.begin(), many.ranges.end(), r.begin,
                               [](const LiveRange& m, uint32_t begin) { return m.end < begin; });
    for (; it != many.ranges.end() && it->begin <= r.end; ++it) {
      bool meets = (r.end == it->begin && may_meet(r, *it)) || (it->end == r.begin && may_meet(*it, r));
      if (!meets) return false;
    }
  }
  return true;
}

void Cells::join(CellId a, CellId b) {
  if (a == b) return;
  if (cells_[a].ranges.size() < cells_[b].ranges.size()) std::swap(a, b);
  Cell &into = cells_[a], &from = cells_[b];
  parent_[b] = a;
  if (from.home != Home::free) into.home = from.home, into.index = from.index;
  into.ranges.insert(into.ranges.end(), from.ranges.begin(), from.ranges.end());
  melt(into.ranges);
  std::vector<LiveRange>().swap(from.ranges);
}

bool Cells::try_join(ValueId v, ValueId w) {
  CellId a = of(v), b = of(w);
  if (a == b) return true;
  if (!may_join(cells_[a], cells_[b])) return false;
  bool a_is_less = cells_[a].ranges.size() <= cells_[b].ranges.size();
  if (!apart(cells_[a_is_less ? a : b], cells_[a_is_less ? b : a])) return false;
  join(a, b);
  return true;
}

void Cells::coalesce() {
  std::vector<const Move*> order;
  order.reserve(draft_.moves.size());
  for (const Move& m : draft_.moves) order.push_back(&m);
  std::stable_sort(order.begin(), order.end(), [](const Move* a, const Move* b) { return a->depth > b->depth; });
  for (const Move* m : order) try_join(m->from, m->to);
  for (auto [from, to] : draft_.in_place) try_join(from, to);
}

}  // namespace hloc::passes
