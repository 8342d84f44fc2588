// chlo.broadcast_*: elementwise ops whose operands may differ in shape, as in NumPy: missing dimensions are put in
// front (or where `broadcast_dimensions` says), sizes of 1 give way to others.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "ir/print/print.h"
#include "ir/read/chlo.h"
#include "ir/read/stablehlo_ops.h"

namespace hloc::ir::mlir {
namespace {

// `x` in the result's sizes; `dims` says where its dimensions go.
Value broadcast_operand(PieceBuilder& b, Value x, std::span<const Dim> sizes, const Ints& dims) {
  Type type = b.context().array(x->type.element(), std::vector<Dim>(sizes.begin(), sizes.end()));
  if (x->type == type) return x;
  std::vector<Dim> kept;
  Ints kept_dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    Dim from = x->type.dims()[i];
    if (from.size == 1 && sizes[static_cast<size_t>(dims[i])].size != 1) continue;
    kept.push_back(from);
    kept_dims.push_back(dims[i]);
  }
  if (kept.size() != dims.size()) x = b.aux(Op::Reshape, b.context().array(x->type.element(), kept), {x}, ReshapeAttr{});
  return b.aux(Op::Broadcast, type, {x}, BroadcastAttr{kept_dims});
}

Ints operand_dims(const Ints& written, int64_t rank, int64_t result_rank) {
  if (!written.empty() && static_cast<int64_t>(written.size()) == rank && rank != result_rank) return written;
  Ints dims(static_cast<size_t>(rank));
  std::iota(dims.begin(), dims.end(), result_rank - rank);
  return dims;
}

}  // namespace

bool read_chlo_broadcast(PieceBuilder& b, const Operation& op) {
  Ints written;
  if (!b.expect_results(op, 1) || !b.get_ints(op, "broadcast_dimensions", written, false)) return false;
  Type result = op.result_types[0];
  std::vector<Value> operands = b.operands(op);
  for (Value v : operands)
    if (!v->type.is_array() || !v->type.is_static() || v->type.rank() > result.rank())
      return b.fail(op, fmt::format("'{}' takes tensors with known sizes and no more dimensions than its result {}", op.name, mlir_type(result)));
  if (!result.is_array() || !result.is_static()) return b.fail(op, fmt::format("'{}' needs a result with known sizes", op.name));
  for (Value& v : operands) {
    Ints dims = operand_dims(written, v->type.rank(), result.rank());
    for (size_t i = 0; i < dims.size(); ++i) {
      bool fits = dims[i] >= 0 && dims[i] < result.rank() && (i == 0 || dims[i] > dims[i - 1]) &&
                  (v->type.dims()[i].size == 1 || v->type.dims()[i].size == result.dim(dims[i]));
      if (!fits) return b.fail(op, fmt::format("{} cannot be broadcast to {}", mlir_type(v->type), mlir_type(result)));
    }
    v = broadcast_operand(b, v, result.dims(), dims);
  }
  // The op itself, on operands of one shape.
  std::string_view plain = op.name.substr(std::string_view("chlo.broadcast_").size());
  if (plain == "next_after" || plain == "zeta" || plain == "polygamma") {
    if (!b.expect_operands(op, 2, 2)) return false;
    if (operands[0]->type != operands[1]->type || !is_float(operands[0]->type.element())) return b.fail(op, fmt::format("'{}' takes floats of one type", op.name));
    Formula f(b);
    b.set_value(op.first_result, chlo_binary(plain, f.of(operands[0]), f.of(operands[1])).value());
    return true;
  }
  const Op* hlo = find_stablehlo_op("stablehlo." + std::string(plain));
  if (!hlo) return b.fail(op, fmt::format("'{}' is not an op that hloc reads", op.name));
  if (!b.expect_operands(op, static_cast<size_t>(facts(*hlo).min_operands), static_cast<size_t>(facts(*hlo).max_operands))) return false;
  Attr attr = NoAttr{};
  if (*hlo == Op::Compare) {
    constexpr std::string_view directions[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};
    constexpr std::string_view types[] = {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"};
    size_t direction = 0, type = 0;
    if (!b.get_word(op, "comparison_direction", directions, direction, true) || !b.get_word(op, "compare_type", types, type)) return false;
    attr = CompareAttr{static_cast<Direction>(direction), type == 2 ? CompareType::TOTALORDER : CompareType::unset};
  } else if (facts(*hlo).attr == "UnaryAttr") {
    attr = UnaryAttr{};
  }
  return b.finish(op, b.emit(op, *hlo, result, operands, attr));
}

}  // namespace hloc::ir::mlir
