#!/usr/bin/env bash
# The contract of the command line: exit codes, files written or not, messages.
hloc=$1
source "$(dirname "$0")/lib.sh"

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
cat >"$work/factored.hlo" <<'HLO'
HloModule factored
ENTRY main { x = f32[4,4] parameter(0) ROOT s = f32[4,4] cholesky(x), lower=true }
HLO

exits 0 "Examples:" "$hloc" --help
exits 0 "StableHLO" "$hloc" --version
exits 2 "" "$hloc"
exits 2 "commands: compile, run" "$hloc" frobnicate
exits 2 "" "$hloc" compile
exits 2 "did you mean 'compile'" "$hloc" complie "$work/axpy.hlo"
exits 2 "did you mean '--fill'" "$hloc" run "$work/axpy.hlo" --fil=1
exits 1 "No such file" "$hloc" compile "$work/none.hlo"
exits 1 "folder" "$hloc" compile "$work"
exits 0 "axpy" "$hloc" convert "$work/axpy.hlo" -
exits 0 "stablehlo.add" "$hloc" convert "$work/axpy.hlo" - --to mlir
exits 0 "f32[100] =" "$hloc" run "$work/axpy.hlo" --fill 1
exits 0 "kernels: 1, host steps: 0" bash -c "'$hloc' run '$work/axpy.hlo' --fill 1 --verbose 2>&1"
exits 1 "3 parameters (f32[], f32[100], f32[100])" "$hloc" run "$work/axpy.hlo"
exits 1 "names 1 file" "$hloc" run "$work/axpy.hlo" --input x.npy
exits 2 "machine" "$hloc" compile "$work/axpy.hlo" --emit assembler -o -
exits 3 "apt install g++" env PATH=/nowhere "$hloc" run "$work/axpy.hlo" --fill 1 --target cuda:host
mkdir "$work/temporary"
exits 0 "f32[100] =" env TMPDIR="$work/temporary" "$hloc" run "$work/axpy.hlo" --fill 1 --target hip:host
ok "no temporary file is left behind" rmdir "$work/temporary"
exits 3 "TMPDIR" env TMPDIR="$work/temporary" "$hloc" run "$work/axpy.hlo" --fill 1 --target hip:host
mkdir "$work/failing"
printf '#!/bin/sh\nexit 1\n' >"$work/failing/g++"
chmod +x "$work/failing/g++"
exits 3 "g++ can't compile kernels here" env PATH="$work/failing:$PATH" "$hloc" run "$work/axpy.hlo" --fill 1 --target cuda:host
exits 3 "apt install qemu-user" env PATH=/nowhere "$hloc" run "$work/axpy.hlo" --fill 1 --target aarch64
exits 2 "is not a target" "$hloc" run "$work/axpy.hlo" --fill 1 --target x86-64-v9
exits 0 "kernels: 1, host steps: 0" "$hloc" compile "$work/axpy.hlo" -o "$work/axpy.o" --verbose
exits 0 '"kernels":1,"fallback_kernels":0' "$hloc" compile "$work/axpy.hlo" -o "$work/axpy.o" --json
exits 2 "name a file" "$hloc" compile "$work/axpy.hlo" --emit loops --json
exits 0 "host step: cholesky" "$hloc" run "$work/factored.hlo" --fill 1 --verbose
exits 3 "cholesky" "$hloc" compile "$work/factored.hlo" -o "$work/factored.o"
ok "no object is left behind" test ! -e "$work/factored.o"
exits 0 "wrote" "$hloc" compile "$work/sorted.hlo" -o "$work/sorted.o"
ok "no undefined symbols in a sort" bash -c "[ -z \"\$(nm -u '$work/sorted.o')\" ]"
exits 2 "is not a target" "$hloc" check "$work/axpy.hlo" --target x86-64-v9
exits 2 "not a seed" "$hloc" run "$work/axpy.hlo" --fill 18446744073709551616
exits 2 "not a seed" "$hloc" run "$work/axpy.hlo" --fill=-1
exits 2 "a name was expected" "$hloc" run "$work/axpy.hlo" --fill 1 --out ""
exits 0 "wrote" "$hloc" compile "$work/axpy.hlo" -o "$work/axpy.o"
ok "the header is there" test -s "$work/axpy.h"
ok "no undefined symbols" bash -c "[ -z \"\$(nm -u '$work/axpy.o')\" ]"
exits 3 "can't be written" "$hloc" compile "$work/axpy.hlo" -o "$work/no/such/folder.o"
exits 3 "can't be written" bash -c "'$hloc' ops >/dev/full"  # more than a buffer
exits 3 "can't be written" bash -c "'$hloc' targets >/dev/full"
exits 1 "opaque[]) has no form in StableHLO" bash -c "echo 'ENTRY e { ROOT p = (f32[], opaque[]) parameter(0) }' | '$hloc' convert - - --to mlir"
exits 1 "(s1[2]{0}) has no form in StableHLO" bash -c "echo 'ENTRY e { ROOT p = (s1[2]) parameter(0) }' | '$hloc' convert - - --to mlir"
cat >"$work/composite.hlo" <<'END'
f { ROOT q = f32[2] parameter(0) }
ENTRY e {
  p = f32[2] parameter(0)
  ROOT c = f32[2] call(p), to_apply=f, is_composite=true, frontend_attributes={composite.attributes="{a = 1>}",composite.name="a.b",composite.version="1"}
}
END
exits 1 "is no MLIR dictionary" "$hloc" convert "$work/composite.hlo" - --to mlir
exits 3 "No space left" bash -c "'$hloc' convert '$work/axpy.hlo' /dev/full"
ok "a device is written in place" bash -c "'$hloc' convert '$work/axpy.hlo' /dev/null && [ -c /dev/null ]"
exits 0 "for " "$hloc" compile "$work/axpy.hlo" --emit loops -o -
exits 0 "kernel" "$hloc" compile "$work/axpy.hlo" --emit plan -o -
exits 0 "func" "$hloc" compile "$work/axpy.hlo" --emit machine -o -
exits 0 "fusion" "$hloc" compile "$work/axpy.hlo" --emit hlo -o -
exits 0 "" "$hloc" compile "$work/axpy.hlo" --emit asm -o "$work/axpy.s"
ok "the listing assembles" as -o "$work/listing.o" "$work/axpy.s"
exits 0 "and $work/arm.h" "$hloc" compile "$work/axpy.hlo" --target aarch64 -o "$work/arm.o"
ok "an AArch64 object" bash -c "[ \"\$(od -An -tu2 -j18 -N2 '$work/arm.o' | tr -d ' ')\" = 183 ] && grep -q AAPCS64 '$work/arm.h'"
exits 3 "apt install qemu-user" env PATH=/nowhere "$hloc" run "$work/axpy.hlo" --fill 1 --target aarch64
if command -v qemu-aarch64 >/dev/null; then
  exits 0 "runs under qemu-aarch64" "$hloc" run "$work/axpy.hlo" --fill 1 --target aarch64
  exits 0 '"runner":"qemu-aarch64"' "$hloc" bench "$work/axpy.hlo" --repeat 2 --target aarch64 --json
