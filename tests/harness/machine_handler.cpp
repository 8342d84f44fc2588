// Text tests of machine IR: `// test: machine`. Reading verifies; then printing and reading again must give the same text,
// and every function must go through legalise, allocation and both emitters. The output is the printed text; with
// --legalised it is what `legalise` and operand folding leave for --target (x86-64-v3 without one).
#include <algorithm>

#include "backends/cpu/aot/elf.h"
#include "backends/cpu/x86/x86.h"
#include "tests/harness/text_test.h"

namespace hloc::test {
namespace {

std::string print_all(const std::vector<machine::Function>& functions) {
  std::string out;
  for (const machine::Function& f : functions) out += print(f);
  return out;
}

// What goes wrong on the way to a loaded object, if anything. Functions for wider vectors than the target's are left out.
std::optional<Diagnostic> assemble_for(std::vector<machine::Function> functions, std::string_view target) {
  x86::Features features = *x86::features_of(target);
  std::erase_if(functions, [&](const machine::Function& f) { return f.vector_bytes > features.vector_bytes(); });
  x86::AssembleOptions options;
  options.listing = true;
  for (const machine::Function& f : functions) options.exported.push_back(f.name);
  auto code = x86::assemble(std::move(functions), features, options);
  if (!code) return code.error();
  if (machine::assembly_listing(*code).empty()) return error(ErrorKind::bug, "the listing is empty");
  auto loaded = load(*code, [&](std::string_view) -> const void* { return &features; });  // loaded, never run
  if (!loaded) return loaded.error();
  if (!code->externals.empty()) return std::nullopt;  // an object would refuse them
  auto object = aot::write_elf(*code);
  if (!object) return object.error();
  return std::nullopt;
}

}  // namespace

TextOutcome run_machine_text(const TextTest& test) {
  TextOutcome out;
  Source source{test.path, test.text};
  auto functions = machine::parse(source);
  if (!functions) {
    out.error = functions.error();
    return out;
  }
  std::string text = print_all(*functions);
  Source printed{test.path, text};
  auto again = machine::parse(printed);
  if (!again) {
    out.failure = "what was printed does not read: " + again.error().render();
    return out;
  }
  if (print_all(*again) != text) {
    out.failure = "printing, reading and printing again differ:\n" + text + "\n" + print_all(*again);
    return out;
  }
  std::string target = test.option("target");
  for (std::string_view name : {"x86-64-v3", "x86-64-v4"}) {
    if (!target.empty() && target != name) continue;
    out.error = assemble_for(*functions, name);
    if (out.error) return out;
  }
  if (std::find(test.options.begin(), test.options.end(), "--legalised") != test.options.end()) {
    x86::Features features = *x86::features_of(target.empty() ? "x86-64-v3" : target);
    for (machine::Function& f : *functions) {
      if (auto ok = x86::legalise(f, features); !ok) {
        out.error = ok.error();
        return out;
      }
      x86::fold_operands(f, features);
    }
    text = print_all(*functions);
  }
  out.output = std::move(text);
  return out;
}

}  // namespace hloc::test
