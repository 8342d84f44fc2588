// The leaves of every value of a computation, seen through whatever only renames, gathers or orders them: get-tuple-
// element of a tuple is the very leaf that was put in, and a loop's result is the very leaf that went in where the body
// hands it on. A distinct leaf is a `source`: it has one defining instruction.
#pragma once

#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"

namespace hloc::passes {

// Leaf counts of types, remembered per interned type.
class LeafCounts {
 public:
  uint32_t count(ir::Type type) { return starts(type).back(); }
  // Position of the first leaf of each element; the last entry is the count. For a leaf: {0, 1}.
  const std::vector<uint32_t>& starts(ir::Type type);

 private:
  std::unordered_map<const ir::TypeNode*, std::vector<uint32_t>> starts_;
};

struct LeafSource {
  ir::Value definer = nullptr;
  uint32_t leaf = 0;  // of the definer's type, depth first
  ir::Type type;
};

class LeafTable;

class Leaves {
 public:
  Leaves(const ir::Computation& computation, LeafTable& table);

  // The source of each leaf of v, depth first: indices into `sources`.
  std::span<const uint32_t> of(ir::Value v) const {
    return std::span(flat_).subspan(ranges_[v->id].first, ranges_[v->id].second);
  }
  const std::vector<LeafSource>& sources() const { return sources_; }

 private:
  uint32_t new_source(ir::Value v, uint32_t leaf, ir::Type type);
  void define(ir::Value v);
  void gather(ir::Value v);
  void pass_through(ir::Value loop, const Leaves& body, const ir::Computation& body_computation);

  std::vector<LeafSource> sources_;
  std::vector<uint32_t> flat_;
  std::vector<std::pair<uint32_t, uint32_t>> ranges_;  // start in flat_, count
};

// The leaves of computations, each worked out once.
class LeafTable {
 public:
  const Leaves& of(const ir::Computation& computation);
  LeafCounts& counts() { return counts_; }

 private:
  LeafCounts counts_;
  std::unordered_map<const ir::Computation*, std::unique_ptr<Leaves>> leaves_;
};

}  // namespace hloc::passes