else
  echo "skipped: nothing runs on aarch64, qemu-aarch64 is missing (Debian: qemu-user)"
fi
exits 0 "compile_ms" "$hloc" bench "$work/axpy.hlo" --json
exits 0 "1 passed, 0 failed, 0 skipped" "$hloc" check "$work/axpy.hlo"
mkdir "$work/empty"
exits 1 "nothing to check" "$hloc" check "$work/empty"
exits 1 "nothing to check" "$hloc" check "$work/axpy.hlo" --form mlir
exits 1 "0 passed, 1 failed, 0 skipped" "$hloc" check <(echo "HloModule broken ENTRY") --form hlo
exits 2 "did you mean 'mul-one'" "$hloc" opt "$work/axpy.hlo" --passes=simplify --disable-rule mulone
exits 2 "did you mean 'fold'" "$hloc" opt "$work/axpy.hlo" --passes=simplify --disable-pass fodl
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
printf 'HloModule one\nENTRY e { ROOT p = f32[1] parameter(0) }\n' >"$work/one.hlo"
ok "one element goes to a file" "$hloc" run "$work/one.hlo" --fill 1 --out "$work/one"
exits 0 "f32[100] =" "$hloc" run "$work/axpy.hlo" --input "$work/one/out0.npy" --input "$work/out/out0.npy" --input "$work/out/out0.npy"
exits 1 "not a .npy" "$hloc" run "$work/axpy.hlo" --input "$work/axpy.hlo" --input "$work/out/out0.npy" --input "$work/out/out0.npy"

