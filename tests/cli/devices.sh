#!/usr/bin/env bash
# Kernels compiled for devices, where the makers' compilers are installed; what is said where they are not.
hloc=$1
source "$(dirname "$0")/lib.sh"
graphs=("$(dirname "$0")"/../emit/cuda/*.hlo "$(dirname "$0")"/../emit/hip/*.hlo)

# compiles KIND TARGET…: every graph; skipped where the compiler is missing.
compiles() {
  local kind=$1 target graph
  shift
  if "$hloc" compile "${graphs[0]}" --emit "$kind" --target "$1" -o "$work/code" >"$work/log" 2>&1; [ $? -eq 3 ]; then
    echo "skipped: no $kind is made: $(cat "$work/log")"
    return
  fi
  for target in "$@"; do
    for graph in "${graphs[@]}"; do
      ok "$kind, $target, $(basename "$graph")" "$hloc" compile "$graph" --emit "$kind" --target "$target" -o "$work/code"
    done
  done
}

# What `ptxas -v` says (standard input), one line a kernel: name, registers, bytes shared, of stack, stored and loaded to spill.
of_ptxas() {
  python3 -c '
import re, sys
text = sys.stdin.read()
for part in text.split("Compiling entry function ")[1:]:
    name = part.split("\x27")[1]
    def of(pattern):
        found = re.search(pattern, part)
        return found.group(1) if found else "0"
    print(name, of(r"Used (\d+) reg"), of(r"(\d+) bytes smem"), of(r"(\d+) bytes cumulative stack"), of(r"(\d+) bytes spill stores"), of(r"(\d+) bytes spill loads"))
' | sort
}
# The same of --json.
of_hloc() {
  python3 -c '
import json, sys
for k in json.load(sys.stdin)["device_kernels"]:
    print(k["name"], k["registers"], k["shared_bytes"], k["stack_bytes"], k["spill_stored_bytes"], k["spill_loaded_bytes"])
' | sort
}
# The same kernels by NVRTC, read by hloc, and by ptxas from PTX, in its own words.
agrees_with_ptxas() {
  local target graph
  for target in "$@"; do
    for graph in "${graphs[@]}"; do
      "$hloc" compile "$graph" --emit ptx --target "$target" -o "$work/code.ptx"
      "$hloc" compile "$graph" --emit cubin --target "$target" -o "$work/code" --json | of_hloc >"$work/hloc"
      ptxas -v -arch="${target#*:}" "$work/code.ptx" -o "$work/code" 2>&1 | of_ptxas >"$work/ptxas"
      ok "resources as ptxas says, $target, $(basename "$graph")" bash -c "[ -s '$work/hloc' ] && diff '$work/ptxas' '$work/hloc'"
    done
  done
}

# As on a machine without the makers' compilers: none is found, wherever it is.
cat >"$work/hidden.cpp" <<'END'
#include <cstring>
#include <dlfcn.h>
extern "C" void* dlopen(const char* name, int flags) {
  if (name && (std::strstr(name, "libnvrtc") || std::strstr(name, "libamd_comgr"))) return nullptr;
  return reinterpret_cast<void* (*)(const char*, int)>(dlsym(RTLD_NEXT, "dlopen"))(name, flags);
}
END
ok "a library that hides libraries" g++ -shared -fPIC -o "$work/hidden.so" "$work/hidden.cpp" -ldl
without=(env LD_PRELOAD="$work/hidden.so" ASAN_OPTIONS=verify_asan_link_order=0)
for kind in ptx cubin; do
  exits 3 "package nvidia-cuda-nvrtc of PyPI" "${without[@]}" "$hloc" compile "${graphs[0]}" --emit $kind --target cuda:sm_80 -o "$work/absent"
done
exits 3 "apt install libamd-comgr2" "${without[@]}" "$hloc" compile "${graphs[0]}" --emit code-object --target hip:gfx90a -o "$work/absent"
ok "nothing is written" test ! -e "$work/absent"

# caches KIND TARGET: the code is compiled once, and again where what was kept is damaged; processes may share a folder.
caches() {
  local kind=$1 target=$2 folder=$work/cache-$1/new entry
  local compile=("$hloc" compile "${graphs[0]}" --emit "$kind" --target "$target" --cache "$folder" --verbose)
  "$hloc" compile "${graphs[0]}" --emit "$kind" --target "$target" -o "$work/no-cache"
  exits 0 "compiled, now in the cache" "${compile[@]}" -o "$work/first"
  exits 0 "from the cache" "${compile[@]}" -o "$work/second"
  ok "the same $kind" bash -c "cmp '$work/no-cache' '$work/first' && cmp '$work/first' '$work/second'"
  entry=$(echo "$folder"/*.code)
  ok "one entry" test -f "$entry"
  cp "$entry" "$work/entry"
  truncate -s -1 "$entry"
  exits 0 "compiled, now in the cache" "${compile[@]}" -o "$work/second"
  ok "the entry is whole again" cmp "$entry" "$work/entry"
  printf x | dd of="$entry" bs=1 seek=5000 conv=notrunc status=none
  exits 0 "compiled, now in the cache" "${compile[@]}" -o "$work/second"
  exits 0 "compiled, now in the cache" "$hloc" compile "${graphs[1]}" --emit "$kind" --target "$target" --cache "$folder" --verbose -o "$work/other"
  rm -r "$folder"
  "${compile[@]}" -o "$work/one" 2>/dev/null &
  exits 0 "" "${compile[@]}" -o "$work/other"
  ok "the process beside it" wait $!
  ok "the same by two at once" cmp "$work/one" "$work/other"
  ok "one entry by two at once" [ "$(ls "$folder")" = "${entry##*/}" ]
  exits 3 "can't be made" "$hloc" compile "${graphs[0]}" --emit "$kind" --target "$target" --cache "$work/first/below" -o "$work/second"
  exits 3 "can't be kept" "$hloc" compile "${graphs[0]}" --emit "$kind" --target "$target" --cache /proc -o "$work/second"
}

