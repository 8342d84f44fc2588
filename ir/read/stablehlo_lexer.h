// Tokens of StableHLO text, made on demand: the parser keeps one, so a long file costs no token list.
#pragma once

#include <string>
#include <string_view>

#include "ir/support/source.h"

namespace hloc::ir::mlir {

enum class Tok : uint8_t {
  end, bad,
  word,     // add, stablehlo.add, f32
  value,    // %name           text: name
  symbol,   // @name, @"name"  text: name, or the quoted text with its quotes
  hash,     // #name           text: name
  bang,     // !name           text: name
  caret,    // ^name           text: name
  integer,  // 12, 0x1F
  real,     // 1.5, 2.0e-3
  string,   // "..."           text: what stands between the quotes, escapes not resolved
  arrow, colon, double_colon, comma, equal, l_paren, r_paren, l_brace, r_brace, l_square, r_square, less, greater,
  question, star, plus, minus, slash, pipe,
  trailer_begin, trailer_end,  // {-# and #-}
};

struct Token {
  Tok kind = Tok::end;
  Loc loc;
  std::string_view text;
};

class Lexer {
 public:
  Lexer(std::string_view source, uint32_t begin, uint32_t end) : source_(source), at_(begin), end_(end) {}

  Token next();
  uint32_t position() const { return at_; }
  void set_position(uint32_t at) { at_ = at; }
  uint32_t end() const { return end_; }
  char peek() const { return at_ < end_ ? source_[at_] : '\0'; }
  char at(uint32_t i) const { return i < end_ ? source_[i] : '\0'; }
  void skip_blanks();
  std::string_view text(uint32_t begin, uint32_t end) const { return source_.substr(begin, end - begin); }

 private:
  Token token(Tok kind, uint32_t begin, uint32_t text_begin, uint32_t text_end) const;
  Token number(uint32_t begin);
  Token string(uint32_t begin, Tok kind);
  uint32_t suffix_end(uint32_t at) const;

  std::string_view source_;
  uint32_t at_, end_;
};

// A token for messages: `'add'`, `a string`, `the end of the text`.
std::string describe(const Token& token);

// Resolves \", \\, \n, \t and \XX. False when an escape is none of them.
bool unescape(std::string_view raw, std::string& out);

}  // namespace hloc::ir::mlir
