#!/usr/bin/env bash
# Builds the fuzzers with address and undefined-behaviour sanitizers and runs each for SECONDS seconds (20).
#   tests/fuzz/run.sh [SECONDS] [SEED]
set -uo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-20} seed=${2:-1}
shared=${HLOC_SHARED:-../shared}
BUILD=${FUZZ_BUILD:-build-fuzz} MESON_ARGS="-Db_sanitize=address,undefined -Db_lundef=false -Doptimization=1" \
  TARGETS="tests/fuzz/fuzz_bytes tests/fuzz/fuzz_modules" tests/setup.sh || { echo "0 passed, 1 failed"; exit 1; }
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 ASAN_OPTIONS=allocator_may_return_null=1
hlo=(tests/text tests/errors tests/rules) mlir=(tests/errors/mlir tests/ops)
[ -d "$shared/conformance/hlo/syntax" ] && hlo+=("$shared/conformance/hlo/syntax")
[ -d "$shared/conformance/stablehlo/interpret" ] && mlir+=("$shared/conformance/stablehlo/interpret")
passed=0 failed=0
run() {
  echo "== $*"
  if timeout $((${seconds%.*} + 120)) "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}
bin=${FUZZ_BUILD:-build-fuzz}/tests/fuzz
run "$bin/fuzz_bytes" --seconds "$seconds" --seed "$seed" "${hlo[@]}"
run "$bin/fuzz_bytes" --seconds "$seconds" --seed "$seed" "${mlir[@]}"
run "$bin/fuzz_modules" --seconds "$seconds" --seed "$seed"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
