#!/usr/bin/env bash
# The figures of this machine: reading, long chains, compile times of the cases. Nothing here passes or fails.
#   tests/bench/run.sh [BUILD]
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:-build}
shared=${HLOC_SHARED:-../shared}
for kind in usual constants sharded percent chain; do "$build/tests/bench/bench_core" read 200 $kind; done
(ulimit -s 1024 && "$build/tests/bench/bench_core" chain)
"$build/tests/bench/bench_core" unrolled
"$build/tests/bench/bench_core" call
for c in tests/bench/cases/*/; do echo "$(basename "$c") $("$build/src/hloc" bench "$c/module.mlir" --json --repeat 200)"; done | python3 tests/bench/table.py
cases="basics/add_mul basics/broadcasts basics/softmax basics/layernorm basics/gelu_mlp basics/matmul_64 basics/matmul_512
  basics/matmul_odd_sizes basics/batched_matmul models/mlp_mnist_forward models/digits_mlp"
[ -d "$shared/cases" ] || exit 0
for c in $cases; do
  echo "$c $("$build/src/hloc" bench "$shared/cases/$c" --json --repeat 20)"
done | python3 tests/bench/table.py
