// Rules of contractions: transposes around a dot are only other dimension numbers.
#pragma once

#include "passes/rules/dims.h"

namespace hloc::passes::rules {

// Dimensions of an operand of `rank` that are neither contracted nor batch, in order.
inline ir::Ints free_dims(int64_t rank, const ir::Ints& contracting, const ir::Ints& batch) {
  ir::Ints out;
  for (int64_t d = 0; d < rank; ++d)
    if (!contains(contracting, d) && !contains(batch, d)) out.push_back(d);
  return out;
}

// Dimension i of transpose(x, p) is p[i] of x. The result lists free dimensions in x's order, so that must not change.
inline bool free_dims_stay(ir::Value transpose, const ir::Ints& contracting, const ir::Ints& batch) {
  const ir::Ints& dims = dims_of(transpose);
  return std::ranges::is_sorted(pick(dims, free_dims(transpose->type.rank(), contracting, batch)));
}
inline bool left_stays(const Match& m) {
  const auto& attr = m[q]->as<ir::DotAttr>();
  return free_dims_stay(m[p], attr.lhs_contracting, attr.lhs_batch);
}
inline bool right_stays(const Match& m) {
  const auto& attr = m[q]->as<ir::DotAttr>();
  return free_dims_stay(m[p], attr.rhs_contracting, attr.rhs_batch);
}
inline std::optional<ir::Attr> left_renumbered(const Match&, ir::Value transpose, ir::Value dot) {
  ir::DotAttr attr = dot->as<ir::DotAttr>();
  attr.lhs_contracting = pick(dims_of(transpose), attr.lhs_contracting);
  attr.lhs_batch = pick(dims_of(transpose), attr.lhs_batch);
  return attr;
}
inline std::optional<ir::Attr> right_renumbered(const Match&, ir::Value transpose, ir::Value dot) {
  ir::DotAttr attr = dot->as<ir::DotAttr>();
  attr.rhs_contracting = pick(dims_of(transpose), attr.rhs_contracting);
  attr.rhs_batch = pick(dims_of(transpose), attr.rhs_batch);
  return attr;
}

// transpose(dot(x, y)) that brings the dimensions of y before those of x is dot(y, x).
inline bool swaps_sides(const Match& m) {
  const auto& attr = m[q]->as<ir::DotAttr>();
  int64_t batch = static_cast<int64_t>(attr.lhs_batch.size());
  int64_t left = m[x]->type.rank() - batch - static_cast<int64_t>(attr.lhs_contracting.size());
  int64_t right = m[y]->type.rank() - batch - static_cast<int64_t>(attr.rhs_contracting.size());
  ir::Ints swapped;
  for (int64_t i = 0; i < batch; ++i) swapped.push_back(i);
  for (int64_t i = 0; i < right; ++i) swapped.push_back(batch + left + i);
  for (int64_t i = 0; i < left; ++i) swapped.push_back(batch + i);
  return left > 0 && right > 0 && dims_of(m[p]) == swapped && attr.algorithm == ir::DotAlgorithm::unset;
}
inline std::optional<ir::Attr> sides_swapped(const Match&, ir::Value dot, ir::Value) {
  ir::DotAttr attr = dot->as<ir::DotAttr>();
  std::swap(attr.lhs_contracting, attr.rhs_contracting);
  std::swap(attr.lhs_batch, attr.rhs_batch);
  if (attr.precision.size() == 2) std::swap(attr.precision[0], attr.precision[1]);
  return attr;
}

ir::Value sample_swapped_dot(Sampler& s);

inline constexpr Rule contraction[] = {
    {"dot-transpose-left", dot(transpose(x, p), y, q), dot(x, y, computed("renumber", left_renumbered, p, q)),
     Condition{"p keeps the order of free dimensions", left_stays}},
    {"dot-transpose-right", dot(x, transpose(y, p), q), dot(x, y, computed("renumber", right_renumbered, p, q)),
     Condition{"p keeps the order of free dimensions", right_stays}},
    {"transpose-dot", transpose(dot(x, y, q), p), dot(y, x, computed("swap", sides_swapped, q)),
     Condition{"p brings y's dimensions before x's", swaps_sides}, sample_swapped_dot},
};

}  // namespace hloc::passes::rules
