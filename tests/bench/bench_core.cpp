// Figures that need no peer: reading a large text, a long chain through the compiler.
//
//   bench_core read [MEGABYTES]    generates HLO text of that size (200) and reads it: MB/s, memory against the text's size
//   bench_core chain [LENGTH]      compiles a chain of LENGTH (100000) elementwise instructions: seconds
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
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

int fail(const hloc::Diagnostic& d) {
  std::fputs(d.render().c_str(), stderr);
  return 1;
}

// Computations such as a frontend prints them: broadcasts, arithmetic, reductions, metadata.
std::string large_text(size_t bytes) {
  std::string text = "HloModule large\n\nadder {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT s = f32[] add(x, y)\n}\n\n";
  text.reserve(bytes + 4096);
  int n = 0;
  std::string calls;
  while (text.size() < bytes) {
    std::string id = std::to_string(n++);
    text += "layer." + id + " {\n  arg.0 = f32[128,256]{1,0} parameter(0)\n  arg.1 = f32[256]{0} parameter(1)\n  previous." + id + " = f32[128,256]{1,0} copy(arg.0)\n";
    for (int i = 0; i < 40; ++i) {
      std::string k = id + "." + std::to_string(i), before = i == 0 ? id : id + "." + std::to_string(i - 1);
      text += "  broadcast." + k + " = f32[128,256]{1,0} broadcast(arg.1), dimensions={1}, metadata={op_name=\"jit(step)/layer/add\" source_file=\"model.py\" source_line=" + std::to_string(100 + i) + "}\n";
      text += "  previous." + k + " = f32[128,256]{1,0} multiply(previous." + before + ", broadcast." + k + ")\n";
      text += "  constant." + k + " = f32[] constant(" + std::to_string(i) + ".5)\n";
    }
    text += "  ROOT reduce." + id + " = f32[128]{0} reduce(previous." + id + ".39, constant." + id + ".0), dimensions={1}, to_apply=adder\n}\n\n";
  }
  text += "ENTRY main {\n  a = f32[128,256]{1,0} parameter(0)\n  b = f32[256]{0} parameter(1)\n  ROOT c = f32[128]{0} call(a, b), to_apply=layer.0\n}\n";
  return text;
}

int bench_read(size_t megabytes) {
  std::string text = large_text(megabytes * 1000000);
  double size = static_cast<double>(text.size()) / 1e6;
  auto start = std::chrono::steady_clock::now();
  auto module = hloc::read(std::move(text), "large.hlo");
  double seconds = seconds_since(start);
  if (!module) return fail(module.error());
  std::printf("read: %.0f MB, %zu instructions, %.2f s, %.0f MB/s; memory %.2f x the text (peak %.0f MB)\n", size, module->instruction_count(), seconds,
              size / seconds, peak_megabytes() * 1.048576 / size, peak_megabytes());
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

}  // namespace

int main(int argc, char** argv) {
  std::string what = argc > 1 ? argv[1] : "";
  size_t n = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  if (what == "read") return bench_read(n ? n : 200);
  if (what == "chain") return bench_chain(n ? n : 100000);
  std::fputs("bench_core read [MEGABYTES] | chain [LENGTH]\n", stderr);
  return 2;
}
