#include "passes/fusion/access.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "passes/fusion/domains.h"

namespace hloc::passes {
namespace {

using ir::Computation;
using ir::Op;
using ir::Type;
using ir::Value;

constexpr size_t most_maps = 8;  // of one value; more tell a reader nothing new

struct LoopTerm {
  size_t loop = 0;
  int64_t step = 0;
  bool operator==(const LoopTerm&) const = default;
};

// The position of a value's element: a sum of loop variables for each dimension. Constant parts are left out.
struct Position {
  std::vector<std::vector<LoopTerm>> dims;
  bool guarded = false, gathered = false;
  bool operator==(const Position&) const = default;
};

class AccessReader {
 public:
  explicit AccessReader(const Computation& fused) : fused_(fused), positions_(fused.size()) {
    Type root = fused.result_type();
    Position first;
    if (root.is_tuple() && root.tuple_size() > 0) root = root.element_type(0);
    if (root.is_array())
      for (const ir::Dim& d : root.dims()) first.dims.push_back({{add_loop(d.size), 1}});
    add(fused.root(), first);
  }

  std::vector<std::vector<OperandAccess>> read() {
    auto instructions = fused_.instructions();
    for (size_t i = instructions.size(); i-- > 0;) {
      Value v = instructions[i];
      for (const Position& at : std::vector<Position>(positions_[i]))
        for (size_t k = 0; k < v->operands().size(); ++k) add(v->operand(k), operand_position(v, k, at));
    }
    std::vector<std::vector<OperandAccess>> out;
    for (Value p : fused_.parameters()) {
      auto& list = out.emplace_back();
      for (const Position& at : positions_[p->id])
        if (OperandAccess a = describe(p->type, at); std::ranges::find(list, a) == list.end()) list.push_back(a);
    }
    return out;
  }

 private:
  size_t add_loop(int64_t extent) {
    extents_.push_back(extent);
    return extents_.size() - 1;
  }
  void add(Value v, Position at) {
    auto& list = positions_[v->id];
    if (list.size() < most_maps && std::ranges::find(list, at) == list.end()) list.push_back(std::move(at));
  }

  Position operand_position(Value v, size_t k, const Position& at);
  Position map_position(Value v, size_t k, const Position& at);
  Position reshape_position(Value v, const Position& at);
  Position reduce_position(Value v, size_t k, const Position& at);
  Position dot_position(Value v, size_t k, const Position& at);
  OperandAccess describe(Type type, const Position& at) const;

  // The loops that a reduction or contraction adds, in order of its dimensions; made once.
  size_t added_loop(size_t n, int64_t extent) {
    while (added_.size() <= n) added_.push_back(add_loop(extent));
    return added_[n];
  }

