// Stores past the caches and fetching ahead: the same bits as the interpreter's, however buffers lie in memory.
#include "backends/cpu/lower/memory_traffic.h"

#include "tests/unit/native_kernel.h"

namespace {

using namespace hloc;
using namespace hloc::test;

void check(const std::string& text, size_t streamed, size_t ahead) {
  loops::Kernel kernel = kernel_of(text);
  for (const char* target : {"x86-64-v3", "x86-64-v4"}) {
    auto features = x86::features_of(target);
    REQUIRE(features.ok());
    cpu::MemoryTraffic traffic = cpu::memory_traffic(kernel, machine_for(*features), {});
    CHECK(traffic.streamed.size() == streamed);
    CHECK(traffic.ahead.size() == ahead);
  }
  check_native(kernel);
}

std::string rows_of(int64_t rows, int64_t width) {
  return with_numbers(R"(kernel k(in x: f32[ALL], out r: f32[ALL], local row: f32[WIDTH]) {
  for i0 in ROWS parallel 1 {
    declare a0: f32 = -inf
    for i1 in WIDTH vector {
      %0 = load x[WIDTH*i0 + i1]
      accumulate a0 max %0
    }
    %1 = get a0
    declare a1: f32 = inf
    for i2 in WIDTH vector {
      %2 = load x[WIDTH*i0 + i2]
      %3 = sub.f32 %2, %1
      %4 = mul.f32 %3, %3
      store row[i2], %4
      accumulate a1 min %3
    }
    %5 = get a1
    for i3 in WIDTH vector {
      %6 = load row[i3]
      %7 = div.f32 %6, %5
      store r[WIDTH*i0 + i3], %7
    }
  }
}
)", {{"ROWS", rows}, {"WIDTH", width}, {"ALL", rows * width}});
}

}  // namespace

TEST_CASE("rows go past the caches and the next one is fetched") {
  check(rows_of(70, 1024), 1, 1);
  check(rows_of(70, 1000), 1, 1);
  check(rows_of(131, 259), 1, 1);
  check(rows_of(400, 50), 0, 0);  // too short for either
}

TEST_CASE("several outputs go past the caches where they are aligned alike") {
  check(R"(kernel k(in x: f32[30001], out r: f32[30001], out s: f32[30001], out t: f64[30001], out u: s8[30001]) {
  for i0 in 30001 vector parallel 2368 {
    %0 = load x[i0]
    %1 = mul.f32 %0, 1.5
    %2 = add.f32 %1, 2
    %3 = convert.f64.f32 %2
    %4 = convert.s8.f32 %0
    store r[i0], %1
    store s[i0], %2
    store t[i0], %3
    store u[i0], %4
  }
}
)", 4, 0);
}

TEST_CASE("streamed rows know how far the next one is") {
  loops::Kernel kernel = kernel_of(rows_of(70, 1024));
  auto features = x86::features_of("x86-64-v3");
  auto streamed = cpu::memory_traffic(kernel, machine_for(*features), {}).streamed;
  REQUIRE(streamed.size() == 1);
  CHECK(streamed.begin()->second == 4096);
}

TEST_CASE("what is read back, overwritten or guarded stays in the caches") {
  check(R"(kernel k(in x: f32[30000], out r: f32[30000], out s: f32[30000]) {
  for i0 in 30000 vector parallel 2368 {
    %0 = load x[i0]
    %1 = mul.f32 %0, 1.5
    store r[i0], %1
    store s[i0], %1 if 100 <= i0 < 29000
  }
  for i1 in 30000 vector parallel 2368 {
    %2 = load r[i1]
    %3 = add.f32 %2, 1
    store s[i1], %3
  }
}
)", 1, 0);
  loops::Kernel kernel = kernel_of(rows_of(70, 1024));
  auto features = x86::features_of("x86-64-v3");
  CHECK(cpu::memory_traffic(kernel, machine_for(*features), {1}).streamed.empty());
}
