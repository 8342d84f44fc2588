#include "src/signature.h"

#include <fmt/format.h>

#include "ir/print/print.h"
#include "ir/support/source.h"

namespace hloc {

Result<std::vector<Shape>> leaf_shapes(std::span<const ir::Type> types, std::string_view what) {
  std::vector<Shape> out;
  for (ir::Type type : types) {
    for (ir::Type leaf : ir::leaves(type)) {
      if (leaf.is_token()) continue;
      if (!leaf.is_array())
        return error(ErrorKind::target, fmt::format("a {} of type {} can't be passed", what, ir::to_string(leaf)));
      if (!leaf.is_static())
        return error(ErrorKind::target, fmt::format("{} {} has a dynamic shape, {}: fix its sizes to run it", what, out.size(),
                                                    ir::to_string(leaf)));
      if (leaf.count() > INT64_MAX / 16)
        return error(ErrorKind::memory, fmt::format("{} {} is too large: {}", what, out.size(), ir::to_string(leaf)));
      out.push_back({leaf.element(), leaf.sizes()});
    }
  }
  return out;
}

Result<void> check_sizes(std::span<const Shape> shapes, std::span<const size_t> sizes, std::string_view what) {
  if (shapes.size() != sizes.size())
    return error(ErrorKind::input, fmt::format("the program has {} {}s, {} were passed", shapes.size(), what, sizes.size()));
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (sizes[i] == shapes[i].bytes()) continue;
    return error(ErrorKind::input, fmt::format("{} {} is {}, {} bytes; {} bytes were passed", what, i, to_string(shapes[i]),
                                               shapes[i].bytes(), sizes[i]));
  }
  return {};
}

}  // namespace hloc
