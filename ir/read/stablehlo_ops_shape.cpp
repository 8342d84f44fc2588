// StableHLO operations that move data, and elementwise ones with attributes.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "ir/print/print.h"
#include "ir/read/stablehlo_ops.h"

namespace hloc::ir::mlir {

bool read_constant(PieceBuilder& b, const Operation& op) {
  const Attribute* value = b.require(op, "value");
  if (!value) return false;
  if (!value->type) return b.fail(value->loc, "a constant needs a value with a type, as in 'dense<1.0> : tensor<2xf32>'");
  if (!b.expect_operands(op, 0, 0) || !b.expect_results(op, 1)) return false;
  Type result = op.result_types[0];
  bool quantized = result.is_array() && result->quant;
  if (value->type != result && !quantized)
    return b.fail(op, fmt::format("the constant has type {}, but its result is written as {}", mlir_type(value->type), mlir_type(result)));
  return b.finish(op, b.constant(op, *value, result));
}

bool read_iota(PieceBuilder& b, const Operation& op) {
  bool dynamic = op.name == "stablehlo.dynamic_iota";
  IotaAttr attr;
  if (!b.expect_operands(op, dynamic, dynamic) || !b.expect_results(op, 1) || !b.get_int(op, "iota_dimension", attr.dim, true)) return false;
  return b.finish(op, b.emit(op, dynamic ? Op::DynamicIota : Op::Iota, op.result_types[0], b.operands(op), attr));
}

// HLO's broadcast neither expands dimensions of size 1 nor permutes: those are reshaped away and transposed before.
bool read_broadcast_in_dim(PieceBuilder& b, const Operation& op) {
  Ints dims;
  if (!b.expect_operands(op, 1, 1) || !b.expect_results(op, 1) || !b.get_ints(op, "broadcast_dimensions", dims)) return false;
  Value x = b.operand(op, 0);
  Type type = op.result_types[0];
  if (!x->type.is_array() || !type.is_array()) return b.fail(op, "'stablehlo.broadcast_in_dim' takes and gives tensors");
  if (static_cast<int64_t>(dims.size()) != x->type.rank())
    return b.fail(op, fmt::format("'dims' has {} entries, but the operand is {}", dims.size(), mlir_type(x->type)));
  std::vector<bool> used(static_cast<size_t>(type.rank()), false);
  for (int64_t d : dims) {
    if (d < 0 || d >= type.rank() || used[static_cast<size_t>(d)])
      return b.fail(op, fmt::format("'dims' must name different dimensions of the result {}; {} {}", mlir_type(type), d, d < 0 || d >= type.rank() ? "is out of range" : "comes twice"));
    used[static_cast<size_t>(d)] = true;
  }
  std::vector<Dim> kept;
  Ints kept_dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    Dim from = x->type.dims()[i], to = type.dims()[static_cast<size_t>(dims[i])];
    if (from.is_static() && to.is_static() && from.size != to.size && from.size != 1)
      return b.fail(op, fmt::format("dimension {} of the operand {} cannot become dimension {} of the result {}: the sizes must be equal, or the operand's must be 1",
                                    i, mlir_type(x->type), dims[i], mlir_type(type)));
    if (from.is_static() && from.size == 1 && !(to.is_static() && to.size == 1)) continue;
    kept.push_back(from);
    kept_dims.push_back(dims[i]);
  }
  if (kept.size() != dims.size()) x = b.aux(Op::Reshape, b.context().array(x->type.element(), kept, x->type->quant), {x}, ReshapeAttr{});
  if (!std::is_sorted(kept_dims.begin(), kept_dims.end())) {
    Ints order(kept_dims.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int64_t p, int64_t q) { return kept_dims[static_cast<size_t>(p)] < kept_dims[static_cast<size_t>(q)]; });
    std::vector<Dim> sorted;
    for (int64_t i : order) sorted.push_back(kept[static_cast<size_t>(i)]);
    std::sort(kept_dims.begin(), kept_dims.end());
    x = b.aux(Op::Transpose, b.context().array(x->type.element(), sorted, x->type->quant), {x}, DimsAttr{order});
  }
  return b.finish(op, b.emit(op, Op::Broadcast, type, {x}, BroadcastAttr{kept_dims}));
}

