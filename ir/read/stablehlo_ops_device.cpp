// StableHLO operations that talk to other devices and to the host, and those of the check, interpreter and Shardy
// dialects.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "ir/print/print.h"
#include "ir/read/stablehlo_dense.h"
#include "ir/read/stablehlo_ops.h"

namespace hloc::ir::mlir {
namespace {

// A channel handle without a positive number says that the op works across replicas.
bool get_channel(PieceBuilder& b, const Operation& op, std::optional<int64_t>& id, int64_t& type) {
  const Attribute* channel = b.find(op, "channel_handle");
  if (!channel) return true;
  int64_t handle = 0;
  if (!b.structure_int(*channel, "handle", handle) || !b.structure_int(*channel, "type", type)) return false;
  if (handle > 0) id = handle;
  return true;
}

bool get_groups(PieceBuilder& b, const Operation& op, ReplicaGroups& out, bool required = true) {
  const Attribute* groups = required ? b.require(op, "replica_groups") : b.find(op, "replica_groups");
  if (!groups) return !required;
  if (groups->kind == Attribute::structure || groups->kind == Attribute::opaque) {
    out.kind = ReplicaGroups::mesh;
    out.mesh_text = to_text(*groups);
    return true;
  }
  out.kind = ReplicaGroups::list;
  if (groups->kind == Attribute::dense && groups->type.rank() == 1 && groups->type.count() == 0) return true;
  if (!b.int_lists_of(*groups, "replica_groups", out.groups)) return false;
  for (Ints& group : out.groups) std::erase(group, -1);  // fills short groups up
  std::erase_if(out.groups, [](const Ints& group) { return group.empty(); });
  return true;
}

bool get_collective(PieceBuilder& b, const Operation& op, CollectiveAttr& out, std::string_view dim = {}) {
  if (!get_groups(b, op, out.groups) || !get_channel(b, op, out.channel_id, out.channel_type) || !b.get_bool(op, "use_global_device_ids", out.use_global_device_ids)) return false;
  if (dim.empty()) return true;
  int64_t value = 0;
  if (!b.get_int(op, dim, value, true)) return false;
  out.dims = {value};
  out.has_dims = true;
  return true;
}

bool emit_collective(PieceBuilder& b, const Operation& op, Op hlo, CollectiveAttr attr, std::span<const Computation* const> callees = {}) {
  if (!b.expect_operands(op, 1, SIZE_MAX) || !b.expect_results(op, op.operands.size())) return false;
  return b.finish(op, b.emit(op, hlo, b.result_type(op), b.operands(op), std::move(attr), callees, b.result_flags(op)));
}

const Computation* collective_reducer(PieceBuilder& b, const Operation& op, std::string_view role) {
  if (!b.expect_regions(op, 1)) return nullptr;
  if (std::vector<ValueNumber> captured = b.captures(op.regions); !captured.empty()) {
    b.fail(op, fmt::format("the body of '{}' may use constants from outside, but not '%{}'", op.name, b.piece().values[captured[0]].name));
    return nullptr;
  }
  return b.region(op.regions[0], role, {});
}

}  // namespace

bool read_all_gather(PieceBuilder& b, const Operation& op) {
  CollectiveAttr attr;
  return get_collective(b, op, attr, "all_gather_dim") && emit_collective(b, op, Op::AllGather, attr);
}

bool read_all_reduce(PieceBuilder& b, const Operation& op) {
  bool to_root = op.name == "stablehlo.collective_reduce";
  CollectiveAttr attr;
  if (!get_collective(b, op, attr)) return false;
  const Computation* body = collective_reducer(b, op, to_root ? "collective_reduce" : "all_reduce");
  return body && emit_collective(b, op, to_root ? Op::CollectiveReduce : Op::AllReduce, attr, std::array{body});
}

bool read_reduce_scatter(PieceBuilder& b, const Operation& op) {
  CollectiveAttr attr;
  if (!get_collective(b, op, attr, "scatter_dimension")) return false;
  const Computation* body = collective_reducer(b, op, "reduce_scatter");
  return body && emit_collective(b, op, Op::ReduceScatter, attr, std::array{body});
}

// HLO exchanges parts along one dimension. Where the parts are joined along another: the split dimension is taken apart
// first, and its part moved afterwards.
bool read_all_to_all(PieceBuilder& b, const Operation& op) {
  CollectiveAttr attr;
  int64_t split = 0, concat = 0, count = 0;
  if (!get_collective(b, op, attr) || !b.get_int(op, "split_dimension", split, true) || !b.get_int(op, "concat_dimension", concat, true) ||
      !b.get_int(op, "split_count", count, true))
    return false;
  attr.dims = {split};
  attr.has_dims = true;
  if (!b.expect_operands(op, 1, SIZE_MAX) || !b.expect_results(op, op.operands.size())) return false;
  std::vector<Value> results;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    Value x = b.operand(op, i);
    Type type = x->type;
    bool dims_fit = type.is_array() && type.is_static() && split >= 0 && split < type.rank() && concat >= 0 && concat < type.rank() && count > 0;
    if (!dims_fit || type.dim(split) % count != 0)
      return b.fail(op, fmt::format("'split_dimension' and 'concat_dimension' must be dimensions of {}, and 'split_count' must divide the first", mlir_type(type)));
    if (split == concat) {
      results.push_back(b.emit(op, Op::AllToAll, op.result_types[i], {x}, attr));
      if (!results.back()) return false;
      continue;
    }
    std::vector<Dim> apart(type.dims().begin(), type.dims().end());
    apart[static_cast<size_t>(split)].size /= count;
    std::vector<Dim> whole = apart;
    whole[static_cast<size_t>(concat)].size *= count;
    apart.insert(apart.begin() + split, Dim::of(count));
    Ints order;
    for (int64_t d = 0; d < type.rank(); ++d) {
      if (d == concat) order.push_back(split);
      order.push_back(d >= split ? d + 1 : d);
    }
    std::vector<Dim> moved;
    for (int64_t d : order) moved.push_back(apart[static_cast<size_t>(d)]);
    Context& c = b.context();
    if (c.array(type.element(), whole) != op.result_types[i])
      return b.fail(op, fmt::format("the result of 'stablehlo.all_to_all' is written as {}, but its operand gives {}", mlir_type(op.result_types[i]), mlir_type(c.array(type.element(), whole))));
    x = b.aux(Op::Reshape, c.array(type.element(), apart), {x}, ReshapeAttr{});
    x = b.emit(op, Op::AllToAll, x->type, {x}, attr);
    if (!x) return false;
    x = b.aux(Op::Transpose, c.array(type.element(), moved), {x}, DimsAttr{order});
    results.push_back(b.aux(Op::Reshape, op.result_types[i], {x}, ReshapeAttr{}));
  }
  for (size_t i = 0; i < results.size(); ++i) b.set_value(op.result(i), results[i]);
  return true;
}

