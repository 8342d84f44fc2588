#!/usr/bin/env bash
# Installs what a build needs and is missing (Debian packages), then configures and builds into build/.
# Called by tests/run.sh and examples/run.sh. BUILD names another folder, MESON_ARGS adds options, TARGETS limits what is
# built. Sources are compiled several to a unit (unity), which takes a third of the time of one by one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

need=()
command -v g++ >/dev/null || need+=(g++)
command -v meson >/dev/null || need+=(meson)
command -v ninja >/dev/null || need+=(ninja-build)
command -v pkg-config >/dev/null || need+=(pkg-config)
command -v python3 >/dev/null || need+=(python3)
[ -e /usr/include/fmt/core.h ] || need+=(libfmt-dev)
[ -e /usr/include/xbyak/xbyak.h ] || need+=(libxbyak-dev)
[ -e /usr/include/catch2/catch.hpp ] || need+=(catch2)
[ -e /usr/include/CLI/CLI.hpp ] || need+=(libcli11-dev)
[ -e /usr/include/nlohmann/json.hpp ] || need+=(nlohmann-json3-dev)
[ -e /usr/include/zlib.h ] || need+=(zlib1g-dev)
[ -e /usr/include/asmjit/arm/a64assembler.h ] || need+=(libasmjit-dev)
command -v aarch64-linux-gnu-as >/dev/null || need+=(binutils-aarch64-linux-gnu)
command -v qemu-aarch64 >/dev/null || need+=(qemu-user)
[ "$(uname -m)" != x86_64 ] || compgen -G "/usr/lib/x86_64-linux-gnu/libamd_comgr.so.*" >/dev/null || need+=(libamd-comgr2)
if [ ${#need[@]} -gt 0 ]; then
  echo "installing: ${need[*]}"
  as_root=()
  [ "$(id -u)" = 0 ] || as_root=(sudo)
  export DEBIAN_FRONTEND=noninteractive
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${need[@]}" >/dev/null
fi

build=${BUILD:-build}
[ -e "$build/build.ninja" ] || meson setup "$build" -Dunity=on -Dunity_size=8 ${MESON_ARGS:-} >"/tmp/hloc-setup.$$" || { cat "/tmp/hloc-setup.$$"; exit 1; }
rm -f "/tmp/hloc-setup.$$"
ninja -C "$build" ${TARGETS:-} | { grep -vE '^\[|^ninja: (Entering|no work)' || true; }
