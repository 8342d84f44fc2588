// Rules of gathers and scatters that take their elements from places which are known, or of which nothing depends.
#pragma once

#include "passes/rules/dynamic_slices.h"

namespace hloc::passes::rules {

// A gather of a broadcast reads the same whatever the index of a dimension that only the broadcast has. Dimensions of x
// are windows as large as x, or batching ones.
inline ir::Value gathered_before_broadcast(const Match& m, Replacement& out) {
  ir::Value wide = m[p]->operand(0);
  if (wide->op != ir::Op::Broadcast || wide->extras || m[p]->operand_count != 2) return nullptr;
  const auto& attr = m[p]->as<ir::GatherAttr>();
  ir::Ints batches;  // where in the result the dimensions of the index array are, without the vectors
  for (int64_t d = 0; d < m.root->type.rank(); ++d)
    if (!contains(attr.offset_dims, d)) batches.push_back(d);
  ir::Ints places;
  for (int64_t d : broadcast_dims(wide)) {
    int64_t shared = position(attr.operand_batching_dims, d);
    if (shared < std::ssize(attr.operand_batching_dims)) {
      int64_t of_indices = attr.start_indices_batching_dims[static_cast<size_t>(shared)];
      places.push_back(batches[static_cast<size_t>(of_indices - (of_indices > attr.index_vector_dim ? 1 : 0))]);
      continue;
    }
    if (attr.slice_sizes[static_cast<size_t>(d)] != wide->type.dim(d) || contains(attr.collapsed_slice_dims, d)) return nullptr;
    int64_t before = 0;  // windows of which dimensions come before
    for (int64_t k = 0; k < d; ++k) before += !contains(attr.collapsed_slice_dims, k) && !contains(attr.operand_batching_dims, k) ? 1 : 0;
    places.push_back(attr.offset_dims[static_cast<size_t>(before)]);
  }
  if (!std::ranges::is_sorted(places)) return nullptr;
  return out.broadcast(wide->operand(0), m.root->type, places);
}

// Known indices that go up in even steps.
struct Steps {
  int64_t first = 0, step = 1, count = 0;
};
inline std::optional<Steps> even_steps(ir::Value indices, int64_t room) {
  constexpr int64_t most = 1 << 16;
  Steps out{0, 1, indices->type.count()};
  if (out.count < 2 || out.count > most) return std::nullopt;
  for (int64_t i = 0; i < out.count; ++i) {
    std::optional<int64_t> at = element_int(indices, i);
    if (!at || *at < 0 || *at > room) return std::nullopt;
    if (i == 0) out.first = *at;
    if (i == 1) out.step = *at - out.first;
    if (out.step < 1 || *at != out.first + i * out.step) return std::nullopt;
  }
  return out;
}
// Sizes of an array of index vectors that have one component, without their dimension.
inline ir::Ints index_sizes(ir::Type indices, int64_t vector_dim) {
  ir::Ints out;
  for (int64_t d = 0; d < indices.rank(); ++d)
    if (d != vector_dim) out.push_back(indices.dim(d));
  return out;
}
// Row `to` of the permutation that brings dimension `from` of `rank` to the front.
inline ir::Ints brought_to_front(int64_t rank, int64_t from) {
  ir::Ints out{from};
  for (int64_t d = 0; d < rank; ++d)
    if (d != from) out.push_back(d);
  return out;
}
inline ir::Value transposed(const Match& m, Replacement& out, ir::Value v, const ir::Ints& order) {
  if (is_counting(order)) return v;
  return out.make(ir::Op::Transpose, array_like(m, v->type, pick(v->type.sizes(), order)), {v}, ir::DimsAttr{order});
}

// Rows at even steps are a slice. Its gathered dimension becomes that of the index array.
inline ir::Value gather_as_slice(const Match& m, Replacement& out) {
  const auto& attr = m[p]->as<ir::GatherAttr>();
  ir::Value from = m[p]->operand(0), indices = m[p]->operand(1);
  if (m[p]->operand_count != 2 || attr.start_index_map.size() != 1 || !attr.operand_batching_dims.empty()) return nullptr;
  int64_t along = attr.start_index_map[0], rank = from->type.rank();
  if (attr.slice_sizes[static_cast<size_t>(along)] != 1 || m.root->type.count() == 0) return nullptr;
  std::optional<Steps> steps = even_steps(indices, from->type.dim(along) - 1);
  if (!steps) return nullptr;
  ir::SliceAttr slice{ir::Ints(static_cast<size_t>(rank), 0), attr.slice_sizes, ir::Ints(static_cast<size_t>(rank), 1)};
  auto i = static_cast<size_t>(along);
  slice.start[i] = steps->first;
  slice.limit[i] = steps->first + (steps->count - 1) * steps->step + 1;
  slice.stride[i] = steps->step;
  ir::Ints sizes = attr.slice_sizes;
  sizes[i] = steps->count;
  ir::Value rows = out.make(ir::Op::Slice, array_like(m, from->type, sizes), {from}, slice);
  rows = transposed(m, out, rows, brought_to_front(rank, along));
  // The dimensions of the index array first, then windows; last, each goes where the result has it.
  ir::Ints wanted = index_sizes(indices->type, attr.index_vector_dim), order(static_cast<size_t>(m.root->type.rank()));
  int64_t batch = 0, window = std::ssize(wanted);
  for (int64_t d : attr.offset_dims) wanted.push_back(m.root->type.dim(d));
  for (size_t d = 0; d < order.size(); ++d) order[d] = contains(attr.offset_dims, static_cast<int64_t>(d)) ? window++ : batch++;
  return transposed(m, out, out.reshape(rows, array_like(m, m.root->type, wanted)), order);
}

// Updates of neighbouring rows are the update of one window; with another reducer than assignment, of what it makes.
inline ir::Value scatter_as_window(const Match& m, Replacement& out) {
  const auto& attr = m[p]->as<ir::ScatterAttr>();
  if (m[p]->operand_count != 3 || !m.root->type.is_array() || m[p]->callee_count != 1) return nullptr;
  ir::Value into = m[p]->operand(0), indices = m[p]->operand(1), update = m[p]->operand(2);
  if (attr.scatter_dims_to_operand_dims.size() != 1 || !attr.input_batching_dims.empty() || update->type.count() == 0) return nullptr;
  if (!std::ranges::is_sorted(attr.update_window_dims) || update->type.element() != into->type.element()) return nullptr;
  std::optional<ir::Op> op = scattered_by(m[p]->callee(0), into->type.element());
  int64_t along = attr.scatter_dims_to_operand_dims[0], rank = into->type.rank();
  std::optional<Steps> steps = even_steps(indices, into->type.dim(along) - 1);
  if (!op || !steps || steps->step != 1) return nullptr;
  ir::Ints sizes, order;  // of the window; of the update: the index array's dimensions first, then its windows
  size_t next = 0;
  for (int64_t d = 0; d < rank; ++d) {
    bool inserted = contains(attr.inserted_window_dims, d);
    int64_t size = inserted ? 1 : update->type.dim(attr.update_window_dims[next++]);
    if (size > into->type.dim(d) || (d == along && size != 1)) return nullptr;
    sizes.push_back(d == along ? steps->count : size);
  }
  for (int64_t d = 0; d < update->type.rank(); ++d)
    if (!contains(attr.update_window_dims, d)) order.push_back(d);
  order.insert(order.end(), attr.update_window_dims.begin(), attr.update_window_dims.end());
  ir::Ints front = brought_to_front(rank, along);
  ir::Value rows = out.reshape(transposed(m, out, update, order), array_like(m, update->type, pick(sizes, front)));
  rows = transposed(m, out, rows, inverse_permutation(front));
  ir::SliceAttr where{ir::Ints(static_cast<size_t>(rank), 0), sizes, ir::Ints(static_cast<size_t>(rank), 1)};
  where.start[static_cast<size_t>(along)] = steps->first;
  where.limit[static_cast<size_t>(along)] = steps->first + steps->count;
  return updated_window(m, out, into, rows, where, *op);
}

ir::Value sample_gather_of_broadcast(Sampler& s);
ir::Value sample_gather_of_rows(Sampler& s);
ir::Value sample_scatter_of_rows(Sampler& s);

inline constexpr Rule gathers[] = {
    {"gather-broadcast", any(ir::Op::Gather, p), Build{"broadcast(x) of a broadcast of x, when no index is of a dimension of x", gathered_before_broadcast},
     sample_gather_of_broadcast},
    {"gather-slice", any(ir::Op::Gather, p), Build{"a slice, when the indices are known and go up in even steps", gather_as_slice},
     sample_gather_of_rows},
    {"scatter-window", any(ir::Op::Scatter, p), Build{"a dynamic-update-slice, when the indices are known neighbours", scatter_as_window},
     sample_scatter_of_rows},
};

}  // namespace hloc::passes::rules
