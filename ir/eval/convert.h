// The bits of elements under another element type.
#pragma once

#include <cstddef>
#include <cstdint>

#include "include/hloc/tensor.h"

namespace hloc::ir::eval {

// Elements of `from_bits` bits each under another type with elements of `to_bits`: a wide element is its narrow ones, lowest
// bits first. There are `bits_total` bits in all.
struct BitCast {
  ElementType from, to;
  int from_bits, to_bits;
  int64_t bits_total;
};
void reinterpret_elements(const BitCast& cast, const std::byte* in, std::byte* out);

}  // namespace hloc::ir::eval
