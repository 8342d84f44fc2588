#!/usr/bin/env bash
# A program of its own builds against the installed library by pkg-config alone.
hloc=$1 build=$2
source "$(dirname "$0")/lib.sh"

cat >"$work/embed.cpp" <<'CPP'
#include <cstdio>
#include <hloc/hloc.h>

int main() {
  auto module = hloc::read("HloModule twice\nENTRY e { x = f32[3] parameter(0) ROOT y = f32[3] add(x, x) }\n");
  if (!module) return std::fputs(module.error().render().c_str(), stderr), 1;
  auto program = hloc::compile(*module, {.target = "native"});
  if (!program) return std::fputs(program.error().render().c_str(), stderr), 1;
  float x[3] = {1, 2, 3}, y[3] = {};
  std::span<const std::byte> in[] = {std::as_bytes(std::span(x))};
  std::span<std::byte> out[] = {std::as_writable_bytes(std::span(y))};
  if (auto done = program->call(in, out); !done) return std::fputs(done.error().render().c_str(), stderr), 1;
  if (hloc::compile_object(*module, "no name")) return std::fputs("a symbol that is no name was taken\n", stderr), 1;
  std::printf("%g %g %g\n", y[0], y[1], y[2]);
}
CPP
ok "install" env DESTDIR="$work/root" meson install -C "$build" --no-rebuild
pc=$(find "$work/root" -name hloc.pc)
ok "hloc.pc is there" test -n "$pc"
export PKG_CONFIG_SYSROOT_DIR=$work/root PKG_CONFIG_PATH=$(dirname "$pc")
ok "it compiles and links" bash -c "g++ $sanitizers -std=c++20 -Wall -Wextra -Werror -o '$work/embed' '$work/embed.cpp' \$(pkg-config --cflags --libs --static hloc)"
exits 1 "" grep Requires "$pc"  # only the standard library and threads
exits 0 "2 4 6" env LD_LIBRARY_PATH="$(dirname "$(dirname "$pc")")" "$work/embed"
finish
