#include "backends/host/literals.h"

namespace hloc::host {

// Recursion is over tuple nesting, which readers bound.
ir::Literal literal_from_buffers(ir::Type type, std::span<const std::byte* const> buffers, size_t& next) {
  if (type.is_tuple()) {
    std::vector<ir::Literal> parts;
    for (size_t i = 0; i < type.tuple_size(); ++i)
      parts.push_back(literal_from_buffers(type.element_type(i), buffers, next));
    return ir::Literal::tuple(type, std::move(parts));
  }
  if (!type.is_array()) return ir::Literal::token(type);
  ir::Literal out = ir::Literal::uninitialized(type);
  if (out.size() != 0) std::memcpy(out.mutable_bytes().data(), buffers[next], out.size());
  ++next;
  return out;
}

void literal_to_buffers(const ir::Literal& value, std::span<std::byte* const> buffers, size_t& next) {
  if (value.is_tuple()) {
    for (const ir::Literal& part : value.parts()) literal_to_buffers(part, buffers, next);
    return;
  }
  if (!value.type().is_array()) return;
  if (value.size() != 0) std::memcpy(buffers[next], value.bytes().data(), value.size());
  ++next;
}

}  // namespace hloc::host