# logic on masks of 64 lanes together with a test from outside the loop, which is of wider elements
cat >"$work/masks.hlo" <<'END'
HloModule masks
ENTRY main {
  a = s8[7,9]{1,0} parameter(0)
  b = s8[7,9]{1,0} parameter(1)
  d = pred[7,9]{1,0} compare(a, b), direction=NE
  w = pred[7,7,9]{2,1,0} broadcast(d), dimensions={0,2}
  c = pred[7,14,9]{2,1,0} concatenate(w, w), dimensions={1}
  ROOT n = pred[7,14,9]{2,1,0} not(c)
}
END
exits 0 "1 passed, 0 failed, 0 skipped" "$hloc" check "$work/masks.hlo"

# A file on the command line is run and compared with the evaluator; one that the evaluator can't run is not said to have passed.
printf 'HloModule c ENTRY e { p = c64[4] parameter(0) ROOT r = c64[4] multiply(p, p) }' >"$work/complex.hlo"
printf 'HloModule odd ENTRY e { p = f32[4] parameter(0) ROOT r = f32[4] custom-call(p), custom_call_target="nobody" }' >"$work/nobody.hlo"
exits 0 "0 passed, 0 failed, 1 skipped" "$hloc" check "$work/nobody.hlo"
exits 1 "no native code" "$hloc" check --no-fallback --target x86-64-v3 "$work/complex.hlo"
exits 1 "needs g++" env PATH=/nowhere "$hloc" check "$work/axpy.hlo" --target cuda:host

# explain: what the passes decided, with numbers; one pass only
exits 0 "bytes of traffic and launch" "$hloc" explain "$work/axpy.hlo" --pass fuse
exits 0 "" "$hloc" explain "$work/axpy.hlo"

# reduce: nothing to keep, and a failure told by a command
exits 1 "there is no failure to keep" "$hloc" reduce "$work/axpy.hlo"
exits 0 "instructions are left" "$hloc" reduce "$work/axpy.hlo" -o "$work/small.hlo" --command 'grep -q multiply "$FILE"'
ok "what is left shows the failure" grep -q multiply "$work/small.hlo"
ok "what is left is small" test "$(grep -c ' = ' "$work/small.hlo")" -le 4
exits 0 "1 passed" "$hloc" check --bisect "$work/axpy.hlo"

for command in ops --help --version "run $work/axpy.hlo --fill 1" "check $work/axpy.hlo" "bench $work/axpy.hlo"; do
  exits 3 "" bash -c "'$hloc' $command >/dev/full"
done
exits 2 "would replace the graph" "$hloc" compile "$work/axpy.hlo" -o "$work/axpy.hlo"
ok "the graph is still there" grep -q HloModule "$work/axpy.hlo"
exits 0 "wrote /dev/null" "$hloc" compile "$work/axpy.hlo" -o /dev/null
ok "no header beside a device" test ! -e /dev/null.h
for name in while exp size_t hloc_context; do
  sed "s/HloModule axpy/HloModule $name/" "$work/axpy.hlo" >"$work/named.hlo"
  exits 0 "the function is ${name}_" "$hloc" compile "$work/named.hlo" -o "$work/named.o"
  ok "its header is C" gcc -std=c11 -Wall -Wextra -pedantic -Werror -include math.h -include stdlib.h -fsyntax-only -x c "$work/named.h"
