// Buffers to literals and back: tuples are flattened depth first, tokens take no buffer.
#pragma once

#include <span>

#include "ir/literal.h"
#include "ir/type.h"

namespace hloc::host {

// A literal of `type` whose array leaves are copies of the buffers from `next` on; `next` moves past them.
ir::Literal literal_from_buffers(ir::Type type, std::span<const std::byte* const> buffers, size_t& next);

// Copies the array leaves of `value` into the buffers from `next` on.
void literal_to_buffers(const ir::Literal& value, std::span<std::byte* const> buffers, size_t& next);

}  // namespace hloc::host
