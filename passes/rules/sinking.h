// Profitable rules that do less of the same work: a slice, a window or a gather of a result computes only what it keeps.
// They need the use counts, since what something else needs whole must be computed whole anyway.
#pragma once

#include "passes/rules/dot.h"
#include "passes/rules/dynamic_slices.h"

namespace hloc::passes::rules {

// A chain of elementwise ops fuses with its slice either way; what is saved is what others would have to store.
inline bool keeps_less(const Match& m, ir::Value whole) { return m.root->type.count() < whole->type.count(); }

inline bool may_sink(const Match& m, ir::Value f) {
  if (!f->type.is_array() || f->extras || ir::has_effect(f) || !f->callees().empty() || f->type->quant) return false;
  return keeps_less(m, f) && m.single_use(f);
}

// slice(f(x, y)) is f(slice(x), slice(y)); scalars of select and clamp stay.
template <class Cut>
ir::Value cut_operands(const Match& m, Replacement& out, ir::Value f, Cut cut) {
  if (!may_sink(m, f) || f->op == ir::Op::Map) return nullptr;
  std::vector<ir::Value> operands;
  for (ir::Value operand : f->operands()) {
    if (!operand->type.is_array() || operand->type->quant) return nullptr;
    if (operand->type.rank() == 0) operands.push_back(operand);
    else operands.push_back(cut(operand, array_like(m, operand->type, m.root->type.sizes())));
  }
  return operands.empty() || f->type.rank() == 0 ? nullptr : out.make(f->op, m.root->type, operands, *f->attr);
}
inline ir::Value sliced_operands(const Match& m, Replacement& out) {
  return cut_operands(m, out, m[q], [&](ir::Value x_in, ir::Type type) { return out.make(ir::Op::Slice, type, {x_in}, *m[p]->attr); });
}
inline ir::Value windowed_operands(const Match& m, Replacement& out) {
  ir::Value f = m[p]->operand(0);
  if (!ir::is_elementwise(f->op) || !has_starts(m[p])) return nullptr;
  return cut_operands(m, out, f, [&](ir::Value x_in, ir::Type type) { return dynamic_slice_of(out, type, x_in, slice_starts(m[p])); });
}

// What a slice of one dimension of a value takes.
inline ir::Value slice_of(const Match& m, Replacement& out, ir::Value v, const ir::SliceAttr& attr) {
  ir::Ints sizes;
  for (size_t d = 0; d < attr.start.size(); ++d)
    sizes.push_back(attr.limit[d] <= attr.start[d] ? 0 : (attr.limit[d] - attr.start[d] - 1) / attr.stride[d] + 1);
  ir::Type type = array_like(m, v->type, sizes);
  return type == v->type ? v : out.make(ir::Op::Slice, type, {v}, attr);
}
inline ir::SliceAttr whole_of(ir::Type type) {
  return {ir::Ints(static_cast<size_t>(type.rank()), 0), type.sizes(), ir::Ints(static_cast<size_t>(type.rank()), 1)};
}
inline void take(ir::SliceAttr& into, int64_t to, const ir::SliceAttr& from, int64_t at) {
  auto i = static_cast<size_t>(to), k = static_cast<size_t>(at);
  into.start[i] = from.start[k], into.limit[i] = from.limit[k], into.stride[i] = from.stride[k];
}

// Gathering costs more for an element than most elementwise ops do: it pays when no more is gathered than f would have made.
inline ir::Value gathered_operands(const Match& m, Replacement& out) {
  ir::Value f = m[p]->operand(0);
  if (!ir::is_elementwise(f->op) || m[p]->operand_count != 2) return nullptr;
  auto arrays = std::ranges::count_if(f->operands(), [](ir::Value v) { return v->type.is_array() && v->type.rank() > 0; });
  if (m.root->type.count() * arrays > f->type.count()) return nullptr;
  return cut_operands(m, out, f, [&](ir::Value x_in, ir::Type type) {
    return out.make(ir::Op::Gather, type, {x_in, m[p]->operand(1)}, *m[p]->attr);
  });
}

// Where in a result of `rank` dimensions those are that do not come out of the window.
inline ir::Ints batch_places(const ir::GatherAttr& attr, int64_t rank) {
  ir::Ints out;
  for (int64_t d = 0; d < rank; ++d)
    if (!contains(attr.offset_dims, d)) out.push_back(d);
  return out;
}

// Fewer index vectors. Windows are taken whole: a part of one would be clamped to other starts.
inline ir::Value sliced_indices(const Match& m, Replacement& out) {
  ir::Value gather = m[q];
  if (gather->operand_count != 2 || !may_sink(m, gather) || m.root->type.count() == 0) return nullptr;
  const auto& attr = gather->as<ir::GatherAttr>();
  const auto& cut = m[p]->as<ir::SliceAttr>();
  for (int64_t d : attr.offset_dims)
    if (m.root->type.dim(d) != gather->type.dim(d)) return nullptr;
  ir::Value from = gather->operand(0), indices = gather->operand(1);
  ir::SliceAttr fewer = whole_of(indices->type), part = whole_of(from->type);
  ir::Ints places = batch_places(attr, gather->type.rank());
  size_t at = 0;
  for (int64_t d = 0; d < indices->type.rank(); ++d) {
    if (d == attr.index_vector_dim) continue;
    take(fewer, d, cut, places[at]);
    auto shared = static_cast<size_t>(position(attr.start_indices_batching_dims, d));
    if (shared < attr.operand_batching_dims.size()) take(part, attr.operand_batching_dims[shared], cut, places[at]);
    ++at;
  }
  return out.make(ir::Op::Gather, m.root->type, {slice_of(m, out, from, part), slice_of(m, out, indices, fewer)}, attr);
}

// What is left of each operand of a concatenation; the rule slice-concatenate is for slices of one.
inline ir::Value sliced_parts(const Match& m, Replacement& out) {
  if (!may_sink(m, m[q]) || m.root->type.count() == 0) return nullptr;
  int64_t d = dims_of(m[q])[0], offset = 0;
  auto i = static_cast<size_t>(d);
  const auto& attr = m[p]->as<ir::SliceAttr>();
  std::vector<ir::Value> parts;
  for (ir::Value operand : m[q]->operands()) {
    int64_t size = operand->type.dim(d), stride = attr.stride[i], first = attr.start[i] - offset;
    if (first < 0) first += (-first + stride - 1) / stride * stride;  // the first place kept that lies in this operand
    ir::SliceAttr part = attr;
    part.start[i] = first;
    part.limit[i] = std::min(size, attr.limit[i] - offset);
    if (part.limit[i] > first) parts.push_back(slice_of(m, out, operand, part));
    offset += size;
  }
  return parts.size() < 2 ? nullptr : out.make(ir::Op::Concatenate, m.root->type, parts, *m[q]->attr);
}

// Only the padding that is kept; the rule slice-pad is for slices that have only padding or none.
inline ir::Value sliced_padding(const Match& m, Replacement& out) {
  if (!may_sink(m, m[r])) return nullptr;
  ir::PadAttr padding = m[r]->as<ir::PadAttr>();
  const auto& attr = m[p]->as<ir::SliceAttr>();
  ir::SliceAttr inner = whole_of(m[x]->type);
  for (size_t i = 0; i < attr.start.size(); ++i) {
    auto d = static_cast<int64_t>(i);
    if (m.root->type.dim(d) == m[r]->type.dim(d)) continue;
    if (padding.interior[i] != 0 || attr.stride[i] != 1) return nullptr;
    int64_t first = attr.start[i] - padding.low[i], last = attr.limit[i] - padding.low[i], size = m[x]->type.dim(d);
    inner.start[i] = std::clamp<int64_t>(first, 0, size);
    inner.limit[i] = std::clamp<int64_t>(last, inner.start[i], size);
    padding.low[i] = std::max<int64_t>(0, std::min(last, int64_t{0}) - first);
    padding.high[i] = attr.limit[i] - attr.start[i] - padding.low[i] - (inner.limit[i] - inner.start[i]);
  }
  return out.make(ir::Op::Pad, m.root->type, {slice_of(m, out, m[x], inner), m[y]}, padding);
}

// Result dimensions of a dot are batch, then the free ones of x, then those of y.
inline ir::Value sliced_factors(const Match& m, Replacement& out) {
  if (!may_sink(m, m[q])) return nullptr;
  const auto& dot_attr = m[q]->as<ir::DotAttr>();
  const auto& attr = m[p]->as<ir::SliceAttr>();
  ir::SliceAttr left = whole_of(m[x]->type), right = whole_of(m[y]->type);
  int64_t at = 0;
  for (size_t b = 0; b < dot_attr.lhs_batch.size(); ++b, ++at) {
    take(left, dot_attr.lhs_batch[b], attr, at);
    take(right, dot_attr.rhs_batch[b], attr, at);
  }
  for (int64_t d : free_dims(m[x]->type.rank(), dot_attr.lhs_contracting, dot_attr.lhs_batch)) take(left, d, attr, at++);
  for (int64_t d : free_dims(m[y]->type.rank(), dot_attr.rhs_contracting, dot_attr.rhs_batch)) take(right, d, attr, at++);
  return out.make(ir::Op::Dot, m.root->type, {slice_of(m, out, m[x], left), slice_of(m, out, m[y], right)}, dot_attr);
}

// Zero for each dimension of `like`, as start indices of the type that the dynamic slice in p has.
inline std::vector<ir::Value> zero_starts(const Match& m, Replacement& out, ir::Type like) {
  ir::Type index = slice_starts(m[p])[0]->type;
  std::optional<ir::Literal> zero = scalar_literal(m.context, index.element(), Special::number, 0);
  return std::vector<ir::Value>(static_cast<size_t>(like.rank()), out.splat(index, *std::move(zero)));
}
// The window of `v` that has these starts and sizes; v itself when that is all of it.
inline ir::Value window_of(const Match& m, Replacement& out, ir::Value v, const ir::Ints& sizes, std::span<const ir::Value> starts) {
  ir::Type type = array_like(m, v->type, sizes);
  return type == v->type ? v : dynamic_slice_of(out, type, v, starts);
}

// The start of each dimension is clamped to the same range in the operand that has it.
inline ir::Value windowed_factors(const Match& m, Replacement& out) {
  ir::Value dot_of = m[p]->operand(0);
  if (dot_of->op != ir::Op::Dot || dot_of->type.rank() == 0 || !has_starts(m[p]) || !may_sink(m, dot_of)) return nullptr;
  const auto& attr = dot_of->as<ir::DotAttr>();
  ir::Value left = dot_of->operand(0), right = dot_of->operand(1);
  std::vector<ir::Value> left_starts = zero_starts(m, out, left->type), right_starts = zero_starts(m, out, right->type);
  ir::Ints left_sizes = left->type.sizes(), right_sizes = right->type.sizes();
  int64_t at = 0;
  auto take_start = [&](std::vector<ir::Value>& starts, ir::Ints& sizes, int64_t to) {
    starts[static_cast<size_t>(to)] = slice_starts(m[p])[static_cast<size_t>(at)];
    sizes[static_cast<size_t>(to)] = m.root->type.dim(at);
  };
  for (size_t b = 0; b < attr.lhs_batch.size(); ++b, ++at) {
    take_start(left_starts, left_sizes, attr.lhs_batch[b]);
    take_start(right_starts, right_sizes, attr.rhs_batch[b]);
  }
  for (int64_t d : free_dims(left->type.rank(), attr.lhs_contracting, attr.lhs_batch)) take_start(left_starts, left_sizes, d), ++at;
  for (int64_t d : free_dims(right->type.rank(), attr.rhs_contracting, attr.rhs_batch)) take_start(right_starts, right_sizes, d), ++at;
  return out.make(ir::Op::Dot, m.root->type,
                  {window_of(m, out, left, left_sizes, left_starts), window_of(m, out, right, right_sizes, right_starts)}, attr);
}

inline bool may_sink_into_reduce(const Match& m, ir::Value reduce) {
  if (reduce->operand_count != 2 || reduce->callee_count != 1 || !reduce->type.is_array() || reduce->extras) return false;
  return keeps_less(m, reduce) && m.single_use(reduce);
}

inline ir::Value windowed_rows(const Match& m, Replacement& out) {
  ir::Value reduce = m[p]->operand(0);
  if (reduce->op != ir::Op::Reduce || reduce->type.rank() == 0 || !has_starts(m[p]) || !may_sink_into_reduce(m, reduce)) return nullptr;
  ir::Value from = reduce->operand(0);
  std::vector<ir::Value> starts = zero_starts(m, out, from->type);
  ir::Ints sizes = from->type.sizes();
  int64_t at = 0;
  for (int64_t d : kept_dims(reduce)) {
    starts[static_cast<size_t>(d)] = slice_starts(m[p])[static_cast<size_t>(at)];
    sizes[static_cast<size_t>(d)] = m.root->type.dim(at++);
  }
  return reduce_with(out, m.root->type, window_of(m, out, from, sizes, starts), reduce->operand(1), dims_of(reduce), reduce->callee(0));
}

// Only the rows that are kept are reduced.
inline ir::Value sliced_rows(const Match& m, Replacement& out) {
  ir::Value reduce = m[q];
  if (!may_sink_into_reduce(m, reduce)) return nullptr;
  ir::SliceAttr rows = whole_of(reduce->operand(0)->type);
  int64_t at = 0;
  for (int64_t d : kept_dims(reduce)) take(rows, d, m[p]->as<ir::SliceAttr>(), at++);
  return reduce_with(out, m.root->type, slice_of(m, out, reduce->operand(0), rows), reduce->operand(1), dims_of(reduce), reduce->callee(0));
}

inline bool may_reduce_parts(ir::Value reduce) {
  return reduce->operand_count == 2 && reduce->callee_count == 1 && reduce->type.is_array() && !reduce->extras &&
         reduce->callee(0).effects().empty() && reduce->operand(0)->type.count() > 0;
}

// The parts reduced one by one, and what they give combined; or put side by side when the parts are, too. That saves to
// write the whole and to read it, for a kernel more a part; parts that have nothing to reduce need none.
inline ir::Value reduced_parts(const Match& m, Replacement& out) {
  ir::Value reduce = m[p], whole = reduce->operand(0);
  if (whole->op != ir::Op::Concatenate || whole->extras || !m.single_use(whole) || !may_reduce_parts(reduce)) return nullptr;
  int64_t along = dims_of(whole)[0];
  bool is_reduced = contains(dims_of(reduce), along);
  ir::Op op = reduced_by(reduce);
  if (is_reduced && (op == ir::Op::Tuple || !any_order(op, reduce->type.element()))) return nullptr;
  if (is_reduced && !is_idempotent(op) && !is_neutral(m, reduce->operand(1), op)) return nullptr;
  bool nothing_left = op != ir::Op::Tuple && std::ranges::all_of(whole->operands(), [&](ir::Value part) {
    return std::ranges::all_of(dims_of(reduce), [&](int64_t d) { return part->type.dim(d) == 1; });
  });
  double saved = 2.0 * static_cast<double>(whole->type.count()) * byte_width(whole->type.element());
  if (!nothing_left && saved < static_cast<double>(whole->operand_count) * m.target.launch_cost_bytes) return nullptr;
  std::vector<ir::Value> parts;
  for (ir::Value part : whole->operands()) {
    ir::Ints sizes = pick(part->type.sizes(), kept_dims(reduce));
    parts.push_back(reduce_with(out, array_like(m, m.root->type, sizes), part, reduce->operand(1), dims_of(reduce), reduce->callee(0)));
  }
  if (!is_reduced)
    return out.make(ir::Op::Concatenate, m.root->type, parts, ir::DimsAttr{{position(kept_dims(reduce), along)}});
  ir::Value all = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) all = out.make(op, m.root->type, {all, parts[i]});
  return all;
}

