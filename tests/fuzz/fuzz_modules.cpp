// Random modules: printed and read again equal, and native code against the evaluator.
#include <cmath>
#include <cstring>

#include "include/hloc/hloc.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/generate.h"
#include "tests/harness/cpu_targets.h"

namespace {

using namespace hloc;
using fuzz::Random;
using Buffers = std::vector<std::vector<std::byte>>;

std::vector<std::byte> random_input(const Shape& shape, Random& r, bool exact) {
  std::vector<std::byte> out(shape.bytes());
  auto width = static_cast<size_t>(byte_width(shape.element));
  for (size_t at = 0; at < out.size(); at += width) {
    double value = exact && r.chance(5) ? r.pick(std::vector<double>{0.0, -0.0, INFINITY, -INFINITY, NAN, 1e30, -1e-30}) : static_cast<double>(r.below(2001)) / 1000.0 - 1.0;
    if (is_integer(shape.element)) value = static_cast<double>(static_cast<int64_t>(r.below(200)) - (is_signed_integer(shape.element) ? 100 : 0));
    if (shape.element == ElementType::pred) value = static_cast<double>(r.below(2));
    element_from_double(shape.element, value, out.data() + at);
  }
  return out;
}

Result<Program> program_for(const Module& m, const std::string& target) { return compile(m, {.target = target, .verify_each = true}); }

// `donate`: results take the memory of the parameters that they may have.
Result<Buffers> run(const Program& program, Buffers inputs, bool donate = false) {
  Buffers outputs;
  for (const Shape& s : program.results()) outputs.emplace_back(s.bytes());
  std::vector<std::span<const std::byte>> in(inputs.begin(), inputs.end());
  std::vector<std::span<std::byte>> out(outputs.begin(), outputs.end());
  if (donate)
    for (const Alias& a : program.aliases()) out[a.result] = inputs[a.parameter];
  if (auto ok = program.call(in, out, {.guard_pages = !donate}); !ok) return ok.error();
  if (donate)
    for (const Alias& a : program.aliases()) outputs[a.result] = inputs[a.parameter];
  return outputs;
}

bool same_element(ElementType t, const std::byte* a, const std::byte* b, bool exact) {
  if (std::memcmp(a, b, static_cast<size_t>(byte_width(t))) == 0) return true;
  if (!is_float(t)) return false;
  double x = element_to_double(t, a), y = element_to_double(t, b);
  if (std::isnan(x) && std::isnan(y)) return true;
  if (exact) return false;
  if (std::isinf(x) || std::isinf(y) || std::isnan(x) || std::isnan(y)) return true;  // overflow at a rounding's distance
  return std::fabs(x - y) <= 1e-3 + 1e-3 * std::fmax(std::fabs(x), std::fabs(y));
}

std::string compare(const std::vector<Shape>& shapes, const Buffers& got, const Buffers& want, bool exact) {
  for (size_t k = 0; k < shapes.size(); ++k) {
    auto width = static_cast<size_t>(byte_width(shapes[k].element));
    for (size_t at = 0; at < got[k].size(); at += width)
      if (!same_element(shapes[k].element, got[k].data() + at, want[k].data() + at, exact))
        return "out" + std::to_string(k) + " element " + std::to_string(at / width) + ": native " + element_text(shapes[k].element, got[k].data() + at) +
               ", evaluator " + element_text(shapes[k].element, want[k].data() + at);
  }
  return "";
}

// What is wrong with the native results of a module; empty: nothing.
std::string difference_on(const Module& m, const char* target, uint64_t seed, bool exact) {
  auto parameters = m.parameters(), results = m.results();
  if (!parameters || !results) return "";
  Random r(seed);
  Buffers inputs;
  for (const Shape& s : *parameters) inputs.push_back(random_input(s, r, exact));
  auto evaluator = program_for(m, "reference");
  if (!evaluator) return "the evaluator: " + evaluator.error().render();
  auto want = run(*evaluator, inputs);
  if (!want) return "the evaluator: " + want.error().render();
  auto program = program_for(m, target);
  if (!program) return std::string(target) + ": " + program.error().render();
  for (bool donate : {false, true}) {
    if (donate && program->aliases().empty()) break;
    auto got = run(*program, inputs, donate);
    if (!got) return std::string(target) + ": " + got.error().render();
    std::string difference = compare(*results, *got, *want, exact);
    if (!difference.empty()) return std::string(target) + (donate ? ", memory donated: " : ": ") + difference + "\n";
  }
  return "";
}

// The same finding, as small as it gets.
std::string smallest(const Module& m, const char* target, uint64_t seed, bool exact) {
  auto small = shrink(m, [&](const Module& candidate) { return !difference_on(candidate, target, seed, exact).empty(); });
  auto text = small ? print(*small) : print(m);
  return (small ? difference_on(*small, target, seed, exact) : small.error().render()) + (text ? *text : "");
}

// Starting an emulator takes longer than most modules; so it gets one of sixteen.
constexpr uint64_t emulated_share = 16;

bool has_emulator() {
  static const bool has = [] {
    auto m = read("HloModule m\nENTRY e { ROOT p = f32[] parameter(0) }", "empty");
    if (m && program_for(*m, "aarch64")) return true;
    std::puts("skipped: nothing runs on aarch64, qemu-aarch64 is missing (Debian: qemu-user)");
    return false;
  }();
  return has;
}

std::string one(uint64_t seed, const fuzz::FuzzArguments& a) {
  Random r(seed);
  fuzz::GeneratorOptions options;
  options.exact = r.chance(70);
  options.instructions = 3 + static_cast<int>(r.below(25));
  std::string text = fuzz::generate_module(r, options);
  fuzz::set_current_input(&text);
  auto m = read(text, "random");
  if (!m) return m.error().render() + text;
  if (auto ok = verify(*m); !ok) return ok.error().render() + text;
  auto printed = print(*m);
  if (!printed) return printed.error().render() + text;
  auto again = read(*printed, "printed");
  std::string why;
  if (!again || !equal(*m, *again, &why)) return "round trip: " + why + "\n" + text;
  std::vector<const char*> targets = hloc::test::cpu_targets();
  if (seed % emulated_share == 0 && has_emulator()) targets.push_back("aarch64");
  if (!a.target.empty()) targets = {a.target.c_str()};
  for (const char* target : targets)
    if (!difference_on(*m, target, seed, options.exact).empty()) return smallest(*m, target, seed, options.exact);
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  auto arguments = hloc::fuzz::parse_arguments(argc, argv);
  return hloc::fuzz::run_fuzzer("modules", arguments, 20, one);
}
