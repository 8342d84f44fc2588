// Rules of slices, padding and concatenation over ops that only move elements: read where the elements come from.
#pragma once

#include "passes/rules/dims.h"

namespace hloc::passes::rules {

// Dimension i of transpose(x, p) is dimension p[i] of x.
inline ir::Value sliced_before_transpose(const Match& m, Replacement& out) {
  const auto& attr = m[q]->as<ir::SliceAttr>();
  ir::Ints back = inverse_permutation(dims_of(m[p]));
  ir::SliceAttr inner{pick(attr.start, back), pick(attr.limit, back), pick(attr.stride, back)};
  ir::Type type = array_like(m, m.root->type, pick(m.root->type.sizes(), back));
  return out.make(ir::Op::Transpose, m.root->type, {out.make(ir::Op::Slice, type, {m[x]}, inner)}, *m[p]->attr);
}

// The same elements from the other end.
inline ir::Value sliced_before_reverse(const Match& m, Replacement& out) {
  ir::SliceAttr attr = m[q]->as<ir::SliceAttr>();
  for (int64_t d : dims_of(m[p])) {
    auto i = static_cast<size_t>(d);
    int64_t count = m.root->type.dim(d), last = attr.start[i] + (count - 1) * attr.stride[i];
    if (count == 0) attr.start[i] = attr.limit[i] = 0;
    else attr.start[i] = m[x]->type.dim(d) - 1 - last, attr.limit[i] = attr.start[i] + (count - 1) * attr.stride[i] + 1;
  }
  ir::Value slice = out.make(ir::Op::Slice, m.root->type, {m[x]}, attr);
  return out.make(ir::Op::Reverse, m.root->type, {slice}, *m[p]->attr);
}

// A slice that has only elements of x, or only padding.
inline ir::Value sliced_before_pad(const Match& m, Replacement& out) {
  if (m.root->type.count() == 0) return nullptr;
  const auto& padding = m[p]->as<ir::PadAttr>();
  ir::SliceAttr attr = m[q]->as<ir::SliceAttr>();
  bool all_inside = true;
  for (size_t i = 0; i < attr.start.size(); ++i) {
    auto d = static_cast<int64_t>(i);
    int64_t size = m[x]->type.dim(d), first = attr.start[i] - padding.low[i];
    int64_t last = first + (m.root->type.dim(d) - 1) * attr.stride[i];
    int64_t end = size == 0 ? 0 : size + (size - 1) * padding.interior[i];
    if (last < 0 || first >= end) return out.broadcast(m[y], m.root->type, {});
    if (padding.interior[i] != 0 || first < 0 || last >= end) all_inside = false;
    attr.start[i] = first;
    attr.limit[i] = last + 1;
  }
  return all_inside ? out.make(ir::Op::Slice, m.root->type, {m[x]}, attr) : nullptr;
}

// Padding twice with one value pads once.
inline ir::Value padded_once(const Match& m, Replacement& out) {
  const auto &inner = m[p]->as<ir::PadAttr>(), &outer = m[q]->as<ir::PadAttr>();
  ir::PadAttr attr = inner;
  for (size_t d = 0; d < inner.low.size(); ++d) {
    bool only_adds = inner.low[d] >= 0 && inner.high[d] >= 0 && outer.low[d] >= 0 && outer.high[d] >= 0;
    if (!only_adds || outer.interior[d] != 0) return nullptr;
    if (__builtin_add_overflow(inner.low[d], outer.low[d], &attr.low[d])) return nullptr;
    if (__builtin_add_overflow(inner.high[d], outer.high[d], &attr.high[d])) return nullptr;
  }
  return out.make(ir::Op::Pad, m.root->type, {m[x], m[y]}, attr);
}

inline ir::Value all_padding(const Match& m, Replacement& out) {
  if (m[x]->type.count() == 0) return out.broadcast(m[y], m.root->type, {});
  std::span<const std::byte> inside = uniform_bytes(m[x]), around = uniform_bytes(m[y]);
  bool same = !inside.empty() && std::ranges::equal(inside, around);
  return same ? out.broadcast(m[y], m.root->type, {}) : nullptr;
}

// Padding by negative amounts only takes elements away.
inline ir::Value cropped(const Match& m, Replacement& out) {
  const auto& attr = m[p]->as<ir::PadAttr>();
  ir::SliceAttr slice;
  for (size_t d = 0; d < attr.low.size(); ++d) {
    int64_t size = m[x]->type.dim(static_cast<int64_t>(d));
    if (attr.low[d] > 0 || attr.high[d] > 0 || (attr.interior[d] != 0 && size > 1)) return nullptr;
    if (-attr.low[d] > size + attr.high[d]) return nullptr;
    slice.start.push_back(-attr.low[d]);
    slice.limit.push_back(size + attr.high[d]);
    slice.stride.push_back(1);
  }
  return out.make(ir::Op::Slice, m.root->type, {m[x]}, slice);
}

// Whether `b` goes on along `dim` where `a` ends, both slices of one value.
inline bool continues(ir::Value a, ir::Value b, size_t dim) {
  if (a->op != ir::Op::Slice || b->op != ir::Op::Slice || a->operand(0) != b->operand(0) || b->extras) return false;
  const auto &first = a->as<ir::SliceAttr>(), &second = b->as<ir::SliceAttr>();
  if (first.stride != second.stride || first.stride[dim] != 1 || first.limit[dim] != second.start[dim]) return false;
  for (size_t d = 0; d < first.start.size(); ++d)
    if (d != dim && (first.start[d] != second.start[d] || first.limit[d] != second.limit[d])) return false;
  return true;
}

// Neighbouring slices become one.
inline ir::Value joined_slices(const Match& m, Replacement& out) {
  auto dim = static_cast<size_t>(dims_of(m[p])[0]);
  std::vector<ir::Value> operands;
  for (ir::Value operand : m[p]->operands()) {
    if (operands.empty() || !continues(operands.back(), operand, dim)) {
      operands.push_back(operand);
      continue;
    }
    ir::Value before = operands.back();
    ir::SliceAttr attr = before->as<ir::SliceAttr>();
    attr.limit[dim] = operand->as<ir::SliceAttr>().limit[dim];
    ir::Ints sizes = before->type.sizes();
    sizes[dim] += operand->type.dim(static_cast<int64_t>(dim));
    operands.back() = out.make(ir::Op::Slice, array_like(m, m.root->type, sizes), {before->operand(0)}, attr);
  }
  if (operands.size() == m[p]->operand_count) return nullptr;
  if (operands.size() == 1) return operands[0]->type == m.root->type ? operands[0] : out.make(ir::Op::Slice, m.root->type, {operands[0]->operand(0)}, *operands[0]->attr);
  return out.make(ir::Op::Concatenate, m.root->type, operands, *m[p]->attr);
}

inline ir::Value joined_uniform(const Match& m, Replacement& out) {
  std::span<const std::byte> first = uniform_bytes(m[p]->operand(0));
  if (first.empty()) return nullptr;
  for (ir::Value operand : m[p]->operands())
    if (!std::ranges::equal(first, uniform_bytes(operand))) return nullptr;
  return out.splat(m.root->type, scalar_from_bytes(m.context, m.root->type.element(), first));
}

ir::Value sample_adjacent_slices(Sampler& s);
ir::Value sample_uniform_parts(Sampler& s);
ir::Value sample_uniform_pad(Sampler& s);

inline constexpr Rule slice_rules[] = {
    {"slice-transpose", slice(transpose(x, p), q), Build{"transpose(slice(x), p)", sliced_before_transpose}},
    {"slice-reverse", slice(reverse(x, p), q), Build{"reverse(slice(x), p)", sliced_before_reverse}},
    {"slice-pad", slice(pad(x, y, p), q), Build{"slice(x) or broadcast(y), when it has elements of one kind only", sliced_before_pad}},
    {"pad-pad", pad(pad(x, y, p), y, q), Build{"pad(x, y) by the sums, when nothing is cut off", padded_once}},
    {"pad-same", pad(x, y, p), Build{"broadcast(y), when x is empty or y everywhere", all_padding}, sample_uniform_pad},
    {"pad-to-slice", pad(x, y, p), Build{"slice(x), when p only cuts off", cropped}},
    {"concatenate-slices", any(ir::Op::Concatenate, p), Build{"fewer slices, when neighbours go on where the last ended", joined_slices},
     sample_adjacent_slices},
    {"concatenate-same", any(ir::Op::Concatenate, p), Build{"broadcast(c), when every operand is c everywhere", joined_uniform},
     sample_uniform_parts},
};

}  // namespace hloc::passes::rules
