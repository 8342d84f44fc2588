// Ops that move elements: broadcast, transpose, slice, pad and their dynamic relatives; and iota.
#include <algorithm>

#include <fmt/format.h>

#include "ir/eval/convert.h"
#include "ir/eval/copy.h"
#include "ir/eval/ops.h"

namespace hloc::ir::eval {
namespace {

int element_width(Type t) { return byte_width(t.element()); }

// Element i of the operand goes to the result at dims[i]; a dimension of size 1 is repeated.
Literal broadcast_along(Call& c, std::span<const int64_t> dims) {
  const Literal& in = c.in[0];
  Literal out = c.eval.allocate(c.type);
  Ints sizes = c.type.sizes(), in_sizes = in.type().sizes(), in_strides = strides_of(in_sizes);
  Block block{sizes, strides_of(sizes), Ints(sizes.size(), 0)};
  for (size_t i = 0; i < dims.size(); ++i)
    if (in_sizes[i] != 1) block.from_strides[static_cast<size_t>(dims[i])] = in_strides[i];
  copy_block(merged(block), out.mutable_bytes().data(), 0, in.bytes().data(), 0, element_width(c.type));
  return out;
}

Literal strided_slice(Call& c, std::span<const int64_t> start, std::span<const int64_t> stride) {
  const Literal& in = c.in[0];
  Literal out = c.eval.allocate(c.type);
  Ints sizes = c.type.sizes(), in_strides = strides_of(in.type().sizes());
  Block block{sizes, strides_of(sizes), in_strides};
  int64_t offset = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    offset += start[d] * in_strides[d];
    if (!stride.empty()) block.from_strides[d] *= stride[d];
  }
  copy_block(merged(block), out.mutable_bytes().data(), 0, in.bytes().data(), offset, element_width(c.type));
  return out;
}

// Starts that keep a window of `sizes` inside `bounds`. Operands from `first` on: one scalar for each dimension, or one
// vector.
Ints clamped_starts(const Call& c, size_t first, std::span<const int64_t> bounds, std::span<const int64_t> sizes) {
  Ints starts;
  if (c.in.size() == first + 1 && c.in[first].type().rank() == 1) starts = integers_of(c.in[first]);
  else
    for (size_t k = first; k < c.in.size(); ++k) starts.push_back(integer_at(c.in[k], 0));
  for (size_t d = 0; d < starts.size(); ++d)
    starts[d] = std::clamp<int64_t>(starts[d], 0, std::max<int64_t>(0, bounds[d] - sizes[d]));
  return starts;
}

Literal padded(Call& c, std::span<const int64_t> low, std::span<const int64_t> interior) {
  const Literal& in = c.in[0];
  Literal out = c.eval.allocate(c.type);
  int width = element_width(c.type);
  std::byte* to = out.mutable_bytes().data();
  fill_elements(to, c.type.count(), c.in[1].bytes().data(), width);
  Ints sizes = c.type.sizes(), to_strides = strides_of(sizes), in_sizes = in.type().sizes();
  Block block{in_sizes, to_strides, strides_of(in_sizes)};
  int64_t to_offset = 0, from_offset = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    int64_t step = interior.empty() ? 1 : interior[d] + 1;
    // Elements first…last of the operand land at low + i * step inside the result.
    int64_t first = low[d] >= 0 ? 0 : (-low[d] + step - 1) / step;
    int64_t room = sizes[d] - 1 - low[d];
    int64_t last = room < 0 ? -1 : std::min(in_sizes[d] - 1, room / step);
    block.sizes[d] = std::max<int64_t>(0, last - first + 1);
    block.to_strides[d] *= step;
    to_offset += (low[d] + first * step) * to_strides[d];
    from_offset += first * block.from_strides[d];
  }
  if (product(block.sizes) != 0)
    copy_block(merged(block), to, to_offset, in.bytes().data(), from_offset, width);
  return out;
}

Literal iota_along(Call& c, int64_t dim) {
  Literal out = c.eval.allocate(c.type);
  Ints sizes = c.type.sizes(), strides = strides_of(sizes);
  int width = element_width(c.type);
  int64_t n = sizes[static_cast<size_t>(dim)], inner = strides[static_cast<size_t>(dim)];
  std::vector<int64_t> numbers(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) numbers[static_cast<size_t>(i)] = i;
  std::vector<std::byte> line(static_cast<size_t>(n * width));
  Kernel convert = converter(ElementType::s64, c.type.element());
  const std::byte* from = reinterpret_cast<const std::byte*>(numbers.data());
  convert.run(convert, &from, line.data(), n);
  int64_t outer = n == 0 || inner == 0 ? 0 : c.type.count() / (n * inner);
  Block block{{outer, n, inner}, {n * inner, inner, 1}, {0, 1, 0}};
  copy_block(block, out.mutable_bytes().data(), 0, line.data(), 0, width);
  return out;
}