// With a dynamic root the last operand says which device sends.
bool read_collective_broadcast(PieceBuilder& b, const Operation& op) {
  CollectiveAttr attr;
  if (!get_collective(b, op, attr) || !b.get_bool(op, "has_dynamic_root", attr.has_dynamic_root)) return false;
  if (!attr.has_dynamic_root) return emit_collective(b, op, Op::CollectiveBroadcast, attr);
  if (!b.expect_operands(op, 2, SIZE_MAX) || !b.expect_results(op, op.operands.size() - 1)) return false;
  return b.finish(op, b.emit(op, Op::CollectiveBroadcast, b.result_type(op), b.operands(op), attr, {}, b.result_flags(op)));
}

bool read_collective_permute(PieceBuilder& b, const Operation& op) {
  PermuteAttr attr;
  if (!b.get_int_lists(op, "source_target_pairs", attr.source_target_pairs) || !get_channel(b, op, attr.channel_id, attr.channel_type)) return false;
  if (!b.expect_operands(op, 1, SIZE_MAX) || !b.expect_results(op, op.operands.size())) return false;
  for (const Ints& pair : attr.source_target_pairs)
    if (pair.size() != 2) return b.fail(op, "'source_target_pairs' must be pairs of a source and a target");
  return b.finish(op, b.emit(op, Op::CollectivePermute, b.result_type(op), b.operands(op), attr, {}, b.result_flags(op)));
}

// ---- The host ----

namespace {

// The data of a transfer is one value in HLO: a tuple unless there is exactly one.
Type data_type(PieceBuilder& b, std::span<const Type> types) { return types.size() == 1 ? types[0] : b.context().tuple(types); }

// Results (data…, token) from an HLO tuple (data, token).
bool finish_transfer(PieceBuilder& b, const Operation& op, Value v) {
  size_t data = op.result_types.size() - 1;
  auto used = [&](size_t i) { return b.piece().values[op.result(i)].used; };
  Value all = nullptr;
  for (size_t i = 0; i < data; ++i) {
    if (!used(i)) continue;
    if (!all) all = b.element_of(v, 0);
    b.set_value(op.result(i), data == 1 ? all : b.element_of(all, static_cast<int64_t>(i)));
  }
  if (used(data)) b.set_value(op.result(data), b.element_of(v, 1));
  return true;
}

bool ends_with_token(PieceBuilder& b, const Operation& op, std::span<const Type> types, std::string_view what) {
  if (!types.empty() && types.back().is_token()) return true;
  return b.fail(op, fmt::format("the last {} of '{}' must be a !stablehlo.token", what, op.name));
}

std::vector<Type> operand_types(PieceBuilder& b, const Operation& op) {
  std::vector<Type> out;
  for (Value v : b.operands(op)) out.push_back(v->type);
  return out;
}

// The operands before the token, as one value.
Value data_operand(PieceBuilder& b, const Operation& op) {
  std::vector<Value> data = b.operands(op);
  data.pop_back();
  return data.size() == 1 ? data[0] : b.tuple_of(data);
}

}  // namespace

