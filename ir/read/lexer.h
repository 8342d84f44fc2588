// The words of HLO text, read straight from the source's bytes: no token objects, no copies, one pass.
//
// The parser asks for what it expects next (a word, a number, a bracket) and the lexer skips blanks and comments before
// it. Every question that can fail returns false after recording the first error; later errors are ignored, so callers
// just pass the false on. At the end of the text `peek()` is '\0', as it is on a NUL byte, which nothing accepts.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "ir/support/hash.h"
#include "ir/support/source.h"

namespace hloc::ir {

// Whether two short texts are equal, in whole words; the last ones overlap. Without the call that memcmp costs.
inline bool equal_short(std::string_view a, std::string_view b) {
  auto differ = [&]<class Word>(Word, size_t at) {
    Word x, y;
    std::memcpy(&x, a.data() + at, sizeof x);
    std::memcpy(&y, b.data() + at, sizeof y);
    return x != y;
  };
  size_t n = a.size();
  if (n != b.size()) return false;
  if (n >= 8) {
    for (size_t i = 0; i + 8 < n; i += 8)
      if (differ(uint64_t{}, i)) return false;
    return !differ(uint64_t{}, n - 8);
  }
  if (n >= 4) return !differ(uint32_t{}, 0) && !differ(uint32_t{}, n - 4);
  return n == 0 || (a[0] == b[0] && a[n / 2] == b[n / 2] && a[n - 1] == b[n - 1]);
}

// A hash of a short text, such as a name or a type: reads it in whole words, the last ones overlapping.
inline uint64_t hash_short(std::string_view s) {
  auto word = [&](size_t at) {
    uint64_t w;
    std::memcpy(&w, s.data() + at, 8);
    return w;
  };
  auto half = [&](size_t at) {
    uint32_t w;
    std::memcpy(&w, s.data() + at, 4);
    return uint64_t{w};
  };
  size_t n = s.size();
  uint64_t h = n * 0x9e3779b97f4a7c15u;
  if (n >= 8) {
    for (size_t i = 0; i + 8 < n; i += 8) {
      h = (h ^ word(i)) * 0x9ddfea08eb382d69u;
      h ^= h >> 32;
    }
    return mix(h ^ word(n - 8));
  }
  if (n >= 4) return mix(h ^ half(0) ^ half(n - 4) << 32);
  if (n == 0) return h;
  auto byte = [&](size_t at) { return uint64_t{static_cast<unsigned char>(s[at])}; };
  return mix(h ^ byte(0) ^ byte(n / 2) << 8 ^ byte(n - 1) << 16);
}

class HloLexer {
 public:
  explicit HloLexer(const Source& source);

  // Where the next byte of interest is. The text has a NUL behind its end, so looking there is no mistake.
  [[gnu::always_inline]] char peek() {
    skip();
    return *p_;
  }
  // The byte after the next one, without skipping.
  char peek_second() const { return p_ < end_ ? p_[1] : '\0'; }
  // The next byte of interest after the one at `peek()`; used to tell a layout from a body.
  char peek_after();
  bool at_end() {
    skip();
    return p_ == end_;
  }
  uint32_t offset() {
    skip();
    return static_cast<uint32_t>(p_ - begin_);
  }
  // Without skipping blanks: the end of what was read last.
  uint32_t raw_offset() const { return static_cast<uint32_t>(p_ - begin_); }
  const char* cursor() const { return p_; }
  const char* end() const { return end_; }
  void seek(const char* p) { p_ = p; }
  std::string_view text(uint32_t begin, uint32_t end) const { return {begin_ + begin, end - begin}; }
  const Source& source() const { return source_; }

  [[gnu::always_inline]] bool accept(char c) {
    if (peek() != c || p_ == end_) return false;
    ++p_;
    return true;
  }
  bool accept(std::string_view punctuation);  // "->", "<="
  bool accept_word(std::string_view word);    // the whole next word, or nothing
  // "expected ',' or '}' …": `why` is what the message says after "expected".
  bool expect(char c, std::string_view why) { return accept(c) || expected(why); }
  bool expect_word(std::string_view word, std::string_view why);

  // A word: a letter or '_', then letters, digits and '_.-'. Empty (and nothing is consumed) when there is none.
  std::string_view word() {
    std::string_view w = peek_word();
    p_ += w.size();
    return w;
  }
  std::string_view peek_word() {
    if (!starts_word(peek())) return {};
    return {p_, static_cast<size_t>(end_of_word(p_ + 1) - p_)};
  }
  // The end of the letters, digits and '_.-' at `p`.
  static const char* end_of_word(const char* p) {
    while (in_word(*p)) ++p;
    return p;
  }
  // A name: a word, with or without '%' before it. `what` is named by the error.
  bool name(std::string_view& out, std::string_view what);

  bool integer(int64_t& out, std::string_view what);
  bool accept_integer(int64_t& out);          // nothing is consumed when the next thing is no integer
  bool real(double& out, std::string_view what);
  bool boolean(bool& out);
  // A string in either kind of quotes, its escapes resolved.
  bool quoted(std::string& out, std::string_view what);
  // A string in double quotes without escapes, as it stands in the source; else nothing is consumed.
  bool accept_plain_quoted(std::string_view& out);
  // {...} with balanced braces, strings skipped; the text with its braces.
  bool braced(std::string_view& out, std::string_view what);
  // Like `braced` for any pair of brackets, without strings.
  bool balanced(char open, char close, std::string_view& out, std::string_view what);

  // Whether `name` stands further down, as a whole word with `follower` after it; within the braces that are open here
  // when `in_this_body`. For error messages.
  bool defined_later(std::string_view name, char follower, bool in_this_body) const;

  // Records an error (the first one stays) and returns false.
  bool fail(Loc at, std::string message);
  bool fail_here(std::string message);        // at the next word
  bool fail_at(std::string_view word, std::string message);
  // "expected WHAT, found X".
  bool expected(std::string_view what);
  Loc next_loc();                             // the next word or byte
  Loc loc_of(std::string_view word) const;
  bool failed() const { return error_.has_value(); }
  Diagnostic take_error() { return std::move(*error_); }

  static bool starts_word(char c) { return classes[static_cast<unsigned char>(c)] & starts; }
  static bool in_word(char c) { return classes[static_cast<unsigned char>(c)] & continues; }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_blank(char c) { return classes[static_cast<unsigned char>(c)] & blank; }

 private:
  enum : uint8_t { starts = 1, continues = 2, blank = 4 };
  static constexpr std::array<uint8_t, 256> classes = [] {
    std::array<uint8_t, 256> t{};
    for (int c = 'a'; c <= 'z'; ++c) t[static_cast<size_t>(c)] = starts | continues;
    for (int c = 'A'; c <= 'Z'; ++c) t[static_cast<size_t>(c)] = starts | continues;
    for (int c = '0'; c <= '9'; ++c) t[static_cast<size_t>(c)] = continues;
    t['_'] = starts | continues;
    t['.'] = t['-'] = continues;
    t[' '] = t['\t'] = t['\n'] = t['\r'] = blank;
    return t;
  }();

  [[gnu::always_inline]] void skip() {
    if (*p_ == ' ') ++p_;  // mostly there is one blank, or none
    if (is_blank(*p_) || *p_ == '/') skip_blanks();
  }
  void skip_blanks();

  const Source& source_;
  const char* begin_;
  const char* p_;
  const char* end_;
  std::optional<Diagnostic> error_;
};

}  // namespace hloc::ir
