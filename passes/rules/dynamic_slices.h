// Rules of dynamic slices and updates, and of gathers and scatters that are no more than one of these.
#pragma once

#include "passes/rules/reduce.h"

namespace hloc::passes::rules {

// The start indices of a dynamic slice (from operand 1) or update (from operand 2).
inline std::span<const ir::Value> slice_starts(ir::Value v) {
  return v->operands().subspan(v->op == ir::Op::DynamicSlice ? 1 : 2);
}
inline bool has_starts(ir::Value v) { return std::ssize(slice_starts(v)) == v->operand(0)->type.rank(); }
inline bool same_starts(ir::Value a, ir::Value b) { return std::ranges::equal(slice_starts(a), slice_starts(b)); }

inline ir::Value dynamic_slice_of(Replacement& out, ir::Type type, ir::Value from, std::span<const ir::Value> starts) {
  std::vector<ir::Value> operands{from};
  operands.insert(operands.end(), starts.begin(), starts.end());
  return out.make(ir::Op::DynamicSlice, type, operands, ir::DynamicSliceAttr{type.sizes()});
}

// A window of a broadcast is a window of what is broadcast: starts are clamped to the same ranges.
inline ir::Value window_before_broadcast(const Match& m, Replacement& out) {
  ir::Value wide = m[p]->operand(0);
  if (wide->op != ir::Op::Broadcast || wide->extras || !has_starts(m[p])) return nullptr;
  const ir::Ints& places = broadcast_dims(wide);
  ir::Value narrow = wide->operand(0);
  if (!places.empty()) {
    std::vector<ir::Value> starts;
    for (int64_t d : places) starts.push_back(slice_starts(m[p])[static_cast<size_t>(d)]);
    narrow = dynamic_slice_of(out, array_like(m, m.root->type, pick(m.root->type.sizes(), places)), narrow, starts);
  }
  return out.broadcast(narrow, m.root->type, places);
}

inline ir::Value window_before_transpose(const Match& m, Replacement& out) {
  ir::Value turned = m[p]->operand(0);
  if (turned->op != ir::Op::Transpose || turned->extras || !has_starts(m[p])) return nullptr;
  ir::Ints back = inverse_permutation(dims_of(turned));
  std::vector<ir::Value> starts;
  for (int64_t d : back) starts.push_back(slice_starts(m[p])[static_cast<size_t>(d)]);
  ir::Type type = array_like(m, m.root->type, pick(m.root->type.sizes(), back));
  ir::Value window = dynamic_slice_of(out, type, turned->operand(0), starts);
  return out.make(ir::Op::Transpose, m.root->type, {window}, *turned->attr);
}

// The window that was just written.
inline ir::Value written_window(const Match& m, Replacement&) {
  ir::Value update = m[p]->operand(0);
  if (update->op != ir::Op::DynamicUpdateSlice || !has_starts(m[p]) || !has_starts(update)) return nullptr;
  return same_starts(m[p], update) && update->operand(1)->type == m.root->type ? update->operand(1) : nullptr;
}

// A window written back where it was read.
inline ir::Value unchanged_operand(const Match& m, Replacement&) {
  ir::Value window = m[p]->operand(1), whole = m[p]->operand(0);
  if (window->op != ir::Op::DynamicSlice || window->operand(0) != whole || !has_starts(m[p]) || !has_starts(window)) return nullptr;
  return same_starts(m[p], window) ? whole : nullptr;
}

// A window written twice keeps what was written last.
inline ir::Value last_written(const Match& m, Replacement& out) {
  ir::Value before = m[p]->operand(0);
  if (before->op != ir::Op::DynamicUpdateSlice || before->extras || !has_starts(m[p]) || !has_starts(before)) return nullptr;
  if (!same_starts(m[p], before) || before->operand(1)->type.sizes() != m[p]->operand(1)->type.sizes()) return nullptr;
  std::vector<ir::Value> operands(m[p]->operands().begin(), m[p]->operands().end());
  operands[0] = before->operand(0);
  return out.make(ir::Op::DynamicUpdateSlice, m.root->type, operands);
}

inline ir::Value nothing_written(const Match& m, Replacement&) {
  return m[p]->operand(1)->type.count() == 0 ? m[p]->operand(0) : nullptr;
}

// How many index vectors an array of indices holds; they lie along `vector_dim`, or are scalars when it is past the end.
inline int64_t index_vectors(ir::Type indices, int64_t vector_dim) {
  int64_t count = 1;
  for (int64_t d = 0; d < indices.rank(); ++d)
    if (d != vector_dim) count *= indices.dim(d);
  return count;
}

// Component k of the only index vector, as a scalar.
inline ir::Value index_component(const Match& m, Replacement& out, ir::Value indices, int64_t vector_dim, int64_t k) {
  ir::SliceAttr attr;
  for (int64_t d = 0; d < indices->type.rank(); ++d) {
    attr.start.push_back(d == vector_dim ? k : 0);
    attr.limit.push_back(attr.start.back() + 1);
    attr.stride.push_back(1);
  }
  ir::Ints ones(attr.start.size(), 1);
  ir::Value one = ones.empty() ? indices : out.make(ir::Op::Slice, array_like(m, indices->type, ones), {indices}, attr);
  return out.reshape(one, m.context.scalar(indices->type.element()));
}

// A gather by one index vector is a dynamic slice; its starts are clamped alike.
inline ir::Value gather_as_window(const Match& m, Replacement& out) {
  const auto& attr = m[p]->as<ir::GatherAttr>();
  ir::Value from = m[p]->operand(0), indices = m[p]->operand(1);
  if (m[p]->operand_count != 2 || !attr.operand_batching_dims.empty() || m.root->type.count() == 0) return nullptr;
  if (index_vectors(indices->type, attr.index_vector_dim) != 1 || !is_integer(indices->type.element())) return nullptr;
  if (!std::ranges::is_sorted(attr.offset_dims)) return nullptr;
  std::optional<ir::Literal> zero = scalar_literal(m.context, indices->type.element(), Special::number, 0);
  if (!zero) return nullptr;
  std::vector<ir::Value> starts;
  for (int64_t d = 0; d < from->type.rank(); ++d) {
    int64_t k = position(attr.start_index_map, d);
    starts.push_back(k < std::ssize(attr.start_index_map) ? index_component(m, out, indices, attr.index_vector_dim, k)
                                                           : out.splat(m.context.scalar(indices->type.element()), *zero));
  }
  return out.reshape(dynamic_slice_of(out, array_like(m, m.root->type, attr.slice_sizes), from, starts), m.root->type);
}

// What a scatter does with old and new elements: a commutative op, or Op::Tuple for assigning the new; nothing for others.
// Which NaN a complex result holds depends on the order.
inline std::optional<ir::Op> scattered_by(const ir::Computation& combiner, ElementType element) {
  bool assigns = combiner.parameters().size() == 2 && combiner.root() == combiner.parameters()[1] && combiner.effects().empty();
  if (assigns) return ir::Op::Tuple;
  ir::Op op = reducer_op(combiner);
  if (op == ir::Op::Tuple || is_complex(element) || combiner.root()->type.element() != element) return std::nullopt;
  return op;
}

// `into` with `now` written over the window `where`, or combined with what is there.
inline ir::Value updated_window(const Match& m, Replacement& out, ir::Value into, ir::Value now, const ir::SliceAttr& where, ir::Op op) {
  std::vector<ir::Value> operands{into, now};
  for (int64_t at : where.start) {
    std::optional<ir::Literal> number = scalar_literal(m.context, ElementType::s32, Special::number, at);
    if (!number) return nullptr;
    operands.push_back(out.splat(m.context.scalar(ElementType::s32), *std::move(number)));
  }
  if (op != ir::Op::Tuple) operands[1] = out.make(op, now->type, {out.make(ir::Op::Slice, now->type, {into}, where), now});
  return out.make(ir::Op::DynamicUpdateSlice, into->type, operands);
}

// A scatter of one window, to a place that is known and inside, is an update of a slice: of the new values, or of old and new
// both combined.
inline ir::Value scatter_as_update(const Match& m, Replacement& out) {
  const auto& attr = m[p]->as<ir::ScatterAttr>();
  if (m[p]->operand_count != 3 || m[p]->callee_count != 1 || !m.root->type.is_array() || !attr.input_batching_dims.empty()) return nullptr;
  ir::Value into = m[p]->operand(0), indices = m[p]->operand(1), update = m[p]->operand(2);
  if (update->type.element() != into->type.element() || !is_integer(indices->type.element()) || update->type.count() == 0) return nullptr;
  if (index_vectors(indices->type, attr.index_vector_dim) != 1 || !std::ranges::is_sorted(attr.update_window_dims)) return nullptr;
  std::optional<ir::Op> op = scattered_by(m[p]->callee(0), into->type.element());
  if (!op) return nullptr;

  ir::Ints window;  // its sizes, of all operand dimensions
  ir::SliceAttr where;
  size_t next = 0;
  for (int64_t d = 0; d < into->type.rank(); ++d) {
    bool inserted = contains(attr.inserted_window_dims, d);
    int64_t size = inserted ? 1 : update->type.dim(attr.update_window_dims[next++]);
    int64_t k = position(attr.scatter_dims_to_operand_dims, d);
    std::optional<int64_t> at = k < std::ssize(attr.scatter_dims_to_operand_dims) ? element_int(indices, k) : 0;
    if (!at || *at < 0 || *at > into->type.dim(d) - size || *at > INT32_MAX) return nullptr;
    window.push_back(size);
    where.start.push_back(*at);
    where.limit.push_back(*at + size);
    where.stride.push_back(1);
  }
  return updated_window(m, out, into, out.reshape(update, array_like(m, m.root->type, window)), where, *op);
}

// A slice of an updated array that keeps nothing of the update, or of it alone. Starts are clamped so that the update fits.
inline ir::Value sliced_beside_update(const Match& m, Replacement& out) {
  ir::Value update = m[q]->operand(1), into = m[q]->operand(0);
  if (!has_starts(m[q]) || m.root->type.count() == 0) return nullptr;
  ir::SliceAttr attr = m[p]->as<ir::SliceAttr>();
  bool within = true;
  for (size_t i = 0; i < attr.start.size(); ++i) {
    auto d = static_cast<int64_t>(i);
    int64_t room = into->type.dim(d) - update->type.dim(d);
    std::optional<int64_t> start = room == 0 ? 0 : uniform_int(slice_starts(m[q])[i]);
    if (!start) {
      within = false;
      continue;
    }
    int64_t first = std::clamp<int64_t>(*start, 0, room), end = first + update->type.dim(d);
    int64_t last = attr.start[i] + (m.root->type.dim(d) - 1) * attr.stride[i];
    if (last < first || attr.start[i] >= end) return out.make(ir::Op::Slice, m.root->type, {into}, *m[p]->attr);
    if (attr.start[i] < first || last >= end) within = false;
    attr.start[i] -= first;
    attr.limit[i] = last - first + 1;
  }
  return within ? out.make(ir::Op::Slice, m.root->type, {update}, attr) : nullptr;
}

// Nothing to put in order.
inline ir::Value sorted_already(const Match& m, Replacement& out) {
  ir::Value first = m[p]->operand(0);
  if (m[p]->operand_count == 0 || first->type.dim(m[p]->as<ir::SortAttr>().dim) > 1) return nullptr;
  return m[p]->operand_count == 1 ? first : out.make(ir::Op::Tuple, m.root->type, m[p]->operands());
}

ir::Value sample_window_of_broadcast(Sampler& s);
ir::Value sample_window_of_transpose(Sampler& s);
ir::Value sample_window_of_update(Sampler& s);
ir::Value sample_update_by_window(Sampler& s);
ir::Value sample_update_of_update(Sampler& s);
ir::Value sample_empty_update(Sampler& s);
ir::Value sample_gather_of_one(Sampler& s);
ir::Value sample_scatter_of_one(Sampler& s);
ir::Value sample_sort_of_one(Sampler& s);
ir::Value sample_slice_of_update(Sampler& s);

inline constexpr Rule dynamic_slices[] = {
    {"dynamic-slice-broadcast", any(ir::Op::DynamicSlice, p), Build{"broadcast(dynamic-slice(x)) of a broadcast of x", window_before_broadcast},
     sample_window_of_broadcast},
    {"dynamic-slice-transpose", any(ir::Op::DynamicSlice, p), Build{"transpose(dynamic-slice(x)) of a transpose of x", window_before_transpose},
     sample_window_of_transpose},
    {"dynamic-slice-of-update", any(ir::Op::DynamicSlice, p), Build{"the update that was written there", written_window},
     sample_window_of_update},
    {"slice-dynamic-update", slice(any(ir::Op::DynamicUpdateSlice, q), p), Build{"a slice of the operand or of the update, when it has elements of one only", sliced_beside_update},
     sample_slice_of_update},
    {"dynamic-update-same", any(ir::Op::DynamicUpdateSlice, p), Build{"x, when the update is what x has there", unchanged_operand},
     sample_update_by_window},
    {"dynamic-update-twice", any(ir::Op::DynamicUpdateSlice, p), Build{"the last update of one window", last_written},
     sample_update_of_update},
    {"dynamic-update-nothing", any(ir::Op::DynamicUpdateSlice, p), Build{"x, when the update is empty", nothing_written},
     sample_empty_update},
    {"gather-single", any(ir::Op::Gather, p), Build{"a dynamic-slice, when there is one index vector", gather_as_window},
     sample_gather_of_one},
    {"scatter-single", any(ir::Op::Scatter, p), Build{"a dynamic-update-slice, when there is one index vector and it is known", scatter_as_update},
     sample_scatter_of_one},
    {"sort-single", any(ir::Op::Sort, p), Build{"the operands, when there is nothing to order", sorted_already},
     sample_sort_of_one},
};

}  // namespace hloc::passes::rules
