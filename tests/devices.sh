#!/usr/bin/env bash
# Compiles the kernels of cases for every family of devices, without spills; needs NVRTC (HLOC_CUDA_PATH) and comgr.
# Minutes; not part of run.sh.
#   tests/devices.sh [BUILD]
set -uo pipefail
cd "$(dirname "$0")/.."
hloc=${1:-build}/src/hloc
shared=${HLOC_SHARED:-../shared}
source tests/case_lists.sh
passed=0 failed=0
code=$(mktemp)
log=$(mktemp)
trap 'rm -f "$code" "$log"' EXIT

# Whether no launch keeps registers in memory, by what --json said of each.
no_spills() { grep -q '"spill' "$log" && ! grep -qE '"spill[a-z_]*":[1-9]' "$log"; }

# compile KIND TARGET…: every case in both forms
compile() {
  local kind=$1 target c form
  shift
  for target in "$@"; do
    for c in $device_cases; do
      for form in hlo mlir; do
        local file="$shared/cases/$c/module.$form"
        if "$hloc" compile "$file" --emit "$kind" --target "$target" -o "$code" --json >"$log" 2>&1 && no_spills; then
          passed=$((passed + 1))
        else
          failed=$((failed + 1))
          echo "FAILED $c ($form) for $target"
          head -5 "$log"
        fi
      done
    done
  done
}

compile cubin cuda:sm_75 cuda:sm_80 cuda:sm_90a cuda:sm_120
compile code-object hip:gfx906 hip:gfx90a hip:gfx1030
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
