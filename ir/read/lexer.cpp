#include "ir/read/lexer.h"

#include <charconv>
#include <cstring>

#include <fmt/format.h>

namespace hloc::ir {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Resolves the escape at `p`, which stands after the backslash; moves `p` behind it. False for an unknown one.
bool resolve_escape(const char*& p, const char* end, std::string& out) {
  char c = *p++;
  switch (c) {
    case 'n': out += '\n'; return true;
    case 't': out += '\t'; return true;
    case 'r': out += '\r'; return true;
    case 'a': out += '\a'; return true;
    case 'b': out += '\b'; return true;
    case 'f': out += '\f'; return true;
    case 'v': out += '\v'; return true;
    case '\\': case '\'': case '"': case '?': out += c; return true;
    case 'x': case 'X': {
      int value = 0, digits = 0;
      for (; p < end && digits < 2 && hex_value(*p) >= 0; ++p, ++digits) value = value * 16 + hex_value(*p);
      out += static_cast<char>(value);
      return digits > 0;
    }
    default: break;
  }
  if (c < '0' || c > '7') return false;
  int value = c - '0';
  for (int digits = 1; p < end && digits < 3 && *p >= '0' && *p <= '7'; ++p, ++digits) value = value * 8 + (*p - '0');
  out += static_cast<char>(value);
  return true;
}

}  // namespace

HloLexer::HloLexer(const Source& source)
    : source_(source), begin_(source.text.data()), p_(begin_), end_(begin_ + source.text.size()) {}

void HloLexer::skip_blanks() {
  while (p_ < end_) {
    if (is_blank(*p_)) {
      do ++p_;
      while (is_blank(*p_));
    } else if (*p_ == '/' && p_ + 1 < end_ && p_[1] == '/') {
      const void* line_end = std::memchr(p_, '\n', static_cast<size_t>(end_ - p_));
      p_ = line_end ? static_cast<const char*>(line_end) : end_;
    } else if (*p_ == '/' && p_ + 1 < end_ && p_[1] == '*') {
      std::string_view rest(p_ + 2, static_cast<size_t>(end_ - p_ - 2));
      size_t close = rest.find("*/");
      if (close == std::string_view::npos) {
        auto at = static_cast<uint32_t>(p_ - begin_);
        fail({at, at + 2}, "this comment is not closed; expected '*/' before the end of the file");
        p_ = end_;
        return;
      }
      p_ += 2 + close + 2;
    } else {
      return;
    }
  }
}

char HloLexer::peek_after() {
  skip();
  if (p_ == end_) return '\0';
  const char* here = p_++;
  char c = peek();
  p_ = here;
  return c;
}

bool HloLexer::accept(std::string_view punctuation) {
  skip();
  if (static_cast<size_t>(end_ - p_) < punctuation.size() || std::string_view(p_, punctuation.size()) != punctuation)
    return false;
  p_ += punctuation.size();
  return true;
}

bool HloLexer::accept_word(std::string_view expected_word) {
  if (peek_word() != expected_word) return false;
  p_ += expected_word.size();
  return true;
}

bool HloLexer::expect_word(std::string_view w, std::string_view why) { return accept_word(w) || expected(why); }

bool HloLexer::name(std::string_view& out, std::string_view what) {
  skip();
  const char* here = p_;
  if (*p_ == '%') ++p_;
  if (!starts_word(*p_)) {
    p_ = here;
    return expected(what);
  }
  const char* q = end_of_word(p_ + 1);
  out = {p_, static_cast<size_t>(q - p_)};
  p_ = q;
  return true;
}

bool HloLexer::accept_integer(int64_t& out) {
  skip();
  const char* q = p_;
  bool negative = q < end_ && *q == '-';
  if (negative) ++q;
  if (q == end_ || !is_digit(*q)) return false;
  uint64_t value = 0;
  bool overflow = false;
  for (; q < end_ && is_digit(*q); ++q) {
    overflow |= __builtin_mul_overflow(value, uint64_t{10}, &value);
    overflow |= __builtin_add_overflow(value, static_cast<uint64_t>(*q - '0'), &value);
  }
  if (overflow || value > static_cast<uint64_t>(INT64_MAX) + (negative ? 1 : 0)) {
    auto begin = static_cast<uint32_t>(p_ - begin_);
    fail({begin, static_cast<uint32_t>(q - begin_)}, "this integer does not fit in 64 bits");
    return false;
  }
  p_ = q;
  out = static_cast<int64_t>(negative ? 0 - value : value);
  return true;
}

bool HloLexer::integer(int64_t& out, std::string_view what) { return accept_integer(out) || expected(what); }

bool HloLexer::real(double& out, std::string_view what) {
  skip();
  std::from_chars_result r = std::from_chars(p_, end_, out);
  if (r.ec == std::errc::invalid_argument || r.ptr == p_) return expected(what);
  if (r.ec == std::errc::result_out_of_range) {
    auto begin = static_cast<uint32_t>(p_ - begin_);
    return fail({begin, static_cast<uint32_t>(r.ptr - begin_)}, "this number does not fit in a 64-bit float");
  }
  p_ = r.ptr;
  return true;
}

bool HloLexer::boolean(bool& out) {
  std::string_view w = peek_word();
  if (w != "true" && w != "false") return expected("true or false");
  p_ += w.size();
  out = w == "true";
  return true;
}