// The older op: new dimensions in front.
bool read_broadcast(PieceBuilder& b, const Operation& op) {
  Ints sizes;
  if (!b.expect_operands(op, 1, 1) || !b.expect_results(op, 1) || !b.get_ints(op, "broadcast_sizes", sizes)) return false;
  Value x = b.operand(op, 0);
  Ints dims(static_cast<size_t>(x->type.rank()));
  std::iota(dims.begin(), dims.end(), static_cast<int64_t>(sizes.size()));
  return b.finish(op, b.emit(op, Op::Broadcast, op.result_types[0], {x}, BroadcastAttr{dims}));
}

bool read_concatenate(PieceBuilder& b, const Operation& op) {
  int64_t dim = 0;
  if (!b.expect_operands(op, 1, SIZE_MAX) || !b.expect_results(op, 1) || !b.get_int(op, "dimension", dim, true)) return false;
  return b.finish(op, b.emit(op, Op::Concatenate, op.result_types[0], b.operands(op), DimsAttr{{dim}}));
}

bool read_reverse(PieceBuilder& b, const Operation& op) {
  DimsAttr attr;
  if (!b.expect_operands(op, 1, 1) || !b.expect_results(op, 1) || !b.get_ints(op, "dimensions", attr.dims)) return false;
  return b.finish(op, b.emit(op, Op::Reverse, op.result_types[0], b.operands(op), attr));
}

bool read_transpose(PieceBuilder& b, const Operation& op) {
  DimsAttr attr;
  if (!b.expect_operands(op, 1, 1) || !b.expect_results(op, 1) || !b.get_ints(op, "permutation", attr.dims)) return false;
  return b.finish(op, b.emit(op, Op::Transpose, op.result_types[0], b.operands(op), attr));
}

bool read_reshape(PieceBuilder& b, const Operation& op) {
  if (!b.expect_operands(op, 1, 1) || !b.expect_results(op, 1)) return false;
  return b.finish(op, b.emit(op, Op::Reshape, op.result_types[0], b.operands(op), ReshapeAttr{}));
}

bool read_slice(PieceBuilder& b, const Operation& op) {
  SliceAttr attr;
  if (!b.expect_operands(op, 1, 1) || !b.expect_results(op, 1) || !b.get_ints(op, "start_indices", attr.start) ||
      !b.get_ints(op, "limit_indices", attr.limit) || !b.get_ints(op, "strides", attr.stride, false))
    return false;
  if (attr.stride.empty()) attr.stride.assign(attr.start.size(), 1);
  return b.finish(op, b.emit(op, Op::Slice, op.result_types[0], b.operands(op), attr));
}

bool read_dynamic_slice(PieceBuilder& b, const Operation& op) {
  DynamicSliceAttr attr;
  if (!b.expect_operands(op, 1, SIZE_MAX) || !b.expect_results(op, 1) || !b.get_ints(op, "slice_sizes", attr.sizes)) return false;
  return b.finish(op, b.emit(op, Op::DynamicSlice, op.result_types[0], b.operands(op), attr));
}

bool read_pad(PieceBuilder& b, const Operation& op) {
  PadAttr attr;
  if (!b.expect_operands(op, 2, 2) || !b.expect_results(op, 1) || !b.get_ints(op, "edge_padding_low", attr.low) ||
      !b.get_ints(op, "edge_padding_high", attr.high) || !b.get_ints(op, "interior_padding", attr.interior, false))
    return false;
  if (attr.interior.empty()) attr.interior.assign(attr.low.size(), 0);
  return b.finish(op, b.emit(op, Op::Pad, op.result_types[0], b.operands(op), attr));
}

