// Names in the C of devices: none is a word that something else has defined.
#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include "backends/cuda/dialect.h"
#include "backends/gpu/c_text.h"
#include "backends/gpu/emulator_text.h"
#include "backends/hip/dialect.h"

namespace hloc::test {
namespace {

using namespace gpu;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Macros; outside of all braces structs, namespaces and functions.
std::vector<std::string> defined_by(std::string_view text) {
  std::vector<std::string> out;
  std::string before;
  int depth = 0;
  for (size_t at = 0; at < text.size();) {
    if (!is_word(text[at])) {
      depth += text[at] == '{' || text[at] == '(' ? 1 : text[at] == '}' || text[at] == ')' ? -1 : 0;
      if (text.substr(at, 2) == "//") at = std::min(text.find('\n', at), text.size() - 1);
      ++at;
      continue;
    }
    size_t end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    std::string word(text.substr(at, end - at));
    bool is_macro = before == "define", is_function = depth == 0 && end < text.size() && text[end] == '(';
    if (is_macro || is_function || (depth == 0 && (before == "struct" || before == "namespace"))) out.push_back(word);
    if (is_macro) end = std::min(text.find('\n', end), text.size());
    before = is_macro ? "" : word;
    at = end;
  }
  return out;
}

TEST_CASE("names in device code are no words of what stands before it") {
  for (const Dialect& dialect : {cuda::dialect, hip::dialect, hip::narrow_dialect}) {
    std::string text = std::string(emulation::words) + std::string(dialect.host_words) + std::string(dialect.prelude);
    std::vector<std::string> words = defined_by(text);
    CHECK(std::ranges::count(words, "shuffle_down_word") != 0);
    for (const std::string& word : words) {
      INFO(word);
      CHECK(c_name(word) != word);
    }
  }
}

TEST_CASE("names in device code are letters, digits and underscores") {
  CHECK(c_name("x.1") == "x_1");
  CHECK(c_name("--") == "array");
  CHECK(c_name("7up") == "n7up");
  CHECK(c_name("café") == "caf");
  CHECK(c_name("friend") == "friend_");
  CHECK(c_name("and_eq") == "and_eq_");
  CHECK(c_name("grid-index") == "grid_index_");
  CHECK(c_name("to_f32") == "to_f32_");
}

}  // namespace
}  // namespace hloc::test
