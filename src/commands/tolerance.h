// When two elements count as equal.
#pragma once

#include "include/hloc/tensor.h"

namespace hloc::cli {

struct Tolerance {
  double relative = 0, absolute = 0;
};

// The same bits, or both NaN; a complex number part by part.
bool identical(ElementType type, const std::byte* a, const std::byte* b);

// |got - want| <= absolute + relative * |want|, or the same bits, both NaN, or the same infinity. Complex: absolute values.
bool close_enough(const Tolerance& t, ElementType type, const std::byte* got, const std::byte* want);

}  // namespace hloc::cli
