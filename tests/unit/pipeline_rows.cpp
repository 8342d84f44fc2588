// Row pipelines: the same bits as the loops that they stand for, and none where rows would meet.
#include "backends/cpu/lower/pipeline_rows.h"

#include <fmt/format.h>

#include "backends/cpu/lower/memory_traffic.h"
#include "tests/unit/native_kernel.h"

namespace {

using namespace hloc;
using namespace hloc::test;

cpu::Machine machine() { return machine_for(*x86::features_of("x86-64-v4")); }

// The kernel with a pipeline instead of its only loop; none where there is none.
std::optional<loops::Kernel> pipelined(loops::Kernel kernel, const std::vector<loops::BufferId>& in_place = {}) {
  auto at = std::ranges::find_if(kernel.body, [](const loops::Statement& s) { return s.as<loops::Loop>(); });
  REQUIRE(at != kernel.body.end());
  const loops::Loop rows = *at->as<loops::Loop>();
  auto pipeline = cpu::pipeline_rows(kernel, rows, machine(), in_place, cpu::streamed_outputs(kernel, machine(), in_place));
  if (!pipeline) return std::nullopt;
  *at = {pipeline->loop};
  return kernel;
}

// Interpreted, the pipeline gives the same bits; so does machine code, which takes it where memory is aligned.
void check_pipelined(const std::string& text) {
  loops::Kernel kernel = kernel_of(text);
  std::optional<loops::Kernel> other = pipelined(kernel);
  REQUIRE(other);
  check_interpreted_alike(kernel, *other);
  check_native(kernel);
}

// Sums are of whole numbers, so that their order is free. `stored` is what the second loop keeps, `loaded` what the third takes
// of it; `more` follows the loads of the third.
std::string three_loops(int64_t rows, int64_t width, const std::string& stored = "row[i2]", const std::string& loaded = "row[i3]",
                        const std::string& more = "") {
  return with_numbers(R"(kernel k(in x: f32[ALL], in y: f32[WIDTH], out r: f32[ALL], local row: f32[WIDTH]) {
  for i0 in ROWS parallel 1 {
    declare a0: f32 = -inf
    for i1 in WIDTH vector {
      %0 = load x[WIDTH*i0 + i1]
      accumulate a0 max %0
    }
    %1 = get a0
    %2 = mul.f32 %1, 0.5
    declare a1: f32 = 0
    for i2 in WIDTH vector {
      %3 = load x[WIDTH*i0 + i2]
      %4 = sub.f32 %3, %1
      %5 = floor.f32 %4
      store )" + stored + R"(, %5
      accumulate a1 add %5
    }
    %6 = get a1
    %7 = add.f32 %6, %2
    for i3 in WIDTH vector {
      %8 = load )" + loaded + R"(
      %9 = load y[i3]
)" + more + R"(      %10 = div.f32 %8, %7
      %11 = fma.f32 %10, %9, %1
      store r[WIDTH*i0 + i3], %11
    }
  }
}
)", {{"ROWS", rows}, {"WIDTH", width}, {"ALL", rows * width}});
}

}  // namespace

TEST_CASE("a row pipeline gives the bits of its loops") {
  check_pipelined(three_loops(512, 96));
  check_pipelined(three_loops(1056, 160));  // 16 x 66 rows
  check_pipelined(three_loops(544, 16));
}

TEST_CASE("scalars go with their row over two stages, and inputs are read by each") {
  check_pipelined(with_numbers(R"(kernel k(in x: f32[ALL], in s: f32[ROWS], out r: f32[ALL], out t: s32[ALL]) {
  for i0 in ROWS parallel 4 {
    %0 = load s[i0]
    declare a0: f32 = 0
    declare a1: f32 = inf
    for i1 in 64 vector {
      %1 = load x[64*i0 + i1]
      %2 = floor.f32 %1
      accumulate a0 add %2
      accumulate a1 min %1
    }
    %3 = get a0
    %4 = get a1
    for i2 in 64 vector {
      %5 = load x[64*i0 + i2]
      %6 = add.f32 %5, %3
      %7 = convert.s32.f32 %6
      store t[64*i0 + i2], %7
    }
    for i3 in 64 vector {
      %8 = load x[64*i0 + i3]
      %9 = fma.f32 %8, %4, %0
      store r[64*i0 + i3], %9
    }
  }
}
)", {{"ROWS", 768}, {"ALL", 768 * 64}}));
}

