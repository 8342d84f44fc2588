#!/usr/bin/env bash
# Programs on devices that are not there: the makers' drivers and compilers are those of tests/stubs, which check every call
# and run the kernels' source on the CPU.
hloc=$1 build=$2
source "$(dirname "$0")/lib.sh"
tests=$(cd "$(dirname "$0")/.." && pwd)
shared=${HLOC_SHARED:-$tests/../../shared}
stubs=$(cd "$build/tests/stubs" && pwd)
real_cuda=${HLOC_CUDA_PATH:-} real_rocm=${HLOC_ROCM_PATH:-}  # of compilers that are really there
unset HLOC_CUDA_PATH HLOC_ROCM_PATH
on_stub() { env HLOC_CUDA_PATH="$stubs" HLOC_ROCM_PATH="$stubs" HLOC_STUB_LOG="$work/calls" "$@"; }
ended() { grep -qxF "end: 0 allocations, 0 modules, 0 contexts, current 0" "$work/calls" && ! grep -q mistake "$work/calls"; }
graph=$tests/emit/cuda/softmax.hlo
cat >"$work/loop.hlo" <<'HLO'
HloModule loop
less {
  p = (s32[], f32[5]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(7)
  ROOT c = pred[] compare(i, n), direction=LT
}
step {
  p = (s32[], f32[5]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  one = s32[] constant(1)
  j = s32[] add(i, one)
  x = f32[5] get-tuple-element(p), index=1
  y = f32[5] cosine(x)
  ROOT r = (s32[], f32[5]) tuple(j, y)
}
ENTRY main {
  x = f32[5] parameter(0)
  i = s32[] constant(0)
  s = (s32[], f32[5]) tuple(i, x)
  w = (s32[], f32[5]) while(s), condition=less, body=step
  m = f32[5,5] broadcast(x), dimensions={0}
  f = f32[5,5] cholesky(m), lower=true
  y = f32[5] get-tuple-element(w), index=1
  ROOT r = (f32[5], f32[5,5]) tuple(y, f)
}
HLO

# The same bits as by the emulator, loops, host steps and all; nothing is left on the device.
same() {  # same TARGET EMULATED GRAPH
  rm -rf "$work/device" "$work/host" "$work/calls"
  on_stub "$hloc" run "$3" --fill 1 --target "$1" --out "$work/device" && "$hloc" run "$3" --fill 1 --target "$2" --out "$work/host" &&
    diff -r "$work/device" "$work/host" && ended
}
for g in "$tests"/emit/cuda/*.hlo "$work/loop.hlo"; do ok "cuda:sm_80 on $(basename "$g")" same cuda:sm_80 cuda:host "$g"; done
for g in "$graph" "$work/loop.hlo"; do ok "hip:gfx90a on $(basename "$g")" same hip:gfx90a hip:host "$g"; done
if [ -d "$shared/cases" ]; then
  cases=()
  for c in add_mul dynamic_update_slice scan_ema cond_branch matmul_odd_sizes reduce_3d_middle; do cases+=("$shared/cases/basics/$c"); done
  checked=("$hloc" check --no-fallback --form hlo --jobs "$(nproc)" "${cases[@]}")
  exits 0 "6 passed, 0 failed" on_stub "${checked[@]}" --target cuda:sm_80
  exits 0 "6 passed, 0 failed" on_stub env HLOC_STUB_DEVICES=gfx1030 "${checked[@]}" --target hip:gfx1030
fi

# The device that runs the code is found, the caller's stays current; where there is none, this says what there is.
on() { on_stub env HLOC_STUB_DEVICES="$1" "$hloc" run "$graph" --fill 1 --target "$2"; }
ok "a later version of the generation" on sm_86 cuda:sm_80
ok "code for one device alone" on sm_90 cuda:sm_90a
rm -f "$work/calls"
ok "the second of two" on sm_75,sm_80 cuda:sm_80
ok "it is the second" bash -c "grep -qxF 'cuDevicePrimaryCtxRetain 1' '$work/calls'"
ok "nothing is left there" ended
rm -f "$work/calls"
ok "the second of AMD" on gfx1030,gfx90a:sramecc+:xnack- hip:gfx90a
ok "nothing is left there, the first one is current" ended
exits 3 "what this machine has is Stub (sm_80), Stub (sm_75)" on sm_80,sm_75 cuda:sm_90
exits 3 "what this machine has is Stub (sm_90)" on sm_90 cuda:sm_80
exits 3 "what this machine has is gfx Stub (gfx1030)" on gfx1030 hip:gfx90a
exits 3 "--target cuda:host runs that on the CPU" on none cuda:sm_80
exits 3 "finds no device" on none cuda:sm_80
exits 3 "finds no device" on none hip:gfx90a
mkdir "$work/nothing"
if ! ldconfig -p | grep -q 'libcuda\.so\.1'; then
  exits 3 "libcuda.so.1, was not found" env HLOC_CUDA_PATH="$work/nothing" "$hloc" run "$graph" --fill 1 --target cuda:sm_80
fi
exits 0 "__global__" on_stub env HLOC_STUB_DEVICES=none "$hloc" compile "$graph" --emit cuda --target cuda:sm_80

exits 0 "cuda:sm_86   cuda       CUDA C for NVIDIA Ampere (GeForce, A40); here: Stub" on_stub env HLOC_STUB_DEVICES=sm_86 "$hloc" targets
exits 0 "hip:gfx1100  hip        HIP C for AMD Radeon RX 7000; here: gfx Stub" on_stub env HLOC_STUB_DEVICES=gfx1100 "$hloc" targets

# The script for a machine with a GPU.
exits 3 "no GPU" on_stub env HLOC_STUB_DEVICES=none bash "$tests/bench/gpu.sh" "$build"
small=(CASES=none ROWS=8 COLUMNS=64 SIZES=8 REPEAT=1)
exits 0 "matrix_product f32[8,8]" on_stub env TARGET=hip:gfx90a "${small[@]}" bash "$tests/bench/gpu.sh" "$build"
cp "$work/log" "$work/figures"
ok "no figure is missing" test "$(grep -c ' ms ' "$work/figures")" = 7

# Every call that can fail, failing: the status in the message, everything given back.
fails() {  # fails CODE CALL:N:STATUS WORDS TARGET
  rm -f "$work/calls"
  exits "$1" "$3" on_stub env HLOC_STUB_FAIL="$2" "$hloc" run "$graph" --fill 1 --target "$4"
  ok "after $2, nothing is left" ended
}
for call in cuInit:1 cuDeviceGetCount:1 cuDeviceGetName:1 cuDeviceGetAttribute:2 cuDevicePrimaryCtxRetain:1 cuModuleLoadData:1 \
            cuMemAlloc:1 cuMemAlloc:4 cuMemcpyHtoD:1 cuLaunchKernel:1 cuMemcpyDtoH:1; do
  fails 3 "$call:201" "STUB_INVALID_CONTEXT: as the test wants it" cuda:sm_80
done
for call in hipInit:1 hipGetDeviceCount:1 hipGetDeviceProperties:1 hipModuleLoadData:1 hipMalloc:3 hipMemcpy:1 hipModuleLaunchKernel:1 \
            hipMemcpy:2; do
  fails 3 "$call:201" "STUB_INVALID_CONTEXT: as the test wants it" hip:gfx90a
done
fails 4 cuModuleGetFunction:1:500 "finding the kernel k0_y failed on Stub (sm_80, driver for CUDA 13.0): STUB_NOT_FOUND" cuda:sm_80
fails 4 cuLaunchKernel:1:1 "launching k0_y failed" cuda:sm_80
fails 3 cuMemAlloc:4:2 "making room for 32000 bytes failed on Stub (sm_80, driver for CUDA 13.0): STUB_OUT_OF_MEMORY" cuda:sm_80
fails 3 cuMemcpyDtoH:1:300 "status 300" cuda:sm_80
exits 4 "STUB_ILLEGAL_ADDRESS: as the test wants it; the kernel that did it is k0_y" \
  on_stub env HLOC_STUB_FAIL=cuMemcpyDtoH:1:700 "$hloc" run "$graph" --fill 1 --target cuda:sm_80
exits 3 "making room for" on_stub env HLOC_STUB_MEMORY=50000 "$hloc" run "$graph" --fill 1 --target hip:gfx90a

# Code of the makers' own compilers, where they are installed: it loads, its functions have the launches' names, all is given back.
real() {  # real TARGET KIND VARIABLE FOLDER
  if env "$3=$4" "$hloc" compile "$graph" --emit "$2" --target "$1" -o "$work/code" >"$work/log" 2>&1; [ $? -eq 3 ]; then
    echo "skipped: no real code on a stub device: $(cat "$work/log")"
    return
  fi
  local g
  for g in "$tests"/emit/{cuda,hip}/*.hlo; do
    rm -f "$work/calls"
    ok "code for $1 of $(basename "$g")" env "$3=$4" HLOC_STUB_LOG="$work/calls" "$hloc" run "$g" --fill 1 --target "$1"
    ok "it ends well" ended
  done
}
mkdir "$work/cuda" "$work/hip"
for below in "" /lib64 /lib; do
  [ -z "$real_cuda" ] || ln -sf "$real_cuda$below"/libnvrtc*.so* "$work/cuda"
  [ -z "$real_rocm" ] || ln -sf "$real_rocm$below"/libamd_comgr.so* "$work/hip"
done
ln -s "$stubs/libcuda.so.1" "$work/cuda/libcuda.so.1"
ln -s "$stubs/libamdhip64-old.so.5" "$work/hip/libamdhip64.so.5"
real cuda:sm_80 cubin HLOC_CUDA_PATH "$work/cuda"
real hip:gfx90a code-object HLOC_ROCM_PATH "$work/hip"
finish
