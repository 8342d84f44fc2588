#!/usr/bin/env bash
# hloc itself on AArch64: builds it with Debian's cross compiler into build-aarch64/ and runs its tests under qemu-aarch64.
# Not part of run.sh: a build and a run of it take some minutes. Needs arm64 as a foreign architecture (`dpkg
# --add-architecture arm64`). Exit code 3 where a tool is missing, 0 when nothing failed.
#
# Left out are the tests that compile and link with this machine's gcc (tests/cli/object.sh, install.sh), and what runs GPU
# source: g++ is this machine's, so the kernels would be, too. Unit tests marked [vfork] are left out as well: under qemu a child
# has memory of its own from the start, so that its errno does not come back. ~[.]: what is hidden stays so.
set -uo pipefail
cd "$(dirname "$0")/.."

need=()
command -v aarch64-linux-gnu-g++ >/dev/null || need+=(g++-aarch64-linux-gnu)
command -v qemu-aarch64 >/dev/null || need+=(qemu-user)
[ -e /usr/lib/aarch64-linux-gnu/libz.so ] || need+=(zlib1g-dev:arm64)
[ -e /usr/lib/aarch64-linux-gnu/pkgconfig/fmt.pc ] || need+=(libfmt-dev:arm64)
[ -e /usr/lib/aarch64-linux-gnu/libstdc++.so.6 ] || need+=(libstdc++6:arm64)
if [ ${#need[@]} -gt 0 ]; then
  echo "missing for an AArch64 build: ${need[*]} (Debian: dpkg --add-architecture arm64, apt update, apt install them)"
  exit 3
fi

export BUILD=build-aarch64 MESON_ARGS="--cross-file tests/aarch64.cross"
tests/setup.sh || { echo "0 passed, 1 failed"; exit 1; }
shared=${HLOC_SHARED:-../shared}
source tests/count.sh

folders=()
for folder in text errors verify ops rules passes plan loops machine; do folders+=("tests/$folder"); done
count text qemu-aarch64 $BUILD/tests/text_tests "${folders[@]}"
[ ! -e $BUILD/tests/unit_tests ] || count unit unit qemu-aarch64 $BUILD/tests/unit_tests "~[emulator]~[vfork]~[.]"
count "random modules" qemu-aarch64 $BUILD/tests/fuzz/fuzz_modules --seconds 60 --inputs 200
cases=()
for c in add_mul activations broadcasts softmax layernorm gelu_mlp matmul_64 matmul_odd_sizes batched_matmul argsort while_collatz; do
  [ -d "$shared/cases/basics/$c" ] && cases+=("$shared/cases/basics/$c")
done
[ ${#cases[@]} -eq 0 ] || count "native without fallback" qemu-aarch64 $BUILD/src/hloc check --no-fallback --form hlo "${cases[@]}"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
