#include "tests/harness/text_test.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

namespace hloc::test {
namespace {

std::string_view trimmed(std::string_view s) {
  size_t begin = s.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return s.substr(begin, s.find_last_not_of(" \t\r") - begin + 1);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

bool take_directive(std::string_view line, std::string_view name, std::string& value) {
  line = trimmed(line);
  if (!line.starts_with("//")) return false;
  line = trimmed(line.substr(2));
  if (!line.starts_with(name)) return false;
  line.remove_prefix(name.size());
  if (!line.empty() && line[0] != ':') return false;
  value = std::string(trimmed(line.empty() ? line : line.substr(1)));
  return true;
}

// Numbers of a float type are equal when they are the same element (whatever digits say so), or both NaN. f64 results of
// math functions come from the C library, whose last place is its own: they may differ there.
bool same_number(const std::string& a, const std::string& b, ElementType type) {
  char *end_a = nullptr, *end_b = nullptr;
  double x = std::strtod(a.c_str(), &end_a), y = std::strtod(b.c_str(), &end_b);
  if (a.empty() || b.empty() || *end_a != 0 || *end_b != 0) return false;
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  if (type == ElementType::f64 || type == ElementType::c128) return x == y || std::fabs(x - y) <= 4.5e-16 * std::fabs(x);
  std::byte p[16] = {}, q[16] = {};
  element_from_double(type, x, p);
  element_from_double(type, y, q);
  return std::equal(std::begin(p), std::end(p), std::begin(q));
}

ElementType float_type_of(std::string_view line) {
#define HLOC_X(name, bits, mlir, npy) \
  if (line.starts_with(#name "[") && (is_float(ElementType::name) || is_complex(ElementType::name))) return ElementType::name;
  HLOC_ELEMENT_TYPES(HLOC_X)
#undef HLOC_X
  return ElementType::invalid;
}

// Equal, or float values that are.
bool line_matches(std::string_view want, std::string_view got) {
  if (want == got) return true;
  ElementType type = float_type_of(want);
  if (type == ElementType::invalid) return false;
  constexpr std::string_view separators = " ,{}()";
  for (;;) {
    size_t a = std::min(want.find_first_of(separators), want.size()), b = std::min(got.find_first_of(separators), got.size());
    std::string x(want.substr(0, a)), y(got.substr(0, b));
    if (x != y && !same_number(x, y, type)) return false;
    if (a == want.size() || b == got.size()) return a == want.size() && b == got.size();
    if (want[a] != got[b]) return false;
    want.remove_prefix(a + 1);
    got.remove_prefix(b + 1);
  }
}

}  // namespace

std::string TextTest::option(std::string_view name) const {
  std::string prefix = fmt::format("--{}=", name);
  for (const std::string& o : options)
    if (o.starts_with(prefix)) return o.substr(prefix.size());
  return "";
}

std::optional<TextTest> parse_text_test(const std::string& path) {
  auto bytes = read_bytes(path);
  if (!bytes) return {};
  TextTest test;
  test.path = path;
  test.text = std::move(*bytes);
  bool first = true;
  for (std::string_view line : lines_of(test.text)) {
    std::string value;
    if (first) {
      if (!take_directive(line, "test", value)) return {};
      size_t at = 0;
      while (at < value.size()) {
        size_t end = std::min(value.find(' ', at), value.size());
        if (end > at) (test.command.empty() ? test.command : test.options.emplace_back()) = value.substr(at, end - at);
        at = end + 1;
      }
      first = false;
    } else if (take_directive(line, "expect", value)) {
      test.expect.push_back(value);
    } else if (take_directive(line, "expect-not", value)) {
      test.expect_not.push_back(value);
    } else if (take_directive(line, "expect-error", value)) {
      test.expect_error = value;
    }
  }
  return test;
}

std::optional<std::string> judge(const TextTest& test, const TextOutcome& outcome) {
  if (outcome.failure) return outcome.failure;
  if (test.expect_error) {
    if (!outcome.error) return fmt::format("no error, but '{}' was expected", *test.expect_error);
    std::string got = fmt::format("{}:{}: {}", outcome.error->line, outcome.error->column, outcome.error->message);
    const std::string& want = *test.expect_error;
    size_t place = want.find(": ");
    bool right = place != std::string::npos && got.starts_with(want.substr(0, place + 2)) &&
                 got.find(want.substr(place + 2)) != std::string::npos && outcome.error->kind != ErrorKind::bug;
    return right ? std::optional<std::string>() : fmt::format("the error is '{}', but '{}' was expected", got, want);
  }
  if (outcome.error) return "an error that was not expected:\n" + outcome.error->render();
  auto lines = lines_of(outcome.output);
  size_t at = 0;
  for (const std::string& want : test.expect) {
    while (at < lines.size() && !line_matches(want, trimmed(lines[at]))) ++at;
    if (at++ >= lines.size()) return fmt::format("the output lacks, at its place, the line '{}':\n{}", want, outcome.output);
  }
  for (const std::string& unwanted : test.expect_not)
    for (std::string_view line : lines)
      if (line.find(unwanted) != std::string_view::npos) return fmt::format("the output has '{}':\n{}", unwanted, outcome.output);
  return {};
}

}  // namespace hloc::test
