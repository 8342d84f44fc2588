#include "ir/support/braces.h"

#include <cctype>
#include <cstdint>

namespace hloc::ir {
namespace {

class DictionaryRecogniser {
 public:
  explicit DictionaryRecogniser(std::string_view text) : text_(text) {}

  bool run() { return dictionary(0) && (skip(), at_ == text_.size()); }

 private:
  static constexpr int most_depth = 64;

  static bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$'; }

  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool string() {
    if (!take('"')) return false;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\n') return false;
      if (text_[at_] == '\\') ++at_;
      else if (text_[at_] == '"') return ++at_, true;
    }
    return false;
  }
  bool word() {
    skip();
    if (at_ == text_.size() || !(std::isalpha(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) return false;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    return true;
  }
  bool number() {
    skip();
    size_t begin = at_;
    if (at_ < text_.size() && text_[at_] == '-') ++at_;
    size_t digits = at_;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) ++at_;
    if (at_ == digits) return at_ = begin, false;
    auto exponent = [&] { return text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E'; };
    while (at_ < text_.size() && (is_word(text_[at_]) || ((text_[at_] == '+' || text_[at_] == '-') && exponent()))) ++at_;
    return true;
  }
  // What stands in angle brackets: words, numbers, strings and their separators only.
  bool angles() {
    if (!take('<')) return true;
    int open = 1;
    for (; at_ < text_.size() && open > 0; ++at_) {
      char c = text_[at_];
      if (c == '"') {
        if (!string()) return false;
        --at_;
      } else if (c == '<') ++open;
      else if (c == '>') --open;
      else if (!is_word(c) && !std::isspace(static_cast<unsigned char>(c)) && std::string_view(",:-+[]=#@!?*").find(c) == std::string_view::npos) return false;
    }
    return open == 0;
  }
  bool type() { return word() && angles(); }
  // An attribute of a dialect (#stablehlo<precision HIGH>) or a symbol (@f): the name follows at once.
  bool named() {
    ++at_;
    return at_ < text_.size() && !std::isspace(static_cast<unsigned char>(text_[at_])) && type();
  }

  bool list(int depth) {
    if (take(']')) return true;
    do {
      if (!value(depth)) return false;
    } while (take(','));
    return take(']');
  }
  bool value(int depth) {
    skip();
    if (depth > most_depth || at_ == text_.size()) return false;
    if (text_[at_] == '{') return dictionary(depth + 1);
    if (take('[')) return list(depth + 1);
    if (text_[at_] == '"') return string();
    bool plain = text_[at_] == '#' || text_[at_] == '@' ? named() : number() || type();
    return plain && (!take(':') || type());
  }
  bool dictionary(int depth) {
    if (!take('{')) return false;
    if (take('}')) return true;
    do {
      skip();
      bool key = at_ < text_.size() && text_[at_] == '"' ? string() : word();
      if (!key || (take('=') && !value(depth))) return false;
    } while (take(','));
    return take('}');
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

bool is_braced(std::string_view text) {
  int64_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (in_string && c == '\\') ++i;
    else if (c == '"') in_string = !in_string;
    if (in_string || c == '"') continue;
    if (c == '{') ++depth;
    if (c == '}') --depth;
    if (depth <= 0) return depth == 0 && i > 0 && i + 1 == text.size();
  }
  return false;
}

bool is_mlir_dictionary(std::string_view text) { return DictionaryRecogniser(text).run(); }

}  // namespace hloc::ir