bool read_infeed(PieceBuilder& b, const Operation& op) {
  InfeedAttr attr;
  if (!b.expect_operands(op, 1, 1) || !ends_with_token(b, op, op.result_types, "result") || !b.get_string(op, "infeed_config", attr.config)) return false;
  if (const Attribute* layout = b.find(op, "layout")) attr.layout = to_text(*layout);
  Type parts[] = {data_type(b, std::span(op.result_types).first(op.result_types.size() - 1)), b.context().token()};
  Value v = b.emit(op, Op::Infeed, b.context().tuple(parts), b.operands(op), attr, {}, Instruction::multi_result);
  return v && finish_transfer(b, op, v);
}

bool read_outfeed(PieceBuilder& b, const Operation& op) {
  OutfeedAttr attr;
  std::vector<Type> types = operand_types(b, op);
  if (!ends_with_token(b, op, types, "operand") || !b.expect_results(op, 1) || !b.get_string(op, "outfeed_config", attr.config)) return false;
  Value data = data_operand(b, op);
  attr.shape = data->type;
  return b.finish(op, b.emit(op, Op::Outfeed, b.context().token(), {data, b.operand(op, op.operands.size() - 1)}, attr));
}

namespace {

bool get_transfer(PieceBuilder& b, const Operation& op, ChannelAttr& out) {
  const Attribute* channel = b.require(op, "channel_handle");
  int64_t handle = 0;
  if (!channel || !b.structure_int(*channel, "handle", handle) || !b.structure_int(*channel, "type", out.channel_type) ||
      !b.get_bool(op, "is_host_transfer", out.is_host_transfer) || !b.get_int_lists(op, "source_target_pairs", out.source_target_pairs, false))
    return false;
  out.channel_id = handle;
  return true;
}

}  // namespace

bool read_send(PieceBuilder& b, const Operation& op) {
  ChannelAttr attr;
  std::vector<Type> types = operand_types(b, op);
  if (!ends_with_token(b, op, types, "operand") || !b.expect_results(op, 1) || !get_transfer(b, op, attr)) return false;
  Value data = data_operand(b, op);
  Type parts[] = {data->type, b.context().scalar(ElementType::u32), b.context().token()};
  Value sent = b.aux(Op::Send, b.context().tuple(parts), {data, b.operand(op, op.operands.size() - 1)}, attr);
  return b.finish(op, b.emit(op, Op::SendDone, b.context().token(), {sent}, attr));
}

bool read_recv(PieceBuilder& b, const Operation& op) {
  ChannelAttr attr;
  if (!b.expect_operands(op, 1, 1) || !ends_with_token(b, op, op.result_types, "result") || !get_transfer(b, op, attr)) return false;
  if (!b.operand(op, 0)->type.is_token()) return b.fail(op, "the operand of 'stablehlo.recv' must be a !stablehlo.token");
  Type data = data_type(b, std::span(op.result_types).first(op.result_types.size() - 1));
  Type parts[] = {data, b.context().scalar(ElementType::u32), b.context().token()}, done[] = {data, b.context().token()};
  Value received = b.aux(Op::Recv, b.context().tuple(parts), {b.operand(op, 0)}, attr);
  Value v = b.emit(op, Op::RecvDone, b.context().tuple(done), {received}, attr, {}, Instruction::multi_result);
  return v && finish_transfer(b, op, v);
}

bool read_async_start(PieceBuilder& b, const Operation& op) {
  if (!b.expect_results(op, 1) || !b.expect_regions(op, 1)) return false;
  if (!b.captures(op.regions).empty()) return b.fail(op, "the body of 'stablehlo.async_start' sees its operands only");
  const Computation* body = b.region(op.regions[0], "async", {});
  return body && b.finish(op, b.emit(op, Op::AsyncStart, op.result_types[0], b.operands(op), AsyncAttr{}, std::array{body}));
}

bool read_async_done(PieceBuilder& b, const Operation& op) {
  if (!b.expect_operands(op, 1, 1)) return false;
  return b.finish(op, b.emit(op, Op::AsyncDone, b.result_type(op), b.operands(op), AsyncAttr{}, {}, b.result_flags(op)));
}

// ---- Checks: no result, so an empty tuple ----

