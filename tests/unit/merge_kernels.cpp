// Kernels merged into one do what they do one after the other.
#include <catch2/catch.hpp>

#include <cstring>

#include "backends/loops/forward.h"
#include "backends/loops/merge_kernels.h"
#include "ir/support/source.h"

namespace {

using namespace hloc;
using Memory = std::vector<std::vector<std::byte>>;

loops::Kernel kernel_from(const std::string& text) {
  auto kernel = loops::read_kernel(std::make_shared<const Source>(Source{"test", text}));
  INFO((kernel ? std::string() : kernel.error().render()));
  REQUIRE(kernel.ok());
  return *std::move(kernel);
}

void run(const loops::Kernel& kernel, std::span<const uint32_t> memories, Memory& memory) {
  std::vector<std::span<std::byte>> views;
  for (uint32_t m : memories) views.emplace_back(memory[m]);
  auto done = loops::interpret(kernel, views);
  REQUIRE(done.ok());
}

// f32 memories of these sizes; memory m holds 100 m, 100 m + 1, …
Memory counting(const std::vector<loops::SharedMemory>& memories) {
  Memory out;
  for (size_t m = 0; m < memories.size(); ++m) {
    std::vector<float> values;
    for (int64_t i = 0; i < memories[m].count; ++i) values.push_back(static_cast<float>(100 * m) + static_cast<float>(i));
    out.emplace_back(values.size() * sizeof(float));
    std::memcpy(out.back().data(), values.data(), out.back().size());
  }
  return out;
}

struct Part {
  std::string text;
  std::vector<uint32_t> memories;
};

// The text of the merged kernel, once it is known to leave the same in all memories that are read later.
std::string merged_text(const std::vector<loops::SharedMemory>& memories, const std::vector<Part>& parts) {
  Memory one_by_one = counting(memories), at_once = counting(memories);
  loops::KernelMerger merger(memories);
  for (const Part& p : parts) {
    loops::Kernel kernel = kernel_from(p.text);
    run(kernel, p.memories, one_by_one);
    merger.add(kernel, p.memories);
  }
  loops::MergedKernel merged = merger.finish("merged");
  auto good = loops::verify(merged.kernel);
  INFO((good ? std::string() : good.error().render()));
  REQUIRE(good.ok());
  run(merged.kernel, merged.memories, at_once);
  for (size_t m = 0; m < memories.size(); ++m)
    if (memories[m].is_read_later) CHECK(one_by_one[m] == at_once[m]);
  return loops::print(merged.kernel);
}

constexpr auto f32 = ElementType::f32;

const std::string twice = "kernel twice(in x: f32[64], out y: f32[64]) { for i in 64 vector { %0 = load x[i]\n %1 = add.f32 %0, %0\n store y[i], %1\n } }";
const std::string previous = "kernel previous(in x: f32[64], out y: f32[64]) { for i in 63 vector { %0 = load x[i]\n store y[i + 1], %0\n } }";

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("loops over one range are joined and what lies between goes through a register") {
  std::string text = merged_text({{"a", f32, 64, {}, true}, {"t", f32, 64, {}, false}, {"b", f32, 64, {}, true}}, {{twice, {0, 1}}, {twice, {1, 2}}});
  CHECK(!has(text, "t: f32[64]"));
  CHECK(text.find("for ") == text.rfind("for "));
}

TEST_CASE("what is read later is stored") {
  std::string text = merged_text({{"a", f32, 64, {}, true}, {"t", f32, 64, {}, true}, {"b", f32, 64, {}, true}}, {{twice, {0, 1}}, {twice, {1, 2}}});
  CHECK(has(text, "store t["));
  CHECK(!has(text, "load t["));
}

TEST_CASE("loops that need each other's other elements stay apart") {
  std::string text = merged_text({{"a", f32, 64, {}, true}, {"t", f32, 64, {}, true}, {"b", f32, 64, {}, true}}, {{twice, {0, 1}}, {previous, {1, 2}}});
  CHECK(text.find("for ") != text.rfind("for "));
}

TEST_CASE("a memory that overlaps another is not taken for known") {
  // The second kernel writes over the first one's result, which the third reads.
  std::string one = "kernel one(in x: f32[2], out y: f32[2]) { %0 = load x[0]\n store y[0], %0\n }";
  loops::KernelMerger merger({{"x", f32, 2, {}, true}, {"y", f32, 2, {2}, true}, {"z", f32, 2, {1}, true}, {"w", f32, 2, {}, true}});
  merger.add(kernel_from(one), std::vector<uint32_t>{0, 1});
  merger.add(kernel_from(one), std::vector<uint32_t>{0, 2});
  merger.add(kernel_from(one), std::vector<uint32_t>{1, 3});
  CHECK(has(loops::print(merger.finish("merged").kernel), "load y[0]"));
}

TEST_CASE("copies and short loops become statements that know each other") {
  loops::KernelMerger merger({{"a", f32, 3, {}, true}, {"t", f32, 3, {}, false}, {"b", f32, 3, {}, true}});
  merger.add_copy(0, 1);
  merger.add_copy(1, 2);
  std::string text = loops::print(merger.finish("merged").kernel);
  CHECK(!has(text, "for "));
  CHECK(has(text, "store b[2], %2"));
  CHECK(!has(text, "t: f32[3]"));
}

TEST_CASE("a small contraction is written out, a large one stays") {
  const std::string text = R"(kernel product(in a: f32[6], in b: f32[6], out c: f32[4]) {
  contract f32 m i in 2, n j in 2, k l in 3 {
    lhs {
      %0 = load a[3*i + l]
      yield %0
    }
    rhs {
      %1 = load b[2*l + j]
      yield %1
    }
    result %2 {
      %3 = mul.f32 %2, 2
      store c[2*i + j], %3
    }
  }
})";
  std::vector<loops::SharedMemory> memories{{"a", f32, 6, {}, true}, {"b", f32, 6, {}, true}, {"c", f32, 4, {}, true}};
  Memory plain = counting(memories), written_out = counting(memories);
  loops::Kernel kernel = kernel_from(text);
  run(kernel, std::vector<uint32_t>{0, 1, 2}, plain);
  loops::unroll_small_contractions(kernel, 20);
  CHECK(has(loops::print(kernel), "contract"));
  loops::unroll_small_contractions(kernel, 100);
  CHECK(!has(loops::print(kernel), "contract"));
  REQUIRE(loops::verify(kernel).ok());
  run(kernel, std::vector<uint32_t>{0, 1, 2}, written_out);
  CHECK(plain == written_out);
}
