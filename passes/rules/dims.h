// Arithmetic on lists of dimensions, for rules that move shapes.
#pragma once

#include <algorithm>

#include "passes/rewrite/algebra.h"

namespace hloc::passes::rules {

inline const ir::Ints& dims_of(ir::Value v) { return v->as<ir::DimsAttr>().dims; }
inline const ir::Ints& broadcast_dims(ir::Value v) { return v->as<ir::BroadcastAttr>().dims; }

inline bool contains(const ir::Ints& list, int64_t item) { return std::ranges::find(list, item) != list.end(); }
inline int64_t position(const ir::Ints& list, int64_t item) { return std::ranges::find(list, item) - list.begin(); }

// inner[outer[i]] for each i.
inline ir::Ints pick(const ir::Ints& inner, const ir::Ints& outer) {
  ir::Ints out;
  for (int64_t i : outer) out.push_back(inner[static_cast<size_t>(i)]);
  return out;
}
inline ir::Ints inverse_permutation(const ir::Ints& p_dims) {
  ir::Ints out(p_dims.size());
  for (size_t i = 0; i < p_dims.size(); ++i) out[static_cast<size_t>(p_dims[i])] = static_cast<int64_t>(i);
  return out;
}
inline bool is_counting(const ir::Ints& list) {
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i] != static_cast<int64_t>(i)) return false;
  return true;
}

inline ir::Type array_like(const Match& m, ir::Type like, std::span<const int64_t> sizes) {
  return m.context.array(like.element(), sizes);
}

}  // namespace hloc::passes::rules