  const Computation& fused_;
  std::vector<std::vector<Position>> positions_;  // by id
  std::vector<int64_t> extents_;                  // of the loops
  std::vector<size_t> added_;
};

Position without_dims(const Position& at, size_t rank) {
  Position p;
  p.dims.resize(rank);
  p.guarded = at.guarded;
  p.gathered = at.gathered;
  return p;
}

Position AccessReader::map_position(Value v, size_t k, const Position& at) {
  Type operand = v->operand(k)->type;
  Position p = without_dims(at, operand->dims.size());
  auto scale = [](std::vector<LoopTerm> terms, int64_t by) {
    for (LoopTerm& t : terms) t.step *= by;
    return terms;
  };
  for (size_t i = 0; i < p.dims.size(); ++i) {
    if (v->op == Op::Broadcast) {
      if (operand->dims[i].size != 1) p.dims[i] = at.dims[static_cast<size_t>(v->as<ir::BroadcastAttr>().dims[i])];
    } else if (v->op == Op::Transpose) {
      p.dims[static_cast<size_t>(v->as<ir::DimsAttr>().dims[i])] = at.dims[i];
    } else if (v->op == Op::Slice) {
      const ir::Ints& stride = v->as<ir::SliceAttr>().stride;  // empty: ones
      p.dims[i] = scale(at.dims[i], stride.empty() ? 1 : stride[i]);
    } else if (v->op == Op::Reverse) {
      bool back = std::ranges::find(v->as<ir::DimsAttr>().dims, static_cast<int64_t>(i)) != v->as<ir::DimsAttr>().dims.end();
      p.dims[i] = scale(at.dims[i], back ? -1 : 1);
    } else {
      p.dims[i] = at.dims[i];
    }
  }
  if (v->op == Op::Pad || v->op == Op::Concatenate) p.guarded = true;
  if (v->op == Op::Pad)
    p.gathered |= std::ranges::any_of(v->as<ir::PadAttr>().interior, [](int64_t n) { return n != 0; });
  return p;
}

Position AccessReader::reshape_position(Value v, const Position& at) {
  Type operand = v->operand(0)->type;
  Position p = without_dims(at, operand->dims.size());
  auto merged = merged_dimensions(v->type, operand);
  if (!merged) {
    p.gathered = true;
    return p;
  }
  for (size_t i = 0; i < merged->size(); ++i) {
    int64_t pitch = 1;
    const auto& parts = (*merged)[i];
    for (size_t j = parts.size(); j-- > 0;) {
      auto d = static_cast<size_t>(parts[j]);
      for (LoopTerm t : at.dims[d]) p.dims[i].push_back({t.loop, t.step * pitch});
      pitch *= v->type->dims[d].size;
    }
  }
  return p;
}

Position AccessReader::reduce_position(Value v, size_t k, const Position& at) {
  Type operand = v->operand(k)->type;
  Position p = without_dims(at, operand->dims.size());
  const ir::Ints& reduced = v->as<ir::DimsAttr>().dims;
  size_t kept = 0, added = 0;
  for (size_t i = 0; i < p.dims.size(); ++i) {
    bool is_reduced = std::ranges::find(reduced, static_cast<int64_t>(i)) != reduced.end();
    if (is_reduced) p.dims[i] = {{added_loop(added++, operand->dims[i].size), 1}};
    else p.dims[i] = at.dims[kept++];
  }
  return p;
}

// The result has the batch dimensions, then what is left of the left operand, then of the right one.
Position AccessReader::dot_position(Value v, size_t k, const Position& at) {
  const auto& dot = v->as<ir::DotAttr>();
  const ir::Ints& batch = k == 0 ? dot.lhs_batch : dot.rhs_batch;
  const ir::Ints& contracted = k == 0 ? dot.lhs_contracting : dot.rhs_contracting;
  Type operand = v->operand(k)->type;
  Position p = without_dims(at, operand->dims.size());
  size_t next = batch.size();
  if (k == 1) next = at.dims.size() - (operand->dims.size() - batch.size() - contracted.size());
  for (size_t i = 0; i < p.dims.size(); ++i) {
    auto in_batch = std::ranges::find(batch, static_cast<int64_t>(i));
    auto in_sum = std::ranges::find(contracted, static_cast<int64_t>(i));
    if (in_batch != batch.end()) {
      p.dims[i] = at.dims[static_cast<size_t>(in_batch - batch.begin())];
    } else if (in_sum != contracted.end()) {
      size_t loop = added_loop(static_cast<size_t>(in_sum - contracted.begin()), operand->dims[i].size);
      p.dims[i] = {{loop, 1}};
    } else {
      p.dims[i] = at.dims[next++];
    }
  }
  return p;
}

Position AccessReader::operand_position(Value v, size_t k, const Position& at) {
  Type operand = v->operand(k)->type;
  size_t rank = operand.is_array() ? operand->dims.size() : 0;
  if (v->op == Op::Tuple) return at;  // several results have one shape
  switch (index_role(v)) {
    case IndexRole::elementwise: return rank == at.dims.size() ? at : without_dims(at, rank);
    case IndexRole::map: return k == 0 || v->op == Op::Concatenate ? map_position(v, k, at) : without_dims(at, rank);
    case IndexRole::reshape: return reshape_position(v, at);
    case IndexRole::reduce: return k < v->operands().size() / 2 ? reduce_position(v, k, at) : without_dims(at, rank);
    case IndexRole::contract: return dot_position(v, k, at);
    case IndexRole::update: {
      if (k > 1) return without_dims(at, rank);
      Position p = at;
      p.guarded = true;
      return p;
    }
    case IndexRole::gather:
    case IndexRole::leaf:
    case IndexRole::opaque: break;
  }
  Position p = without_dims(at, rank);
  p.gathered = true;
  return p;
}

OperandAccess AccessReader::describe(Type type, const Position& at) const {
  OperandAccess out;
  out.guarded = at.guarded;
  out.stride.assign(extents_.size(), 0);
  int64_t pitch = 1;
  for (size_t i = at.dims.size(); i-- > 0;) {
    for (LoopTerm t : at.dims[i]) out.stride[t.loop] += t.step * pitch;
    pitch *= std::max<int64_t>(type->dims[i].size, 1);
  }
  bool holds = false, in_order = true;
  int64_t last = INT64_MAX;
  for (size_t loop = 0; loop < extents_.size(); ++loop) {
    if (extents_[loop] <= 1) continue;
    int64_t step = std::abs(out.stride[loop]);
    if (step == 0) {
      holds = true;
      continue;
    }
    in_order &= step <= last;
    last = step;
  }
  bool backwards = std::ranges::any_of(out.stride, [](int64_t s) { return s < 0; });
  if (at.gathered) out.kind = Access::gathered;
  else if (!in_order) out.kind = Access::transposed;
  else if (last == INT64_MAX) out.kind = holds ? Access::broadcast : Access::contiguous;
  else if (last != 1 || backwards) out.kind = Access::strided;
  else out.kind = holds ? Access::broadcast : Access::contiguous;
  return out;
}

}  // namespace

std::string_view name_of(Access access) {
  switch (access) {
    case Access::contiguous: return "contiguous";
    case Access::broadcast: return "broadcast";
    case Access::strided: return "strided";
    case Access::transposed: return "transposed";
    case Access::gathered: return "gathered";
  }
  return "";
}

std::vector<std::vector<OperandAccess>> classify_accesses(const Computation& fused) { return AccessReader(fused).read(); }

namespace {

// Where a value is read, seen from the root.
struct ReadPlace {
  static constexpr int32_t unread = -2, anywhere = -1, at_root = INT32_MAX;
  // at_root; or the number of leading dimensions that have the root's index, all others being walked before the innermost
  // of those loops goes on to write.
  int32_t rows = unread;

