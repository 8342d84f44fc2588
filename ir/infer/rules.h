// The shape rules, by family; infer.cpp says which op has which.
#pragma once

#include "ir/infer/site.h"

namespace hloc::ir::shapes {

// Checks operand count, attribute kind and callee count, then applies the op's rule.
Result<Type> infer_site(const Site& s);

// elementwise.cpp
Result<Type> infer_unary(const Site& s);
Result<Type> infer_binary(const Site& s);
Result<Type> infer_compare(const Site& s);
Result<Type> infer_complex(const Site& s);
Result<Type> infer_clamp(const Site& s);
Result<Type> infer_select(const Site& s);
Result<Type> infer_convert(const Site& s);
Result<Type> infer_stochastic_convert(const Site& s);
Result<Type> infer_reduce_precision(const Site& s);
Result<Type> infer_quantize(const Site& s);
Result<Type> infer_dequantize(const Site& s);

// shape.cpp
Result<Type> infer_constant(const Site& s);
Result<Type> infer_iota(const Site& s);
Result<Type> infer_bitcast_convert(const Site& s);
Result<Type> infer_bitcast(const Site& s);
Result<Type> infer_broadcast(const Site& s);
Result<Type> infer_reshape(const Site& s);
Result<Type> infer_transpose(const Site& s);
Result<Type> infer_reverse(const Site& s);
Result<Type> infer_concatenate(const Site& s);
Result<Type> infer_slice(const Site& s);
Result<Type> infer_pad(const Site& s);
Result<Type> infer_stablehlo_broadcast(const Site& s);

// dynamic.cpp
Result<Type> infer_dynamic_slice(const Site& s);
Result<Type> infer_dynamic_update_slice(const Site& s);
Result<Type> infer_get_dimension_size(const Site& s);
Result<Type> infer_set_dimension_size(const Site& s);
Result<Type> infer_dynamic_reshape(const Site& s);
Result<Type> infer_dynamic_broadcast(const Site& s);
Result<Type> infer_dynamic_iota(const Site& s);
Result<Type> infer_dynamic_pad(const Site& s);
Result<Type> infer_real_dynamic_slice(const Site& s);

// dot.cpp
Result<Type> infer_dot(const Site& s);
Result<Type> infer_plain_dot(const Site& s);
Result<Type> infer_ragged_dot(const Site& s);
Result<Type> infer_scaled_dot(const Site& s);

// conv.cpp
Result<Type> infer_convolution(const Site& s);

// window.cpp
Result<Type> infer_reduce_window(const Site& s);
Result<Type> infer_select_and_scatter(const Site& s);

// reduce.cpp
Result<Type> infer_reduce(const Site& s);
Result<Type> infer_scan(const Site& s);
Result<Type> infer_sort(const Site& s);
Result<Type> infer_topk(const Site& s);
Result<Type> infer_map(const Site& s);

// gather.cpp
Result<Type> infer_gather(const Site& s);  // and dynamic-gather
Result<Type> infer_scatter(const Site& s);

// linalg.cpp
Result<Type> infer_fft(const Site& s);
Result<Type> infer_cholesky(const Site& s);
Result<Type> infer_triangular_solve(const Site& s);
Result<Type> infer_batch_norm(const Site& s);  // training, inference and grad
Result<Type> infer_rng(const Site& s);
Result<Type> infer_rng_bit_generator(const Site& s);
Result<Type> infer_rng_state(const Site& s);

// control.cpp
Result<Type> infer_tuple(const Site& s);
Result<Type> infer_get_tuple_element(const Site& s);
Result<Type> infer_token(const Site& s);  // after-all, create_token
Result<Type> infer_add_dependency(const Site& s);
Result<Type> infer_opt_barrier(const Site& s);
Result<Type> infer_first_operand(const Site& s);  // copy, domain: the operand's type
Result<Type> infer_call(const Site& s);           // call, fusion, composite
Result<Type> infer_while(const Site& s);
Result<Type> infer_conditional(const Site& s);
Result<Type> infer_custom_call(const Site& s);
Result<Type> infer_check(const Site& s);
Result<Type> infer_anything(const Site& s);  // nothing to check beyond the counts

// transfer.cpp
Result<Type> infer_async_start(const Site& s);
Result<Type> infer_async_update(const Site& s);
Result<Type> infer_async_done(const Site& s);
Result<Type> infer_copy_start(const Site& s);
Result<Type> infer_copy_done(const Site& s);
Result<Type> infer_infeed(const Site& s);
Result<Type> infer_outfeed(const Site& s);
Result<Type> infer_send(const Site& s);
Result<Type> infer_send_done(const Site& s);
Result<Type> infer_recv(const Site& s);
Result<Type> infer_recv_done(const Site& s);

// collective.cpp
Result<Type> infer_device_id(const Site& s);
Result<Type> infer_all_gather(const Site& s);
Result<Type> infer_all_gather_start(const Site& s);
Result<Type> infer_start_pair_done(const Site& s);  // all-gather-done, collective-permute-done
Result<Type> infer_all_reduce(const Site& s);
Result<Type> infer_all_to_all(const Site& s);
Result<Type> infer_ragged_all_to_all(const Site& s);
Result<Type> infer_reduce_scatter(const Site& s);
Result<Type> infer_collective_broadcast(const Site& s);
Result<Type> infer_collective_permute(const Site& s);
Result<Type> infer_collective_permute_start(const Site& s);

}  // namespace hloc::ir::shapes
