// Left sides for the rules of gathers and scatters.
#include <algorithm>

#include "passes/rewrite/sample_parts.h"

namespace hloc::passes::rules {

using ir::Ints;
using ir::Op;
using ir::Type;
using ir::Value;

namespace {

// A reducer, or the computation that takes the new element.
const ir::Computation* sample_combiner(Sampler& s) {
  Type scalar = s.context().scalar(s.element());
  if (s.chance(2)) return sample_reducer(s, scalar);
  ir::ComputationBuilder builder(s.builder().context(), "assign");
  builder.parameter(0, scalar);
  return s.keep(builder.finish(builder.parameter(1, scalar)));
}

// Which dimensions an index vector speaks of, and where the vector lies among dimensions of size 1.
struct OneIndex {
  Ints dims;
  int64_t vector_dim = 0;
  Value indices = nullptr;
};
OneIndex sample_one_index(Sampler& s, Type of, bool known) {
  OneIndex out;
  Ints order = s.permutation(of.rank());
  out.dims.assign(order.begin(), order.begin() + s.below(of.rank() + 1));
  Ints sizes(static_cast<size_t>(s.below(3)), 1);
  auto count = static_cast<int64_t>(out.dims.size());
  out.vector_dim = s.below(static_cast<int64_t>(sizes.size()) + 1);
  if (count != 1 || !s.chance(3)) sizes.insert(sizes.begin() + out.vector_dim, count);
  else out.vector_dim = static_cast<int64_t>(sizes.size());
  constexpr ElementType elements[] = {ElementType::s32, ElementType::s64, ElementType::u8, ElementType::u32};
  Type type = s.array(elements[s.below(4)], sizes);
  out.indices = known || s.chance(3) ? s.constant(type, s.chance(2)) : s.parameter(type);
  return out;
}

}  // namespace

Value sample_gather_of_one(Sampler& s) {
  Value x = s.parameter(s.array(s.element(), s.shape()));
  OneIndex at = sample_one_index(s, x->type, false);
  ir::GatherAttr attr;
  attr.start_index_map = at.dims;
  attr.index_vector_dim = at.vector_dim;
  int64_t batches = at.indices->type.rank() - (at.vector_dim < at.indices->type.rank() ? 1 : 0), kept = 0;
  for (int64_t d = 0; d < x->type.rank(); ++d) {
    bool collapsed = x->type.dim(d) > 0 && s.chance(3);
    attr.slice_sizes.push_back(collapsed ? 1 : s.below(x->type.dim(d) + 1));
    if (collapsed) attr.collapsed_slice_dims.push_back(d);
    else ++kept;
  }
  Ints places = s.permutation(batches + kept);
  attr.offset_dims.assign(places.begin(), places.begin() + kept);
  std::ranges::sort(attr.offset_dims);
  return s.make(Op::Gather, {x, at.indices}, attr);
}

Value sample_scatter_of_one(Sampler& s) {
  Value x = s.parameter(s.array(s.element(), s.shape()));
  OneIndex at = sample_one_index(s, x->type, true);
  ir::ScatterAttr attr;
  attr.scatter_dims_to_operand_dims = at.dims;
  attr.index_vector_dim = at.vector_dim;
  int64_t batches = at.indices->type.rank() - (at.vector_dim < at.indices->type.rank() ? 1 : 0);
  Ints window;
  for (int64_t d = 0; d < x->type.rank(); ++d) {
    if (x->type.dim(d) > 0 && s.chance(3)) attr.inserted_window_dims.push_back(d);
    else window.push_back(s.chance(2) ? std::min<int64_t>(x->type.dim(d), 1) : s.below(x->type.dim(d) + 1));
  }
  auto kept = static_cast<int64_t>(window.size());
  Ints places = s.permutation(batches + kept), sizes(static_cast<size_t>(batches + kept), 1);
  attr.update_window_dims.assign(places.begin(), places.begin() + kept);
  std::ranges::sort(attr.update_window_dims);
  for (int64_t i = 0; i < kept; ++i) sizes[static_cast<size_t>(attr.update_window_dims[static_cast<size_t>(i)])] = window[static_cast<size_t>(i)];
  const ir::Computation* combiner = sample_combiner(s);
  Value operands[] = {x, at.indices, s.parameter(s.array(s.element(), sizes))};
  return s.builder().make(Op::Scatter, x->type, operands, attr, std::span(&combiner, 1));
}

namespace {

// A gather from `x` by index vectors of any number, with batching dimensions now and then.
Value sample_gather(Sampler& s, Value x) {
  ir::GatherAttr attr;
  Ints batches, shared;  // sizes of the index array without its vectors
  int64_t rank = x->type.rank();
  std::vector<bool> taken(static_cast<size_t>(rank));
  if (rank > 0 && s.chance(3)) {
    int64_t d = s.below(rank);
    attr.operand_batching_dims = {d};
    attr.start_indices_batching_dims = {0};
    batches.push_back(x->type.dim(d));
    taken[static_cast<size_t>(d)] = true;
  }
  for (int64_t i = s.below(2) + (batches.empty() ? 1 : 0); i-- > 0;) batches.push_back(s.below(4));
  for (int64_t d : s.permutation(rank))
    if (!taken[static_cast<size_t>(d)] && !s.chance(3)) attr.start_index_map.push_back(d);
  int64_t kept = 0;
  for (int64_t d = 0; d < rank; ++d) {
    bool batching = taken[static_cast<size_t>(d)], collapsed = !batching && x->type.dim(d) > 0 && s.chance(3);
    attr.slice_sizes.push_back(collapsed || batching ? std::min<int64_t>(1, x->type.dim(d)) : s.below(x->type.dim(d) + 1));
    if (collapsed) attr.collapsed_slice_dims.push_back(d);
    if (!collapsed && !batching) ++kept;
  }
  attr.index_vector_dim = static_cast<int64_t>(batches.size());
  Ints places = s.permutation(static_cast<int64_t>(batches.size()) + kept);
  attr.offset_dims.assign(places.begin(), places.begin() + kept);
  std::ranges::sort(attr.offset_dims);
  Ints sizes = batches;
  sizes.push_back(std::ssize(attr.start_index_map));
  constexpr ElementType elements[] = {ElementType::s32, ElementType::s64, ElementType::u8, ElementType::u32};
  Type type = s.array(elements[s.below(4)], sizes);
  return s.make(Op::Gather, {x, s.chance(3) ? s.constant(type, s.chance(2)) : s.parameter(type)}, attr);
}

}  // namespace

Value sample_gather_of_broadcast(Sampler& s) {
  Value wide = s.random_op(Op::Broadcast, {s.parameter(s.array(s.element(), s.shape(2)))});
  return wide ? sample_gather(s, wide) : nullptr;
}

namespace {

// Index vectors of one component that go up evenly, the last now and then outside.
Value sample_even_indices(Sampler& s, int64_t size, int64_t step, int64_t* vector_dim) {
  if (size < 2) return nullptr;
  int64_t first = s.below(size - 1), count = std::min<int64_t>(2 + s.below(3), (size - 1 - first) / step + 1 + (s.chance(8) ? 1 : 0));
  Ints sizes{count};
  if (s.chance(3)) sizes.insert(sizes.begin() + s.below(2), 1);
  *vector_dim = s.chance(3) ? std::ssize(sizes) : s.below(std::ssize(sizes) + 1);
  if (*vector_dim < std::ssize(sizes) || s.chance(2)) sizes.insert(sizes.begin() + *vector_dim, 1);
  ir::Literal indices = ir::Literal::uninitialized(s.array(ElementType::s32, sizes));
  std::span<int32_t> values = indices.mutable_data<int32_t>();
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int32_t>(first + static_cast<int64_t>(i) * step);
  return s.builder().constant(std::move(indices));
}

Ints sample_rows_shape(Sampler& s, int64_t along, Ints sizes) {
  sizes.insert(sizes.begin() + along, 2 + s.below(5));
  return sizes;
}

}  // namespace

Value sample_gather_of_rows(Sampler& s) {
  Ints sizes = s.shape(2);
  int64_t along = s.below(std::ssize(sizes) + 1);
  Value x = s.parameter(s.array(s.element(), sample_rows_shape(s, along, sizes)));
  ir::GatherAttr attr;
  Value indices = sample_even_indices(s, x->type.dim(along), 1 + s.below(2), &attr.index_vector_dim);
  if (!indices) return nullptr;
  attr.start_index_map = {along};
  int64_t batches = indices->type.rank() - (attr.index_vector_dim < indices->type.rank() ? 1 : 0), kept = 0;
  for (int64_t d = 0; d < x->type.rank(); ++d) {
    bool whole = d != along && !s.chance(4);
    attr.slice_sizes.push_back(whole ? x->type.dim(d) : std::min<int64_t>(1, x->type.dim(d)));
    if (!whole && x->type.dim(d) > 0 && !s.chance(4)) attr.collapsed_slice_dims.push_back(d);
    else ++kept;
  }
  Ints places = s.permutation(batches + kept);
  attr.offset_dims.assign(places.begin(), places.begin() + kept);
  std::ranges::sort(attr.offset_dims);
  return s.make(Op::Gather, {x, indices}, attr);
}

Value sample_scatter_of_rows(Sampler& s) {
  Ints sizes = s.shape(2);
  int64_t along = s.below(std::ssize(sizes) + 1);
  Value x = s.parameter(s.array(s.element(), sample_rows_shape(s, along, sizes)));
  ir::ScatterAttr attr;
  Value indices = sample_even_indices(s, x->type.dim(along), 1, &attr.index_vector_dim);
  if (!indices) return nullptr;
  attr.scatter_dims_to_operand_dims = {along};
  Ints batch_sizes, window;
  for (int64_t d = 0; d < indices->type.rank(); ++d)
    if (d != attr.index_vector_dim) batch_sizes.push_back(indices->type.dim(d));
  for (int64_t d = 0; d < x->type.rank(); ++d) {
    if (x->type.dim(d) > 0 && s.chance(d == along ? 2 : 4)) attr.inserted_window_dims.push_back(d);
    else window.push_back(d == along ? 1 : s.chance(4) ? s.below(x->type.dim(d) + 1) : x->type.dim(d));
  }
  auto batches = std::ssize(batch_sizes), kept = std::ssize(window);
  Ints places = s.permutation(batches + kept), update(static_cast<size_t>(batches + kept));
  attr.update_window_dims.assign(places.begin(), places.begin() + kept);
  std::ranges::sort(attr.update_window_dims);
  for (size_t d = 0, batch = 0, at = 0; d < update.size(); ++d) {
    bool windowed = std::ranges::find(attr.update_window_dims, static_cast<int64_t>(d)) != attr.update_window_dims.end();
    update[d] = windowed ? window[at++] : batch_sizes[batch++];
  }
  const ir::Computation* combiner = sample_combiner(s);
  Value operands[] = {x, indices, s.parameter(s.array(s.element(), update))};
  return s.builder().make(Op::Scatter, x->type, operands, attr, std::span(&combiner, 1));
}

Value sample_gather_of_elementwise(Sampler& s) {
  Value f = sample_elementwise(s);
  return f ? sample_gather(s, f) : nullptr;
}
Value sample_slice_of_gather(Sampler& s) {
  Value gather = sample_gather(s, s.parameter(s.array(s.element(), s.shape())));
  if (!gather) return nullptr;
  ir::SliceAttr attr{Ints(static_cast<size_t>(gather->type.rank()), 0), gather->type.sizes(), Ints(static_cast<size_t>(gather->type.rank()), 1)};
  for (size_t d = 0; d < attr.start.size(); ++d) {
    if (std::ranges::find(gather->as<ir::GatherAttr>().offset_dims, static_cast<int64_t>(d)) != gather->as<ir::GatherAttr>().offset_dims.end() && !s.chance(8))
      continue;
    attr.start[d] = s.below(attr.limit[d] + 1);
    attr.limit[d] = attr.start[d] + s.below(attr.limit[d] - attr.start[d] + 1);
    attr.stride[d] = 1 + s.below(2);
  }
  return s.make(Op::Slice, {gather}, attr);
}


}  // namespace hloc::passes::rules
