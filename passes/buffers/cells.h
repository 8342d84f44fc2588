// Memory cells: which values share one piece of memory. Starting from a cell for each value, the two ends of a move are
// put into one cell where their live ranges don't meet, so that the copy between them goes away.
#pragma once

#include <algorithm>
#include <bit>
#include <unordered_set>
#include <vector>

#include "passes/buffers/tree.h"

namespace hloc::passes {

using CellId = uint32_t;

struct Cell {
  int64_t bytes = 0;
  Home home = Home::free;
  uint32_t index = 0;             // as in PlanValue
  std::vector<LiveRange> ranges;  // in order, apart from one another
};

class Cells {
 public:
  explicit Cells(const Draft& draft);

  // Joins values by moves (inner loops first) and by kernels that may write over an input.
  void coalesce();

  CellId of(ValueId v) const;
  const Cell& at(CellId c) const { return cells_[c]; }
  size_t size() const { return cells_.size(); }

  // A cell for bytes that are written and read at one position.
  CellId add_scratch(int64_t bytes, uint32_t position);

  // The cell keeps its memory to itself from `begin` to `end`.
  void keep(CellId c, uint32_t begin, uint32_t end);

 private:
  bool may_join(const Cell& a, const Cell& b) const;
  bool may_meet(const LiveRange& earlier, const LiveRange& later) const;
  bool apart(const Cell& few, const Cell& many) const;
  bool try_join(ValueId a, ValueId b);
  void join(CellId a, CellId b);

  const Draft& draft_;
  std::vector<Cell> cells_;
  mutable std::vector<CellId> parent_;       // union-find; by value id, then scratch cells
  std::unordered_set<uint64_t> continued_;   // (from, to): `to` may take over the memory in the very step that reads `from` last
};

// What the offset of so many bytes in the arena is a multiple of: small buffers need less than a vector's or a line's alignment.
inline int64_t alignment_of(int64_t bytes, int64_t most) {
  return std::min<int64_t>(most, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::clamp<int64_t>(bytes, 1, most)))));
}

// Where each cell stands in the arena.
struct ArenaLayout {
  std::vector<int64_t> offsets;  // by cell; 0 for cells that live elsewhere
  int64_t bytes = 0;
  int64_t lower_bound = 0;       // most bytes that are alive at one position
};

// `used`: the cells to place, each once. Error: the sum is beyond what a machine can address.
Result<ArenaLayout> lay_out_arena(const Cells& cells, const std::vector<CellId>& used, int64_t alignment);

}  // namespace hloc::passes