compiles cubin cuda:sm_75 cuda:sm_90a
compiles code-object hip:gfx906 hip:gfx90a hip:gfx1030
if "$hloc" compile "${graphs[0]}" --emit cubin --target cuda:sm_80 -o "$work/code" >"$work/log" 2>&1; then
  exits 0 "bytes shared by a block" "$hloc" compile "${graphs[0]}" --emit cubin --target cuda:sm_80 -o "$work/code" --verbose
  exits 0 "no spills" "$hloc" compile "${graphs[0]}" --emit cubin --target cuda:sm_80 -o "$work/code" --verbose
  if command -v ptxas >/dev/null; then agrees_with_ptxas cuda:sm_80 cuda:sm_90a cuda:sm_120; else echo "skipped: no ptxas to compare resources with"; fi
  caches cubin cuda:sm_80
  for target in $("$hloc" targets | grep -o '^cuda:sm_[0-9a-z]*'); do  # an older NVRTC does not know them all
    ok "$target is known, or said not to be" bash -c "'$hloc' compile '${graphs[0]}' --emit cubin --target $target -o '$work/code' 2>'$work/why' ||
      { [ \$? -eq 3 ] && grep -q 'does not know' '$work/why'; }"
  done
fi
if "$hloc" compile "${graphs[0]}" --emit code-object --target hip:gfx90a -o "$work/code" >"$work/log" 2>&1; then
  exits 0 "accumulation" "$hloc" compile "${graphs[0]}" --emit code-object --target hip:gfx90a -o "$work/code" --verbose
  exits 0 "no spills" "$hloc" compile "${graphs[0]}" --emit code-object --target hip:gfx90a -o "$work/code" --verbose
  caches code-object hip:gfx90a
fi

exits 2 "a name was expected" "$hloc" compile "${graphs[0]}" --emit cuda --target cuda:sm_80 --cache ""
exits 2 "cuda:sm_80" "$hloc" compile "${graphs[0]}" --emit cubin --target cuda:host
exits 2 "hip:gfx90a" "$hloc" compile "${graphs[0]}" --emit code-object --target hip:host
finish
