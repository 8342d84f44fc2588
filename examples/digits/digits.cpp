// Reads a trained network, compiles it in this process, and lets it read ten handwritten digits.
//
//   digits FOLDER     the folder with module.hlo and in0.npy
//
// This is all that embedding takes: read_file, compile, call.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "include/hloc/hloc.h"

namespace {

constexpr int images = 10, pixels = 64, classes = 10;
constexpr int truth[images] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

int report(const hloc::Diagnostic& error) {
  std::fputs(error.render().c_str(), stderr);
  return 1;
}

// The floats of a .npy file of a known shape: they are its last bytes.
bool read_floats(const std::string& path, std::vector<float>& out) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  size_t size = out.size() * sizeof(float);
  if (bytes.size() < size) return false;
  std::memcpy(out.data(), bytes.data() + bytes.size() - size, size);
  return true;
}

// Two images side by side, darker characters for more ink.
void draw(const float* left, const float* right) {
  for (int row = 0; row < 8; ++row) {
    for (const float* image : {left, right}) {
      std::fputs("    ", stdout);
      for (int column = 0; column < 8; ++column) {
        float ink = image[row * 8 + column];
        char c = " .:-=+*#%@"[static_cast<int>(ink * 9.99f)];
        std::printf("%c%c", c, c);
      }
    }
    std::puts("");
  }
}

int guess(const float* probabilities) {
  int best = 0;
  for (int c = 1; c < classes; ++c)
    if (probabilities[c] > probabilities[best]) best = c;
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder = argc > 1 ? argv[1] : ".";
  auto module = hloc::read_file(folder + "/module.hlo");
  if (!module) return report(module.error());
  auto program = hloc::compile(*module);
  if (!program) return report(program.error());

  std::vector<float> x(images * pixels), y(images * classes);
  if (!read_floats(folder + "/in0.npy", x)) return std::fputs("in0.npy is missing or too short\n", stderr), 1;
  std::span<const std::byte> in[] = {std::as_bytes(std::span(x))};
  std::span<std::byte> out[] = {std::as_writable_bytes(std::span(y))};
  auto start = std::chrono::steady_clock::now();
  if (auto done = program->call(in, out); !done) return report(done.error());
  double us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();

  int right = 0;
  for (int i = 0; i < images; i += 2) {
    draw(&x[i * pixels], &x[(i + 1) * pixels]);
    for (int k = i; k < i + 2; ++k) {
      int g = guess(&y[k * classes]);
      right += g == truth[k];
      std::printf("    guess %d (%3.0f%%), truth %d", g, 100.0 * y[k * classes + g], truth[k]);
    }
    std::puts("\n");
  }
  const hloc::ProgramStats& s = program->stats();
  std::printf("%d of %d right\n", right, images);
  std::printf("compiled %lld ops to %lld kernels (%lld bytes of code, %lld bytes of scratch) in %.2f ms; one call took %.1f us\n",
              static_cast<long long>(s.instructions), static_cast<long long>(s.kernels), static_cast<long long>(s.code_bytes),
              static_cast<long long>(s.arena_bytes), s.compile_ms, us);
  return right == images ? 0 : 1;
}