// From logical order to the order of the layout (or back): dimensions from major to minor.
Ints physical_order(const Layout& layout) { return Ints(layout.minor_to_major.rbegin(), layout.minor_to_major.rend()); }

}  // namespace

Result<Literal> eval_constant(Call& c) {
  const Literal& value = c.attr<ConstantAttr>().value;
  for (const Literal* part : leaves(value))
    if (part->is_elided())
      return c.eval.fail(fmt::format(
          "the value of constant {} is elided ({{...}}); print the module with its constants in full (e.g. "
          "XLA_FLAGS=--xla_dump_large_constants / print_large_constants) and try again", c.eval.current_name()));
  return value;
}

Result<Literal> eval_iota(Call& c) { return iota_along(c, c.attr<IotaAttr>().dim); }

Result<Literal> eval_broadcast(Call& c) { return broadcast_along(c, c.attr<BroadcastAttr>().dims); }

Result<Literal> eval_dynamic_broadcast(Call& c) { return broadcast_along(c, c.attr<DynamicBroadcastAttr>().dims); }

// stablehlo.broadcast puts new dimensions in front.
Result<Literal> eval_leading_broadcast(Call& c) {
  Ints dims;
  for (int64_t d = c.type.rank() - c.in[0].type().rank(); d < c.type.rank(); ++d) dims.push_back(d);
  return broadcast_along(c, dims);
}

Result<Literal> eval_reshape(Call& c) {
  if (c.in[0].type().count() != c.type.count())
    return c.eval.fail(fmt::format("a reshape of {} elements gives {}", c.in[0].type().count(), c.type.count()));
  return c.in[0].with_type(c.type);
}

Result<Literal> eval_transpose(Call& c) {
  Literal out = c.eval.allocate(c.type);
  copy_transposed(out.mutable_bytes().data(), c.in[0].bytes().data(), c.in[0].type().sizes(),
                  c.attr<DimsAttr>().dims, element_width(c.type));
  return out;
}

Result<Literal> eval_reverse(Call& c) {
  Literal out = c.eval.allocate(c.type);
  Ints sizes = c.type.sizes(), strides = strides_of(sizes);
  Block block{sizes, strides, strides};
  int64_t offset = 0;
  for (int64_t dim : c.attr<DimsAttr>().dims) {
    auto d = static_cast<size_t>(dim);
    offset += (sizes[d] - 1) * strides[d];
    block.from_strides[d] = -strides[d];
  }
  copy_block(block, out.mutable_bytes().data(), 0, c.in[0].bytes().data(), offset, element_width(c.type));
  return out;
}

Result<Literal> eval_slice(Call& c) {
  const auto& attr = c.attr<SliceAttr>();
  return strided_slice(c, attr.start, attr.stride);
}

Result<Literal> eval_real_dynamic_slice(Call& c) {
  return strided_slice(c, integers_of(c.in[1]), integers_of(c.in[3]));
}

Result<Literal> eval_concatenate(Call& c) {
  Literal out = c.eval.allocate(c.type);
  auto dim = static_cast<size_t>(c.attr<DimsAttr>().dims[0]);
  Ints to_strides = strides_of(c.type.sizes());
  int64_t at = 0;
  for (const Literal& in : c.in) {
    Ints sizes = in.type().sizes();
    copy_block(merged({sizes, to_strides, strides_of(sizes)}), out.mutable_bytes().data(), at * to_strides[dim],
               in.bytes().data(), 0, element_width(c.type));
    at += sizes[dim];
  }
  return out;
}

Result<Literal> eval_pad(Call& c) {
  const auto& attr = c.attr<PadAttr>();
  return padded(c, attr.low, attr.interior);
}

Result<Literal> eval_dynamic_pad(Call& c) { return padded(c, integers_of(c.in[2]), integers_of(c.in[4])); }

Result<Literal> eval_dynamic_slice(Call& c) {
  return strided_slice(c, clamped_starts(c, 1, c.in[0].type().sizes(), c.type.sizes()), {});
}

