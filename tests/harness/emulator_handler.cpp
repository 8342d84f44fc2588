// Kernels written by hand, run by the emulator of device source: what it finds, or what they compute.
//
//   // test: emulator --launch=NAME:BLOCKS:THREADS:COUNTS …      one launch after the other
//
// COUNTS are the elements of each parameter, with commas between. Parameters of one name are one array; what nothing has
// written before is 1, 2, … 7, 1, …. Runs with waves of 32 and of 64, by the words of either language; --wave=… is for one alone.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "backends/cuda/dialect.h"
#include "backends/gpu/emulator.h"
#include "backends/gpu/source.h"
#include "backends/hip/dialect.h"
#include "ir/support/source.h"
#include "tests/harness/text_test.h"

namespace hloc::test {
namespace {

struct Parameter {
  ElementType type = ElementType::invalid;
  gpu::EmulatedArgument argument;
};
struct HandLaunch {
  gpu::EmulatedLaunch launch;
  std::vector<Parameter> parameters;
};

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> out;
  while (!text.empty()) {
    size_t end = std::min(text.find(at), text.size());
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

ElementType type_of(std::string_view declared) {
  constexpr std::pair<std::string_view, ElementType> types[] = {
      {"float", ElementType::f32},        {"double", ElementType::f64}, {"int", ElementType::s32},
      {"unsigned char", ElementType::u8}, {"long long", ElementType::s64}};
  for (auto [name, type] : types)
    if (declared == name) return type;
  return ElementType::invalid;
}

// "const float* x": not written, f32, x.
std::optional<Parameter> parameter(std::string_view text, int64_t count) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  bool is_input = text.starts_with("const ");
  if (is_input) text.remove_prefix(6);
  size_t star = text.find("* ");
  if (star == text.npos) return {};
  ElementType type = type_of(text.substr(0, star));
  if (type == ElementType::invalid) return {};
  int width = byte_width(type);
  return Parameter{type, {std::string(text.substr(star + 2)), count * width, width, !is_input}};
}

std::optional<HandLaunch> launch_of(const std::string& text, const std::string& option) {
  std::vector<std::string> parts = split(option, ':');
  if (parts.size() != 4) return {};
  HandLaunch out{{parts[0], std::atoll(parts[1].c_str()), std::atoi(parts[2].c_str()), true, {}}, {}};
  size_t begin = text.find(" " + parts[0] + "(");
  if (begin == text.npos) return {};
  begin += parts[0].size() + 2;
  std::vector<std::string> names = split(std::string_view(text).substr(begin, text.find(')', begin) - begin), ',');
  std::vector<std::string> counts = split(parts[3], ',');
  if (names.size() != counts.size()) return {};
  for (size_t i = 0; i < names.size(); ++i) {
    auto p = parameter(names[i], std::atoll(counts[i].c_str()));
    if (!p) return {};
    out.launch.arguments.push_back(p->argument);
    out.parameters.push_back(*p);
  }
  return out;
}

struct Array {
  ElementType type;
  std::byte* at;
  size_t bytes;
  bool is_result;
};

Result<std::map<std::string, Array>> arrays_of(const std::vector<HandLaunch>& launches, gpu::Device& device) {
  std::map<std::string, Array> out;
  for (const HandLaunch& l : launches) {
    for (const Parameter& p : l.parameters) {
      auto known = out.find(p.argument.name);
      if (known != out.end()) {
        known->second.is_result |= p.argument.is_written;
        continue;
      }
      std::vector<std::byte> content(static_cast<size_t>(p.argument.bytes));
      auto width = static_cast<size_t>(byte_width(p.type));
      for (size_t i = 0; i * width < content.size(); ++i) element_from_double(p.type, static_cast<double>(i % 7 + 1), &content[i * width]);
      auto at = device.allocate(content.size());
      if (!at) return at.error();
      if (auto ok = device.write(*at, content.data(), content.size()); !ok) return ok.error();
      out[p.argument.name] = {p.type, *at, content.size(), p.argument.is_written};
    }
  }
  return out;
}

// What all launches leave in the arrays that they may write.
Result<std::string> results(gpu::Device& device, const std::vector<HandLaunch>& launches) {
  auto arrays = arrays_of(launches, device);
  if (!arrays) return arrays.error();
  for (size_t i = 0; i < launches.size(); ++i) {
    std::vector<std::byte*> arguments;
    for (const Parameter& p : launches[i].parameters) arguments.push_back(arrays->at(p.argument.name).at);
    if (auto ok = device.launch(0, i, arguments); !ok) return ok.error();
  }
  std::string out;
  for (const auto& [name, array] : *arrays) {
    if (!array.is_result) continue;
    std::vector<std::byte> content(array.bytes);
    if (auto ok = device.read(content.data(), array.at, content.size()); !ok) return ok.error();
    out += name + " =";
    auto width = static_cast<size_t>(byte_width(array.type));
    for (size_t at = 0; at < content.size(); at += width) out += " " + element_text(array.type, &content[at]);
    out += "\n";
  }
  return out;
}

// "line 30" of a source with 20 lines before the file is "line 10"; what stands before is "a helper".
std::string with_own_lines(std::string_view message, uint32_t before) {
  constexpr std::string_view word = "line ";
  std::string out;
  for (;;) {
    size_t at = message.find(word);
    out += message.substr(0, at);
    if (at == message.npos) return out;
    size_t end = std::min(message.find_first_not_of("0123456789", at + word.size()), message.size());
    auto line = static_cast<uint32_t>(std::atoi(std::string(message.substr(at + word.size(), end)).c_str()));
    out += line > before ? fmt::format("line {}", line - before) : "a helper";
    message.remove_prefix(end);
  }
}

// The results, or the finding with the lines of the test's own file.
Result<std::string> run_hand_written(const TextTest& t, const std::vector<HandLaunch>& launches, const gpu::Dialect& dialect) {
  std::string head = gpu::source_head(t.text, dialect);
  std::vector<gpu::EmulatedLaunch> list;
  for (const HandLaunch& l : launches) list.push_back(l.launch);
  auto device = gpu::make_emulator(head + t.text, {list}, dialect);
  if (!device) return device.error();
  auto out = results(**device, launches);
  if (out) return out;
  Diagnostic d = out.error();
  if (d.kind != ErrorKind::bug) return d;
  auto before = static_cast<uint32_t>(std::ranges::count(head, '\n'));
  if (d.line != 0) d.line -= before;
  d.message = with_own_lines(d.message, before);
  d.file.clear();
  return d.render();
}

}  // namespace

TextOutcome run_emulator(const TextTest& t) {
  TextOutcome out;
  std::vector<HandLaunch> launches;
  for (const std::string& o : t.options) {
    if (!o.starts_with("--launch=")) continue;
    auto launch = launch_of(t.text, o.substr(9));
    if (!launch) return out.failure = fmt::format("'{}' does not fit a function of the file", o), out;
    launches.push_back(*std::move(launch));
  }
  std::string wave = t.option("wave");
  for (const gpu::Dialect* dialect : {&cuda::dialect, &hip::dialect}) {
    if (!wave.empty() && wave != std::to_string(dialect->wave)) continue;
    auto text = run_hand_written(t, launches, *dialect);
    if (!text) return out.error = text.error(), out;
    if (!out.output.empty() && *text != out.output)
      return out.failure = fmt::format("waves of 64 give\n{}but waves of 32\n{}", *text, out.output), out;
    out.output = *text;
  }
  return out;
}

}  // namespace hloc::test