bool read_check(PieceBuilder& b, const Operation& op) {
  CheckAttr attr;
  attr.tolerance = 1e-4;
  attr.max_ulps = 1;
  size_t operands = op.name == "check.expect_serialized_eq" ? 1 : 2;
  if (!b.expect_operands(op, operands, operands) || !b.expect_results(op, 0) || !b.get_real(op, "tolerance", attr.tolerance) ||
      !b.get_int(op, "max_ulp_difference", attr.max_ulps) || !b.get_int(op, "min_ulp_difference", attr.min_ulps) ||
      !b.get_string(op, "probe_id", attr.probe_id, operands == 1) || !b.get_int(op, "iter", attr.iteration))
    return false;
  return b.emit(op, *find_stablehlo_op(op.name), b.context().tuple({}), b.operands(op), attr) != nullptr;
}

// A large splat is compared with a broadcast scalar instead of being written out.
bool read_check_const(PieceBuilder& b, const Operation& op) {
  constexpr int64_t largest_splat = int64_t{1} << 16;  // elements
  CheckAttr attr;
  attr.tolerance = 1e-4;
  attr.max_ulps = 1;
  const Attribute* value = b.require(op, "value");
  if (!value || !b.expect_operands(op, 1, 1) || !b.expect_results(op, 0) || !b.get_real(op, "tolerance", attr.tolerance)) return false;
  if (!value->type) return b.fail(value->loc, "the expected value must be a constant such as 'dense<1.0> : tensor<2xf32>'");
  bool exact = op.name == "check.expect_eq_const";
  if (value->type.count() > largest_splat && value->content.size() < static_cast<size_t>(value->type.count())) {
    Value expected = b.constant(op, *value, value->type);
    return expected && b.emit(op, exact ? Op::CheckExpectEq : Op::CheckExpectAlmostEq, b.context().tuple({}), {b.operand(op, 0), expected}, attr);
  }
  if (!b.literal(*value, attr.expected)) return false;
  return b.emit(op, exact ? Op::CheckExpectEqConst : Op::CheckExpectAlmostEqConst, b.context().tuple({}), b.operands(op), attr) != nullptr;
}

// The called functions, row by row of `programs`, then those of `infeed`.
bool read_run_parallel(PieceBuilder& b, const Operation& op) {
  const Attribute* programs = b.require(op, "programs");
  if (!programs) return false;
  std::vector<const Computation*> callees;
  auto add = [&](const Attribute& symbol) {
    if (symbol.kind != Attribute::symbol) return b.fail(symbol.loc, "expected a function, such as @f");
    callees.push_back(b.function(op, symbol.text));
    return callees.back() != nullptr;
  };
  for (const Attribute& row : programs->elements)
    for (const Attribute& symbol : row.elements)
      if (!add(symbol)) return false;
  if (const Attribute* infeed = b.find(op, "infeed"))
    for (const Attribute& symbol : infeed->elements)
      if (!add(symbol)) return false;
  RawAttr attr{b.all_attributes(op)};
  return b.finish(op, b.emit(op, Op::InterpreterRunParallel, b.result_type(op), b.operands(op), attr, callees, b.result_flags(op)));
}

// Ops that are only kept: their attributes stay text.
bool read_raw(PieceBuilder& b, const Operation& op) {
  if (!b.expect_regions(op, 0)) return false;
  RawAttr attr{b.all_attributes(op)};
  return b.finish(op, b.emit(op, *find_stablehlo_op(op.name), b.result_type(op), b.operands(op), attr, {}, b.result_flags(op)));
}

// ---- Shardy ----

bool read_sdy(PieceBuilder& b, const Operation& op) {
  const Op* hlo = find_stablehlo_op(op.name);
  if (!hlo || !b.expect_regions(op, 0)) return false;
  RawAttr attr;
  if (const Attribute* text = b.find(op, "text")) attr.text = text->text;
  else attr.text = b.all_attributes(op);
  return b.finish(op, b.emit(op, *hlo, b.result_type(op), b.operands(op), attr, {}, b.result_flags(op)));
}

bool read_sdy_region(PieceBuilder& b, const Operation& op) {
  if (!b.expect_regions(op, 1)) return false;
  RawAttr attr;
  if (const Attribute* text = b.find(op, "text")) attr.text = text->text;
  else attr.text = b.all_attributes(op);
  if (!b.captures(op.regions).empty()) return b.fail(op, fmt::format("the body of '{}' sees its operands only", op.name));
  const Computation* body = b.region(op.regions[0], op.name == "sdy.manual_computation" ? "manual_computation" : "named_computation", {});
  return body && b.finish(op, b.emit(op, *find_stablehlo_op(op.name), b.result_type(op), b.operands(op), attr, std::array{body}, b.result_flags(op)));
}

}  // namespace hloc::ir::mlir
