// Elemental lowering of ops that move elements: a point of the result becomes a point of the operand.
#include <algorithm>

#include "backends/loops/elements.h"

namespace hloc::loops {
namespace {

bool is_row_major(ir::Type type) { return type.layout().is_row_major(); }

}  // namespace

// The point of operand 0 for ops that only rename points; nullopt for other ops.
std::optional<Point> Elements::moved(ir::Value v, const Point& at) {
  using ir::Op;
  Point to{{}, at.guards, at.otherwise};
  if (v->op == Op::Copy || (v->op == Op::OptBarrier && v->operand_count == 1)) return at;
  if (v->op == Op::Convert && v->operand(0)->type.element() == v->type.element()) return at;
  if (v->op == Op::Broadcast) {
    ir::Type from = v->operand(0)->type;
    const auto& dims = v->as<ir::BroadcastAttr>().dims;
    for (size_t i = 0; i < dims.size(); ++i)
      to.index.push_back(from.dim(static_cast<int64_t>(i)) == 1 ? Affine() : at.index[static_cast<size_t>(dims[i])]);
    return to;
  }
  if (v->op == Op::Transpose) {
    const auto& dims = v->as<ir::DimsAttr>().dims;
    to.index.resize(dims.size());
    for (size_t i = 0; i < dims.size(); ++i) to.index[static_cast<size_t>(dims[i])] = at.index[i];
    return to;
  }
  if (v->op == Op::Slice) {
    const auto& attr = v->as<ir::SliceAttr>();
    for (size_t i = 0; i < at.index.size(); ++i)
      to.index.push_back(at.index[i] * (attr.stride.empty() ? 1 : attr.stride[i]) + Affine(attr.start[i]));
    return to;
  }
  if (v->op == Op::Reverse) {
    to.index = at.index;
    for (int64_t d : v->as<ir::DimsAttr>().dims) {
      Affine& a = to.index[static_cast<size_t>(d)];
      a = a * -1 + Affine(v->type.dim(d) - 1);
    }
    return to;
  }
  bool is_bitcast = v->op == Op::Bitcast;
  if (v->op == Op::Reshape || is_bitcast) {
    ir::Type from = v->operand(0)->type;
    if (is_bitcast && (!is_row_major(from) || !is_row_major(v->type) || from.element() != v->type.element())) {
      fail(v, "it changes more than dimensions");
      return std::nullopt;
    }
    to.index = reshaped(from.dims(), v->type.dims(), at.index);
    return to;
  }
  return std::nullopt;
}

// Runs of dimensions with equal products on both sides are independent. Within a run the point is made linear and cut
// again; ranges keep that free of divisions wherever dimensions only merge.
std::vector<Affine> Elements::reshaped(std::span<const ir::Dim> from, std::span<const ir::Dim> to, const std::vector<Affine>& at) {
  std::vector<Affine> index;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    size_t i_end = i, j_end = j;
    int64_t from_count = 1, to_count = 1;
    do {
      if (i_end < from.size() && (from_count <= to_count || j_end == to.size())) from_count *= from[i_end++].size;
      else to_count *= to[j_end++].size;
    } while (from_count != to_count && (i_end < from.size() || j_end < to.size()));
    Affine linear;
    for (size_t d = j; d < j_end; ++d) {
      linear *= to[d].size;
      linear += at[d];
    }
    std::vector<Affine> run(i_end - i);
    for (size_t d = i_end; d-- > i;) {
      bool is_first = d == i;
      run[d - i] = is_first ? linear : remainder(linear, from[d].size);
      if (!is_first) linear = divided(linear, from[d].size);
    }
    index.insert(index.end(), run.begin(), run.end());
    i = i_end, j = j_end;
  }
  return index;
}

ValueId Elements::pad(ir::Value v, const Point& at) {
  const auto& attr = v->as<ir::PadAttr>();
  Point inner{{}, at.guards, no_id};
  for (size_t d = 0; d < at.index.size(); ++d) {
    int64_t size = v->operand(0)->type.dim(static_cast<int64_t>(d));
    Affine a = at.index[d] + Affine(-attr.low[d]);
    if (int64_t step = attr.interior.empty() ? 1 : attr.interior[d] + 1; step != 1) {
      inner.guards = with_guard(inner.guards, {b_.mod(a, step), 0, 1});
      a = b_.floor_div(a, step);
    }
    inner.guards = with_guard(inner.guards, {a, 0, size});
    inner.index.push_back(std::move(a));
  }
  if (inner.guards == at.guards) return guarded(v->operand(0), at, std::move(inner), no_id);
  ValueId outside = need(v->operand(1), {{}, at.guards, no_id});
  if (pending()) return no_id;
  return guarded(v->operand(0), at, std::move(inner), outside);
}

// From the last operand to the first: x_k where the index is in k's part, else what the later ones give.
ValueId Elements::concatenate(ir::Value v, const Point& at) {
  auto dim = static_cast<size_t>(v->as<ir::DimsAttr>().dims[0]);
  ValueId result = no_id;
  int64_t end = v->type.dim(static_cast<int64_t>(dim));
  Range range = b_.range(at.index[dim]);
  for (size_t k = v->operand_count; k-- > 0;) {
    int64_t size = v->operand(k)->type.dim(static_cast<int64_t>(dim)), begin = end - size;
    end = begin;
    if (size == 0 || range.hi < begin || range.lo >= begin + size) continue;
    Point inner{at.index, at.guards, no_id};
    inner.index[dim] += Affine(-begin);
    inner.guards = with_guard(inner.guards, {inner.index[dim], 0, size});
    if (result == no_id) {  // the last part needs no other
      inner.otherwise = at.otherwise;
      result = need(v->operand(k), std::move(inner));
    } else {
      result = guarded(v->operand(k), at, std::move(inner), result);
    }
    if (pending()) return no_id;
  }
  if (result == no_id) return at.otherwise != no_id ? at.otherwise : b_.constant_of_bits(v->type.element(), 0);
  return result;
}

