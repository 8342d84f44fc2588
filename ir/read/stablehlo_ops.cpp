// The table of StableHLO operations and their handlers.
#include "ir/read/stablehlo_ops.h"

#include <algorithm>

namespace hloc::ir::mlir {
namespace {

struct HandlerRow {
  std::string_view op;
  OpHandler handler;
};

constexpr HandlerRow handler_rows[] = {
    {"stablehlo.constant", read_constant},
    {"chlo.constant", read_constant},
    {"sdy.constant", read_constant},
    {"arith.constant", read_constant},
    {"stablehlo.iota", read_iota},
    {"stablehlo.dynamic_iota", read_iota},
    {"stablehlo.broadcast_in_dim", read_broadcast_in_dim},
    {"stablehlo.broadcast", read_broadcast},
    {"stablehlo.concatenate", read_concatenate},
    {"stablehlo.reverse", read_reverse},
    {"stablehlo.transpose", read_transpose},
    {"stablehlo.reshape", read_reshape},
    {"stablehlo.slice", read_slice},
    {"stablehlo.dynamic_slice", read_dynamic_slice},
    {"stablehlo.pad", read_pad},
    {"stablehlo.gather", read_gather},
    {"stablehlo.dynamic_gather", read_gather},
    {"stablehlo.scatter", read_scatter},
    {"stablehlo.dynamic_broadcast_in_dim", read_dynamic_broadcast},
    {"stablehlo.get_dimension_size", read_dimension_size},
    {"stablehlo.set_dimension_size", read_dimension_size},
    {"stablehlo.compare", read_compare},
    {"stablehlo.select", read_select},
    {"stablehlo.clamp", read_clamp},
    {"stablehlo.reduce_precision", read_reduce_precision},
    {"stablehlo.reduce", read_reduce},
    {"stablehlo.reduce_window", read_reduce_window},
    {"stablehlo.select_and_scatter", read_select_and_scatter},
    {"stablehlo.sort", read_sort},
    {"stablehlo.map", read_map},
    {"chlo.scan", read_scan},
    {"chlo.top_k", read_top_k},
    {"mhlo.topk", read_top_k},
    {"stablehlo.dot_general", read_dot_general},
    {"stablehlo.dot", read_dot},
    {"chlo.ragged_dot", read_ragged_dot},
    {"stablehlo.convolution", read_convolution},
    {"stablehlo.dynamic_conv", read_convolution},
    {"stablehlo.fft", read_fft},
    {"stablehlo.cholesky", read_cholesky},
    {"stablehlo.triangular_solve", read_triangular_solve},
    {"stablehlo.batch_norm_training", read_batch_norm},
    {"stablehlo.batch_norm_inference", read_batch_norm},
    {"stablehlo.batch_norm_grad", read_batch_norm},
    {"stablehlo.rng", read_rng},
    {"stablehlo.rng_bit_generator", read_rng_bit_generator},
    {"func.call", read_call},
    {"stablehlo.composite", read_composite},
    {"stablehlo.custom_call", read_custom_call},
    {"stablehlo.if", read_if},
    {"stablehlo.case", read_case},
    {"stablehlo.while", read_while},
    {"stablehlo.tuple", read_tuple},
    {"stablehlo.get_tuple_element", read_get_tuple_element},
    {"stablehlo.optimization_barrier", read_optimization_barrier},
    {"stablehlo.after_all", read_after_all},
    {"stablehlo.create_token", read_after_all},
    {"stablehlo.all_gather", read_all_gather},
    {"stablehlo.all_reduce", read_all_reduce},
    {"stablehlo.collective_reduce", read_all_reduce},
    {"stablehlo.reduce_scatter", read_reduce_scatter},
    {"stablehlo.all_to_all", read_all_to_all},
    {"stablehlo.collective_broadcast", read_collective_broadcast},
    {"stablehlo.collective_permute", read_collective_permute},
    {"stablehlo.infeed", read_infeed},
    {"stablehlo.outfeed", read_outfeed},
    {"stablehlo.send", read_send},
    {"stablehlo.recv", read_recv},
    {"stablehlo.async_start", read_async_start},
    {"stablehlo.async_done", read_async_done},
    {"stablehlo.einsum", read_raw},
    {"stablehlo.unary_einsum", read_raw},
    {"stablehlo.torch_index_select", read_raw},
    {"stablehlo.cross-replica-sum", read_raw},
    {"check.expect_eq", read_check},
    {"check.expect_almost_eq", read_check},
    {"check.expect_close", read_check},
    {"check.expect_serialized_eq", read_check},
    {"check.expect_eq_const", read_check_const},
    {"check.expect_almost_eq_const", read_check_const},
    {"interpreter.run_parallel", read_run_parallel},
    {"interpreter.probe", read_raw},
    {"interpreter.print", read_raw},
    {"sdy.manual_computation", read_sdy_region},
    {"sdy.named_computation", read_sdy_region},
    {"shape.const_shape", read_const_shape},
    {"shape.shape_of", read_shape_of},
    {"shape.broadcast", read_shape_broadcast},
    {"shape.concat", read_shape_concat},
    {"shape.num_elements", read_num_elements},
    {"shape.get_extent", read_get_extent},
    {"shape.cstr_broadcastable", read_cstr_broadcastable},
    {"shape.assuming", read_assuming},
    {"tensor.dim", read_tensor_dim},
    {"tensor.from_elements", read_from_elements},
    {"tensor.extract", read_extract},
    {"tensor.cast", read_tensor_cast},
    {"arith.index_cast", read_index_cast},
    {"arith.addi", read_arith},
    {"arith.muli", read_arith},
};

}  // namespace

OpHandler find_handler(std::string_view name) {
  for (const HandlerRow& row : handler_rows)
    if (row.op == name) return row.handler;
  if (OpHandler chlo = find_chlo_handler(name)) return chlo;
  if (name.starts_with("sdy.")) return read_sdy;
  const Op* op = find_stablehlo_op(name);
  return op ? read_plain : nullptr;
}

bool read_plain(PieceBuilder& b, const Operation& op) {
  const Op* hlo = find_stablehlo_op(op.name);
  const OpFacts& row = facts(*hlo);
  size_t most = row.max_operands < 0 ? SIZE_MAX : static_cast<size_t>(row.max_operands);
  if (!b.expect_operands(op, static_cast<size_t>(row.min_operands), most) || !b.expect_regions(op, 0) || !b.expect_results(op, 1)) return false;
  Attr attr = NoAttr{};
  if (row.attr == "UnaryAttr") {
    UnaryAttr unary;
    if (const Attribute* accuracy = b.find(op, "result_accuracy")) {
      const Attribute* mode = accuracy->find("mode");
      constexpr std::string_view words[] = {"", "DEFAULT", "HIGHEST", "TOLERANCE"};
      auto word = std::find(std::begin(words), std::end(words), mode ? mode->text : "DEFAULT");
      if (word == std::end(words)) return b.fail(mode->loc, "the mode of result_accuracy is one of DEFAULT, HIGHEST, TOLERANCE");
      unary.accuracy.mode = static_cast<AccuracyMode>(word - std::begin(words));
      if (const Attribute* a = accuracy->find("atol")) unary.accuracy.atol = a->real_value;
      if (const Attribute* a = accuracy->find("rtol")) unary.accuracy.rtol = a->real_value;
      if (const Attribute* a = accuracy->find("ulps")) unary.accuracy.ulps = a->integer_value;
      if (unary.accuracy.mode == AccuracyMode::default_mode) unary.accuracy = {};
    }
    attr = unary;
  }
  std::vector<Value> operands = b.operands(op);
  return b.finish(op, b.emit(op, *hlo, op.result_types[0], operands, std::move(attr)));
}

}  // namespace hloc::ir::mlir
