#include "ir/row_buffer.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hloc::ir {
namespace {

constexpr std::string_view row_buffer_key = "hloc_row_buffer";

const FrontendAttribute* find_row_buffer(Value v) {
  if (!v->extras) return nullptr;
  auto it = std::ranges::find(v->extras->frontend_attributes, row_buffer_key, &FrontendAttribute::key);
  return it == v->extras->frontend_attributes.end() ? nullptr : &*it;
}

}  // namespace

bool has_row_buffer_attribute(Value v) { return find_row_buffer(v) != nullptr; }

std::optional<Ints> row_buffer_dims(Value v) {
  const FrontendAttribute* attribute = find_row_buffer(v);
  if (!attribute || !v->type.is_array()) return std::nullopt;
  Ints dims;
  const char *at = attribute->value.data(), *end = at + attribute->value.size();
  while (at != end) {
    int64_t dim = -1;
    auto [next, error] = std::from_chars(at, end, dim);
    if (error != std::errc() || dim < 0 || dim >= v->type.rank()) return std::nullopt;
    dims.push_back(dim);
    if (next != end && *next != ',') return std::nullopt;
    at = next == end ? end : next + 1;
  }
  return dims;
}

Extras without_row_buffer(Value v) {
  Extras extras = v->extras ? *v->extras : Extras{};
  extras.control_predecessors.clear();
  std::erase_if(extras.frontend_attributes, [](const FrontendAttribute& a) { return a.key == row_buffer_key; });
  return extras;
}

Extras with_row_buffer(Value v, const Ints& row_dims) {
  Extras extras = without_row_buffer(v);
  extras.frontend_attributes.push_back({std::string(row_buffer_key), fmt::format("{}", fmt::join(row_dims, ",")), false});
  return extras;
}

}  // namespace hloc::ir
