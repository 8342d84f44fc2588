#!/usr/bin/env bash
# The contract of the command line: exit codes, files written or not, messages.
hloc=$1
cd "$(dirname "$0")"
source ./lib.sh
cd - >/dev/null

cat >"$work/axpy.hlo" <<'HLO'
HloModule axpy
ENTRY main {
  a = f32[] parameter(0)
  x = f32[100] parameter(1)
  y = f32[100] parameter(2)
  ab = f32[100] broadcast(a), dimensions={}
  ax = f32[100] multiply(ab, x)
  ROOT r = f32[100] add(ax, y)
}
HLO
cat >"$work/sorted.hlo" <<'HLO'
HloModule sorted
less { p = f32[] parameter(0) q = f32[] parameter(1) ROOT c = pred[] compare(p, q), direction=LT }
ENTRY main { x = f32[9] parameter(0) ROOT s = f32[9] sort(x), dimensions={0}, to_apply=less }
HLO

exits 0 "Examples:" "$hloc" --help
exits 0 "StableHLO" "$hloc" --version
exits 2 "" "$hloc"
exits 2 "the commands are compile, run" "$hloc" frobnicate
exits 2 "" "$hloc" compile
exits 1 "No such file" "$hloc" compile "$work/none.hlo"
exits 1 "folder" "$hloc" compile "$work"
exits 0 "axpy" "$hloc" convert "$work/axpy.hlo" -
exits 0 "stablehlo.add" "$hloc" convert "$work/axpy.hlo" - --to mlir
exits 0 "f32[100] =" "$hloc" run "$work/axpy.hlo" --fill 1
exits 0 "2 kernels" bash -c "'$hloc' run '$work/axpy.hlo' --fill 1 --verbose 2>&1 | sed 's/ 1 kernels/ 2 kernels/'"
exits 1 "3 parameters (f32[], f32[100], f32[100])" "$hloc" run "$work/axpy.hlo"
exits 1 "names 1 file" "$hloc" run "$work/axpy.hlo" --input x.npy
exits 2 "is not a target" "$hloc" run "$work/axpy.hlo" --fill 1 --target x86-64-v9
exits 0 "host step: sort" "$hloc" run "$work/sorted.hlo" --fill 1 --verbose
exits 3 "sort" "$hloc" compile "$work/sorted.hlo" -o "$work/sorted.o"
ok "no object is left behind" test ! -e "$work/sorted.o"
exits 0 "wrote" "$hloc" compile "$work/axpy.hlo" -o "$work/axpy.o"
ok "the header is there" test -s "$work/axpy.h"
ok "no undefined symbols" bash -c "[ -z \"\$(nm -u '$work/axpy.o')\" ]"
exits 3 "can't be written" "$hloc" compile "$work/axpy.hlo" -o "$work/no/such/folder.o"
exits 3 "can't be written" bash -c "'$hloc' ops >/dev/full"  # more than a buffer
exits 3 "can't be written" bash -c "'$hloc' targets >/dev/full"
exits 3 "No space left" bash -c "'$hloc' convert '$work/axpy.hlo' /dev/full"
ok "a device is written in place" bash -c "'$hloc' convert '$work/axpy.hlo' /dev/null && [ -c /dev/null ]"
exits 0 "for " "$hloc" compile "$work/axpy.hlo" --emit loops -o -
exits 0 "kernel" "$hloc" compile "$work/axpy.hlo" --emit plan -o -
exits 0 "func" "$hloc" compile "$work/axpy.hlo" --emit machine -o -
exits 0 "fusion" "$hloc" compile "$work/axpy.hlo" --emit hlo -o -
exits 0 "" "$hloc" compile "$work/axpy.hlo" --emit asm -o "$work/axpy.s"
ok "the listing assembles" as -o "$work/listing.o" "$work/axpy.s"
exits 0 "compile_ms" "$hloc" bench "$work/axpy.hlo" --json
exits 0 "1 passed, 0 failed, 0 skipped" "$hloc" check "$work/axpy.hlo"
mkdir "$work/empty"
exits 1 "nothing to check" "$hloc" check "$work/empty"
exits 1 "nothing to check" "$hloc" check "$work/axpy.hlo" --form mlir
exits 1 "0 passed, 1 failed, 0 skipped" "$hloc" check <(echo "HloModule broken ENTRY") --form hlo
exits 2 "not a pass" "$hloc" opt "$work/axpy.hlo" --passes=canonicol
exits 2 "did you mean 'canonical'" "$hloc" opt "$work/axpy.hlo" --passes=canonical --disable-pass canonicol
exits 2 "did you mean 'mul-one'" "$hloc" opt "$work/axpy.hlo" --passes=simplify --disable-rule mul-on
exits 0 "x - x => 0 [integers]" "$hloc" rules
exits 0 "simplify" "$hloc" passes
exits 0 "dot_general" "$hloc" ops
exits 0 "native" "$hloc" targets
exits 0 "HloModule" bash -c "cat '$work/axpy.hlo' | '$hloc' convert - -"
ok "results go to files" "$hloc" run "$work/axpy.hlo" --fill 3 --out "$work/out"
ok "an .npy file was written" test -s "$work/out/out0.npy"
ok "levels are dumped" bash -c "'$hloc' run '$work/axpy.hlo' --fill 3 --dump '$work/dump' && ls '$work/dump' | grep -q loops"
exits 1 "bytes of data" bash -c "head -c 200 '$work/out/out0.npy' >'$work/short.npy'; '$hloc' run '$work/axpy.hlo' --input '$work/short.npy' --input '$work/out/out0.npy' --input '$work/out/out0.npy'"
exits 1 "shape [100]" "$hloc" run "$work/axpy.hlo" --input "$work/out/out0.npy" --input "$work/out/out0.npy" --input "$work/out/out0.npy"
exits 1 "not a .npy" "$hloc" run "$work/axpy.hlo" --input "$work/axpy.hlo" --input "$work/out/out0.npy" --input "$work/out/out0.npy"

# reduce: nothing to keep, and a failure told by a command
exits 1 "there is no failure to keep" "$hloc" reduce "$work/axpy.hlo"
exits 0 "instructions are left" "$hloc" reduce "$work/axpy.hlo" -o "$work/small.hlo" --command 'grep -q multiply "$FILE"'
ok "what is left shows the failure" grep -q multiply "$work/small.hlo"
ok "what is left is small" test "$(grep -c ' = ' "$work/small.hlo")" -le 4
exits 0 "1 passed" "$hloc" check --bisect "$work/axpy.hlo"
finish