done
cp "$work/axpy.hlo" "$work/"$'not-utf8-\xff.hlo'
exits 0 "1 passed" "$hloc" check --json "$work/"$'not-utf8-\xff.hlo'
python3 - "$work" <<'PY'
import struct, sys, zlib
array = lambda order: b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + ("{'descr': '<f4', 'fortran_order': %s, 'shape': (100,), }" % order).encode().ljust(117) + b"\n" + bytes(400)
open(sys.argv[1] + "/order.npy", "wb").write(array("Perhaps"))
open(sys.argv[1] + "/version.npy", "wb").write(array("False").replace(b"\x01\x00", b"\x09\x00", 1))
plain = array("False")
packed = zlib.compress(plain)[2:-4]
local = b"PK\x03\x04" + struct.pack("<5H3I2H", 20, 0, 8, 0, 0, 0, len(packed), len(plain), 7, 0) + b"in0.npy" + packed
entry = b"PK\x01\x02" + struct.pack("<6H3I5H2I", 20, 20, 0, 8, 0, 0, 0, len(packed), len(plain), 7, 0, 0, 0, 0, 0, 0) + b"in0.npy"
end = b"PK\x05\x06" + struct.pack("<4H2IH", 0, 0, 99, 99, 99 * len(entry), len(local), 0)
open(sys.argv[1] + "/overlap.npz", "wb").write(local + 99 * entry + end)
PY
sed 's/f32\[\] parameter(0)/f32[100] parameter(0)/; s/broadcast(a), dimensions={}/negate(a)/' "$work/axpy.hlo" >"$work/three.hlo"
exits 1 "True or False" "$hloc" run "$work/three.hlo" --input "$work/order.npy" --input "$work/order.npy" --input "$work/order.npy"
exits 1 "format version 9" "$hloc" run "$work/three.hlo" --input "$work/version.npy" --input "$work/version.npy" --input "$work/version.npy"
exits 1 "overlap" "$hloc" run "$work/three.hlo" --inputs "$work/overlap.npz"
python3 - >"$work/doubling.hlo" <<'PY'
print("HloModule doubling\nc0 { p = f32[] parameter(0) ROOT r = f32[] cosine(p) }")
for i in range(1, 40):
    print(f"c{i} {{ p = f32[] parameter(0) a = f32[] call(p), to_apply=c{i-1} ROOT r = f32[] call(a), to_apply=c{i-1} }}")
print("ENTRY main { x = f32[] parameter(0) ROOT y = f32[] call(x), to_apply=c39 }")
PY
ok "calls that double 40 times are not all inlined" bash -c "$at_most_2_gb; timeout 60 '$hloc' opt '$work/doubling.hlo' --passes=inline | grep -q to_apply"
exits 3 "give the loops bodies of their own" timeout 60 "$hloc" compile "$work/doubling.hlo" -o "$work/doubling.o"

# Nesting and length are bounded by the file alone.
awk 'BEGIN { n = 60000; for (i = 0; i < n; ++i) { open = open "("; close_ = close_ ")" }
  type = open "f32[2]" close_
  print "HloModule deep ENTRY e { p =", type, "parameter(0) c =", type, "constant(" open "{1, 2}" close_ ") q = pred[] parameter(1)"
  print "ROOT r =", type, "conditional(q, p, c), true_computation={ ROOT a =", type, "parameter(0) }, false_computation={ ROOT b =", type, "parameter(0) } }" }' >"$work/deep.hlo"
awk 'BEGIN { print "HloModule long ENTRY e { x0 = f32[8] parameter(0)"
  for (i = 1; i <= 100000; ++i) print "x" i " = f32[8] negate(x" i - 1 ")"
  print "ROOT r = f32[8] copy(x100000) }" }' >"$work/long.hlo"
for file in deep long; do
  exits 0 "1 passed, 0 failed, 0 skipped" bash -c "ulimit -s 1024; '$hloc' check '$work/$file.hlo'"
  exits 0 "HloModule $file" bash -c "ulimit -s 1024; '$hloc' compile '$work/$file.hlo' --emit hlo -o -"
  exits 0 "0.7869508, -0.9574412" bash -c "ulimit -s 1024; '$hloc' run '$work/$file.hlo' --fill 1"
  exits 0 "0.7869508, -0.9574412" bash -c "ulimit -s 1024; '$hloc' run '$work/$file.hlo' --fill 1 --target reference"
done
exits 1 "StableHLO with types nested deeper than 512 is not supported" "$hloc" convert "$work/deep.hlo" - --to mlir
finish
