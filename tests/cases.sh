# The cases that must pass, sourced by run.sh: this project's own small ones, and the large set where it is present.
reference_cases="add_mul activations transcendental_f32 broadcasts transposes slices_strided pad_basic iota_reverse_concat
  clamp_select logical int_bits int_divmod rounding nan_inf_compare reduce_all reduce_3d_middle reduce_int softmax
  log_softmax_xent layernorm gelu_mlp matmul_64 matmul_512 matmul_odd_sizes batched_matmul matvec_vecmat_dot
  while_newton_sqrt while_collatz while_nested cond_branch fori_matrix_power dynamic_slice dynamic_update_slice scan_ema"
model_cases="mlp_mnist_forward mlp_mnist_train_step digits_mlp"
science_cases="black_scholes nbody_step jacobi_stencil sir_ode_rk4 heat_adi conjugate_gradient kmeans_iteration conway_life"
native_cases="basics/add_mul basics/broadcasts basics/softmax basics/layernorm basics/gelu_mlp basics/matmul_64 basics/matmul_512
  basics/matmul_odd_sizes basics/batched_matmul basics/rounding basics/nan_inf_compare basics/argsort basics/top_k basics/maxpool_grad models/mlp_mnist_forward models/digits_mlp"

if [ -d "$shared/cases" ]; then
  all=() native=() science=() emulated=()
  for c in $reference_cases; do all+=("$shared/cases/basics/$c"); done
  for c in $model_cases; do all+=("$shared/cases/models/$c"); done
  for c in $science_cases; do science+=("$shared/cases/science/$c"); done
  for c in $native_cases; do native+=("$shared/cases/$c"); done
  for c in "${all[@]}"; do case $c in */matmul_512) ;; *) emulated+=("$c") ;; esac; done
  for form in hlo mlir; do
    count "reference, $form" "$hloc" check --target reference --form $form --jobs "$jobs" "${all[@]}"
    count "native, $form" "$hloc" check --form $form --jobs "$jobs" "${all[@]}"
    for target in native x86-64-v3; do
      count "$target without fallback, $form" "$hloc" check --target $target --no-fallback --form $form --jobs "$jobs" "${native[@]}"
    done
    for target in cuda:host hip:host; do
      count "$target without fallback, $form" "$hloc" check --target $target --no-fallback --form $form --jobs "$jobs" "${emulated[@]}"
    done
  done
  if command -v qemu-aarch64 >/dev/null; then
    for form in hlo mlir; do
      count "aarch64 without fallback, $form" "$hloc" check --target aarch64 --no-fallback --form $form --jobs "$jobs" "${all[@]}" "${science[@]}"
    done
  else
    echo "skipped: no case runs on aarch64, qemu-aarch64 is missing (Debian: qemu-user)"
  fi
  count "two threads" "$hloc" check --threads 2 --no-fallback --form hlo "${native[@]}"
fi
if [ -d "$shared/conformance/hlo" ]; then
  count "HLO corpus" "$hloc" check --form hlo --jobs "$jobs" "$shared/conformance/hlo"
fi