// A dot over no dimension, or over some of size 1, multiplies each with each: elementwise work, which fuses. Its sum starts
// at +0, so that -0 becomes +0. Narrow floats sum in f32 and round once: there a product may become -0 only by rounding.
inline ir::Value outer_product(const Match& m, Replacement& out) {
  const auto& attr = m[q]->as<ir::DotAttr>();
  ElementType element = m.root->type.element();
  if (attr.algorithm != ir::DotAlgorithm::unset || !attr.precision.empty()) return nullptr;
  if (m[x]->type.element() != element || m[y]->type.element() != element) return nullptr;
  if (!is_integer(element) && element != ElementType::f32 && element != ElementType::f64) return nullptr;
  for (int64_t d : attr.lhs_contracting)
    if (m[x]->type.dim(d) != 1) return nullptr;
  auto widened = [&](ir::Value v, const ir::Ints& contracting, const ir::Ints& batch, int64_t first_free) {
    ir::Ints sizes, places;
    int64_t free = first_free;
    for (int64_t d = 0; d < v->type.rank(); ++d) {
      if (contains(contracting, d)) continue;
      sizes.push_back(v->type.dim(d));
      places.push_back(contains(batch, d) ? position(batch, d) : free++);
    }
    return out.broadcast(out.reshape(v, array_like(m, v->type, sizes)), m.root->type, places);
  };
  std::optional<ir::Literal> zero = scalar_literal(m.context, element, Special::number, 0);
  if (!zero) return nullptr;
  auto batches = static_cast<int64_t>(attr.lhs_batch.size());
  int64_t left_free = m[x]->type.rank() - batches - static_cast<int64_t>(attr.lhs_contracting.size());
  ir::Value left = widened(m[x], attr.lhs_contracting, attr.lhs_batch, batches);
  ir::Value right = widened(m[y], attr.rhs_contracting, attr.rhs_batch, batches + left_free);
  ir::Value product = out.make(ir::Op::Multiply, m.root->type, {left, right});
  return out.make(ir::Op::Add, m.root->type, {product, out.splat(m.root->type, *std::move(zero))});
}

