// Tokens of StableHLO text.
#include "ir/read/stablehlo_lexer.h"

#include <fmt/format.h>

namespace hloc::ir::mlir {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_hex_digit(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_suffix(char c) { return is_digit(c) || is_letter(c) || c == '$' || c == '.' || c == '-'; }

int hex_digit_value(char c) { return is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10; }

}  // namespace

std::string describe(const Token& token) {
  switch (token.kind) {
    case Tok::end: return "the end of the text";
    case Tok::string: return "a string";
    case Tok::value: return fmt::format("'%{}'", token.text);
    case Tok::symbol: return fmt::format("'@{}'", token.text);
    case Tok::hash: return fmt::format("'#{}'", token.text);
    case Tok::bang: return fmt::format("'!{}'", token.text);
    case Tok::caret: return fmt::format("'^{}'", token.text);
    default: return fmt::format("'{}'", token.text.substr(0, 60));
  }
}

bool unescape(std::string_view raw, std::string& out) {
  out.clear();
  out.reserve(raw.size());
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\') {
      out += raw[i];
      continue;
    }
    if (++i >= raw.size()) return false;
    char c = raw[i];
    if (c == '"' || c == '\\') {
      out += c;
    } else if (c == 'n') {
      out += '\n';
    } else if (c == 't') {
      out += '\t';
    } else if (is_hex_digit(c) && i + 1 < raw.size() && is_hex_digit(raw[i + 1])) {
      out += static_cast<char>(hex_digit_value(c) * 16 + hex_digit_value(raw[i + 1]));
      ++i;
    } else {
      return false;
    }
  }
  return true;
}

void Lexer::skip_blanks() {
  while (at_ < end_) {
    char c = source_[at_];
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++at_;
    } else if (c == '/' && at(at_ + 1) == '/') {
      size_t line_end = source_.find('\n', at_);
      at_ = line_end >= end_ ? end_ : static_cast<uint32_t>(line_end);
    } else {
      return;
    }
  }
}

Token Lexer::token(Tok kind, uint32_t begin, uint32_t text_begin, uint32_t text_end) const {
  return {kind, {begin, at_}, source_.substr(text_begin, text_end - text_begin)};
}

// The end of a name after '%', '@', '#', '!' or '^'.
uint32_t Lexer::suffix_end(uint32_t at) const {
  if (is_digit(this->at(at))) {  // a number, then nothing else
    while (at < end_ && is_digit(source_[at])) ++at;
    return at;
  }
  while (at < end_ && is_suffix(source_[at])) {
    if (source_[at] == '-' && this->at(at + 1) == '>') break;
    ++at;
  }
  return at;
}

Token Lexer::number(uint32_t begin) {
  if (source_[at_] == '0' && at(at_ + 1) == 'x' && is_hex_digit(at(at_ + 2))) {
    at_ += 2;
    while (at_ < end_ && is_hex_digit(source_[at_])) ++at_;
    return token(Tok::integer, begin, begin, at_);
  }
  while (at_ < end_ && is_digit(source_[at_])) ++at_;
  Tok kind = Tok::integer;
  if (at(at_) == '.') {
    kind = Tok::real;
    ++at_;
    while (at_ < end_ && is_digit(source_[at_])) ++at_;
  }
  if (at(at_) == 'e' || at(at_) == 'E') {
    uint32_t exponent = at_ + 1;
    if (at(exponent) == '+' || at(exponent) == '-') ++exponent;
    if (is_digit(at(exponent))) {
      kind = Tok::real;
      while (exponent < end_ && is_digit(source_[exponent])) ++exponent;
      at_ = exponent;
    }
  }
  return token(kind, begin, begin, at_);
}

Token Lexer::string(uint32_t begin, Tok kind) {
  uint32_t inside = ++at_;
  while (at_ < end_ && source_[at_] != '"' && source_[at_] != '\n') at_ += source_[at_] == '\\' ? 2 : 1;
  if (at_ >= end_ || source_[at_] != '"') {
    if (at_ > end_) at_ = end_;
    return token(Tok::bad, begin, begin, at_);
  }
  uint32_t text_end = at_++;
  if (kind == Tok::symbol) return token(kind, begin, inside - 1, at_);
  return token(kind, begin, inside, text_end);
}

Token Lexer::next() {
  skip_blanks();
  uint32_t begin = at_;
  if (at_ >= end_) return {Tok::end, {end_, end_}, {}};
  char c = source_[at_];
  auto named = [&](Tok kind) {
    ++at_;
    if (kind == Tok::symbol && peek() == '"') return string(begin, kind);
    uint32_t name = at_;
    at_ = suffix_end(at_);
    if (at_ == name) return token(Tok::bad, begin, begin, at_);
    return token(kind, begin, name, at_);
  };
  auto plain = [&](Tok kind, uint32_t length) {
    at_ += length;
    return token(kind, begin, begin, at_);
  };
  if (is_letter(c)) {
    while (at_ < end_ && (is_letter(source_[at_]) || is_digit(source_[at_]) || source_[at_] == '$' || source_[at_] == '.')) ++at_;
    return token(Tok::word, begin, begin, at_);
  }
  if (is_digit(c)) return number(begin);
  switch (c) {
    case '"': return string(begin, Tok::string);
    case '%': return named(Tok::value);
    case '@': return named(Tok::symbol);
    case '#': return at(at_ + 1) == '-' && at(at_ + 2) == '}' ? plain(Tok::trailer_end, 3) : named(Tok::hash);
    case '!': return named(Tok::bang);
    case '^': return named(Tok::caret);
    case '-': return at(at_ + 1) == '>' ? plain(Tok::arrow, 2) : plain(Tok::minus, 1);
    case ':': return at(at_ + 1) == ':' ? plain(Tok::double_colon, 2) : plain(Tok::colon, 1);
    case '{': return at(at_ + 1) == '-' && at(at_ + 2) == '#' ? plain(Tok::trailer_begin, 3) : plain(Tok::l_brace, 1);
    case ',': return plain(Tok::comma, 1);
    case '=': return plain(Tok::equal, 1);
    case '(': return plain(Tok::l_paren, 1);
    case ')': return plain(Tok::r_paren, 1);
    case '}': return plain(Tok::r_brace, 1);
    case '[': return plain(Tok::l_square, 1);
    case ']': return plain(Tok::r_square, 1);
    case '<': return plain(Tok::less, 1);
    case '>': return plain(Tok::greater, 1);
    case '?': return plain(Tok::question, 1);
    case '*': return plain(Tok::star, 1);
    case '+': return plain(Tok::plus, 1);
    case '/': return plain(Tok::slash, 1);
    case '|': return plain(Tok::pipe, 1);
    default: return plain(Tok::bad, 1);
  }
}

}  // namespace hloc::ir::mlir
