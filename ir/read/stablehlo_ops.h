// Handlers of StableHLO operations, one function per op or family; stablehlo_ops.cpp has the table.
#pragma once

#include "ir/read/stablehlo_build.h"

namespace hloc::ir::mlir {

// Any op whose row in ops.def says it all: operands and results go over one to one, no attributes but result_accuracy.
bool read_plain(PieceBuilder& b, const Operation& op);

// Data movement (stablehlo_ops_shape.cpp)
bool read_constant(PieceBuilder& b, const Operation& op);
bool read_iota(PieceBuilder& b, const Operation& op);
bool read_broadcast_in_dim(PieceBuilder& b, const Operation& op);
bool read_broadcast(PieceBuilder& b, const Operation& op);
bool read_concatenate(PieceBuilder& b, const Operation& op);
bool read_reverse(PieceBuilder& b, const Operation& op);
bool read_transpose(PieceBuilder& b, const Operation& op);
bool read_reshape(PieceBuilder& b, const Operation& op);
bool read_slice(PieceBuilder& b, const Operation& op);
bool read_dynamic_slice(PieceBuilder& b, const Operation& op);
bool read_pad(PieceBuilder& b, const Operation& op);
bool read_gather(PieceBuilder& b, const Operation& op);
bool read_scatter(PieceBuilder& b, const Operation& op);
bool read_dynamic_broadcast(PieceBuilder& b, const Operation& op);
bool read_dimension_size(PieceBuilder& b, const Operation& op);
bool read_compare(PieceBuilder& b, const Operation& op);
bool read_select(PieceBuilder& b, const Operation& op);
bool read_clamp(PieceBuilder& b, const Operation& op);
bool read_reduce_precision(PieceBuilder& b, const Operation& op);

// Reductions, windows, contractions, linear algebra, random numbers (stablehlo_ops_compute.cpp)
bool read_reduce(PieceBuilder& b, const Operation& op);
bool read_reduce_window(PieceBuilder& b, const Operation& op);
bool read_select_and_scatter(PieceBuilder& b, const Operation& op);
bool read_sort(PieceBuilder& b, const Operation& op);
bool read_map(PieceBuilder& b, const Operation& op);
bool read_scan(PieceBuilder& b, const Operation& op);
bool read_top_k(PieceBuilder& b, const Operation& op);
bool read_dot_general(PieceBuilder& b, const Operation& op);
bool read_dot(PieceBuilder& b, const Operation& op);
bool read_ragged_dot(PieceBuilder& b, const Operation& op);
bool read_convolution(PieceBuilder& b, const Operation& op);
bool read_fft(PieceBuilder& b, const Operation& op);
bool read_cholesky(PieceBuilder& b, const Operation& op);
bool read_triangular_solve(PieceBuilder& b, const Operation& op);
bool read_batch_norm(PieceBuilder& b, const Operation& op);
bool read_rng(PieceBuilder& b, const Operation& op);
bool read_rng_bit_generator(PieceBuilder& b, const Operation& op);

// Control, calls, tuples (stablehlo_ops_control.cpp)
bool read_call(PieceBuilder& b, const Operation& op);
bool read_composite(PieceBuilder& b, const Operation& op);
bool read_custom_call(PieceBuilder& b, const Operation& op);
bool read_if(PieceBuilder& b, const Operation& op);
bool read_case(PieceBuilder& b, const Operation& op);
bool read_while(PieceBuilder& b, const Operation& op);
bool read_tuple(PieceBuilder& b, const Operation& op);
bool read_get_tuple_element(PieceBuilder& b, const Operation& op);
bool read_optimization_barrier(PieceBuilder& b, const Operation& op);
bool read_after_all(PieceBuilder& b, const Operation& op);

// Devices, hosts, checks, the interpreter, Shardy (stablehlo_ops_device.cpp)
bool read_all_gather(PieceBuilder& b, const Operation& op);
bool read_all_reduce(PieceBuilder& b, const Operation& op);
bool read_reduce_scatter(PieceBuilder& b, const Operation& op);
bool read_all_to_all(PieceBuilder& b, const Operation& op);
bool read_collective_broadcast(PieceBuilder& b, const Operation& op);
bool read_collective_permute(PieceBuilder& b, const Operation& op);
bool read_infeed(PieceBuilder& b, const Operation& op);
bool read_outfeed(PieceBuilder& b, const Operation& op);
bool read_send(PieceBuilder& b, const Operation& op);
bool read_recv(PieceBuilder& b, const Operation& op);
bool read_async_start(PieceBuilder& b, const Operation& op);
bool read_async_done(PieceBuilder& b, const Operation& op);
bool read_check(PieceBuilder& b, const Operation& op);
bool read_check_const(PieceBuilder& b, const Operation& op);
bool read_run_parallel(PieceBuilder& b, const Operation& op);
bool read_raw(PieceBuilder& b, const Operation& op);
bool read_sdy(PieceBuilder& b, const Operation& op);
bool read_sdy_region(PieceBuilder& b, const Operation& op);

// Shapes as values: the shape, tensor and arith dialects (stablehlo_ops_dynamic.cpp)
bool read_const_shape(PieceBuilder& b, const Operation& op);
bool read_shape_of(PieceBuilder& b, const Operation& op);
bool read_shape_broadcast(PieceBuilder& b, const Operation& op);
bool read_shape_concat(PieceBuilder& b, const Operation& op);
bool read_num_elements(PieceBuilder& b, const Operation& op);
bool read_get_extent(PieceBuilder& b, const Operation& op);
bool read_cstr_broadcastable(PieceBuilder& b, const Operation& op);
bool read_assuming(PieceBuilder& b, const Operation& op);
bool read_tensor_dim(PieceBuilder& b, const Operation& op);
bool read_from_elements(PieceBuilder& b, const Operation& op);
bool read_extract(PieceBuilder& b, const Operation& op);
bool read_tensor_cast(PieceBuilder& b, const Operation& op);
bool read_index_cast(PieceBuilder& b, const Operation& op);
bool read_arith(PieceBuilder& b, const Operation& op);

// Shared by several files.
bool get_precision(PieceBuilder& b, const Operation& op, std::vector<Precision>& out);
bool get_window(PieceBuilder& b, const Operation& op, size_t rank, Window& out);
// Captured outer values of a region of scalars: each must be a scalar.
bool scalar_captures(PieceBuilder& b, const Operation& op, std::span<const Region> regions, std::vector<ValueNumber>& out);

}  // namespace hloc::ir::mlir
