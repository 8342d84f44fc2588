#!/usr/bin/env bash
# On a machine with a GPU: every case of the lists on it, then its bandwidth and arithmetic speed. Exit code 3 where there is
# none, 2 where TARGET is unknown, 1 where a case or figure fails. Ten minutes at most.
#   tests/bench/gpu.sh [BUILD]
#   TARGET=cuda:sm_80            instead of the newest that `hloc targets` finds a device for
#   ROWS COLUMNS SIZES REPEAT    sizes of the arrays (65536, 1024) and matrices ("1024 4096"), calls that are timed (10)
#   CASES=…                      folders below shared/cases instead of those of tests/case_lists.sh
set -uo pipefail
cd "$(dirname "$0")/../.."
hloc=${1:-build}/src/hloc
shared=${HLOC_SHARED:-../shared}
rows=${ROWS:-65536} columns=${COLUMNS:-1024} sizes=${SIZES:-1024 4096} repeat=${REPEAT:-10}
source tests/case_lists.sh

target=${TARGET:-$("$hloc" targets | sed -n 's/^\([^ ]*\) .*; here: .*/\1/p' | tail -1)}
if [ -z "$target" ]; then
  echo "no GPU: \`hloc targets\` finds no device of NVIDIA (libcuda.so.1) or AMD (libamdhip64.so) that code can be made for" >&2
  exit 3
fi
"$hloc" targets | grep "^$target " || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
limited() { timeout $((SECONDS < 590 ? 590 - SECONDS : 1)) "$@"; }  # what is left of ten minutes

