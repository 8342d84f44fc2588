// Offsets in the arena. Finding the least arena is NP-hard; two greedy ways are tried and the smaller result is taken:
// in order of time with a list of free stretches (n log n, for any size), and the largest cells first into the tightest
// gap between those that are alive at the same time (n², so only for programs of modest size).
#include <algorithm>
#include <map>
#include <set>

#include "ir/support/source.h"
#include "passes/buffers/cells.h"

namespace hloc::passes {
namespace {

constexpr size_t most_cells_by_size = 1024;
constexpr int64_t most_bytes = int64_t{1} << 47;

struct ArenaItem {
  CellId cell = 0;
  int64_t bytes = 0;
  int64_t rounded = 0;    // up to the arena's alignment
  int64_t alignment = 1;
  const std::vector<LiveRange>* ranges = nullptr;
  int64_t offset = 0;

  uint32_t begin() const { return ranges->front().begin; }
  uint32_t end() const { return ranges->back().end; }
};

// Free stretches below `top`, by place and by size; neighbours are always melted.
class FreeStretches {
 public:
  int64_t take(int64_t bytes) {
    auto fit = by_size_.lower_bound({bytes, 0});
    if (fit == by_size_.end()) {
      int64_t at = top_;
      if (!by_place_.empty() && by_place_.rbegin()->first + by_place_.rbegin()->second == top_) {
        at = by_place_.rbegin()->first;
        erase(std::prev(by_place_.end()));
      }
      top_ = at + bytes;
      return at;
    }
    auto [size, at] = *fit;
    erase(by_place_.find(at));
    if (size > bytes) insert(at + bytes, size - bytes);
    return at;
  }

  void give(int64_t at, int64_t bytes) {
    auto next = by_place_.lower_bound(at);
    if (next != by_place_.end() && next->first == at + bytes) {
      bytes += next->second;
      next = erase(next);
    }
    if (next != by_place_.begin())
      if (auto before = std::prev(next); before->first + before->second == at) {
        at = before->first;
        bytes += before->second;
        erase(before);
      }
    insert(at, bytes);
  }

 private:
  using Places = std::map<int64_t, int64_t>;
  void insert(int64_t at, int64_t bytes) {
    by_place_[at] = bytes;
    by_size_.insert({bytes, at});
  }
  Places::iterator erase(Places::iterator it) {
    by_size_.erase({it->second, it->first});
    return by_place_.erase(it);
  }

  Places by_place_;
  std::set<std::pair<int64_t, int64_t>> by_size_;
  int64_t top_ = 0;
};

int64_t place_by_time(std::vector<ArenaItem>& items) {
  std::vector<ArenaItem*> by_begin, by_end;
  for (ArenaItem& item : items) by_begin.push_back(&item), by_end.push_back(&item);
  std::stable_sort(by_begin.begin(), by_begin.end(), [](auto* a, auto* b) {
    return std::pair(a->begin(), -a->rounded) < std::pair(b->begin(), -b->rounded);
  });
  std::stable_sort(by_end.begin(), by_end.end(), [](auto* a, auto* b) { return a->end() < b->end(); });
  FreeStretches free;
  size_t ended = 0;
  int64_t top = 0;
  for (ArenaItem* item : by_begin) {
    for (; by_end[ended]->end() < item->begin(); ++ended) free.give(by_end[ended]->offset, by_end[ended]->rounded);
    item->offset = free.take(item->rounded);
    top = std::max(top, item->offset + item->bytes);
  }
  return top;
}

bool alive_together(const ArenaItem& a, const ArenaItem& b) {
  if (a.end() < b.begin() || b.end() < a.begin()) return false;
  auto x = a.ranges->begin(), y = b.ranges->begin();
  while (x != a.ranges->end() && y != b.ranges->end()) {
    if (x->end < y->begin) ++x;
    else if (y->end < x->begin) ++y;
    else return true;
  }
  return false;
}

int64_t place_by_size(std::vector<ArenaItem>& items) {
  std::stable_sort(items.begin(), items.end(), [](const ArenaItem& a, const ArenaItem& b) { return a.bytes > b.bytes; });
  std::vector<const ArenaItem*> placed;  // by offset
  int64_t top = 0;
  for (ArenaItem& item : items) {
    int64_t best = -1, best_gap = INT64_MAX, free_from = 0;
    for (const ArenaItem* other : placed) {
      if (!alive_together(item, *other)) continue;
      int64_t gap = other->offset - free_from;
      if (gap >= item.bytes && gap < best_gap) best = free_from, best_gap = gap;
      int64_t end = (other->offset + other->bytes + item.alignment - 1) / item.alignment * item.alignment;
      free_from = std::max(free_from, end);
    }
    item.offset = best >= 0 ? best : free_from;
    top = std::max(top, item.offset + item.bytes);
    auto at = std::upper_bound(placed.begin(), placed.end(), item.offset,
                               [](int64_t offset, const ArenaItem* other) { return offset < other->offset; });
    placed.insert(at, &item);
  }
  return top;
}

int64_t most_alive(const Cells& cells, const std::vector<CellId>& used) {
  std::vector<std::pair<uint64_t, int64_t>> changes;  // (position, what begins before what ends), bytes
  for (CellId c : used)
    for (const LiveRange& r : cells.at(c).ranges) {
      changes.emplace_back(uint64_t{r.begin} * 2, cells.at(c).bytes);
      changes.emplace_back(uint64_t{r.end} * 2 + 1, -cells.at(c).bytes);
    }
  std::sort(changes.begin(), changes.end());
  int64_t now = 0, most = 0;
  for (auto [position, bytes] : changes) most = std::max(most, now += bytes);
  return most;
}

}  // namespace

Result<ArenaLayout> lay_out_arena(const Cells& cells, const std::vector<CellId>& used, int64_t alignment) {
  ArenaLayout layout;
  layout.offsets.assign(cells.size(), 0);
  std::vector<ArenaItem> items;
  int64_t sum = 0;
  for (CellId c : used) {
    const Cell& cell = cells.at(c);
    if (cell.bytes == 0) continue;
    int64_t rounded = (cell.bytes + alignment - 1) / alignment * alignment;
    if (__builtin_add_overflow(sum, rounded, &sum) || sum > most_bytes * 1024)
      return error(ErrorKind::memory, "the intermediate values need more bytes than a machine can address; use smaller dimensions");
    items.push_back({c, cell.bytes, rounded, alignment_of(cell.bytes, alignment), &cell.ranges, 0});
  }
  layout.lower_bound = most_alive(cells, used);
  layout.bytes = place_by_time(items);
  for (const ArenaItem& item : items) layout.offsets[item.cell] = item.offset;
  if (items.size() <= most_cells_by_size && layout.bytes > layout.lower_bound)
    if (int64_t bytes = place_by_size(items); bytes < layout.bytes) {
      layout.bytes = bytes;
      for (const ArenaItem& item : items) layout.offsets[item.cell] = item.offset;
    }
  if (layout.bytes > most_bytes)
    return error(ErrorKind::memory, "the intermediate values need more bytes than a machine can address; use smaller dimensions");
  return layout;
}

}  // namespace hloc::passes
