// Figures that need no peer: reading a large text, a long chain through the compiler.
//
//   bench_core read [MEGABYTES] [KIND]   generates HLO text of that size (200) and kind and reads it: MB/s, memory against
//                                        the text's size; beside it the speed of counting the lines, which tells a busy machine
//   bench_core chain [LENGTH]            compiles a chain of LENGTH (100000) elementwise instructions: seconds
//   bench_core unrolled [STEPS]          compiles and runs a loop over f32[1000] written out STEPS times (10 to 320): milliseconds of each;
//                                        a step is x = sin(x) * x + roll(x, 1), so that every element depends on more and more before it
//   bench_core call [CALLS]              calls a compiled addition of eight numbers CALLS (1000000) times: microseconds a call
//
// Kinds of text: usual (broadcasts with metadata, arithmetic, constants), constants (each another one), sharded (metadata and
// shardings), percent (names with '%', operands with types), chain (one computation, short lines, nothing else).
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include <sys/resource.h>

#include "include/hloc/hloc.h"

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](timeval t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

int fail(const hloc::Diagnostic& d) {
  std::fputs(d.render().c_str(), stderr);
  return 1;
}

enum class Kind { usual, constants, sharded, percent, chain };
constexpr std::string_view kind_names[] = {"usual", "constants", "sharded", "percent", "chain"};

// Forty steps of one computation, such as a frontend prints them.
void append_steps(std::string& text, const std::string& id, Kind kind) {
  bool percent = kind == Kind::percent, sharded = kind == Kind::sharded;
  std::string mark = percent ? "%" : "", wide = percent ? "f32[128,256]{1,0} %" : "", row = percent ? "f32[256]{0} %" : "";
  std::string sharding = sharded ? ", sharding={devices=[2,1]<=[2]}" : "";
  for (int i = 0; i < 40; ++i) {
    std::string k = id + "." + std::to_string(i), before = i == 0 ? id : id + "." + std::to_string(i - 1);
    std::string number = kind == Kind::constants ? id + "." + std::to_string(100 + i) : std::to_string(i) + ".5";
    text += "  " + mark + "broadcast." + k + " = f32[128,256]{1,0} broadcast(" + row + "arg.1), dimensions={1}" + sharding +
            ", metadata={op_name=\"jit(step)/layer/add\" source_file=\"model.py\" source_line=" + std::to_string(100 + i) + "}\n";
    text += "  " + mark + "previous." + k + " = f32[128,256]{1,0} multiply(" + wide + "previous." + before + ", " + wide + "broadcast." + k + ")" + sharding + "\n";
    text += "  " + mark + "constant." + k + " = f32[] constant(" + number + ")\n";
  }
}

std::string large_text(size_t bytes, Kind kind) {
  std::string text = "HloModule large\n\nadder {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT s = f32[] add(x, y)\n}\n\n";
  text.reserve(bytes + 16384);
  int n = 0;
  while (text.size() < bytes && kind != Kind::chain) {
    std::string id = std::to_string(n++);
    text += "layer." + id + " {\n  arg.0 = f32[128,256]{1,0} parameter(0)\n  arg.1 = f32[256]{0} parameter(1)\n  previous." + id + " = f32[128,256]{1,0} copy(arg.0)\n";
    append_steps(text, id, kind);
    text += "  ROOT reduce." + id + " = f32[128]{0} reduce(previous." + id + ".39, constant." + id + ".0), dimensions={1}, to_apply=adder\n}\n\n";
  }
  text += "ENTRY main {\n  a = f32[128,256]{1,0} parameter(0)\n  b = f32[256]{0} parameter(1)\n";
  if (kind == Kind::chain) {
    text += "  v.0 = f32[128,256]{1,0} negate(a)\n";
    for (; text.size() < bytes; ++n) text += "  v." + std::to_string(n + 1) + " = f32[128,256]{1,0} add(v." + std::to_string(n) + ", a)\n";
    text += "}\n";
  } else {
    text += "  ROOT c = f32[128]{0} call(a, b), to_apply=layer.0\n}\n";
  }
  return text;
}

int bench_read(size_t megabytes, Kind kind) {
  std::string text = large_text(megabytes * 1000000, kind);
  double size = static_cast<double>(text.size()) / 1e6;
  auto start = std::chrono::steady_clock::now();
  auto lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  double counting = seconds_since(start), before = cpu_seconds();
  start = std::chrono::steady_clock::now();
  auto module = hloc::read(std::move(text), "large.hlo");
  double seconds = seconds_since(start), busy = cpu_seconds() - before;
  if (!module) return fail(module.error());
  std::printf("read %s: %.0f MB, %zu instructions, %.2f s, %.0f MB/s (%.0f MB/s of processor time); memory %.2f x the text (peak %.0f MB); "
              "counting the %zu lines: %.0f MB/s\n", kind_names[static_cast<size_t>(kind)].data(), size, module->instruction_count(), seconds,
              size / seconds, size / busy, peak_megabytes() * 1.048576 / size, peak_megabytes(), lines, size / counting);
  return 0;
}

int bench_chain(size_t length) {
  std::string text = "HloModule chain\n\nENTRY main {\n  v0 = f32[1024]{0} parameter(0)\n  w = f32[1024]{0} parameter(1)\n";
  static const char* ops[] = {"add", "multiply", "subtract", "maximum"};
  for (size_t i = 1; i <= length; ++i)
    text += (i == length ? "  ROOT v" : "  v") + std::to_string(i) + " = f32[1024]{0} " + ops[i % 4] + "(v" + std::to_string(i - 1) + ", w)\n";
  text += "}\n";
  auto start = std::chrono::steady_clock::now();
  auto module = hloc::read(std::move(text), "chain.hlo");
  if (!module) return fail(module.error());
  double reading = seconds_since(start);
  auto program = hloc::compile(*module);
  if (!program) return fail(program.error());
  std::printf("chain: %zu instructions, read in %.3f s, read and compiled in %.3f s, %lld kernels\n", length, reading, seconds_since(start),
              static_cast<long long>(program->stats().kernels));
  return 0;
}

std::string unrolled_text(size_t steps) {
  std::string text = "HloModule unrolled\n\nENTRY main {\n  x0 = f32[1000]{0} parameter(0)\n";
  for (size_t i = 0; i < steps; ++i) {
    std::string k = std::to_string(i), x = "x" + k;
    text += "  s" + k + " = f32[1000]{0} sine(" + x + ")\n  m" + k + " = f32[1000]{0} multiply(s" + k + ", " + x + ")\n";
    text += "  a" + k + " = f32[1]{0} slice(" + x + "), slice={[999:1000]}\n  b" + k + " = f32[999]{0} slice(" + x + "), slice={[0:999]}\n";
    text += "  r" + k + " = f32[1000]{0} concatenate(a" + k + ", b" + k + "), dimensions={0}\n";
    text += (i + 1 == steps ? "  ROOT x" : "  x") + std::to_string(i + 1) + " = f32[1000]{0} add(m" + k + ", r" + k + ")\n";
  }
  return text + "}\n";
}

// The least of some repetitions each, since other work on the machine only adds.
int bench_unrolled(size_t steps) {
  constexpr int compilations = 5, runs = 50;
  double compile_ms = 1e9, run_ms = 1e9;
  auto module = hloc::read(unrolled_text(steps), "unrolled.hlo");
  if (!module) return fail(module.error());
  std::vector<float> in(1000, 0.5f), out(1000);
  int64_t kernels = 0;
  for (int i = 0; i < compilations; ++i) {
    auto start = std::chrono::steady_clock::now();
    auto program = hloc::compile(*module);
    if (!program) return fail(program.error());
    compile_ms = std::min(compile_ms, seconds_since(start) * 1e3);
    kernels = program->stats().kernels;
    std::vector<std::span<const std::byte>> inputs{std::as_bytes(std::span(in))};
    std::vector<std::span<std::byte>> outputs{std::as_writable_bytes(std::span(out))};
    for (int k = 0; k < runs; ++k) {
      start = std::chrono::steady_clock::now();
      if (auto done = program->call(inputs, outputs); !done) return fail(done.error());
      run_ms = std::min(run_ms, seconds_since(start) * 1e3);
    }
  }
  std::printf("unrolled: %zu steps, compiled in %.2f ms (%.3f a step), run in %.4f ms (%.4f a step), %lld kernels\n", steps, compile_ms,
              compile_ms / static_cast<double>(steps), run_ms, run_ms / static_cast<double>(steps), static_cast<long long>(kernels));
  return 0;
}

int bench_call(size_t calls) {
  auto module = hloc::read("HloModule small\n\nENTRY main {\n  a = f32[8]{0} parameter(0)\n  b = f32[8]{0} parameter(1)\n  ROOT c = f32[8]{0} add(a, b)\n}\n",
                           "small.hlo");
  if (!module) return fail(module.error());
  auto program = hloc::compile(*module);
  if (!program) return fail(program.error());
  alignas(64) std::byte a[32]{}, b[32]{}, c[32]{};
  const std::span<const std::byte> in[] = {a, b};
  const std::span<std::byte> out[] = {c};
  double best = 1e9;
  for (int round = 0; round < 10; ++round) {
    auto start = std::chrono::steady_clock::now();
    for (size_t i = 0; i < calls / 10; ++i)
      if (auto done = program->call(in, out); !done) return fail(done.error());
    best = std::min(best, seconds_since(start) / static_cast<double>(std::max<size_t>(calls / 10, 1)));
  }
  std::printf("call: %.3f us\n", best * 1e6);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::string what = argc > 1 ? argv[1] : "";
  size_t n = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  std::string_view kind = argc > 3 ? argv[3] : kind_names[0];
  size_t kind_number = 0;
  while (kind_number < std::size(kind_names) && kind_names[kind_number] != kind) ++kind_number;
  if (what == "read" && kind_number < std::size(kind_names)) return bench_read(n ? n : 200, static_cast<Kind>(kind_number));
  if (what == "chain") return bench_chain(n ? n : 100000);
  if (what == "call") return bench_call(n ? n : 1000000);
  if (what == "unrolled") {
    if (n) return bench_unrolled(n);
    int status = 0;
    for (size_t steps = 10; steps <= 320 && status == 0; steps *= 2) status = bench_unrolled(steps);
    return status;
  }
  std::fputs("bench_core read [MEGABYTES] [usual|constants|sharded|percent|chain] | chain [LENGTH] | unrolled [STEPS] | call [CALLS]\n", stderr);
  return 2;
}
