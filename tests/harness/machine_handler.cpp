// Text tests of machine IR: `// test: machine`. Reading verifies; then printing and reading again must give the same text,
// and every function must go through legalise, allocation and the emitters. The output is the printed text; with
// --legalised it is what `legalise` and operand folding leave for --target (x86-64-v3 without one).
#include <algorithm>

#include "backends/cpu/aarch64/aarch64.h"
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

constexpr std::string_view machine_targets[] = {"x86-64-v3", "x86-64-v4", "aarch64"};

int vector_bytes_of(std::string_view target) { return target == "aarch64" ? aarch64::vector_bytes : x86::features_of(target)->vector_bytes(); }

// What goes wrong on the way to an object, if anything. Functions for wider vectors than the target's are left out.
std::optional<Diagnostic> assemble_for(std::vector<machine::Function> functions, std::string_view target) {
  bool other_machine = target == "aarch64";
  std::erase_if(functions, [&](const machine::Function& f) { return f.vector_bytes > vector_bytes_of(target); });
  machine::AssembleOptions options;
  options.listing = true;
  for (const machine::Function& f : functions) options.exported.push_back(f.name);
  auto code = other_machine ? aarch64::assemble(std::move(functions), options) : x86::assemble(std::move(functions), *x86::features_of(target), options);
  if (!code) return code.error();
  if (machine::assembly_listing(*code).empty()) return error(ErrorKind::bug, "the listing is empty");
  if (code->isa == machine::host_isa) {
    auto loaded = load(*code, [&](std::string_view) -> const void* { return &code; });  // loaded, never run
    if (!loaded) return loaded.error();
  }
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
  for (std::string_view name : machine_targets) {
    if (!target.empty() && target != name) continue;
    out.error = assemble_for(*functions, name);
    if (out.error) return out;
  }
  if (std::find(test.options.begin(), test.options.end(), "--legalised") != test.options.end()) {
    x86::Features features = *x86::features_of(target.empty() || target == "aarch64" ? "x86-64-v3" : target);
    for (machine::Function& f : *functions) {
      if (target == "aarch64") {
        if (auto ok = aarch64::legalise(f); !ok) return out.error = ok.error(), out;
        continue;
      }
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
