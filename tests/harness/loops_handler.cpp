// Loop-IR texts: read, verified, printed and read again equal, interpreted on fixed inputs. With --schedule=yes what is
// printed and interpreted is the scheduled kernel, and it must verify.
#include "tests/harness/text_test.h"

#include <fmt/format.h>

#include "backends/loops/loops.h"
#include "backends/loops/lower.h"
#include "ir/support/source.h"

namespace hloc::test {
namespace {

SourceRef loops_source(const std::string& path, const std::string& text) {
  return std::make_shared<const Source>(Source{path, text});
}

// Inputs count up from 1 in steps of 1 and start again after 97.
std::vector<std::byte> counting_input(const Shape& shape, size_t start) {
  std::vector<std::byte> out(shape.bytes());
  auto width = static_cast<size_t>(byte_width(shape.element));
  for (size_t i = 0; i < static_cast<size_t>(shape.count()); ++i) {
    double value = shape.element == ElementType::pred ? static_cast<double>(i % 2) : static_cast<double>((start + i) % 97 + 1);
    element_from_double(shape.element, value, out.data() + i * width);
  }
  return out;
}

}  // namespace

// Output: the printed kernel, then a line per output buffer with its values.
TextOutcome run_loops_text(const TextTest& t) {
  TextOutcome out;
  auto kernel = loops::read_kernel(loops_source(t.path, t.text));
  if (!kernel) return out.error = kernel.error(), out;
  std::string text = t.text;
  if (t.option("schedule") == "yes") {
    kernel = loops::schedule(*std::move(kernel));
    if (auto ok = loops::verify(*kernel); !ok) return out.error = ok.error(), out;
    text = loops::print(*kernel);
  }
  out.output = loops::print(*kernel);
  auto again = loops::read_kernel(loops_source("printed", out.output));
  if (!again || loops::print(*again) != out.output) {
    out.failure = "what was printed does not read back equal:\n" + out.output;
    return out;
  }
  auto signature = loops_signature(text, t.path);
  if (!signature) return out.error = signature.error(), out;
  std::vector<std::vector<std::byte>> inputs;
  std::vector<std::span<const std::byte>> views;
  for (const Shape& s : signature->inputs) inputs.push_back(counting_input(s, inputs.size() * 10));
  for (const auto& i : inputs) views.emplace_back(i);
  auto results = run_loops(text, t.path, views);
  if (!results) return out.error = results.error(), out;
  for (size_t k = 0; k < results->size(); ++k) {
    const Shape& s = signature->outputs[k];
    auto width = static_cast<size_t>(byte_width(s.element));
    out.output += fmt::format("out{} =", k);
    for (size_t at = 0; at < (*results)[k].size(); at += width) out.output += " " + element_text(s.element, (*results)[k].data() + at);
    out.output += "\n";
  }
  return out;
}

}  // namespace hloc::test
