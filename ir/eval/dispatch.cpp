// Which op is evaluated by which function.
#include <array>

#include "ir/eval/ops.h"

namespace hloc::ir::eval {
namespace {

constexpr auto fresh = OpRow::fresh;
constexpr auto passed = OpRow::passed;

constexpr OpRow op_rows[] = {
    {Op::Constant, eval_constant, passed},
    {Op::ChloConstant, eval_constant, passed},
    {Op::SdyConstant, eval_constant, passed},
    {Op::Iota, eval_iota},
    {Op::DynamicIota, eval_iota},
    {Op::PartitionId, eval_zero},
    {Op::ReplicaId, eval_zero},

    {Op::Map, eval_map},
    {Op::BitcastConvert, eval_bitcast_convert},
    {Op::Bitcast, eval_bitcast, fresh, 16},
    {Op::UniformQuantize, eval_uniform_quantize, fresh, 16},
    {Op::UniformDequantize, eval_uniform_dequantize, fresh, 16},

    {Op::Broadcast, eval_broadcast},
    {Op::StableHloBroadcast, eval_leading_broadcast},
    {Op::Concatenate, eval_concatenate},
    {Op::Copy, eval_first_operand, passed},
    {Op::DynamicSlice, eval_dynamic_slice},
    {Op::DynamicUpdateSlice, eval_dynamic_update_slice, passed},
    {Op::Gather, eval_gather, fresh, 8},
    {Op::Pad, eval_pad},
    {Op::Reshape, eval_reshape, passed},
    {Op::Reverse, eval_reverse},
    {Op::Slice, eval_slice},
    {Op::Transpose, eval_transpose},
    {Op::DynamicReshape, eval_reshape, passed},
    {Op::DynamicBroadcast, eval_dynamic_broadcast},
    {Op::DynamicGather, eval_dynamic_gather, fresh, 8},
    {Op::DynamicPad, eval_dynamic_pad},
    {Op::RealDynamicSlice, eval_real_dynamic_slice},
    {Op::GetDimensionSize, eval_dimension_size},
    {Op::SetDimensionSize, eval_set_dimension_size, passed},

    {Op::Reduce, eval_reduce, fresh, 4},
    {Op::ReduceWindow, eval_reduce_window, fresh, 4},
    {Op::SelectAndScatter, eval_select_and_scatter},
    {Op::Scan, eval_scan},
    {Op::Scatter, eval_scatter, passed, 8},
    {Op::Sort, eval_sort, fresh, 16},
    {Op::TopK, eval_topk, fresh, 16},

    {Op::Dot, eval_dot, fresh, 16},
    {Op::StableHloDot, eval_dot, fresh, 16},
    {Op::RaggedDot, eval_ragged_dot, fresh, 32},
    {Op::ScaledDot, eval_scaled_dot, fresh, 32},
    {Op::Convolution, eval_convolution, fresh, 32},
    {Op::DynamicConv, eval_dynamic_conv, fresh, 32},
    {Op::Fft, eval_fft, fresh, 64},
    {Op::Cholesky, eval_cholesky, fresh, 16},
    {Op::TriangularSolve, eval_triangular_solve, fresh, 16},
    {Op::BatchNormTraining, eval_batch_norm_training, fresh, 16},
    {Op::BatchNormInference, eval_batch_norm_inference, fresh, 16},
    {Op::BatchNormGrad, eval_batch_norm_grad, fresh, 16},

    {Op::Rng, eval_rng},
    {Op::RngBitGenerator, eval_rng_bit_generator},
    {Op::RngGetAndUpdateState, eval_rng_get_and_update_state},

    {Op::Tuple, eval_tuple, passed},
    {Op::GetTupleElement, eval_get_tuple_element, passed},
    {Op::AfterAll, eval_token, passed},
    {Op::StableHloCreateToken, eval_token, passed},
    {Op::AddDependency, eval_first_operand, passed},
    {Op::OptBarrier, eval_barrier, passed},
    {Op::Domain, eval_first_operand, passed},

    {Op::Call, eval_call, passed},
    {Op::Fusion, eval_call, passed},
    {Op::Composite, eval_call, passed},
    {Op::While, eval_while, passed},
    {Op::Conditional, eval_conditional, passed},
    {Op::StableHloIf, eval_conditional, passed},
    {Op::CustomCall, eval_custom_call, passed},

    {Op::AsyncStart, eval_async_start},
    {Op::AsyncUpdate, eval_first_operand, passed},
    {Op::AsyncDone, eval_async_done, passed},
    {Op::CopyStart, eval_copy_start},
    {Op::CopyDone, eval_copy_done, passed},
    {Op::AllGather, eval_lone_collective, passed},
    {Op::AllGatherStart, eval_lone_collective_start},
    {Op::AllGatherDone, eval_lone_collective_done, passed},
    {Op::AllReduce, eval_lone_collective, passed},
    {Op::AllReduceStart, eval_lone_collective_start},
    {Op::AllReduceDone, eval_lone_collective_done, passed},
    {Op::AllToAll, eval_lone_collective, passed},
    {Op::ReduceScatter, eval_lone_collective, passed},
    {Op::CollectiveReduce, eval_lone_collective, passed},
    {Op::CollectiveBroadcast, eval_lone_collective, passed},
    {Op::CollectivePermute, eval_lone_permute},
    {Op::CollectivePermuteStart, eval_lone_permute},
    {Op::CollectivePermuteDone, eval_lone_collective_done, passed},

    {Op::CheckExpectEq, eval_expect_eq, passed},
    {Op::CheckExpectEqConst, eval_expect_eq, passed},
    {Op::CheckExpectAlmostEq, eval_expect_almost_eq, passed},
    {Op::CheckExpectAlmostEqConst, eval_expect_almost_eq, passed},
    {Op::CheckExpectClose, eval_expect_close, passed},
    {Op::InterpreterProbe, eval_first_operand, passed},
    {Op::InterpreterPrint, eval_token, passed},

    {Op::SdyReshard, eval_first_operand, passed},
    {Op::SdyShardingConstraint, eval_first_operand, passed},
    {Op::SdyPropagationBarrier, eval_first_operand, passed},
    {Op::SdyDataFlowEdge, eval_first_operand, passed},
};

constexpr size_t op_count = 0
#define HLOC_OP(...) +1
#include "ir/ops.def"
#undef HLOC_OP
    ;

// By op: 1 + index into op_rows, 0 for none.
constexpr std::array<uint8_t, op_count> op_row_of = [] {
  std::array<uint8_t, op_count> table{};
  for (size_t i = 0; i < std::size(op_rows); ++i) table[static_cast<size_t>(op_rows[i].op)] = static_cast<uint8_t>(i + 1);
  return table;
}();
static_assert(std::size(op_rows) < 255);

constexpr OpRow elementwise_row{Op::Parameter, eval_elementwise};

}  // namespace

const OpRow* find_op_row(Op op) {
  uint8_t place = op_row_of[static_cast<size_t>(op)];
  if (place != 0) return &op_rows[place - 1];
  return is_elementwise(op) ? &elementwise_row : nullptr;
}

}  // namespace hloc::ir::eval
