// Graphs compiled to machine code and run beside the evaluator.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "ir/support/source.h"
#include "tests/harness/text_test.h"

namespace hloc::test {
namespace {

using Arrays = std::vector<std::vector<std::byte>>;

// Numbers that repeat, so that there are equal ones, with the special values of floats among them.
std::vector<std::byte> native_input(const Shape& shape, uint64_t seed) {
  constexpr double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e-40, -3e38, 65504};
  std::vector<std::byte> out(shape.bytes());
  auto width = static_cast<size_t>(byte_width(shape.element));
  uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  for (size_t at = 0; at < out.size(); at += width) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    uint64_t number = state >> 20;
    double value = is_signed_integer(shape.element) ? static_cast<double>(number % 251) - 125 : static_cast<double>(number % 251);
    if (is_float(shape.element)) value = number % 11 == 0 ? special[number / 11 % 8] : (static_cast<double>(number % 2003) - 1001) / 64;
    if (shape.element == ElementType::pred) value = static_cast<double>(number % 2);
    element_from_double(shape.element, value, out.data() + at);
  }
  return out;
}

Result<Arrays> run_for(const Module& module, const std::string& target, const Arrays& inputs) {
  auto program = compile(module, {.target = target, .verify_each = true});
  if (!program) return program.error();
  if (!program->stats().fallbacks.empty())
    return error(ErrorKind::target, fmt::format("{}: host step: {}", target, program->stats().fallbacks[0]));
  Arrays outputs;
  for (const Shape& s : program->results()) outputs.emplace_back(s.bytes());
  std::vector<std::span<const std::byte>> in(inputs.begin(), inputs.end());
  std::vector<std::span<std::byte>> out(outputs.begin(), outputs.end());
  if (auto ok = program->call(in, out, {.guard_pages = true}); !ok) return ok.error();
  return outputs;
}

// Said once.
bool lacks_emulator(const Diagnostic& error) {
  bool lacks = error.kind == ErrorKind::target && error.message.find("is not on the path") != std::string::npos;
  static bool said = false;
  if (lacks && !std::exchange(said, true)) std::puts("skipped: aarch64 is left out, qemu-aarch64 is missing (Debian: qemu-user)");
  return lacks;
}

bool equal_element(ElementType t, const std::byte* a, const std::byte* b) {
  if (std::memcmp(a, b, static_cast<size_t>(byte_width(t))) == 0) return true;
  return is_float(t) && std::isnan(element_to_double(t, a)) && std::isnan(element_to_double(t, b));
}

std::optional<std::string> first_difference(const std::vector<Shape>& shapes, const Arrays& got, const Arrays& want) {
  for (size_t k = 0; k < shapes.size(); ++k) {
    ElementType t = shapes[k].element;
    auto width = static_cast<size_t>(byte_width(t));
    for (size_t at = 0; at < got[k].size(); at += width)
      if (!equal_element(t, got[k].data() + at, want[k].data() + at))
        return fmt::format("out{} element {}: {}, the evaluator has {}", k, at / width, element_text(t, got[k].data() + at),
                           element_text(t, want[k].data() + at));
  }
  return {};
}

}  // namespace

TextOutcome run_native(const TextTest& t) {
  TextOutcome out;
  auto module = read(t.text, t.path);
  if (!module) return out.error = module.error(), out;
  auto parameters = module->parameters(), results = module->results();
  if (!parameters || !results) return out.failure = "its parameters or results are no arrays", out;
  Arrays inputs;
  for (const Shape& s : *parameters) inputs.push_back(native_input(s, inputs.size() + 1));
  auto want = run_for(*module, "reference", inputs);
  if (!want) return out.error = want.error(), out;
  for (const char* target : {"x86-64-v3", "native", "aarch64", "cuda:host", "hip:host"}) {
    auto got = run_for(*module, target, inputs);
    if (!got && std::string_view(target) == "aarch64" && lacks_emulator(got.error())) continue;
    if (!got) return out.error = got.error(), out;
    if (auto difference = first_difference(*results, *got, *want)) return out.failure = fmt::format("{}: {}", target, *difference), out;
  }
  return out;
}

}  // namespace hloc::test
