// The function of each op; dispatch.cpp says which op has which.
#pragma once

#include "ir/eval/evaluator.h"

namespace hloc::ir::eval {

#define HLOC_EVAL_FUNCTIONS(X)                                                                                         \
  /* elementwise.cpp */                                                                                                \
  X(elementwise)                                                                                                       \
  /* shape.cpp */                                                                                                      \
  X(constant) X(iota) X(broadcast) X(dynamic_broadcast) X(leading_broadcast) X(reshape) X(transpose) X(reverse)        \
  X(slice) X(real_dynamic_slice) X(concatenate) X(pad) X(dynamic_pad) X(dynamic_slice) X(dynamic_update_slice)         \
  X(dimension_size) X(set_dimension_size) X(bitcast_convert) X(bitcast)                                                \
  /* reduce.cpp, window.cpp, order.cpp */                                                                              \
  X(reduce) X(map) X(scan) X(reduce_window) X(select_and_scatter) X(sort) X(topk)                                      \
  /* gather.cpp */                                                                                                     \
  X(gather) X(dynamic_gather) X(scatter)                                                         \
  /* dot.cpp, conv.cpp */                                                                                              \
  X(dot) X(ragged_dot) X(scaled_dot) X(convolution) X(dynamic_conv)                                          \
  /* linalg.cpp, fft.cpp, batch_norm.cpp */                                                                            \
  X(cholesky) X(triangular_solve) X(fft) X(batch_norm_training) X(batch_norm_inference) X(batch_norm_grad)             \
  /* random.cpp */                                                                                                     \
  X(rng) X(rng_bit_generator) X(rng_get_and_update_state)                                                              \
  /* quantize.cpp */                                                                                                   \
  X(uniform_quantize) X(uniform_dequantize)                                                                            \
  /* control.cpp */                                                                                                    \
  X(tuple) X(get_tuple_element) X(first_operand) X(barrier) X(token) X(call) X(while) X(conditional) X(async_start)     \
  X(async_done) X(copy_start) X(copy_done) X(zero) X(lone_collective) X(lone_collective_start)                         \
  X(lone_collective_done) X(lone_permute)                                                                               \
  /* check.cpp, custom_call.cpp */                                                                                     \
  X(expect_eq) X(expect_almost_eq) X(expect_close) X(custom_call)

#define HLOC_X(name) Result<Literal> eval_##name(Call& c);
HLOC_EVAL_FUNCTIONS(HLOC_X)
#undef HLOC_X
#undef HLOC_EVAL_FUNCTIONS

bool is_known_custom_call(Value v);

}  // namespace hloc::ir::eval
