// Kernels written as text, run as machine code on memory that begins anywhere, beside the interpreter.
#pragma once

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernel.h"
#include "backends/cpu/x86/x86.h"
#include "ir/support/source.h"

namespace hloc::test {

// The text with these names' numbers in their places.
inline std::string with_numbers(std::string text, std::initializer_list<std::pair<const char*, int64_t>> numbers) {
  for (auto [name, value] : numbers)
    for (size_t at; (at = text.find(name)) != std::string::npos;) text.replace(at, std::strlen(name), std::to_string(value));
  return text;
}

inline loops::Kernel kernel_of(const std::string& text) {
  auto kernel = loops::read_kernel(std::make_shared<const Source>(Source{"kernel", text}));
  if (!kernel) FAIL(kernel.error().render() + text);
  return *kernel;
}

// Everything counts as large.
inline cpu::Machine machine_for(const x86::Features& features) {
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
  // Whether nothing has been written before and after it.
  bool is_clean_around(const loops::Kernel& kernel, size_t b) {
    auto is_zero = [](std::byte x) { return x == std::byte{0}; };
    std::span<std::byte> all(bytes[b]);
    return std::ranges::all_of(all.first(offsets[b]), is_zero) && std::ranges::all_of(all.subspan(offsets[b] + of(kernel, b).size()), is_zero);
  }
};

// What has become of a kernel is a kernel, with the same buffers, and gives the same bits.
inline void check_interpreted_alike(const loops::Kernel& kernel, const loops::Kernel& changed) {
  if (auto good = loops::verify(changed); !good) FAIL(good.error().message + loops::print(changed));
  Memory want(kernel, 0, 0), got(kernel, 0, 0);
  for (auto [k, m] : {std::pair{&kernel, &want}, {&changed, &got}}) {
    std::vector<std::span<std::byte>> memory;
    for (size_t b = 0; b < k->buffers.size(); ++b) memory.push_back(m->of(*k, b));
    REQUIRE(loops::interpret(*k, memory).ok());
  }
  for (size_t b = 0; b < kernel.buffers.size(); ++b)
    if (kernel.buffers[b].role == loops::BufferRole::output) CHECK(std::ranges::equal(got.of(kernel, b), want.of(kernel, b)));
}

inline void run_native(const loops::Kernel& kernel, const x86::Features& features, Memory& memory) {
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

// Runs the kernel for x86-64-v3 and v4, so far as this CPU can, with outputs at various places; all outputs have the bits
// that the interpreter gives them.
inline void check_native(const loops::Kernel& kernel) {
  for (const char* target : {"x86-64-v3", "x86-64-v4"}) {
    auto features = x86::features_of(target);
    REQUIRE(features.ok());
    if (!x86::can_run(*features)) continue;
    Memory want(kernel, 0, 0);
    std::vector<std::span<std::byte>> memory;
    for (size_t b = 0; b < kernel.buffers.size(); ++b) memory.push_back(want.of(kernel, b));
    REQUIRE(loops::interpret(kernel, memory).ok());
    for (size_t skew : {0, 1, 2, 3, 5, 7, 8, 15, 16, 31})
      for (size_t more : {0, 1}) {
        Memory got(kernel, skew, more);
        run_native(kernel, *features, got);
        for (size_t b = 0; b < kernel.buffers.size(); ++b) {
          if (kernel.buffers[b].role != loops::BufferRole::output) continue;
          INFO(target << ", buffer " << b << ", skew " << skew << " + " << more);
          CHECK(std::ranges::equal(got.of(kernel, b), want.of(kernel, b)));
          CHECK(got.is_clean_around(kernel, b));
        }
      }
  }
}

}  // namespace hloc::test
