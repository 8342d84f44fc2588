#include "ir/eval/copy.h"

#include <cstring>

#include "ir/eval/element.h"

namespace hloc::ir::eval {
namespace {

template <int W>
void copy_row(std::byte* to, int64_t to_stride, const std::byte* from, int64_t from_stride, int64_t n) {
  if (to_stride == 1 && from_stride == 1) {
    std::memmove(to, from, static_cast<size_t>(n * W));
    return;
  }
  for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * to_stride * W, from + i * from_stride * W, W);
}

template <int W>
void copy_rows(const Block& b, std::byte* to, const std::byte* from) {
  size_t rank = b.sizes.size();
  if (rank == 0) {
    std::memcpy(to, from, W);
    return;
  }
  std::span outer(b.sizes.data(), rank - 1);
  for (Odometer i(outer); i.valid(); i.next())
    copy_row<W>(to + i.dot(b.to_strides) * W, b.to_strides[rank - 1], from + i.dot(b.from_strides) * W,
                b.from_strides[rank - 1], b.sizes[rank - 1]);
}

}  // namespace

Ints strides_of(std::span<const int64_t> sizes) {
  Ints strides(sizes.size());
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= sizes[d];
  }
  return strides;
}

int64_t product(std::span<const int64_t> sizes) {
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  return count;
}

Block merged(const Block& block) {
  Block out;
  for (size_t d = 0; d < block.sizes.size(); ++d) {
    if (block.sizes[d] == 1) continue;
    int64_t size = block.sizes[d], to = block.to_strides[d], from = block.from_strides[d];
    if (!out.sizes.empty() && out.to_strides.back() == to * size && out.from_strides.back() == from * size) {
      out.sizes.back() *= size;
      out.to_strides.back() = to;
      out.from_strides.back() = from;
    } else {
      out.sizes.push_back(size);
      out.to_strides.push_back(to);
      out.from_strides.push_back(from);
    }
  }
  return out;
}

void copy_block(const Block& block, std::byte* to, int64_t to_offset, const std::byte* from, int64_t from_offset,
                int width) {
  for (int64_t size : block.sizes)
    if (size <= 0) return;
  to += to_offset * width;
  from += from_offset * width;
  switch (width) {
    case 1: return copy_rows<1>(block, to, from);
    case 2: return copy_rows<2>(block, to, from);
    case 4: return copy_rows<4>(block, to, from);
    case 8: return copy_rows<8>(block, to, from);
    case 16: return copy_rows<16>(block, to, from);
  }
  HLOC_UNREACHABLE();
}

void fill_elements(std::byte* to, int64_t count, const std::byte* element, int width) {
  Block block{{count}, {1}, {0}};
  copy_block(block, to, 0, element, 0, width);
}

void copy_transposed(std::byte* to, const std::byte* from, std::span<const int64_t> sizes,
                     std::span<const int64_t> order, int width) {
  Block block;
  Ints strides = strides_of(sizes);
  for (int64_t d : order) {
    block.sizes.push_back(sizes[static_cast<size_t>(d)]);
    block.from_strides.push_back(strides[static_cast<size_t>(d)]);
  }
  block.to_strides = strides_of(block.sizes);
  copy_block(merged(block), to, 0, from, 0, width);
}

int64_t integer_at(const Literal& literal, int64_t i) {
  return visit_element(literal.type().element(), [&](auto tag) -> int64_t {
    using T = decltype(tag);
    if constexpr (is_int_type<T> || std::is_same_v<T, bool>) {
      auto x = widen(load<T>(literal.bytes().data(), i));
      if constexpr (std::is_same_v<decltype(x), uint64_t>)
        return x > uint64_t{INT64_MAX} ? INT64_MAX : static_cast<int64_t>(x);
      else return static_cast<int64_t>(x);
    }
    HLOC_UNREACHABLE();
  });
}

Ints integers_of(const Literal& literal) {
  Ints out;
  out.reserve(static_cast<size_t>(literal.type().count()));
  for (int64_t i = 0; i < literal.type().count(); ++i) out.push_back(integer_at(literal, i));
  return out;
}

}  // namespace hloc::ir::eval