std::optional<Affine> Elements::start(ir::Value operand, uint32_t guards, int64_t most) {
  if (most <= 0) return Affine(0);
  ValueId v = need(operand, {std::vector<Affine>(static_cast<size_t>(operand->type.rank())), guards, no_id});
  if (v == no_id) return std::nullopt;
  return clamped(v, most);
}

Affine Elements::clamped(ValueId v, int64_t most) {
  if (!b_.kernel().is_constant(v)) return b_.index_of(v, {0, most});
  const Value& c = b_.kernel().values[v];
  int unused = 64 - bit_width(c.type);
  auto number = static_cast<int64_t>(c.bits << unused) >> unused;
  if (is_unsigned_integer(c.type)) number = c.bits > static_cast<uint64_t>(most) ? most : static_cast<int64_t>(c.bits);
  return Affine(std::clamp<int64_t>(number, 0, most));
}

ValueId Elements::dynamic_slice(ir::Value v, const Point& at) {
  ir::Type from = v->operand(0)->type;
  Point inner{at.index, at.guards, at.otherwise};
  if (v->operand_count != static_cast<uint32_t>(from.rank()) + 1) return fail(v, "its starts are not one scalar for each dimension");
  for (size_t d = 0; d < at.index.size(); ++d) {
    auto dim = static_cast<int64_t>(d);
    if (auto s = start(v->operand(d + 1), at.guards, from.dim(dim) - v->type.dim(dim))) inner.index[d] += *s;
  }
  if (pending()) return no_id;
  return need(v->operand(0), std::move(inner));
}

ValueId Elements::dynamic_update_slice(ir::Value v, const Point& at) {
  ir::Type update = v->operand(1)->type;
  Point inner{{}, at.guards, no_id};
  if (v->operand_count != static_cast<uint32_t>(v->type.rank()) + 2) return fail(v, "its starts are not one scalar for each dimension");
  for (size_t d = 0; d < at.index.size(); ++d) {
    auto dim = static_cast<int64_t>(d);
    auto s = start(v->operand(d + 2), at.guards, v->type.dim(dim) - update.dim(dim));
    if (!s) continue;
    Affine a = at.index[d] + *s * -1;
    inner.guards = with_guard(inner.guards, {a, 0, update.dim(dim)});
    inner.index.push_back(std::move(a));
  }
  if (pending()) return no_id;
  if (inner.guards == at.guards) return guarded(v->operand(1), at, std::move(inner), no_id);
  ValueId outside = need(v->operand(0), {at.index, at.guards, no_id});
  if (pending()) return no_id;
  return guarded(v->operand(1), at, std::move(inner), outside);
}

// result[o] = operand[start + offset + batch]: the result's offset dimensions walk the slice, its other dimensions the
// start indices.
ValueId Elements::gather(ir::Value v, const Point& at) {
  const auto& attr = v->as<ir::GatherAttr>();
  ir::Type from = v->operand(0)->type, starts = v->operand(1)->type;
  auto contains = [](const ir::Ints& list, int64_t x) { return std::find(list.begin(), list.end(), x) != list.end(); };
  std::vector<Affine> batch;
  for (int64_t d = 0; d < v->type.rank(); ++d)
    if (!contains(attr.offset_dims, d)) batch.push_back(at.index[static_cast<size_t>(d)]);

  Point inner{{}, at.guards, at.otherwise};
  size_t next_offset = 0;
  for (int64_t d = 0; d < from.rank(); ++d) {
    Affine a;
    auto slice = attr.slice_sizes[static_cast<size_t>(d)];
    auto in_map = std::find(attr.start_index_map.begin(), attr.start_index_map.end(), d);
    auto in_batch = std::find(attr.operand_batching_dims.begin(), attr.operand_batching_dims.end(), d);
    if (in_map != attr.start_index_map.end() && from.dim(d) > slice) {
      Point where{batch, at.guards, no_id};
      if (attr.index_vector_dim < starts.rank())
        where.index.insert(where.index.begin() + attr.index_vector_dim, Affine(in_map - attr.start_index_map.begin()));
      ValueId s = need(v->operand(1), std::move(where));
      if (s != no_id) a = b_.index_of(s, {0, from.dim(d) - slice});
    } else if (in_batch != attr.operand_batching_dims.end()) {
      int64_t dim = attr.start_indices_batching_dims[static_cast<size_t>(in_batch - attr.operand_batching_dims.begin())];
      a = batch[static_cast<size_t>(dim - (dim > attr.index_vector_dim))];
    }
    bool is_walked = !contains(attr.collapsed_slice_dims, d) && in_batch == attr.operand_batching_dims.end();
    if (is_walked) a += at.index[static_cast<size_t>(attr.offset_dims[next_offset++])];
    inner.index.push_back(std::move(a));
  }
  if (pending()) return no_id;
  return need(v->operand(0), std::move(inner));
}

}  // namespace hloc::loops