ir::Value sample_slice_of_elementwise(Sampler& s);
ir::Value sample_window_of_elementwise(Sampler& s);
ir::Value sample_window_of_dot(Sampler& s);
ir::Value sample_window_of_reduce(Sampler& s);
ir::Value sample_gather_of_elementwise(Sampler& s);
ir::Value sample_slice_of_gather(Sampler& s);
ir::Value sample_slice_of_pad(Sampler& s);
ir::Value sample_reduce_of_parts(Sampler& s);
ir::Value sample_slice_of_reduce(Sampler& s);
ir::Value sample_outer_product(Sampler& s);

inline constexpr Rule sinking[] = {
    {"slice-elementwise", slice(elementwise(q), p), Build{"f(slice(x), slice(y)) for f(x, y) that nothing else uses", sliced_operands},
     sample_slice_of_elementwise},
    {"slice-dot", slice(dot(x, y, q), p), Build{"dot(slice(x), slice(y)), when nothing else uses the dot", sliced_factors}},
    {"slice-reduce", slice(any(ir::Op::Reduce, q), p), Build{"reduce(slice(x)), when nothing else uses the reduction", sliced_rows},
     sample_slice_of_reduce},
    {"dynamic-slice-elementwise", any(ir::Op::DynamicSlice, p), Build{"f(dynamic-slice(x)) for f(x) that nothing else uses", windowed_operands},
     sample_window_of_elementwise},
    {"dynamic-slice-dot", any(ir::Op::DynamicSlice, p), Build{"dot(dynamic-slice(x), dynamic-slice(y)) of a dot that nothing else uses", windowed_factors},
     sample_window_of_dot},
    {"dynamic-slice-reduce", any(ir::Op::DynamicSlice, p), Build{"reduce(dynamic-slice(x)) of a reduction that nothing else uses", windowed_rows},
     sample_window_of_reduce},
    {"gather-elementwise", any(ir::Op::Gather, p), Build{"f(gather(x)) for a larger f(x) that nothing else uses", gathered_operands},
     sample_gather_of_elementwise},
    {"slice-gather", slice(any(ir::Op::Gather, q), p), Build{"gather(x, slice(y)), when whole windows of it are kept and nothing else uses it", sliced_indices},
     sample_slice_of_gather},
    {"slice-concatenate-parts", slice(any(ir::Op::Concatenate, q), p), Build{"concatenate(slice(x), slice(y)), when nothing else uses the whole", sliced_parts}},
    {"slice-pad-part", slice(pad(x, y, r), p), Build{"pad(slice(x), y) by what is kept, when nothing else uses the whole", sliced_padding},
     sample_slice_of_pad},
    {"reduce-concatenate", any(ir::Op::Reduce, p), Build{"f(reduce(x), reduce(y)), or reductions side by side, of a concatenation that nothing else uses", reduced_parts},
     sample_reduce_of_parts},
    {"dot-outer-product", dot(x, y, q), Build{"broadcast(x) * broadcast(y) + 0, when the contracted dimensions have size 1 or there are none", outer_product},
     sample_outer_product},
};

}  // namespace hloc::passes::rules
