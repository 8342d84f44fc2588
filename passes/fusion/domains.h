// Domains: where in a group's loops a value is computed. See groups.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace hloc::passes {

using DomainId = uint32_t;

struct Domain {
  static constexpr int32_t no_loop = -1;
  uint32_t group = 0;
  std::vector<int32_t> loops;  // by dimension of the value: the innermost loop that its position depends on
  bool exact = false;          // the root's index itself
  bool at_output = false;      // as `exact`, up to dimensions of size 1: one element for each of the root's
  bool contracted = false;     // an operand of a dot
  bool closed = false;         // an operand that must be read from memory
};

// What an op does to the index of its result to get that of an operand.
enum class IndexRole : uint8_t {
  elementwise,  // nothing
  map,          // broadcast, transpose, slice, reverse, pad, concatenate, dynamic-slice
  reshape,
  leaf,         // iota: no operands
  reduce,
  contract,     // dot
  update,       // dynamic-update-slice
  opaque,       // anything else: operands are read from memory
};
IndexRole index_role(ir::Value v);

// A reshape whose result index gives the operand's without division: for each operand dimension the result dimensions
// that make it up, in order. Nothing when a dimension would have to be taken apart.
std::optional<std::vector<std::vector<int64_t>>> merged_dimensions(ir::Type result, ir::Type operand);
// Whether the two differ in dimensions of size 1 only.
bool same_but_ones(ir::Type a, ir::Type b);

// The loops of a group, outermost first: how many iterations run down to each.
class GroupLoops {
 public:
  explicit GroupLoops(ir::Type root);
  // The loop for the n-th dimension that the group's reduction goes over; inside all others.
  int32_t reduced(size_t n, int64_t extent);
  double evaluations(const Domain& domain) const;

 private:
  int32_t add(int64_t extent);

  std::vector<double> iterations_;
  size_t root_loops_ = 0;
};

// The domain of operand `position` of `user`, which is computed at `at`; nothing when it is `at` itself. A reduction's
// operand adds loops.
std::optional<Domain> operand_domain(ir::Value user, size_t position, const Domain& at, GroupLoops& loops);

}  // namespace hloc::passes
