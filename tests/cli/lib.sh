# Small helpers of the command-line tests: each check is one line of the count. Sourced, with $hloc set.
passed=0 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What a build with sanitizers changes: they need address space without bound, and the flags where their library is linked.
sanitizers=
! nm -D "$hloc" | grep -q __asan_init || sanitizers="-fsanitize=address,undefined"
at_most_2_gb="ulimit -v 2000000"
[ -z "$sanitizers" ] || at_most_2_gb=true

ok() {  # ok NAME COMMAND…: the command succeeds
  local name=$1
  shift
  if "$@" >"$work/log" 2>&1; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $name"; cat "$work/log"; fi
}
exits() {  # exits CODE WORDS COMMAND…: that exit code, and the words in its output
  local code=$1 words=$2 status
  shift 2
  "$@" >"$work/log" 2>&1
  status=$?
  if [ $status -eq "$code" ] && { [ -z "$words" ] || grep -qF -- "$words" "$work/log"; }; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED (exit $status, $code with '$words' was expected): $*"
    cat "$work/log"
  fi
}
finish() {
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ]
}