  void add(int32_t other) { rows = rows == unread ? other : rows == other ? rows : rows == anywhere || other == anywhere ? anywhere : std::min(rows, other); }
};

int32_t read_through(Value v, size_t k, int32_t rows) {
  Value operand = v->operand(k);
  if (rows == ReadPlace::anywhere || !operand->type.is_array() || !v->type.is_array()) return ReadPlace::anywhere;
  IndexRole role = index_role(v);
  bool same_index = role == IndexRole::elementwise || (role == IndexRole::update && k == 0);
  if (same_index && operand->type.sizes() == v->type.sizes()) return rows;
  if (role == IndexRole::map && v->op == Op::Broadcast) {
    // A value of rows, known where the row begins.
    const ir::Ints& dims = v->as<ir::BroadcastAttr>().dims;
    for (size_t i = 0; i < dims.size(); ++i)
      if (dims[i] != static_cast<int64_t>(i) || operand->type.dim(dims[i]) != v->type.dim(dims[i])) return ReadPlace::anywhere;
    return operand->type.rank() <= rows ? static_cast<int32_t>(operand->type.rank()) : ReadPlace::anywhere;
  }
  if (role == IndexRole::reduce && k < v->operands().size() / 2) {
    int32_t kept = static_cast<int32_t>(std::min<int64_t>(rows, v->type.rank()));
    if (kept != v->type.rank()) return ReadPlace::anywhere;
    for (int64_t d : v->as<ir::DimsAttr>().dims)
      if (d < kept) return ReadPlace::anywhere;
    return kept;
  }
  return ReadPlace::anywhere;
}

// The results' one shape; nothing when there are several.
std::optional<std::vector<int64_t>> one_shape(Type root) {
  std::optional<std::vector<int64_t>> shape;
  for (Type leaf : ir::leaves(root)) {
    if (!leaf.is_array() || (shape && *shape != leaf.sizes())) return std::nullopt;
    shape = leaf.sizes();
  }
  return shape;
}

}  // namespace

std::vector<bool> overwritable_parameters(const Computation& fused) {
  auto shape = one_shape(fused.root()->type);
  std::vector<ReadPlace> places(fused.size());
  Value root = fused.root();
  if (shape && root->op == Op::Tuple)
    for (Value operand : root->operands()) places[operand->id].add(ReadPlace::at_root);
  else if (shape && root->type.is_array())
    places[root->id].add(ReadPlace::at_root);
  auto instructions = fused.instructions();
  for (size_t i = instructions.size(); i-- > 0;) {
    Value v = instructions[i];
    if (places[i].rows == ReadPlace::unread || (v == root && v->op == Op::Tuple)) continue;
    for (size_t k = 0; k < v->operands().size(); ++k) places[v->operand(k)->id].add(read_through(v, k, places[i].rows));
  }
  std::vector<bool> out;
  for (Value p : fused.parameters()) {
    int32_t rows = places[p->id].rows;
    out.push_back(shape && rows != ReadPlace::unread && rows != ReadPlace::anywhere && p->type.is_array() && p->type.sizes() == *shape);
  }
  return out;
}

std::vector<std::optional<uint32_t>> updated_parameters(const Computation& fused) {
  std::vector<std::optional<uint32_t>> out;
  auto add = [&](Value v, size_t leaf) {
    auto& parameter = out.emplace_back();
    if (v->op != Op::DynamicUpdateSlice && v->op != Op::Scatter) return;
    Value updated = v->operand(leaf);
    if (updated->op == Op::Parameter) parameter = static_cast<uint32_t>(updated->as<ir::ParameterAttr>().number);
  };
  Value root = fused.root();
  if (root->op == Op::Tuple) {
    for (Value v : root->operands()) {
      if (v->op == Op::GetTupleElement) add(v->operand(0), static_cast<size_t>(v->as<ir::TupleIndexAttr>().index));
      else add(v, 0);
    }
  } else {
    for (size_t leaf = 0; leaf < ir::leaves(root->type).size(); ++leaf) add(root, leaf);
  }
  return out;
}

}  // namespace hloc::passes
