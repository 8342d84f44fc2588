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

compiles cubin cuda:sm_75 cuda:sm_90a
compiles code-object hip:gfx906 hip:gfx90a hip:gfx1030
exits 2 "cuda:sm_80" "$hloc" compile "${graphs[0]}" --emit cubin --target cuda:host
exits 2 "hip:gfx90a" "$hloc" compile "${graphs[0]}" --emit code-object --target hip:host
finish
