#!/usr/bin/env bash
# Sets up, builds and runs every test. The last line is `N passed, N failed`; exit code 0 when nothing failed.
#   BUILD=dir   another build folder        MESON_ARGS=…   options for its setup (b_sanitize=address,undefined, unity=on)
set -uo pipefail
cd "$(dirname "$0")/.."
tests/setup.sh || { echo "0 passed, 1 failed"; exit 1; }

build=${BUILD:-build}
hloc=$build/src/hloc
shared=${HLOC_SHARED:-../shared}
jobs=$(nproc)
source tests/count.sh

count layering python3 tests/layering.py
count text "$build/tests/text_tests" tests
count unit unit "$build/tests/unit_tests"
count lessons python3 tests/lessons.py "$hloc"
for script in tests/cli/*.sh; do
  [ "$script" = tests/cli/lib.sh ] && continue
  [ -e "$script" ] && count "$(basename "$script" .sh)" bash "$script" "$hloc" "$build"
done
count "errors of functions" "$build/tests/bench/ulps" --step 104729
count "errors of functions, x86-64-v3" "$build/tests/bench/ulps" --step 104729 --target x86-64-v3
if command -v qemu-aarch64 >/dev/null; then
  count "errors of functions, aarch64" "$build/tests/bench/ulps" --step 1047293 --target aarch64
fi
count "random modules" "$build/tests/fuzz/fuzz_modules" --seconds 60 --inputs 2000
count "random modules, cuda:host" "$build/tests/fuzz/fuzz_modules" --seconds 60 --inputs 150 --seed 100000 --target cuda:host
count "random HLO bytes" "$build/tests/fuzz/fuzz_bytes" --seconds 60 --inputs 2000000 tests/text tests/errors tests/rules
count "random StableHLO bytes" "$build/tests/fuzz/fuzz_bytes" --seconds 60 --inputs 400000 tests/errors/mlir tests/ops
source tests/cases.sh

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
