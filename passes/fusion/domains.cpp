#include "passes/fusion/domains.h"

#include <algorithm>

#include "ir/support/hash.h"

namespace hloc::passes {
namespace {

using ir::Op;
using ir::Type;
using ir::Value;

bool is_map(Op op) {
  return op == Op::Broadcast || op == Op::Transpose || op == Op::Slice || op == Op::Reverse || op == Op::Pad ||
         op == Op::Concatenate || op == Op::DynamicSlice;
}

Domain inner_domain(const Domain& at, size_t rank) {
  Domain d;
  d.group = at.group;
  d.stage = at.stage;
  d.share = at.share;
  d.loops.assign(rank, Domain::no_loop);
  return d;
}

bool is_moved(const Domain& d) {
  return d.warp != 0 || std::ranges::any_of(d.shifts, [](int64_t s) { return s != 0; });
}

// All that moves positions at `at`, and something more, in one number; 0 where nothing does.
uint64_t warped(const Domain& at, uint64_t more) {
  uint64_t warp = combine(at.warp, more);
  for (int64_t s : at.shifts) warp = combine(warp, static_cast<uint64_t>(s));
  return warp;
}
uint64_t warp_of(const Domain& at) { return is_moved(at) ? warped(at, 0) : 0; }

Domain closed_domain(const Domain& at, Type operand) {
  Domain d = inner_domain(at, operand.is_array() ? operand->dims.size() : 0);
  d.closed = true;
  return d;
}

// Moves the positions of dimension `i`, of the operand at `position` of a map.
void move_positions(Value user, size_t position, const Domain& at, size_t i, Domain& d) {
  int64_t& shift = d.shifts[i];
  auto dim = static_cast<int64_t>(i);
  if (user->op == Op::Slice) {
    const auto& attr = user->as<ir::SliceAttr>();
    shift = shift * attr.stride[i] + attr.start[i];
    if (attr.stride[i] != 1) d.warp = combine(d.warp, combine(i + 1, static_cast<uint64_t>(attr.stride[i])));
  } else if (user->op == Op::Pad) {
    const auto& attr = user->as<ir::PadAttr>();
    shift -= attr.low[i];
    if (attr.interior[i] != 0) d.warp = warped(at, combine(user->id, i));
  } else if (user->op == Op::Concatenate && user->as<ir::DimsAttr>().dims[0] == dim) {
    for (size_t k = 0; k < position; ++k) shift -= user->operand(k)->type.dim(dim);
  } else if (user->op == Op::Reverse && std::ranges::find(user->as<ir::DimsAttr>().dims, dim) != user->as<ir::DimsAttr>().dims.end()) {
    shift = user->type.dim(dim) - 1 - shift;
    d.warp = combine(d.warp, combine(i + 1, ~uint64_t{0}));
  }
}

Domain map_domain(Value user, size_t position, const Domain& at, Type operand) {
  Domain d = inner_domain(at, operand->dims.size());
  d.warp = user->op == Op::DynamicSlice || user->op == Op::DynamicUpdateSlice ? warped(at, user->id + 1) : at.warp;
  if (is_moved(at) || (user->op != Op::Broadcast && user->op != Op::Transpose)) d.shifts.assign(d.loops.size(), 0);
  if (user->op == Op::Concatenate || user->op == Op::Pad) {
    double whole = static_cast<double>(user->type.count());
    d.share = whole > 0 ? std::min(1.0, at.share * static_cast<double>(operand.count()) / whole) : at.share;
  }
  for (size_t i = 0; i < d.loops.size(); ++i) {
    size_t result = i;
    if (user->op == Op::Broadcast) result = static_cast<size_t>(user->as<ir::BroadcastAttr>().dims[i]);
    size_t to = i;
    if (user->op == Op::Transpose) to = static_cast<size_t>(user->as<ir::DimsAttr>().dims[i]);
    if (operand->dims[to].size == 1) continue;
    d.loops[to] = at.loops[result];
    if (d.shifts.empty()) continue;
    d.shifts[to] = at.shift(result);
    move_positions(user, position, at, to, d);
  }
  return d;
}

Domain reshape_domain(Value user, const Domain& at, const GroupLoops& loops) {
  Type operand = user->operand(0)->type;
  Domain d = inner_domain(at, operand->dims.size());
  auto merged = merged_dimensions(user->type, operand);
  if (!merged) return closed_domain(at, operand);
  for (size_t i = 0; i < merged->size(); ++i)
    for (int64_t r : (*merged)[i]) d.loops[i] = loops.inner_of(d.loops[i], at.loops[static_cast<size_t>(r)]);
  d.at_output = at.at_output && same_but_ones(user->type, operand);
  d.warp = warp_of(at);
  return d;
}

Domain reduce_domain(Value user, const Domain& at, Type operand, GroupLoops& loops) {
  Domain d = inner_domain(at, operand->dims.size());
  const ir::Ints& reduced = user->as<ir::DimsAttr>().dims;
  int32_t around = loops.innermost(at);
  d.stage = at.stage + 1;
  d.warp = warp_of(at);
  size_t kept = 0, n = 0;
  for (size_t i = 0; i < d.loops.size(); ++i) {
    bool is_reduced = std::ranges::find(reduced, static_cast<int64_t>(i)) != reduced.end();
    if (is_reduced) around = d.loops[i] = loops.inside(around, d.stage, n++, operand->dims[i].size);
    else d.loops[i] = at.loops[kept++];
  }
  return d;
}

// Where the operand of a gather is read: positions that come from indices change with all loops around the gather that
// are not its offsets'.
Domain gather_domain(Value user, size_t position, const Domain& at, const GroupLoops& loops) {
  const auto& attr = user->as<ir::GatherAttr>();
  auto contains = [](const ir::Ints& list, size_t d) { return std::ranges::find(list, static_cast<int64_t>(d)) != list.end(); };
  std::vector<int32_t> batch;
  int32_t starts = Domain::no_loop;
  for (size_t i = 0; i < at.loops.size(); ++i)
    if (!contains(attr.offset_dims, i)) batch.push_back(at.loops[i]), starts = loops.inner_of(starts, at.loops[i]);
  Type operand = user->operand(position)->type;
  Domain d = inner_domain(at, operand->dims.size());
  d.warp = warped(at, combine(user->id, position));
  size_t next = 0;
  if (position == 1) {
    for (size_t i = 0; i < d.loops.size(); ++i)
      if (static_cast<int64_t>(i) != attr.index_vector_dim) d.loops[i] = batch[next++];
    return d;
  }
  for (size_t i = 0; i < d.loops.size(); ++i) {
    auto in_batch = std::ranges::find(attr.operand_batching_dims, static_cast<int64_t>(i));
    if (in_batch != attr.operand_batching_dims.end()) {
      int64_t dim = attr.start_indices_batching_dims[static_cast<size_t>(in_batch - attr.operand_batching_dims.begin())];
      d.loops[i] = batch[static_cast<size_t>(dim - (dim > attr.index_vector_dim))];
      continue;
    }
    if (contains(attr.start_index_map, i) && operand->dims[i].size > attr.slice_sizes[i]) d.loops[i] = starts;
    if (!contains(attr.collapsed_slice_dims, i))
      d.loops[i] = loops.inner_of(d.loops[i], at.loops[static_cast<size_t>(attr.offset_dims[next++])]);
  }
  return d;
}

// Scalars that a step reads once: start indices, initial values, the value that pads.
bool is_scalar_slot(Value user, size_t position) {
  switch (index_role(user)) {
    case IndexRole::map: return position > 0 && user->op != Op::Concatenate;
    case IndexRole::update: return position > 1;
    case IndexRole::reduce: return position >= user->operands().size() / 2;
    case IndexRole::elementwise: return user->operand(position)->type.rank() != user->type.rank();
    case IndexRole::reshape:
    case IndexRole::leaf:
    case IndexRole::gather:
    case IndexRole::contract:
    case IndexRole::opaque: return false;
  }
  return false;
}

}  // namespace

IndexRole index_role(Value v) {
  if (v->op == Op::Copy) return IndexRole::elementwise;
  if (v->op == Op::BitcastConvert)
    return v->type.is_array() && byte_width(v->type.element()) == byte_width(v->operand(0)->type.element()) &&
                   v->type.rank() == v->operand(0)->type.rank()
               ? IndexRole::elementwise
               : IndexRole::opaque;
  if (ir::is_elementwise(v->op)) return IndexRole::elementwise;
  if (v->op == Op::GetTupleElement && v->operand(0)->op == Op::Reduce) return IndexRole::elementwise;
  if (is_map(v->op)) return IndexRole::map;
  if (v->op == Op::Reshape) return IndexRole::reshape;
  if (v->op == Op::Iota) return IndexRole::leaf;
  if (v->op == Op::Reduce) return IndexRole::reduce;
  if (v->op == Op::Dot) return IndexRole::contract;
  if (v->op == Op::Gather) return IndexRole::gather;
  if (v->op == Op::DynamicUpdateSlice) return IndexRole::update;
  return IndexRole::opaque;
}

std::optional<std::vector<std::vector<int64_t>>> merged_dimensions(Type result, Type operand) {
  std::vector<std::vector<int64_t>> merged(operand->dims.size());
  size_t next = 0;
  for (size_t i = 0; i < merged.size(); ++i) {
    int64_t size = operand->dims[i].size, product = 1;
    if (size == 0) return std::nullopt;
    while (product < size) {
      while (next < result->dims.size() && result->dims[next].size == 1) ++next;
      if (next == result->dims.size()) return std::nullopt;
      product *= result->dims[next].size;
      merged[i].push_back(static_cast<int64_t>(next++));
    }
    if (product != size) return std::nullopt;
  }
  return merged;
}

bool same_but_ones(Type a, Type b) {
  auto x = a.dims().begin(), y = b.dims().begin();
  while (true) {
    while (x != a.dims().end() && x->size == 1) ++x;
    while (y != b.dims().end() && y->size == 1) ++y;
    if (x == a.dims().end() || y == b.dims().end()) return x == a.dims().end() && y == b.dims().end();
    if ((x++)->size != (y++)->size) return false;
  }
}

bool Domain::same_loops(const Domain& other) const {
  return group == other.group && loops == other.loops && exact == other.exact && at_output == other.at_output &&
         contracted == other.contracted && closed == other.closed;
}

bool Domain::same_place(const Domain& other) const {
  if (!same_loops(other) || warp != other.warp) return false;
  for (size_t i = 0; i < loops.size(); ++i)
    if (shift(i) != other.shift(i)) return false;
  return true;
}

GroupLoops::GroupLoops(Type root) {
  int32_t around = Domain::no_loop;
  if (root.is_array())
    for (size_t i = 0; i < root->dims.size(); ++i) around = inside(around, 0, i, root->dims[i].size);
  root_iterations_ = iterations(around);
}

int32_t GroupLoops::inside(int32_t parent, uint32_t stage, size_t n, int64_t extent) {
  for (size_t i = loops_.size(); i-- > 0;) {
    const Loop& loop = loops_[i];
    if (loop.parent == parent && loop.stage == stage && loop.n == n && loop.extent == extent) return static_cast<int32_t>(i);
  }
  loops_.push_back({parent, stage, n, extent, depth(parent) + 1, iterations(parent) * static_cast<double>(extent)});
  return static_cast<int32_t>(loops_.size()) - 1;
}

int32_t GroupLoops::innermost(const Domain& domain) const {
  int32_t innermost = Domain::no_loop;
  for (int32_t loop : domain.loops) innermost = inner_of(innermost, loop);
  return innermost;
}

std::vector<int32_t> GroupLoops::absorb(const GroupLoops& other) {
  std::vector<int32_t> here;  // parents come before what is inside them
  for (const Loop& loop : other.loops_)
    here.push_back(inside(loop.parent < 0 ? loop.parent : here[static_cast<size_t>(loop.parent)], loop.stage, loop.n, loop.extent));
  return here;
}

double GroupLoops::rows_around(const Domain& domain) const {
  int32_t loop = innermost(domain);
  while (loop >= 0 && loops_[static_cast<size_t>(loop)].stage > 0) loop = loops_[static_cast<size_t>(loop)].parent;
  return iterations(loop);
}

std::vector<int32_t> GroupLoops::path(int32_t loop) const {
  std::vector<int32_t> path;
  for (; loop >= 0; loop = loops_[static_cast<size_t>(loop)].parent) path.push_back(loop);
  std::ranges::reverse(path);
  return path;
}

std::optional<Domain> operand_domain(Value user, size_t position, const Domain& at, GroupLoops& loops) {
  Type operand = user->operand(position)->type;
  if (user->op == Op::GetTupleElement) return std::nullopt;  // one of the results of a reduction, which have one shape
  if (is_scalar_slot(user, position)) return inner_domain(at, operand->dims.size());
  switch (index_role(user)) {
    case IndexRole::elementwise: return std::nullopt;
    case IndexRole::map: {
      Domain d = at.contracted ? closed_domain(at, operand) : map_domain(user, position, at, operand);
      return d;
    }
    case IndexRole::reshape: return reshape_domain(user, at, loops);
    case IndexRole::reduce: return reduce_domain(user, at, operand, loops);
    case IndexRole::update: return position == 0 ? closed_domain(at, operand) : map_domain(user, position, at, operand);
    case IndexRole::contract: {
      Domain d = inner_domain(at, operand->dims.size());
      d.contracted = true;
      return d;
    }
    case IndexRole::gather: return at.contracted ? closed_domain(at, operand) : gather_domain(user, position, at, loops);
    case IndexRole::leaf:
    case IndexRole::opaque: return closed_domain(at, operand);
  }
  return closed_domain(at, operand);
}

}  // namespace hloc::passes
