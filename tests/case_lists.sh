# Cases by folder, sourced by scripts that run them.
reference_cases="add_mul activations transcendental_f32 broadcasts transposes slices_strided pad_basic iota_reverse_concat
  clamp_select logical int_bits int_divmod rounding nan_inf_compare reduce_all reduce_3d_middle reduce_int softmax
  log_softmax_xent layernorm gelu_mlp matmul_64 matmul_512 matmul_odd_sizes batched_matmul matvec_vecmat_dot
  while_newton_sqrt while_collatz while_nested cond_branch fori_matrix_power dynamic_slice dynamic_update_slice scan_ema"
model_cases="mlp_mnist_forward mlp_mnist_train_step digits_mlp"
science_cases="black_scholes nbody_step jacobi_stencil sir_ode_rk4 heat_adi conjugate_gradient kmeans_iteration conway_life"
native_cases="basics/add_mul basics/broadcasts basics/softmax basics/layernorm basics/gelu_mlp basics/matmul_64 basics/matmul_512
  basics/matmul_odd_sizes basics/batched_matmul basics/rounding basics/nan_inf_compare basics/argsort basics/top_k basics/maxpool_grad models/mlp_mnist_forward models/digits_mlp"
device_cases="$(printf 'basics/%s ' $reference_cases) $(printf 'models/%s ' $model_cases) $(printf 'science/%s ' $science_cases)"