Result<Literal> eval_dynamic_update_slice(Call& c) {
  auto owned = c.eval.owned(std::move(c.in[0]));
  if (!owned) return owned;
  Literal out = *std::move(owned);
  Ints sizes = c.in[1].type().sizes(), to_strides = strides_of(c.type.sizes());
  Ints starts = clamped_starts(c, 2, c.type.sizes(), sizes);
  int64_t offset = 0;
  for (size_t d = 0; d < starts.size(); ++d) offset += starts[d] * to_strides[d];
  copy_block(merged({sizes, to_strides, strides_of(sizes)}), out.mutable_bytes().data(), offset, c.in[1].bytes().data(), 0,
             element_width(c.type));
  return out;
}

Result<Literal> eval_dimension_size(Call& c) {
  int64_t size = c.in[0].type().dim(c.attr<DimsAttr>().dims[0]);
  Literal out = c.eval.allocate(c.type);
  Kernel convert = converter(ElementType::s64, c.type.element());
  const std::byte* from = reinterpret_cast<const std::byte*>(&size);
  convert.run(convert, &from, out.mutable_bytes().data(), 1);
  return out;
}

Result<Literal> eval_set_dimension_size(Call& c) {
  int64_t size = integer_at(c.in[1], 0), dim = c.attr<DimsAttr>().dims[0];
  if (size != c.type.dim(dim))
    return c.eval.fail(fmt::format("dimension {} has the size {} and is set to {}; dynamic shapes can't be evaluated yet",
                                   dim, c.type.dim(dim), size));
  return c.in[0];
}

// A pred counts as one bit here.
Result<Literal> eval_bitcast_convert(Call& c) {
  const Literal& in = c.in[0];
  ElementType from = in.type().element(), to = c.type.element();
  auto bits_of_cast = [](ElementType t) { return t == ElementType::pred ? 1 : bit_width(t); };
  BitCast cast{from, to, bits_of_cast(from), bits_of_cast(to), in.type().count() * bits_of_cast(from)};
  bool too_wide = std::max(cast.from_bits, cast.to_bits) > 64 && std::min(cast.from_bits, cast.to_bits) < 8;
  if (cast.bits_total != c.type.count() * cast.to_bits || too_wide)
    return c.eval.fail(fmt::format("the bits of {} elements of {} are not {} elements of {}", in.type().count(),
                                   name_of(from), c.type.count(), name_of(to)));
  Literal out = c.eval.allocate(c.type);
  reinterpret_elements(cast, in.bytes().data(), out.mutable_bytes().data());
  return out;
}

// The operand's bytes in the order of its layout are the result's in the order of its own.
Result<Literal> eval_bitcast(Call& c) {
  const Literal& in = c.in[0];
  Type from = c.v->operand(0)->type;
  if (!from.layout().extras.tiles.empty() || !c.type.layout().extras.tiles.empty()) {
    if (!same_shape(from, c.type) || from.layout() != c.type.layout())
      return c.eval.fail("a bitcast between tiled layouts can't be evaluated");
    return in.with_type(c.type);
  }
  if (from.layout().is_row_major() && c.type.layout().is_row_major() && from.element() == c.type.element() &&
      from.count() == c.type.count())
    return in.with_type(c.type);
  BitCast cast{from.element(), c.type.element(), bit_width(from.element()), bit_width(c.type.element()),
               from.count() * bit_width(from.element())};
  bool too_wide = std::max(cast.from_bits, cast.to_bits) > 64 && std::min(cast.from_bits, cast.to_bits) < 8;
  if (cast.bits_total != c.type.count() * cast.to_bits || too_wide)
    return c.eval.fail("a bitcast keeps the number of bytes");
  Literal physical = c.eval.allocate(from);
  copy_transposed(physical.mutable_bytes().data(), in.bytes().data(), from.sizes(), physical_order(from.layout()),
                  element_width(from));
  Literal reinterpreted = c.eval.allocate(c.type);
  reinterpret_elements(cast, physical.bytes().data(), reinterpreted.mutable_bytes().data());
  Literal out = c.eval.allocate(c.type);
  // order[d] is the result's dimension at place d of the physical order; its inverse leads back.
  Ints order = physical_order(c.type.layout()), physical_sizes, inverse(order.size());
  for (size_t d = 0; d < order.size(); ++d) {
    physical_sizes.push_back(c.type.dim(order[d]));
    inverse[static_cast<size_t>(order[d])] = static_cast<int64_t>(d);
  }
  copy_transposed(out.mutable_bytes().data(), reinterpreted.bytes().data(), physical_sizes, inverse,
                  element_width(c.type));
  return out;
}

}  // namespace hloc::ir::eval
