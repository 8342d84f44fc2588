// Rules that bring broadcasts together and towards the results: work before a broadcast is less than after it.
//
// Settled form: no broadcast of a broadcast, none of a dimension of size 1, none that is a transpose or nothing at all.
#pragma once

#include "passes/rules/dims.h"

namespace hloc::passes::rules {

inline bool broadcasts_nothing(const Match& m) { return is_counting(broadcast_dims(m[p])); }

// broadcast(broadcast(x, p), q): dimension i of x goes to p[i] of the middle, so to q[p[i]].
inline std::optional<ir::Attr> broadcast_once(const Match&, ir::Value inner, ir::Value outer) {
  return ir::BroadcastAttr{pick(broadcast_dims(outer), broadcast_dims(inner))};
}

// As many dimensions as the operand has, in another order: transpose with the inverse permutation.
inline bool is_permutation(const Match& m) { return m[x]->type.rank() == m.root->type.rank(); }
inline std::optional<ir::Attr> permuted(const Match&, ir::Value broadcast, ir::Value) {
  return ir::DimsAttr{inverse_permutation(broadcast_dims(broadcast))};
}

// Dimensions of size 1 of the operand go: broadcast(reshape(x), the rest of p).
inline ir::Value without_ones(const Match& m, Replacement& out) {
  ir::Ints sizes, dims;
  for (int64_t d = 0; d < m[x]->type.rank(); ++d) {
    if (m[x]->type.dim(d) == 1) continue;
    sizes.push_back(m[x]->type.dim(d));
    dims.push_back(broadcast_dims(m[p])[static_cast<size_t>(d)]);
  }
  if (dims.size() == broadcast_dims(m[p]).size()) return nullptr;
  ir::Value squeezed = out.reshape(m[x], array_like(m, m[x]->type, sizes));
  return out.make(ir::Op::Broadcast, m.root->type, {squeezed}, ir::BroadcastAttr{dims});
}

// transpose(broadcast(x, p), q): dimension d of the middle is where q has d.
inline std::optional<ir::Attr> broadcast_transposed(const Match&, ir::Value broadcast, ir::Value transpose) {
  return ir::BroadcastAttr{pick(inverse_permutation(dims_of(transpose)), broadcast_dims(broadcast))};
}
// broadcast(transpose(x, p), q): dimension p[i] of x is dimension i of the middle and goes to q[i].
inline std::optional<ir::Attr> transposed_broadcast(const Match&, ir::Value transpose, ir::Value broadcast) {
  return ir::BroadcastAttr{pick(broadcast_dims(broadcast), inverse_permutation(dims_of(transpose)))};
}

// One run of dimensions that a reshape turns into another run with the same number of elements.
struct ReshapeGroup {
  int64_t from_begin, from_end, to_begin, to_end;
};

// The finest runs; none when an array is empty.
inline std::vector<ReshapeGroup> reshape_groups(ir::Type from, ir::Type to) {
  std::vector<ReshapeGroup> groups;
  if (from.count() == 0) return groups;
  int64_t i = 0, j = 0;
  while (i < from.rank() || j < to.rank()) {
    ReshapeGroup g{i, i, j, j};
    int64_t a = 1, b = 1;
    if (i < from.rank()) a = from.dim(i++);
    if (j < to.rank()) b = to.dim(j++);
    while (a != b) {
      if (a < b) a *= from.dim(i++);
      else b *= to.dim(j++);
    }
    g.from_end = i;
    g.to_end = j;
    groups.push_back(g);
  }
  return groups;
}

// reshape(broadcast(x, p)): where the reshape keeps dimensions of x and new ones apart, x can be reshaped instead.
inline ir::Value reshape_before_broadcast(const Match& m, Replacement& out) {
  const ir::Ints& dims = broadcast_dims(m[p]);
  if (!std::ranges::is_sorted(dims)) return nullptr;
  ir::Type middle = m[p]->type, to = m.root->type;
  ir::Ints sizes, to_dims;
  std::vector<ReshapeGroup> groups = reshape_groups(middle, to);
  if (groups.empty() && to.rank() + middle.rank() > 0) return nullptr;
  for (const ReshapeGroup& g : groups) {
    int64_t of_x = 0, others = 0;
    for (int64_t d = g.from_begin; d < g.from_end; ++d) {
      if (middle.dim(d) == 1) continue;
      ++(contains(dims, d) ? of_x : others);
    }
    if (of_x == 0) continue;
    if (others > 0) return nullptr;
    for (int64_t d = g.to_begin; d < g.to_end; ++d) {
      if (to.dim(d) == 1) continue;
      sizes.push_back(to.dim(d));
      to_dims.push_back(d);
    }
  }
  ir::Value inner = out.reshape(m[x], array_like(m, m[x]->type, sizes));
  return out.broadcast(inner, to, to_dims);
}

// A slice of a broadcast: the same slice of x in the dimensions that x has.
inline ir::Value slice_before_broadcast(const Match& m, Replacement& out) {
  const auto& attr = m[q]->as<ir::SliceAttr>();
  ir::SliceAttr inner;
  ir::Ints sizes;
  bool all = true;
  for (int64_t d : broadcast_dims(m[p])) {
    auto i = static_cast<size_t>(d);
    inner.start.push_back(attr.start[i]);
    inner.limit.push_back(attr.limit[i]);
    inner.stride.push_back(attr.stride[i]);
    sizes.push_back(m.root->type.dim(d));
    all &= m.root->type.dim(d) == m[p]->type.dim(d);
  }
  ir::Value part = all ? m[x] : out.make(ir::Op::Slice, array_like(m, m[x]->type, sizes), {m[x]}, inner);
  return out.broadcast(part, m.root->type, broadcast_dims(m[p]));
}

inline ir::Value reverse_before_broadcast(const Match& m, Replacement& out) {
  const ir::Ints& dims = broadcast_dims(m[p]);
  ir::Ints inner;
  for (int64_t d : dims_of(m[q]))
    if (contains(dims, d)) inner.push_back(position(dims, d));
  ir::Value part = inner.empty() ? m[x] : out.make(ir::Op::Reverse, m[x]->type, {m[x]}, ir::DimsAttr{inner});
  return out.broadcast(part, m.root->type, dims);
}

// f(broadcast(x, d), broadcast(y, d), constants…) = broadcast(f(x, y, constants…), d) for an elementwise f.
inline ir::Value compute_before_broadcast(const Match& m, Replacement& out) {
  ir::Value f = m[p], widened = nullptr;
  if (!f->type.is_array() || f->type.rank() == 0 || f->type->quant || !f->callees().empty()) return nullptr;
  for (ir::Value operand : f->operands()) {
    if (!operand->type.is_array() || operand->type->quant) return nullptr;
    bool whole = operand->type.rank() == f->type.rank();
    if (!whole || !uniform_bytes(operand).empty()) continue;
    if (operand->op != ir::Op::Broadcast) return nullptr;
    if (!widened) widened = operand;
    if (broadcast_dims(operand) != broadcast_dims(widened)) return nullptr;
  }
  if (!widened || widened->operand(0)->type.count() >= f->type.count() || !f->type.is_static()) return nullptr;
  ir::Type inner = widened->operand(0)->type;
  auto like_inner = [&](ElementType element) { return m.context.array(element, inner.sizes()); };
  std::vector<ir::Value> operands;
  for (ir::Value operand : f->operands()) {
    std::span<const std::byte> one = uniform_bytes(operand);
    if (operand->type.rank() != f->type.rank()) operands.push_back(operand);
    else if (one.empty()) operands.push_back(operand->operand(0));
    else operands.push_back(out.splat(like_inner(operand->type.element()),
                                      scalar_from_bytes(m.context, operand->type.element(), one)));
  }
  ir::Value small = out.make(f->op, like_inner(f->type.element()), operands, *f->attr);
  return out.make(ir::Op::Broadcast, f->type, {small}, ir::BroadcastAttr{broadcast_dims(widened)});
}

// `wide` has the dimensions of `narrow` and others of size 1.
inline bool adds_ones(ir::Type narrow, ir::Type wide) {
  int64_t i = 0;
  for (const ir::Dim& d : wide.dims()) {
    if (i < narrow.rank() && narrow.dim(i) == d.size) ++i;
    else if (d.size != 1) return false;
  }
  return i == narrow.rank() && narrow.rank() < wide.rank();
}

// f(reshape(x), reshape(y), constants…) = reshape(f(x, y, constants…)) where the reshapes only add dimensions of size 1.
inline ir::Value compute_before_reshape(const Match& m, Replacement& out) {
  ir::Value f = m[p], widened = nullptr;
  if (!f->type.is_array() || f->type.rank() == 0 || f->type->quant || !f->callees().empty()) return nullptr;
  for (ir::Value operand : f->operands()) {
    if (!operand->type.is_array() || operand->type->quant || operand->type.rank() != f->type.rank()) return nullptr;
    if (!uniform_bytes(operand).empty()) continue;
    if (operand->op != ir::Op::Reshape) return nullptr;
    if (!widened) widened = operand;
    if (!std::ranges::equal(operand->operand(0)->type.dims(), widened->operand(0)->type.dims())) return nullptr;
  }
  if (!widened || !f->type.is_static() || !widened->operand(0)->type.is_static()) return nullptr;
  ir::Type inner = widened->operand(0)->type;
  if (!adds_ones(inner, f->type)) return nullptr;
  auto like_inner = [&](ElementType element) { return m.context.array(element, inner.sizes()); };
  std::vector<ir::Value> operands;
  for (ir::Value operand : f->operands()) {
    ElementType element = operand->type.element();
    std::span<const std::byte> one = uniform_bytes(operand);
    operands.push_back(one.empty() ? operand->operand(0)
                                   : out.splat(like_inner(element), scalar_from_bytes(m.context, element, one)));
  }
  return out.reshape(out.make(f->op, like_inner(f->type.element()), operands, *f->attr), f->type);
}

// An iota is the same along all dimensions but one, so broadcasts and transposes of it are iotas.
inline ir::Value iota_of_broadcast(const Match& m, Replacement& out) {
  int64_t dim = broadcast_dims(m[p])[static_cast<size_t>(m[q]->as<ir::IotaAttr>().dim)];
  return out.make(ir::Op::Iota, m.root->type, {}, ir::IotaAttr{dim});
}
inline ir::Value iota_of_transpose(const Match& m, Replacement& out) {
  int64_t dim = position(dims_of(m[p]), m[q]->as<ir::IotaAttr>().dim);
  return out.make(ir::Op::Iota, m.root->type, {}, ir::IotaAttr{dim});
}

ir::Value sample_elementwise_of_broadcasts(Sampler& s);
ir::Value sample_elementwise_of_reshapes(Sampler& s);

inline constexpr Rule broadcast_rules[] = {
    {"broadcast-nothing", broadcast(x, p), x, Condition{"p lists all dimensions in order", broadcasts_nothing}},
    {"broadcast-broadcast", broadcast(broadcast(x, p), q), broadcast(x, computed("compose", broadcast_once, p, q))},
    {"broadcast-ones", broadcast(x, p), Build{"broadcast(reshape(x), p without dimensions of size 1)", without_ones}},
    {"broadcast-to-transpose", broadcast(x, p), transpose(x, computed("inverse", permuted, p)),
     Condition{"x has as many dimensions", is_permutation}},
    {"broadcast-transpose", broadcast(transpose(x, p), q), broadcast(x, computed("compose", transposed_broadcast, p, q))},
    {"transpose-broadcast", transpose(broadcast(x, p), q), broadcast(x, computed("compose", broadcast_transposed, p, q))},
    {"reshape-broadcast", reshape(broadcast(x, p)), Build{"broadcast(reshape(x)), where q keeps x's dimensions apart", reshape_before_broadcast}},
    {"slice-broadcast", slice(broadcast(x, p), q), Build{"broadcast(slice(x), p)", slice_before_broadcast}},
    {"reverse-broadcast", reverse(broadcast(x, p), q), Build{"broadcast(reverse(x), p)", reverse_before_broadcast}},
    {"elementwise-broadcast", elementwise(p), Build{"broadcast(f(x, y)) for f(broadcast(x), broadcast(y))", compute_before_broadcast},
     sample_elementwise_of_broadcasts},
    {"elementwise-reshape", elementwise(p), Build{"reshape(f(x, y)) for f(reshape(x), reshape(y)) that add dimensions of size 1", compute_before_reshape},
     sample_elementwise_of_reshapes},
    {"broadcast-iota", broadcast(any(ir::Op::Iota, q), p), Build{"an iota", iota_of_broadcast}},
    {"transpose-iota", transpose(any(ir::Op::Iota, q), p), Build{"an iota", iota_of_transpose}},
};

}  // namespace hloc::passes::rules
