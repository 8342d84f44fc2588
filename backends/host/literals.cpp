#include "backends/host/literals.h"

#include <cstring>

namespace hloc::host {

ir::Literal literal_from_buffers(ir::Type type, std::span<const std::byte* const> buffers, size_t& next) {
  return ir::build_up<ir::Literal>(type, [&](ir::Type leaf) {
    if (!leaf.is_array()) return ir::Literal::token(leaf);
    ir::Literal out = ir::Literal::uninitialized(leaf);
    if (out.size() != 0) std::memcpy(out.mutable_bytes().data(), buffers[next], out.size());
    ++next;
    return out;
  }, ir::Literal::tuple);
}

void literal_to_buffers(const ir::Literal& value, std::span<std::byte* const> buffers, size_t& next) {
  for (const ir::Literal* leaf : ir::leaves(value)) {
    if (!leaf->type().is_array()) continue;
    if (leaf->size() != 0) std::memcpy(buffers[next], leaf->bytes().data(), leaf->size());
    ++next;
  }
}

}  // namespace hloc::host