bool HloLexer::quoted(std::string& out, std::string_view what) {
  char quote = peek();
  if (p_ == end_ || (quote != '"' && quote != '\'')) return expected(what);
  const char* open = p_++;
  out.clear();
  while (p_ < end_ && *p_ != quote) {
    const char* run = p_;
    while (p_ < end_ && *p_ != quote && *p_ != '\\') ++p_;
    out.append(run, p_);
    if (p_ == end_ || *p_ == quote) break;
    const char* escape = p_++;
    if (p_ == end_) break;
    if (!resolve_escape(p_, end_, out)) {
      auto at = static_cast<uint32_t>(escape - begin_);
      return fail({at, at + 2}, "this is no escape that a string may hold; expected one of \\\" \\\\ \\n \\t \\r \\xHH \\OOO");
    }
  }
  if (p_ == end_) {
    auto at = static_cast<uint32_t>(open - begin_);
    return fail({at, at + 1}, fmt::format("this string is not closed; expected {} before the end of the file", quote));
  }
  ++p_;
  return true;
}

bool HloLexer::accept_plain_quoted(std::string_view& out) {
  if (peek() != '"' || p_ == end_) return false;
  const char* q = p_ + 1;
  while (q < end_ && *q != '"' && *q != '\\') ++q;
  if (q == end_ || *q != '"') return false;
  out = {p_ + 1, static_cast<size_t>(q - p_ - 1)};
  p_ = q + 1;
  return true;
}

bool HloLexer::braced(std::string_view& out, std::string_view what) {
  if (peek() != '{' || p_ == end_) return expected(what);
  const char* open = p_;
  int64_t depth = 0;
  for (; p_ < end_; ++p_) {
    char c = *p_;
    if (c == '{') ++depth;
    if (c == '}' && --depth == 0) {
      ++p_;
      out = {open, static_cast<size_t>(p_ - open)};
      return true;
    }
    if (c == '"') {
      for (++p_; p_ < end_ && *p_ != '"'; ++p_)
        if (*p_ == '\\' && p_ + 1 < end_) ++p_;
      if (p_ == end_) break;
    }
  }
  p_ = end_;
  auto at = static_cast<uint32_t>(open - begin_);
  return fail({at, at + 1}, "this brace is not closed; expected '}' before the end of the file");
}

bool HloLexer::balanced(char open, char close, std::string_view& out, std::string_view what) {
  if (peek() != open || p_ == end_) return expected(what);
  const char* begin = p_;
  int64_t depth = 0;
  for (; p_ < end_; ++p_) {
    if (*p_ == open) ++depth;
    if (*p_ == close && --depth == 0) {
      ++p_;
      out = {begin, static_cast<size_t>(p_ - begin)};
      return true;
    }
  }
  auto at = static_cast<uint32_t>(begin - begin_);
  return fail({at, at + 1}, fmt::format("expected '{}' before the end of the file to close this", close));
}

bool HloLexer::defined_later(std::string_view name, char follower, bool in_this_body) const {
  int64_t depth = 0;
  for (const char* p = p_; p < end_ && (depth >= 0 || !in_this_body); ++p) {
    if (*p == '{') ++depth;
    if (*p == '}') --depth;
    if (*p != name[0] || static_cast<size_t>(end_ - p) <= name.size() || in_word(p[-1])) continue;
    if (std::memcmp(p, name.data(), name.size()) != 0) continue;
    const char* q = p + name.size();
    if (q < end_ && in_word(*q)) continue;
    while (q < end_ && is_blank(*q)) ++q;
    if (q < end_ && *q == follower && (follower != '=' || q > p + name.size())) return true;
  }
  return false;
}

Loc HloLexer::loc_of(std::string_view w) const {
  auto begin = static_cast<uint32_t>(w.data() - begin_);
  return {begin, begin + static_cast<uint32_t>(w.size())};
}

Loc HloLexer::next_loc() {
  skip();
  auto begin = static_cast<uint32_t>(p_ - begin_);
  if (p_ == end_) return {begin, begin};
  const char* q = p_ + 1;
  if (in_word(*p_) || *p_ == '%')
    while (q < end_ && in_word(*q)) ++q;
  return {begin, static_cast<uint32_t>(q - begin_)};
}

bool HloLexer::fail(Loc at, std::string message) {
  if (!error_) error_ = error_at(source_, at, std::move(message));
  return false;
}

bool HloLexer::fail_here(std::string message) { return fail(next_loc(), std::move(message)); }

bool HloLexer::fail_at(std::string_view w, std::string message) { return fail(loc_of(w), std::move(message)); }

bool HloLexer::expected(std::string_view what) {
  if (failed()) return false;
  Loc at = next_loc();
  if (failed()) return false;
  if (at.begin == static_cast<uint32_t>(end_ - begin_))
    return fail(at, fmt::format("expected {}, found the end of the file", what));
  std::string_view found = text(at.begin, std::min(at.end, at.begin + 40));
  if (found.size() == 1 && (static_cast<unsigned char>(found[0]) < 0x20 || static_cast<unsigned char>(found[0]) >= 0x7f))
    return fail(at, fmt::format("expected {}, found the byte 0x{:02x}", what, static_cast<unsigned char>(found[0])));
  return fail(at, fmt::format("expected {}, found '{}'", what, found));
}

}  // namespace hloc::ir
