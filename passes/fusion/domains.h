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
  std::vector<int64_t> shifts; // by dimension: what slices, padding and concatenation add to the position; empty: nothing
  uint64_t warp = 0;           // of anything else that moves positions: a hash
  double share = 1;            // of the loops' iterations: a part of a concatenation is made where the loops are in it
  bool exact = false;          // the root's index itself
  bool at_output = false;      // as `exact`, up to dimensions of size 1: one element for each of the root's
  bool contracted = false;     // an operand of a dot
  bool closed = false;         // an operand that must be read from memory
  uint32_t stage = 0;          // how many rounds over the group's inner loops must follow: see GroupLoops

  int64_t shift(size_t dim) const { return shifts.empty() ? 0 : shifts[dim]; }
  // Whether both are in the same loops, of whatever stage, perhaps moved against each other …
  bool same_loops(const Domain& other) const;
  // … and whether they are one place there.
  bool same_place(const Domain& other) const;
};

// What an op does to the index of its result to get that of an operand.
enum class IndexRole : uint8_t {
  elementwise,  // nothing
  map,          // broadcast, transpose, slice, reverse, pad, concatenate, dynamic-slice
  reshape,
  leaf,         // iota: no operands
  reduce,
  contract,     // dot
  gather,
  update,       // dynamic-update-slice
  opaque,       // anything else: operands are read from memory
};
IndexRole index_role(ir::Value v);

// A reshape whose result index gives the operand's without division: for each operand dimension the result dimensions
// that make it up, in order. Nothing when a dimension would have to be taken apart.
std::optional<std::vector<std::vector<int64_t>>> merged_dimensions(ir::Type result, ir::Type operand);
// Whether the two differ in dimensions of size 1 only.
bool same_but_ones(ir::Type a, ir::Type b);

// The loops of a group, a tree: those of the root's dimensions lie one inside the other, a reduction adds loops inside
// the innermost one that its result's position depends on. Loops at one place over as many elements are one loop, unless
// one needs what the other has made: the sum of a row's exponentials starts when its maximum is known. So loops have a
// stage, the later ones the lower number: 0 for the root's own.
class GroupLoops {
 public:
  explicit GroupLoops(ir::Type root);
  // The loop inside `parent` (Domain::no_loop: inside none) that the n-th dimension of something of this stage runs over.
  int32_t inside(int32_t parent, uint32_t stage, size_t n, int64_t extent);
  // Of two loops that lie one inside the other, or no_loop, the inner one.
  int32_t inner_of(int32_t a, int32_t b) const { return depth(a) >= depth(b) ? a : b; }
  int32_t innermost(const Domain& domain) const;
  // The loops around the loop and itself, outermost first.
  std::vector<int32_t> path(int32_t loop) const;
  double iterations(int32_t loop) const { return loop < 0 ? 1.0 : loops_[static_cast<size_t>(loop)].iterations; }
  double evaluations(const Domain& domain) const { return iterations(innermost(domain)) * domain.share; }
  double root_iterations() const { return root_iterations_; }
  // Takes over another group's loops, over the same root; by their numbers there, the numbers here.
  std::vector<int32_t> absorb(const GroupLoops& other);
  // How many of the iterations around a domain are the root's own: those may be dealt out to threads.
  double rows_around(const Domain& domain) const;

 private:
  struct Loop {
    int32_t parent = Domain::no_loop;
    uint32_t stage = 0;
    size_t n = 0;
    int64_t extent = 0;
    int32_t depth = 0;
    double iterations = 1;
  };
  int32_t depth(int32_t loop) const { return loop < 0 ? -1 : loops_[static_cast<size_t>(loop)].depth; }

  std::vector<Loop> loops_;
  double root_iterations_ = 1;
};

// The domain of operand `position` of `user`, which is computed at `at`; nothing when it is `at` itself. A reduction's
// operand adds loops.
std::optional<Domain> operand_domain(ir::Value user, size_t position, const Domain& at, GroupLoops& loops);

}  // namespace hloc::passes