# The cases, in both forms.
cases=() status=0
for c in ${CASES:-$device_cases}; do [ ! -d "$shared/cases/$c" ] || cases+=("$shared/cases/$c"); done
if [ ${#cases[@]} -eq 0 ]; then
  echo "skipped: there are no cases in $shared/cases"
else
  for form in hlo mlir; do
    echo "cases, $form:"
    limited "$hloc" check --no-fallback --form $form --jobs 4 --target "$target" "${cases[@]}" || status=1
  done
fi

# graph STEPS: one of the step functions below, that many times, on arrays made on the device; hardly anything goes to it or comes
# back. A barrier between two steps keeps them apart.
graph() {
  local steps=$1 i
  echo "HloModule $name"
  echo "most { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] maximum(a, b) }"
  echo "plus { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }"
  echo "ENTRY e {"
  echo "  p = f32[$columns] parameter(0)"
  echo "  zero = f32[] constant(0)"
  echo "  low = f32[] constant(-inf)"
  echo "  made = $array broadcast(p), dimensions={1}"
  echo "  x0 = $array opt-barrier(made)"
  for ((i = 1; i <= steps; ++i)); do
    "$name" $i $((i - 1))
    echo "  x$i = $result opt-barrier(y$i)"
  done
  echo "  ROOT r = $small slice(x$steps), slice={$part}"
  echo "}"
}
negate() { echo "  y$1 = $array negate(x$2)"; }
add_mul_chain() { echo "  c$1 = f32[] constant(0.75)
  k$1 = $array broadcast(c$1), dimensions={}
  a$1 = $array multiply(x$2, k$1)
  b$1 = $array add(a$1, k$1)
  d$1 = $array multiply(b$1, k$1)
  y$1 = $array add(d$1, k$1)"; }
softmax() { echo "  m$1 = f32[$rows] reduce(x$2, low), dimensions={1}, to_apply=most
  mb$1 = $array broadcast(m$1), dimensions={0}
  s$1 = $array subtract(x$2, mb$1)
  e$1 = $array exponential(s$1)
  n$1 = f32[$rows] reduce(e$1, zero), dimensions={1}, to_apply=plus
  nb$1 = $array broadcast(n$1), dimensions={0}
  y$1 = $array divide(e$1, nb$1)"; }
layer_norm() { echo "  c$1 = f32[] constant($columns)
  count$1 = f32[$rows] broadcast(c$1), dimensions={}
  ep$1 = f32[] constant(1e-5)
  epsilon$1 = f32[$rows] broadcast(ep$1), dimensions={}
  n$1 = f32[$rows] reduce(x$2, zero), dimensions={1}, to_apply=plus
  m$1 = f32[$rows] divide(n$1, count$1)
  mb$1 = $array broadcast(m$1), dimensions={0}
  s$1 = $array subtract(x$2, mb$1)
  q$1 = $array multiply(s$1, s$1)
  qn$1 = f32[$rows] reduce(q$1, zero), dimensions={1}, to_apply=plus
  v$1 = f32[$rows] divide(qn$1, count$1)
  ve$1 = f32[$rows] add(v$1, epsilon$1)
  rs$1 = f32[$rows] rsqrt(ve$1)
  rb$1 = $array broadcast(rs$1), dimensions={0}
  y$1 = $array multiply(s$1, rb$1)"; }
# There and back are two steps.
transposed() { echo "  t$1 = f32[$columns,$rows] transpose(x$2), dimensions={1,0}
  tb$1 = f32[$columns,$rows] opt-barrier(t$1)
  y$1 = $array transpose(tb$1), dimensions={1,0}"; }
# Each begins with the sums of the one before, so that none is the same as another.
row_sums() {
  [ "$2" -gt 0 ] || echo "  v0 = f32[$rows] broadcast(zero), dimensions={}"
  [ "$2" -eq 0 ] || echo "  v$2 = f32[$rows] add(x$2, x$2)"
  echo "  vb$1 = $array broadcast(v$2), dimensions={0}
  a$1 = $array add(x0, vb$1)
  y$1 = f32[$rows] reduce(a$1, zero), dimensions={1}, to_apply=plus"
}
matrix_product() { echo "  y$1 = $array dot(x$2, x0), lhs_contracting_dims={1}, rhs_contracting_dims={0}"; }

# step_ms NAME: what a step takes, from the times of one and of nine.
run_ms() {
  limited "$hloc" bench "$work/$1.hlo" --target "$target" --repeat "$repeat" --json | sed -n 's/.*"run_ms_min":\([^,]*\),.*/\1/p'
}
step_ms() {
  name=$1 array="f32[$rows,$columns]"
  result=$array small="f32[1,8]" part="[0:1],[0:8]"
  [ "$name" != row_sums ] || result="f32[$rows]" small="f32[8]" part="[0:8]"
  graph 1 >"$work/one.hlo"
  graph 9 >"$work/nine.hlo"
  awk -v one="$(run_ms one)" -v nine="$(run_ms nine)" 'BEGIN { if (one == "" || nine == "") exit 1; print (nine - one) / 8 }'
}
# figure NAME AMOUNT UNIT TEXT: a step does so much that AMOUNT per millisecond is a number of UNIT
figure() {
  local ms
  if ! ms=$(step_ms "$1"); then
    echo "$4: failed"
    status=1
    return
  fi
  awk -v ms="$ms" -v amount="$2" -v unit="$3" -v text="$4" \
    'BEGIN { printf "%-34s %9.4f ms %10.1f %s\n", text, ms, (ms > 0 ? amount / ms : 0), unit }'
}

bytes=$((rows * columns * 4))
millions() { awk -v n="$1" 'BEGIN { print n / 1e6 }'; }
size="f32[$rows,$columns]"
for name in negate add_mul_chain softmax layer_norm; do figure $name "$(millions $((2 * bytes)))" GB/s "$name $size"; done
figure transposed "$(millions $((4 * bytes)))" GB/s "transposed twice $size"
figure row_sums "$(millions $bytes)" GB/s "row_sums $size"
for n in $sizes; do
  rows=$n columns=$n
  figure matrix_product "$(awk -v n="$n" 'BEGIN { print 2 * n * n * n / 1e9 }')" TFLOP/s "matrix_product f32[$n,$n]"
done
exit $status
