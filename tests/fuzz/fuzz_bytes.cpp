// Mutated texts through reader, verifier and printer: whatever the bytes, an error or a module that round-trips.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "include/hloc/hloc.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace hloc;
using fuzz::Random;

const std::vector<std::string>& seeds_of(const fuzz::FuzzArguments& a) {
  static const std::vector<std::string> texts = [&a] {
    std::vector<std::string> out;
    auto add = [&](const std::filesystem::path& p) {
      std::ifstream f(p, std::ios::binary);
      std::string text{std::istreambuf_iterator<char>(f), {}};
      if (text.size() < 60000) out.push_back(std::move(text));
    };
    for (const std::string& path : a.paths) {
      std::vector<std::filesystem::path> files;
      if (std::filesystem::is_directory(path))
        for (const auto& e : std::filesystem::recursive_directory_iterator(path))
          if (e.path().extension() == ".hlo" || e.path().extension() == ".mlir") files.push_back(e.path());
      if (!std::filesystem::is_directory(path)) files.emplace_back(path);
      std::sort(files.begin(), files.end());
      for (const auto& f : files) add(f);
    }
    if (out.empty()) out.emplace_back("HloModule m\nENTRY e { ROOT p = f32[2] parameter(0) }\n");
    return out;
  }();
  return texts;
}

// Pieces that parsers stumble over.
const std::vector<std::string> tricky = {
    "{", "}", "(", ")", "[", "]", "<", ">", "=", ",", ":", "->", "%", "\"", "'", "\\", "/*", "*/", "//", "\0", "-1", "9223372036854775807",
    "9223372036854775808", "18446744073709551616", "1e999", "nan", "-inf", "nan(0x1)", "f32[", "f32[1099511627776,1099511627776]", "s4[3]",
    "f8e4m3fn[]", "?", "<=5", "{...}", "constant(", "parameter(0)", "parameter(7)", "ROOT ", "ENTRY ", "dense<", "tensor<", "tensor<?xf32>",
    "#stablehlo", "loc(", "^bb0", "-{#", "dense<\"0x", "while(", "to_apply=", "metadata={", "sharding={devices=[2]<=[2]}", "dimensions={0}",
    "window={size=3 stride=0 pad=-9223372036854775808_1}", "slice={[0:9223372036854775807:1]}", "padding=9223372036854775807_0_1"};

std::string mutate(const std::vector<std::string>& seeds, Random& r) {
  std::string text = r.pick(seeds);
  uint64_t count = 1 + r.below(6);
  for (uint64_t i = 0; i < count; ++i) {
    size_t at = r.below(text.size() + 1);
    size_t length = r.below(std::min<size_t>(text.size() - at, 40) + 1);
    switch (r.below(8)) {
      case 0: if (at < text.size()) text[at] = static_cast<char>(r.next()); break;
      case 1: text.erase(at, length); break;
      case 2: text.insert(at, r.pick(tricky)); break;
      case 3: text.replace(at, length, r.pick(tricky)); break;
      case 4: text.insert(at, text.substr(r.below(text.size() + 1), length)); break;
      case 5: {
        const std::string& other = r.pick(seeds);
        text.insert(at, other.substr(r.below(other.size() + 1), r.below(200)));
        break;
      }
      case 6: text.resize(at); break;
      default: {  // a number becomes another
        size_t digit = text.find_first_of("0123456789", at);
        if (digit != std::string::npos) text[digit] = static_cast<char>('0' + r.below(10));
      }
    }
  }
  return text;
}

std::string one(uint64_t seed, const fuzz::FuzzArguments& a) {
  Random r(seed);
  std::string text = mutate(seeds_of(a), r);
  fuzz::set_current_input(&text);
  auto modules = read_all(text, "fuzz");
  if (!modules) return modules.error().kind == ErrorKind::bug ? modules.error().render() + text : "";
  for (const Module& m : *modules) {
    bool hlo = text.find("stablehlo") == std::string::npos && text.find("func.func") == std::string::npos;
    auto verified = verify(m);
    if (!verified && verified.error().kind == ErrorKind::bug) return verified.error().render() + text;
    auto printed = print(m, hlo ? Format::hlo : Format::stablehlo);
    if (!printed) {
      if (printed.error().kind == ErrorKind::bug) return printed.error().render() + text;
      continue;
    }
    auto again = read(*printed, "printed");
    if (!again && !hlo && !verified) continue;  // wrong types print as what was read; a StableHLO reader checks them again
    if (!again) return "what was printed does not read: " + again.error().render() + "\n--- input\n" + text + "\n--- printed\n" + *printed;
    std::string why;
    if (hlo && !equal(m, *again, &why)) return "read, print, read differs: " + why + "\n--- input\n" + text + "\n--- printed\n" + *printed;
  }
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  auto arguments = hloc::fuzz::parse_arguments(argc, argv);
  return hloc::fuzz::run_fuzzer("bytes", arguments, 5, one);
}
