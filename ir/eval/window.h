// Windows over an array: reduce-window, select-and-scatter and convolution.
#pragma once

#include "ir/attr.h"

namespace hloc::ir::eval {

// Where position `k` of the window of result element `o` falls in a dimension of `size` elements; -1: in the padding or
// between dilated elements.
inline int64_t window_position(const WindowDim& w, int64_t o, int64_t k, int64_t size) {
  int64_t at = o * w.stride + (w.reversal ? w.size - 1 - k : k) * w.rhs_dilate - w.pad_low;
  if (at < 0 || at % w.lhs_dilate != 0) return -1;
  at /= w.lhs_dilate;
  return at < size ? at : -1;
}

inline Ints window_sizes_of(const Window& window) {
  Ints sizes;
  for (const WindowDim& w : window) sizes.push_back(w.size);
  return sizes;
}

}  // namespace hloc::ir::eval
