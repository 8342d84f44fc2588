// The bits of elements under another element type.
#pragma once

#include <cstddef>
#include <cstdint>

#include "include/hloc/tensor.h"

namespace hloc::ir::eval {

// `bits_total` bits of dense elements `from` as elements `to`: a wide element is its narrow ones, lowest bits first.
void reinterpret_elements(const std::byte* in, ElementType from, std::byte* out, ElementType to, int64_t bits_total);

}  // namespace hloc::ir::eval
