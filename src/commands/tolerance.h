// When two elements or arrays count as equal.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "include/hloc/tensor.h"

namespace hloc::cli {

struct Tolerance {
  double relative = 0, absolute = 0;
};

// The same bits, or both NaN; a complex number part by part.
bool identical(ElementType type, const std::byte* a, const std::byte* b);

// |got - want| <= absolute + relative * |want|, or the same bits, both NaN, or the same infinity. Complex: absolute values.
bool close_enough(const Tolerance& t, ElementType type, const std::byte* got, const std::byte* want);

// What may differ between an array and the expected one.
struct Allowed {
  Tolerance tolerance;
  double mismatch_fraction = 0;  // share of elements that may be wrong
  int64_t every = 1;             // `want` holds the flat elements 0, every, 2 · every, … of the shape
};

// Nothing when all is right; else the first wrong element of array `k` as text, with ulps and how many there are.
std::optional<std::string> first_difference(size_t k, const Shape& shape, std::span<const std::byte> got, std::span<const std::byte> want,
                                            const Allowed& allowed);

// What the order of sums and the errors of math functions may do to an array of moderate numbers: absolute errors in
// proportion to its largest finite number, by the type's digits. Integers: nothing.
Tolerance usual_tolerance(const Shape& shape, std::span<const std::byte> want);

}  // namespace hloc::cli