TEST_CASE("rows that meet, or of which there are too few, have no pipeline") {
  CHECK(pipelined(kernel_of(three_loops(512, 96))));
  CHECK_FALSE(pipelined(kernel_of(three_loops(512, 96)), {2}));                          // the result overwrites an input
  CHECK_FALSE(pipelined(kernel_of(three_loops(64, 96))));                                // too few rows
  CHECK_FALSE(pipelined(kernel_of(three_loops(521, 96))));                               // a prime number of rows
  CHECK_FALSE(pipelined(kernel_of(three_loops(512, 96, "row[i2]", "row[95 - i3]"))));  // what is read has been overwritten
  CHECK_FALSE(pipelined(kernel_of(three_loops(512, 100))));                              // streamed rows begin anywhere in a vector
  CHECK_FALSE(pipelined(kernel_of(three_loops(512, 8192))));                             // rows of three stages fill the caches
  CHECK_FALSE(pipelined(kernel_of(three_loops(512, 96, "row[i2]", "row[i3]", "      store row[i3], %9\n"))));   // overwritten twice
  CHECK_FALSE(pipelined(kernel_of(three_loops(512, 96, "row[i2]", "row[i3] if 3 <= i3 < 90 else 0"))));          // guards
}

TEST_CASE("accumulators that stages share have no pipeline") {
  // Two loops accumulate into a0, and `read` is what the second reads behind it.
  auto shared = [](const char* second, const char* read) {
    return kernel_of(with_numbers(std::string(R"(kernel k(in x: f32[ALL], in y: f32[ALL], out r: f32[ALL]) {
  for i0 in 512 parallel 1 {
    declare a0: f32 = 0
    declare a1: f32 = 0
    for i1 in 64 vector {
      %0 = load x[64*i0 + i1]
      accumulate a0 add %0
    }
    for i2 in 64 vector {
      %1 = load y[64*i0 + i2]
      accumulate )") + second + R"( add %1
    }
    %2 = get )" + read + R"(
    for i3 in 64 vector {
      %3 = load x[64*i0 + i3]
      %4 = sub.f32 %3, %2
      store r[64*i0 + i3], %4
    }
  }
}
)", {{"ALL", 512 * 64}}));
  };
  CHECK(pipelined(shared("a1", "a1")));
  CHECK_FALSE(pipelined(shared("a0", "a0")));
  CHECK_FALSE(pipelined(shared("a1", "a0")));  // of the first stage's row, when the second has moved on
  check_native(shared("a0", "a0"));
  check_native(shared("a1", "a0"));
}

TEST_CASE("a row that begins at a computed place is not streamed as if it were aligned") {
  std::string text = three_loops(512, 96);
  text.replace(text.find("in y"), 4, "in p: s32[1], in y");
  text.replace(text.find("out r: f32[49152]"), 17, "out r: f32[49155]");
  text.replace(text.find("  for i0"), 8, "  %20 = load p[0]\n  i9 = clamp(%20, 0, 3)\n  for i0");
  text.replace(text.find("store r[96*i0 + i3]"), 19, "store r[96*i0 + i3 + i9]");
  loops::Kernel kernel = kernel_of(text);
  CHECK_FALSE(pipelined(kernel));
  check_native(kernel);
}

TEST_CASE("where a result lies in memory does not change its bits") {
  for (int64_t width : {64, 96, 160, 1024}) {
    std::string text = three_loops(512, width);
    std::string chain;
    for (int i = 20; i < 32; ++i) chain += fmt::format("      %{} = fma.f32 %{}, 0.3, 0.1\n", i, i == 20 ? 4 : i - 1);
    text.replace(text.find("      %5 = floor.f32 %4"), 23, chain + "      %5 = mul.f32 %31, 0.1\n");
    loops::Kernel kernel = kernel_of(text);
    for (const char* target : {"x86-64-v3", "x86-64-v4"}) {
      auto features = x86::features_of(target);
      if (!x86::can_run(*features)) continue;
      Memory aligned(kernel, 0, 0), other(kernel, 3, 0);
      run_native(kernel, *features, aligned);
      run_native(kernel, *features, other);
      INFO(target << ", width " << width);
      CHECK(std::ranges::equal(aligned.of(kernel, 2), other.of(kernel, 2)));
    }
  }
}
