// What a kernel's launches take of a device.
#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "backends/cuda/dialect.h"
#include "backends/gpu/source.h"
#include "include/hloc/hloc.h"
#include "src/program.h"

namespace hloc::test {
namespace {

std::string source_of(const std::string& text) {
  auto module = read(text, "test");
  REQUIRE(module);
  auto lowered = lower(*module, {.target = "cuda:sm_80"});
  REQUIRE(lowered);
  auto program = gpu::gpu_program(lowered->plan);
  REQUIRE(program);
  return gpu::kernel_source(*program, cuda::dialect);
}

// Bytes of arrays of doubles that are declared as `__shared__` in each function.
std::vector<int64_t> shared_bytes(const std::string& source) {
  std::vector<int64_t> out;
  std::istringstream in(source);
  for (std::string line; std::getline(in, line);) {
    if (line.find("__global__") != line.npos) out.push_back(0);
    size_t at = line.find("__shared__ double "), open = line.find('[');
    if (at != line.npos && !out.empty()) out.back() += std::stoll(line.substr(open + 1)) * 8;
  }
  return out;
}

}  // namespace

// Rows of 2000 numbers that a kernel keeps, and many sums, each of which begins with the one before.
TEST_CASE("rows and sums fit into a block's shared memory") {
  constexpr int rows = 3, sums = 470;
  std::string text = "HloModule m\nsum { p = f64[] parameter(0) q = f64[] parameter(1) ROOT s = f64[] add(p, q) }\n"
                     "ENTRY e {\n  x0 = f64[2000] parameter(0)\n  r0 = f64[] constant(0)\n";
  for (int i = 0; i < rows; ++i)
    text += fmt::format("  t{0} = f64[2000] tanh(x{0})\n  r{1} = f64[] reduce(t{0}, r{0}), dimensions={{0}}, to_apply=sum\n"
                        "  b{0} = f64[2000] broadcast(r{1}), dimensions={{}}\n  x{1} = f64[2000] subtract(t{0}, b{0})\n", i, i + 1);
  for (int i = rows; i < rows + sums; ++i)
    text += fmt::format("  r{} = f64[] reduce(x{}, r{}), dimensions={{0}}, to_apply=sum\n", i + 1, rows, i);
  text += fmt::format("  b = f64[2000] broadcast(r{}), dimensions={{}}\n  ROOT y = f64[2000] subtract(x{}, b)\n}}\n", rows + sums, rows);
  std::vector<int64_t> bytes = shared_bytes(source_of(text));
  REQUIRE(!bytes.empty());
  int64_t most = *std::ranges::max_element(bytes);
  CHECK(most > gpu::most_block_bytes / 2);
  CHECK(most <= gpu::most_block_bytes);
}

}  // namespace hloc::test