bool read_gather(PieceBuilder& b, const Operation& op) {
  bool dynamic = op.name == "stablehlo.dynamic_gather";
  GatherAttr attr;
  size_t operands = dynamic ? 3 : 2;
  const Attribute* numbers = b.require(op, "dimension_numbers");
  if (!numbers || !b.expect_operands(op, operands, operands) || !b.expect_results(op, 1)) return false;
  bool ok = b.structure_ints(*numbers, "offset_dims", attr.offset_dims) && b.structure_ints(*numbers, "collapsed_slice_dims", attr.collapsed_slice_dims) &&
            b.structure_ints(*numbers, "start_index_map", attr.start_index_map) &&
            b.structure_ints(*numbers, "operand_batching_dims", attr.operand_batching_dims) &&
            b.structure_ints(*numbers, "start_indices_batching_dims", attr.start_indices_batching_dims) &&
            b.structure_int(*numbers, "index_vector_dim", attr.index_vector_dim) && b.get_bool(op, "indices_are_sorted", attr.indices_are_sorted) &&
            (dynamic || b.get_ints(op, "slice_sizes", attr.slice_sizes));
  return ok && b.finish(op, b.emit(op, dynamic ? Op::DynamicGather : Op::Gather, op.result_types[0], b.operands(op), attr));
}

bool read_scatter(PieceBuilder& b, const Operation& op) {
  ScatterAttr attr;
  const Attribute* numbers = b.require(op, "scatter_dimension_numbers");
  if (!numbers || !b.expect_operands(op, 3, SIZE_MAX) || !b.expect_regions(op, 1)) return false;
  bool ok = b.structure_ints(*numbers, "update_window_dims", attr.update_window_dims) &&
            b.structure_ints(*numbers, "inserted_window_dims", attr.inserted_window_dims) &&
            b.structure_ints(*numbers, "scatter_dims_to_operand_dims", attr.scatter_dims_to_operand_dims) &&
            b.structure_ints(*numbers, "input_batching_dims", attr.input_batching_dims) &&
            b.structure_ints(*numbers, "scatter_indices_batching_dims", attr.scatter_indices_batching_dims) &&
            b.structure_int(*numbers, "index_vector_dim", attr.index_vector_dim) && b.get_bool(op, "indices_are_sorted", attr.indices_are_sorted) &&
            b.get_bool(op, "unique_indices", attr.unique_indices);
  if (!ok) return false;
  if (op.operands.size() % 2 == 0) return b.fail(op, "'stablehlo.scatter' takes inputs, one tensor of indices, and as many updates as inputs");
  size_t inputs = op.operands.size() / 2;
  if (!b.expect_results(op, inputs)) return false;
  std::vector<ValueNumber> captured;
  if (!scalar_captures(b, op, op.regions, captured)) return false;
  std::vector<Value> all = b.operands(op), operands(all.begin(), all.begin() + static_cast<ptrdiff_t>(inputs));
  std::vector<Type> results = op.result_types;
  for (ValueNumber number : captured) {
    operands.push_back(b.broadcast_scalar(b.value(number), all[0]->type));
    results.push_back(operands.back()->type);
  }
  operands.insert(operands.end(), all.begin() + static_cast<ptrdiff_t>(inputs), all.end());
  for (ValueNumber number : captured) operands.push_back(b.broadcast_scalar(b.value(number), all.back()->type));
  std::vector<size_t> order;
  for (size_t i = 0; i < 2 * inputs; ++i) order.push_back(i < inputs ? i : i + captured.size());
  const Computation* update = b.reducer(op.regions[0], "scatter", captured, order);
  if (!update) return false;
  bool tuple = results.size() != 1;
  Type type = tuple ? b.context().tuple(results) : results[0];
  Value v = b.emit(op, Op::Scatter, type, operands, attr, std::array{update}, tuple ? Instruction::multi_result : 0);
  if (v && tuple && op.result_types.size() == 1) v = b.element_of(v, 0);
  return b.finish(op, v);
}

