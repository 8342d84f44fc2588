#!/usr/bin/env bash
# An object file, linked by gcc with a C main, gives the bytes that `hloc run` gives.
hloc=$1
source "$(dirname "$0")/lib.sh"

cat >"$work/main.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include HEADER

/* The inputs that `hloc run --fill 7` makes for floats: see src/commands/fill.h. */
static uint64_t mix(uint64_t seed, uint64_t i) {
  uint64_t z = seed * 0x9E3779B97F4A7C15u + (i + 1) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}
static const size_t in_bytes[] = {IN_BYTES};
static const size_t out_bytes[] = {OUT_BYTES};

int main(void) {
  const void* in[sizeof in_bytes / sizeof in_bytes[0]];
  void* out[sizeof out_bytes / sizeof out_bytes[0]];
  for (size_t k = 0; k < sizeof in / sizeof in[0]; ++k) {
    float* x = malloc(in_bytes[k]);
    for (size_t i = 0; i < in_bytes[k] / 4; ++i) x[i] = -1.0f + 2.0f * ((float)(mix(7 + k, i) >> 40) * 0x1p-24f);
    in[k] = x;
  }
  for (size_t k = 0; k < sizeof out / sizeof out[0]; ++k) out[k] = malloc(out_bytes[k]);
  void* scratch = aligned_alloc(64, (SCRATCH_BYTES + 64) / 64 * 64);
  int status = ENTRY(in, out, scratch, 0);
  if (status != 0) return status;
  for (size_t k = 0; k < sizeof out / sizeof out[0]; ++k) fwrite(out[k], 1, out_bytes[k], stdout);
  return 0;
}
C

# The compiler and what runs its programs: set for the targets of another machine.
cc=gcc
emulator=
static=

# Compiles GRAPH for TARGET, links it, and compares with `hloc run`.
same_bytes() {
  local graph=$1 target=$2 name upper ins outs
  "$hloc" compile "$graph" --target "$target" -o "$work/g.o" | tee "$work/said" || return 1
  name=$(sed -nE 's/.*the function is ([A-Za-z0-9_]+).*/\1/p' "$work/said")
  upper=$(echo "$name" | tr a-z A-Z)
  ins=$(grep -oE "${upper}_IN[0-9]+_BYTES" "$work/g.h" | paste -sd,)
  outs=$(grep -oE "${upper}_OUT[0-9]+_BYTES" "$work/g.h" | paste -sd,)
  [ -z "$(nm -u "$work/g.o")" ] || { echo "undefined symbols"; return 1; }
  "$cc" -std=c11 -O1 -Wall -Werror -ffp-contract=off "-DHEADER=\"$work/g.h\"" "-DENTRY=$name" "-DIN_BYTES=$ins" "-DOUT_BYTES=$outs" \
    "-DSCRATCH_BYTES=${upper}_SCRATCH_BYTES" $static -o "$work/g" "$work/main.c" "$work/g.o" || return 1
  $emulator "$work/g" >"$work/linked.bin" || return 1
  rm -rf "$work/ran"
  "$hloc" run "$graph" --target "$target" --fill 7 --out "$work/ran" >/dev/null || return 1
  python3 - "$work"/ran/out*.npy >"$work/ran.bin" <<'PY'
import sys
for path in sorted(sys.argv[1:], key=lambda p: int("".join(c for c in p.rsplit("/", 1)[1] if c.isdigit()))):
    data = open(path, "rb").read()
    sys.stdout.buffer.write(data[10 + int.from_bytes(data[8:10], "little"):])
PY
  cmp "$work/linked.bin" "$work/ran.bin"
}

graphs=(examples/digits/module.hlo)
shared=${HLOC_SHARED:-../shared}
for c in models/mlp_mnist_forward basics/softmax basics/layernorm; do
  [ -e "$shared/cases/$c/module.hlo" ] && graphs+=("$shared/cases/$c/module.hlo")
done
for graph in "${graphs[@]}"; do
  for target in native x86-64-v3; do
    ok "$graph $target" same_bytes "$graph" "$target"
  done
done

# The text of `--emit asm` makes the same code and constants as the object.
same_as_listing() {
  local graph=$1
  "$hloc" compile "$graph" --target aarch64 -o "$work/a.o" && "$hloc" compile "$graph" --target aarch64 --emit asm -o "$work/a.s" || return 1
  aarch64-linux-gnu-as -o "$work/b.o" "$work/a.s" || return 1
  for section in .text .rodata; do
    aarch64-linux-gnu-objcopy -O binary -j $section "$work/a.o" "$work/a.bin" && aarch64-linux-gnu-objcopy -O binary -j $section "$work/b.o" "$work/b.bin" || return 1
    cmp "$work/a.bin" "$work/b.bin" || return 1
  done
  aarch64-linux-gnu-objdump -r "$work/a.o" | grep -oE 'R_AARCH64_[A-Z0-9_]+' >"$work/a.txt"
  aarch64-linux-gnu-objdump -r "$work/b.o" | grep -oE 'R_AARCH64_[A-Z0-9_]+' >"$work/b.txt"
  cmp "$work/a.txt" "$work/b.txt"
}
if command -v aarch64-linux-gnu-as >/dev/null; then
  for graph in "${graphs[@]}"; do ok "$graph aarch64 listing" same_as_listing "$graph"; done
else
  echo "skipped: AArch64 listings are not assembled, aarch64-linux-gnu-as is missing (Debian: binutils-aarch64-linux-gnu)"
fi
if command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64 >/dev/null; then
  cc=aarch64-linux-gnu-gcc emulator=qemu-aarch64 static=-static
  for graph in "${graphs[@]}"; do ok "$graph aarch64" same_bytes "$graph" aarch64; done
else
  echo "skipped: AArch64 objects are not linked with C, aarch64-linux-gnu-gcc or qemu-aarch64 is missing (Debian: gcc-aarch64-linux-gnu, libc6-dev-arm64-cross, qemu-user)"
fi
echo '#include "g.h"
int main() { return 0; }' >"$work/cxx.cpp"
ok "the header is C++ too" g++ -std=c++20 -Wall -Werror -c -o "$work/cxx.o" "$work/cxx.cpp"
finish
