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
passed=0 failed=0

# Runs a command, shows its output, adds what its last "N passed, N failed" line counts (a crash counts as one failure).
count() {
  local name=$1 log status line p f
  shift
  log=$(mktemp)
  "$@" >"$log" 2>&1
  status=$?
  line=$(grep -oE '[0-9]+ passed, [0-9]+ failed' "$log" | tail -1)
  p=$(echo "$line" | cut -d' ' -f1) f=$(echo "$line" | cut -d' ' -f3)
  p=${p:-0} f=${f:-0}
  if [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; then f=1; fi
  [ "$f" -eq 0 ] || cat "$log"
  grep '^skipped:' "$log"
  echo "== $name: $p passed, $f failed"
  passed=$((passed + p)) failed=$((failed + f))
  rm -f "$log"
}

# Catch2 says "All tests passed (X assertions in N test cases)" or "test cases: N | P passed | F failed".
unit() {
  local out status
  out=$("$@" 2>&1)
  status=$?
  echo "$out"
  if [ $status -eq 0 ]; then
    echo "$(echo "$out" | grep -oE '[0-9]+ test cases?' | tail -1 | cut -d' ' -f1) passed, 0 failed"
  else
    echo "$out" | sed -nE 's/^test cases: *([0-9]+) *\|(.*)$/\2/p' | sed -E 's/.*[^0-9]([0-9]+) failed.*/0 passed, \1 failed/' | tail -1
  fi
  return $status
}

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
