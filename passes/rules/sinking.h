// Profitable rules that do less of the same work: a slice of a result computes only what the slice keeps. They need the
// use counts, since what something else needs whole must be computed whole anyway.
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

// Only the rows that are kept are reduced.
inline ir::Value sliced_rows(const Match& m, Replacement& out) {
  ir::Value reduce = m[q];
  if (reduce->operand_count != 2 || reduce->callee_count != 1 || !reduce->type.is_array() || reduce->extras) return nullptr;
  if (!keeps_less(m, reduce) || !m.single_use(reduce)) return nullptr;
  ir::SliceAttr rows = whole_of(reduce->operand(0)->type);
  int64_t at = 0;
  for (int64_t d : kept_dims(reduce)) take(rows, d, m[p]->as<ir::SliceAttr>(), at++);
  return reduce_with(out, m.root->type, slice_of(m, out, reduce->operand(0), rows), reduce->operand(1), dims_of(reduce), reduce->callee(0));
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
    {"dot-outer-product", dot(x, y, q), Build{"broadcast(x) * broadcast(y) + 0, when the contracted dimensions have size 1 or there are none", outer_product},
     sample_outer_product},
};

}  // namespace hloc::passes::rules
