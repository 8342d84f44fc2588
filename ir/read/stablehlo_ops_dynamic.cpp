// Shapes as values: operations of the shape, tensor and arith dialects, said with StableHLO's dynamic ones. A shape is
// an i64 vector (`index` counts as i64), a witness is a boolean that nobody reads.
#include <algorithm>

#include <fmt/format.h>

#include "ir/print/print.h"
#include "ir/read/stablehlo_ops.h"

namespace hloc::ir::mlir {
namespace {

Type size_vector(PieceBuilder& b, int64_t length) { return b.context().array(ElementType::s64, {length}); }

Value size_constant(PieceBuilder& b, const Ints& sizes, bool scalar = false) {
  Literal value = Literal::uninitialized(scalar ? b.context().scalar(ElementType::s64) : size_vector(b, static_cast<int64_t>(sizes.size())));
  std::copy(sizes.begin(), sizes.end(), value.mutable_data<int64_t>().begin());
  return b.builder().constant(value);
}

// The size of one dimension as an i64 scalar.
Value size_of(PieceBuilder& b, Value x, int64_t dim) {
  if (x->type.dims()[static_cast<size_t>(dim)].is_static()) return size_constant(b, {x->type.dim(dim)}, true);
  Value size = b.aux(Op::GetDimensionSize, b.context().scalar(ElementType::s32), {x}, DimsAttr{{dim}});
  return b.aux(Op::Convert, b.context().scalar(ElementType::s64), {size});
}

Value vector_of(PieceBuilder& b, std::span<const Value> scalars) {
  if (scalars.empty()) return size_constant(b, {});
  std::vector<Value> parts;
  for (Value v : scalars) parts.push_back(b.aux(Op::Reshape, b.context().array(v->type.element(), {1}), {v}, ReshapeAttr{}));
  if (parts.size() == 1) return parts[0];
  Type type = b.context().array(scalars[0]->type.element(), {static_cast<int64_t>(parts.size())});
  return b.builder().make(Op::Concatenate, type, parts, DimsAttr{{0}});
}

Value element_at(PieceBuilder& b, Value vector, int64_t index) {
  Value part = b.aux(Op::Slice, b.context().array(vector->type.element(), {1}), {vector}, SliceAttr{{index}, {index + 1}, {1}});
  return b.aux(Op::Reshape, b.context().scalar(vector->type.element()), {part}, ReshapeAttr{});
}

bool is_vector(Value v) { return v->type.is_array() && v->type.rank() == 1 && v->type.is_static(); }

// The value of a scalar constant, through broadcasts.
std::optional<int64_t> known_index(Value v) {
  if (v->op != Op::Constant || v->type.element() != ElementType::s64 || v->type.count() != 1) return std::nullopt;
  return v->as<ConstantAttr>().value.data<int64_t>()[0];
}

bool set_only_result(PieceBuilder& b, const Operation& op, Value v) {
  if (!b.expect_results(op, 1)) return false;
  b.set_value(op.first_result, v);
  return true;
}

}  // namespace

bool read_const_shape(PieceBuilder& b, const Operation& op) {
  Ints sizes;
  return b.get_ints(op, "shape", sizes) && set_only_result(b, op, size_constant(b, sizes));
}

bool read_shape_of(PieceBuilder& b, const Operation& op) {
  if (!b.expect_operands(op, 1, 1)) return false;
  Value x = b.operand(op, 0);
  if (!x->type.is_array()) return b.fail(op, "'shape.shape_of' takes a tensor");
  std::vector<Value> sizes;
  for (int64_t d = 0; d < x->type.rank(); ++d) sizes.push_back(size_of(b, x, d));
  return set_only_result(b, op, vector_of(b, sizes));
}

// Shapes broadcast against each other: shorter ones get ones in front; a size of 1 gives way to the other.
bool read_shape_broadcast(PieceBuilder& b, const Operation& op) {
  if (!b.expect_operands(op, 1, SIZE_MAX)) return false;
  std::vector<Value> shapes = b.operands(op);
  int64_t rank = 0;
  for (Value v : shapes) {
    if (!is_vector(v)) return b.fail(op, "'shape.broadcast' takes vectors of sizes");
    rank = std::max(rank, v->type.dim(0));
  }
  Type type = size_vector(b, rank);
  Value one = size_constant(b, {1}, true);
  Value ones = b.broadcast_scalar(one, type);
  Value result = nullptr;
  for (Value v : shapes) {
    if (int64_t missing = rank - v->type.dim(0); missing > 0) v = b.aux(Op::Pad, type, {v, one}, PadAttr{{missing}, {0}, {0}});
    if (!result) {
      result = v;
      continue;
    }
    Value is_one = b.aux(Op::Compare, b.context().array(ElementType::pred, {rank}), {result, ones}, CompareAttr{Direction::EQ, CompareType::unset});
    result = b.aux(Op::Select, type, {is_one, v, result});
  }
  return set_only_result(b, op, result);
}

bool read_shape_concat(PieceBuilder& b, const Operation& op) {
  if (!b.expect_operands(op, 2, 2)) return false;
  std::vector<Value> shapes = b.operands(op);
  if (!is_vector(shapes[0]) || !is_vector(shapes[1])) return b.fail(op, "'shape.concat' takes vectors of sizes");
  Type type = size_vector(b, shapes[0]->type.dim(0) + shapes[1]->type.dim(0));
  return set_only_result(b, op, b.aux(Op::Concatenate, type, {shapes[0], shapes[1]}, DimsAttr{{0}}));
}

bool read_num_elements(PieceBuilder& b, const Operation& op) {
  if (!b.expect_operands(op, 1, 1)) return false;
  Value shape = b.operand(op, 0);
  if (!is_vector(shape)) return b.fail(op, "'shape.num_elements' takes a vector of sizes");
  Value product = size_constant(b, {1}, true);
  for (int64_t i = 0; i < shape->type.dim(0); ++i) product = b.aux(Op::Multiply, product->type, {product, element_at(b, shape, i)});
  return set_only_result(b, op, product);
}

bool read_get_extent(PieceBuilder& b, const Operation& op) {
  if (!b.expect_operands(op, 2, 2)) return false;
  Value shape = b.operand(op, 0), index = b.operand(op, 1);
  auto known = known_index(index);
  if (!is_vector(shape) || !known || *known < 0 || *known >= shape->type.dim(0)) return b.fail(op, "'shape.get_extent' takes a vector of sizes and a constant position in it");
  return set_only_result(b, op, element_at(b, shape, *known));
}

// A broadcast that fails says so itself, so the witness can always be true.
bool read_cstr_broadcastable(PieceBuilder& b, const Operation& op) {
  Literal yes = Literal::uninitialized(b.context().scalar(ElementType::pred));
  yes.mutable_bytes()[0] = std::byte{1};
  return set_only_result(b, op, b.builder().constant(yes));
}

bool read_assuming(PieceBuilder& b, const Operation& op) {
  std::vector<Value> results;
  if (!b.expect_regions(op, 1) || !b.inline_region(op.regions[0], results) || !b.expect_results(op, results.size())) return false;
  for (size_t i = 0; i < results.size(); ++i) b.set_value(op.result(i), results[i]);
  return true;
}

bool read_tensor_dim(PieceBuilder& b, const Operation& op) {
  if (!b.expect_operands(op, 2, 2)) return false;
  Value x = b.operand(op, 0);
  auto dim = known_index(b.operand(op, 1));
  if (!x->type.is_array() || !dim || *dim < 0 || *dim >= x->type.rank()) return b.fail(op, fmt::format("'tensor.dim' takes a tensor and a constant dimension of it; the tensor is {}", mlir_type(x->type)));
  return set_only_result(b, op, size_of(b, x, *dim));
}

bool read_from_elements(PieceBuilder& b, const Operation& op) {
  std::vector<Value> elements = b.operands(op);
  if (!b.expect_results(op, 1)) return false;
  Type type = op.result_types[0];
  if (!type.is_array() || !type.is_static() || type.count() != static_cast<int64_t>(elements.size()))
    return b.fail(op, fmt::format("'tensor.from_elements' needs as many elements as {} has", mlir_type(type)));
  for (Value v : elements)
    if (!v->type.is_scalar() || v->type.element() != type.element()) return b.fail(op, fmt::format("the elements must be scalars of {}", mlir_name_of(type.element())));
  Value v = vector_of(b, elements);
  if (v->type != type) v = b.aux(Op::Reshape, type, {v}, ReshapeAttr{});
  return set_only_result(b, op, v);
}

bool read_extract(PieceBuilder& b, const Operation& op) {
  if (!b.expect_operands(op, 1, SIZE_MAX)) return false;
  std::vector<Value> operands = b.operands(op);
  Value x = operands[0];
  if (x->type.rank() != static_cast<int64_t>(operands.size()) - 1) return b.fail(op, "'tensor.extract' takes one position for each dimension");
  Type one = b.context().array(x->type.element(), std::vector<Dim>(x->type.dims().size(), Dim::of(1)));
  DynamicSliceAttr attr{Ints(x->type.dims().size(), 1)};
  Value part = b.builder().make(Op::DynamicSlice, one, operands, attr);
  return set_only_result(b, op, b.aux(Op::Reshape, b.context().scalar(x->type.element()), {part}, ReshapeAttr{}));
}

// Only what is known of the sizes changes.
bool read_tensor_cast(PieceBuilder& b, const Operation& op) {
  if (!b.expect_operands(op, 1, 1) || !b.expect_results(op, 1)) return false;
  Value x = b.operand(op, 0);
  if (x->type == op.result_types[0]) return set_only_result(b, op, x);
  return b.finish(op, b.emit(op, Op::Reshape, op.result_types[0], {x}, ReshapeAttr{}));
}

bool read_index_cast(PieceBuilder& b, const Operation& op) {
  if (!b.expect_operands(op, 1, 1) || !b.expect_results(op, 1)) return false;
  Value x = b.operand(op, 0);
  if (x->type == op.result_types[0]) return set_only_result(b, op, x);
  return b.finish(op, b.emit(op, Op::Convert, op.result_types[0], {x}));
}

bool read_arith(PieceBuilder& b, const Operation& op) {
  if (!b.expect_operands(op, 2, 2) || !b.expect_results(op, 1)) return false;
  return b.finish(op, b.emit(op, op.name == "arith.addi" ? Op::Add : Op::Multiply, op.result_types[0], b.operands(op)));
}

}  // namespace hloc::ir::mlir