bool read_dynamic_broadcast(PieceBuilder& b, const Operation& op) {
  DynamicBroadcastAttr attr;
  if (!b.expect_operands(op, 2, 2) || !b.expect_results(op, 1) || !b.get_ints(op, "broadcast_dimensions", attr.dims) ||
      !b.get_ints(op, "known_expanding_dimensions", attr.known_expanding, false) ||
      !b.get_ints(op, "known_nonexpanding_dimensions", attr.known_nonexpanding, false))
    return false;
  return b.finish(op, b.emit(op, Op::DynamicBroadcast, op.result_types[0], b.operands(op), attr));
}

bool read_dimension_size(PieceBuilder& b, const Operation& op) {
  bool get = op.name == "stablehlo.get_dimension_size";
  int64_t dim = 0;
  if (!b.expect_operands(op, get ? 1 : 2, get ? 1 : 2) || !b.expect_results(op, 1) || !b.get_int(op, "dimension", dim, true)) return false;
  return b.finish(op, b.emit(op, get ? Op::GetDimensionSize : Op::SetDimensionSize, op.result_types[0], b.operands(op), DimsAttr{{dim}}));
}

// The comparison type is kept only where it differs from what the element type says.
bool read_compare(PieceBuilder& b, const Operation& op) {
  constexpr std::string_view directions[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};
  constexpr std::string_view types[] = {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"};
  size_t direction = 0, type = 0;
  if (!b.expect_operands(op, 2, 2) || !b.expect_results(op, 1) || !b.get_word(op, "comparison_direction", directions, direction, true) ||
      !b.get_word(op, "compare_type", types, type))
    return false;
  CompareAttr attr{static_cast<Direction>(direction), static_cast<CompareType>(type)};
  ElementType element = b.operand(op, 0)->type.is_array() ? b.operand(op, 0)->type.element() : ElementType::invalid;
  CompareType natural = is_float(element) || is_complex(element) ? CompareType::FLOAT
                        : is_signed_integer(element)             ? CompareType::SIGNED
                                                                 : CompareType::UNSIGNED;
  if (attr.type == natural) attr.type = CompareType::unset;
  return b.finish(op, b.emit(op, Op::Compare, op.result_types[0], b.operands(op), attr));
}

// StableHLO lets the predicate be one scalar for all elements; HLO has it in the shape of the rest.
bool read_select(PieceBuilder& b, const Operation& op) {
  if (!b.expect_operands(op, 3, 3) || !b.expect_results(op, 1)) return false;
  std::vector<Value> operands = b.operands(op);
  Type type = op.result_types[0];
  if (operands[0]->type.is_scalar() && type.is_array() && type.rank() > 0 && type.is_static()) operands[0] = b.broadcast_scalar(operands[0], type);
  return b.finish(op, b.emit(op, Op::Select, type, operands));
}

bool read_clamp(PieceBuilder& b, const Operation& op) {
  if (!b.expect_operands(op, 3, 3) || !b.expect_results(op, 1)) return false;
  std::vector<Value> operands = b.operands(op);
  Type type = op.result_types[0];
  for (size_t i : {size_t{0}, size_t{2}})
    if (operands[i]->type.is_scalar() && type.is_array() && type.rank() > 0 && type.is_static()) operands[i] = b.broadcast_scalar(operands[i], type);
  return b.finish(op, b.emit(op, Op::Clamp, type, operands));
}

bool read_reduce_precision(PieceBuilder& b, const Operation& op) {
  ReducePrecisionAttr attr;
  if (!b.expect_operands(op, 1, 1) || !b.expect_results(op, 1) || !b.get_int(op, "exponent_bits", attr.exponent_bits, true) ||
      !b.get_int(op, "mantissa_bits", attr.mantissa_bits, true))
    return false;
  return b.finish(op, b.emit(op, Op::ReducePrecision, op.result_types[0], b.operands(op), attr));
}

}  // namespace hloc::ir::mlir
