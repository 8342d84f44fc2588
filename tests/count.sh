# Counts what test programs say passed and failed; sourced by run.sh and aarch64.sh.
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
