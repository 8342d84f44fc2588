// Rules of ops that move elements: reshape, transpose, reverse, slice, pad, concatenate, dynamic slices, iota.
#pragma once

#include "passes/rules/dims.h"

namespace hloc::passes::rules {

// The bytes of a literal are its elements in order, whatever its shape.
inline ir::Value reshaped_literal(const Match& m, Replacement& out) {
  if (!m.root->type.is_static() || m[p]->type->quant) return nullptr;
  return out.make(ir::Op::Constant, m.root->type, {},
                  ir::ConstantAttr{m[p]->as<ir::ConstantAttr>().value.with_type(m.root->type)});
}

inline bool permutes_nothing(const Match& m) { return is_counting(dims_of(m[p])); }

// transpose(transpose(x, p), q): result dimension i is dimension q[i] of the middle, so p[q[i]] of x.
inline std::optional<ir::Attr> composed(const Match&, ir::Value inner, ir::Value outer) {
  return ir::DimsAttr{pick(dims_of(inner), dims_of(outer))};
}

// Only dimensions of size 1 change places: the elements stay in order.
inline bool keeps_order(const Match& m) {
  int64_t last = -1;
  for (int64_t d : dims_of(m[p])) {
    if (m[x]->type.dim(d) == 1) continue;
    if (d < last) return false;
    last = d;
  }
  return true;
}

inline bool reverses_nothing(const Match& m) {
  return std::ranges::all_of(dims_of(m[p]), [&](int64_t d) { return m[x]->type.dim(d) <= 1; });
}
// Reversed by exactly one of the two.
inline std::optional<ir::Attr> reversed_once(const Match& m, ir::Value inner, ir::Value outer) {
  ir::Ints dims;
  for (int64_t d = 0; d < m.root->type.rank(); ++d)
    if (contains(dims_of(inner), d) != contains(dims_of(outer), d)) dims.push_back(d);
  return ir::DimsAttr{dims};
}

// slice(slice(x, p), q): element start + i * stride of the middle is start + (start' + i * stride') * stride of x.
inline std::optional<ir::Attr> sliced_once(const Match& m, ir::Value inner, ir::Value outer) {
  const auto &a = inner->as<ir::SliceAttr>(), &b = outer->as<ir::SliceAttr>();
  ir::SliceAttr out;
  for (size_t d = 0; d < a.start.size(); ++d) {
    int64_t stride = 0, count = m.root->type.dim(static_cast<int64_t>(d)), start = a.start[d] + b.start[d] * a.stride[d];
    if (__builtin_mul_overflow(a.stride[d], b.stride[d], &stride)) return std::nullopt;
    if (count <= 1) stride = 1;
    out.start.push_back(start);
    out.limit.push_back(count == 0 ? start : start + (count - 1) * stride + 1);
    out.stride.push_back(stride);
  }
  return out;
}

// Every element, in order. The type equality that the engine demands does not tell it: a slice of size 1 may be anywhere.
inline bool slices_all(const Match& m) {
  const auto& attr = m[p]->as<ir::SliceAttr>();
  return m[x]->type == m.root->type && std::ranges::all_of(attr.start, [](int64_t s) { return s == 0; });
}

inline bool pads_nothing(const Match& m) {
  const auto& attr = m[p]->as<ir::PadAttr>();
  auto zero = [](int64_t n) { return n == 0; };
  return std::ranges::all_of(attr.low, zero) && std::ranges::all_of(attr.high, zero) && m[x]->type == m.root->type;
}

// A slice that lies within one operand of a concatenation.
inline ir::Value slice_of_operand(const Match& m, Replacement& out) {
  auto d = static_cast<size_t>(dims_of(m[q])[0]);
  ir::SliceAttr attr = m[p]->as<ir::SliceAttr>();
  if (m.root->type.count() == 0) return nullptr;
  int64_t offset = 0;
  for (ir::Value operand : m[q]->operands()) {
    int64_t size = operand->type.dim(static_cast<int64_t>(d));
    if (attr.start[d] < offset + size) {
      if (attr.limit[d] > offset + size) return nullptr;
      attr.start[d] -= offset;
      attr.limit[d] -= offset;
      return out.make(ir::Op::Slice, m.root->type, {operand}, attr);
    }
    offset += size;
  }
  return nullptr;
}

// Operands that are concatenations along the same dimension give their operands; empty operands go.
inline ir::Value flat_concatenate(const Match& m, Replacement& out) {
  const ir::Ints& dims = dims_of(m[p]);
  std::vector<ir::Value> operands;
  auto add = [&](ir::Value v) {
    if (v->type.dim(dims[0]) != 0) operands.push_back(v);
  };
  for (ir::Value operand : m[p]->operands()) {
    bool nested = operand->op == ir::Op::Concatenate && dims_of(operand) == dims && !operand->extras;
    if (!nested) add(operand);
    else for (ir::Value inner : operand->operands()) add(inner);
  }
  if (operands.empty() || std::ranges::equal(operands, m[p]->operands())) return nullptr;
  if (operands.size() == 1 && operands[0]->type == m.root->type) return operands[0];
  return out.make(ir::Op::Concatenate, m.root->type, operands, ir::DimsAttr{dims});
}

inline ir::Value only_operand(const Match& m, Replacement&) {
  return m[p]->operand_count == 1 ? m[p]->operand(0) : nullptr;
}

// Indices are clamped so that the slice fits: one of full size starts at 0.
inline ir::Value whole_operand(const Match& m, Replacement&) { return m[p]->operand(0); }
inline ir::Value whole_update(const Match& m, Replacement&) { return m[p]->operand(1); }

inline ir::Value static_slice(const Match& m, Replacement& out) {
  ir::Value from = m[p]->operand(0);
  if (m[p]->operand_count != static_cast<size_t>(from->type.rank()) + 1) return nullptr;
  ir::SliceAttr attr;
  for (int64_t d = 0; d < from->type.rank(); ++d) {
    ir::Value index = m[p]->operand(static_cast<size_t>(d) + 1);
    std::optional<int64_t> at = uniform_int(index);
    // A number that does not fit 64 signed bits is clamped to the end like any large one.
    if (!at && index->op == ir::Op::Constant && !uniform_bytes(index).empty()) at = INT64_MAX;
    int64_t size = m.root->type.dim(d), room = from->type.dim(d) - size;
    if (room == 0) at = 0;
    if (!at) return nullptr;
    int64_t start = std::clamp<int64_t>(*at, 0, room);
    attr.start.push_back(start);
    attr.limit.push_back(start + size);
    attr.stride.push_back(1);
  }
  return out.make(ir::Op::Slice, m.root->type, {from}, attr);
}

// An iota along a dimension of size 1 is zero.
inline ir::Value zero_iota(const Match& m, Replacement& out) {
  if (m.root->type.dim(m[p]->as<ir::IotaAttr>().dim) != 1) return nullptr;
  std::optional<ir::Literal> zero = scalar_literal(m.context, m.root->type.element(), Special::number, 0);
  return zero ? out.splat(m.root->type, *std::move(zero)) : nullptr;
}

inline ir::Value dimension_size(const Match& m, Replacement& out) {
  int64_t size = m[p]->operand(0)->type.dim(dims_of(m[p])[0]);
  if (size > INT32_MAX) return nullptr;
  std::optional<ir::Literal> value = scalar_literal(m.context, m.root->type.element(), Special::number, size);
  return value ? out.splat(m.root->type, *std::move(value)) : nullptr;
}

// Left sides that chance would hardly make; see the proof.
ir::Value sample_nested_concatenate(Sampler& s);
ir::Value sample_constant_dynamic_slice(Sampler& s);

inline constexpr Rule shape_motion[] = {
    {"reshape-same", reshape(x), x},
    {"reshape-reshape", reshape(reshape(x)), reshape(x)},
    {"reshape-constant", reshape(any(ir::Op::Constant, p)), Build{"a constant", reshaped_literal}},
    {"transpose-identity", transpose(x, p), x, Condition{"p moves nothing", permutes_nothing}},
    {"transpose-transpose", transpose(transpose(x, p), q), transpose(x, computed("compose", composed, p, q))},
    {"transpose-to-reshape", transpose(x, p), reshape(x), Condition{"p moves only dimensions of size 1", keeps_order}},
    {"reverse-nothing", reverse(x, p), x, Condition{"p has only dimensions of size 1", reverses_nothing}},
    {"reverse-reverse", reverse(reverse(x, p), q), reverse(x, computed("either", reversed_once, p, q))},
    {"slice-all", slice(x, p), x, Condition{"p is all of x", slices_all}},
    {"slice-slice", slice(slice(x, p), q), slice(x, computed("compose", sliced_once, p, q))},
    {"slice-concatenate", slice(any(ir::Op::Concatenate, q), p), Build{"a slice of the operand that it lies in", slice_of_operand}},
    {"pad-nothing", pad(x, y, p), x, Condition{"p adds and removes nothing", pads_nothing}},
    {"concatenate-one", any(ir::Op::Concatenate, p), Build{"its operand, when it has one", only_operand}},
    {"concatenate-flat", any(ir::Op::Concatenate, p), Build{"a concatenation of what its operands concatenate", flat_concatenate},
     sample_nested_concatenate},
    {"dynamic-slice-all", any(ir::Op::DynamicSlice, p), Build{"the operand, when the slice has its size", whole_operand}},
    {"dynamic-slice-constant", any(ir::Op::DynamicSlice, p), Build{"a slice, when the indices are constants", static_slice},
     sample_constant_dynamic_slice},
    {"dynamic-update-all", any(ir::Op::DynamicUpdateSlice, p), Build{"the update, when it has the operand's size", whole_update}},
    {"iota-single", any(ir::Op::Iota, p), Build{"0, when the dimension has size 1", zero_iota}},
    {"get-dimension-size", any(ir::Op::GetDimensionSize, p), Build{"the size of the dimension", dimension_size}},
};

}  // namespace hloc::passes::rules
