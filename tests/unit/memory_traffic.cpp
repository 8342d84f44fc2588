// Stores past the caches and fetching ahead: the same bits as the interpreter's, however buffers lie in memory.
#include <catch2/catch.hpp>

#include <cstring>

#include "backends/cpu/lower/memory_traffic.h"
#include "backends/cpu/x86/x86.h"
#include "ir/support/source.h"

namespace {

using namespace hloc;

loops::Kernel kernel_of(const std::string& text) {
  auto kernel = loops::read_kernel(std::make_shared<const Source>(Source{"kernel", text}));
  if (!kernel) FAIL(kernel.error().render() + text);
  return *kernel;
}

// Everything counts as large.
cpu::Machine machine_for(const x86::Features& features) {
  cpu::Machine machine;
  machine.vector_bytes = features.vector_bytes();
  machine.vector_registers = features.v4 ? 32 : 16;
  machine.masked_width = features.v4 ? 1 : 4;
  machine.l2_bytes = 64 << 10;
  machine.streaming_bytes = 0;
  return machine;
}

struct Memory {
  std::vector<std::vector<std::byte>> bytes;
  std::vector<size_t> offsets;  // of element 0 in each

  // `skew`: elements between the start of a buffer and its alignment to 64 bytes; `more` for each further output.
  Memory(const loops::Kernel& kernel, size_t skew, size_t more) {
    size_t outputs = 0;
    for (const loops::Buffer& b : kernel.buffers) {
      auto width = static_cast<size_t>(byte_width(b.element)), count = static_cast<size_t>(b.count);
      auto& memory = bytes.emplace_back(width * count + 1024);
      size_t start = (64 - reinterpret_cast<size_t>(memory.data()) % 64) % 64;
      bool is_output = b.role == loops::BufferRole::output;
      offsets.push_back(start + (is_output ? (skew + more * outputs++) % 64 * width : 0));
      for (size_t i = 0; i < count; ++i)
        if (!is_output) element_from_double(b.element, static_cast<double>(i * 2654435761u % 1000) / 8 - 60, memory.data() + offsets.back() + i * width);
    }
  }
  std::span<std::byte> of(const loops::Kernel& kernel, size_t b) {
    return std::span(bytes[b]).subspan(offsets[b], static_cast<size_t>(kernel.buffers[b].count * byte_width(kernel.buffers[b].element)));
  }
};

void run_native(const loops::Kernel& kernel, const x86::Features& features, Memory& memory) {
  auto compiled = cpu::compile_kernel(kernel, machine_for(features), "k");
  if (!compiled) FAIL(compiled.error().message);
  std::vector<machine::Function> functions;
  functions.push_back(std::move(compiled->function));
  auto code = x86::assemble(std::move(functions), features, {});
  if (!code) FAIL(code.error().message);
  auto loaded = machine::load(*code);
  if (!loaded) FAIL(loaded.error().message);
  std::vector<void*> table;
  for (size_t b = 0; b < kernel.buffers.size(); ++b)
    if (kernel.buffers[b].role != loops::BufferRole::local) table.push_back(memory.of(kernel, b).data());
  std::vector<std::byte> scratch(static_cast<size_t>(compiled->scratch_bytes) + 64);
  void* aligned = scratch.data() + (64 - reinterpret_cast<size_t>(scratch.data()) % 64) % 64;
  auto run = loaded->function<void(void* const*, void*, int64_t, int64_t)>("k");
  for (int64_t piece = 0; piece < compiled->pieces; ++piece) run(table.data(), aligned, piece, piece + 1);
}

void check(const std::string& text, size_t streamed, size_t ahead) {
  loops::Kernel kernel = kernel_of(text);
  for (const char* target : {"x86-64-v3", "x86-64-v4"}) {
    auto features = x86::features_of(target);
    REQUIRE(features.ok());
    cpu::MemoryTraffic traffic = cpu::memory_traffic(kernel, machine_for(*features), {});
    CHECK(traffic.streamed.size() == streamed);
    CHECK(traffic.ahead.size() == ahead);
    if (!x86::can_run(*features)) continue;
    for (size_t skew : {0, 1, 2, 3, 5, 7, 8, 15, 16, 31})
      for (size_t more : {0, 1}) {
        Memory got(kernel, skew, more), want(kernel, skew, more);
        std::vector<std::span<std::byte>> memory;
        for (size_t b = 0; b < kernel.buffers.size(); ++b) memory.push_back(want.of(kernel, b));
        REQUIRE(loops::interpret(kernel, memory).ok());
        run_native(kernel, *features, got);
        for (size_t b = 0; b < kernel.buffers.size(); ++b) {
          if (kernel.buffers[b].role != loops::BufferRole::output) continue;
          INFO(target << ", buffer " << b << ", skew " << skew << " + " << more);
          CHECK(std::equal(got.bytes[b].begin() + static_cast<std::ptrdiff_t>(got.offsets[b]), got.bytes[b].end() - 1024 + static_cast<std::ptrdiff_t>(got.offsets[b]),
                           want.of(kernel, b).begin()));
        }
      }
  }
}

std::string rows_of(int64_t rows, int64_t width) {
  auto with = [&](std::string text) {
    for (auto [name, value] : {std::pair{"ROWS", rows}, {"WIDTH", width}, {"ALL", rows * width}})
      for (size_t at; (at = text.find(name)) != std::string::npos;) text.replace(at, std::strlen(name), std::to_string(value));
    return text;
  };
  return with(R"(kernel k(in x: f32[ALL], out r: f32[ALL], local row: f32[WIDTH]) {
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
)");
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
