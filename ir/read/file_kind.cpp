// What a file is, told by its first words or bytes.
#include <algorithm>

#include "ir/read/lexer.h"
#include "ir/read/read.h"

namespace hloc::ir {
namespace {

// Behind blanks and `//` comments, which both text formats have.
std::string_view skip_line_comments(std::string_view s) {
  for (;;) {
    size_t i = 0;
    while (i < s.size() && HloLexer::is_blank(s[i])) ++i;
    s.remove_prefix(i);
    if (!s.starts_with("//")) return s;
    s.remove_prefix(std::min(s.find('\n'), s.size()));
  }
}

// A base-128 number at `at`, which moves behind it; false when it runs past the end.
bool read_varint(std::string_view s, size_t& at, uint64_t& out) {
  out = 0;
  for (int shift = 0; shift < 64 && at < s.size(); shift += 7) {
    auto byte = static_cast<unsigned char>(s[at++]);
    out |= uint64_t{byte & 0x7fu} << shift;
    if (!(byte & 0x80)) return true;
  }
  return false;
}

// HloModuleProto and HloProto start with field 1, a string or a message, and their fields fill the file to its end. A file
// that was cut off is told by two whole fields and a byte that no text has.
bool looks_like_proto(std::string_view s) {
  if (!s.starts_with('\n')) return false;
  size_t at = 0, whole = 0;
  while (at < s.size()) {
    uint64_t tag, value;
    if (!read_varint(s, at, tag) || tag >> 3 == 0 || tag >> 3 > 1000) break;
    uint64_t length = (tag & 7) == 1 ? 8 : (tag & 7) == 5 ? 4 : 0;
    if ((tag & 7) == 0 && !read_varint(s, at, value)) break;
    if ((tag & 7) == 2 && !read_varint(s, at, length)) break;
    if ((tag & 7) == 3 || (tag & 7) == 4 || (tag & 7) > 5 || length > s.size() - at) break;
    at += length;
    ++whole;
  }
  return at == s.size() ? whole > 0 : whole >= 2 && s.find('\0') != std::string_view::npos;
}

bool starts_with_any(std::string_view s, std::initializer_list<std::string_view> words) {
  for (std::string_view w : words)
    if (s.starts_with(w) && (s.size() == w.size() || !HloLexer::in_word(s[w.size()]) || w.back() == '.')) return true;
  return false;
}

// `name {`, `name (`, `name =`, with ENTRY, ROOT and '%' where they may be.
bool looks_like_hlo(std::string_view s) {
  Source source{"", std::string(s.substr(0, 4096))};
  HloLexer lex(source);
  if (lex.accept_word("HloModule")) return true;
  bool marked = lex.accept_word("ENTRY") || lex.accept_word("ROOT");
  std::string_view name;
  if (!lex.name(name, "a name")) return marked;
  char c = lex.peek();
  return marked || c == '{' || c == '(' || (c == '=' && lex.peek_second() != '>');
}

}  // namespace

FileKind file_kind(std::string_view bytes) {
  if (bytes.starts_with("ML\xefR")) return FileKind::stablehlo_bytecode;
  if (looks_like_proto(bytes)) return FileKind::hlo_proto;
  std::string_view s = skip_line_comments(bytes);
  if (s.starts_with('#') || s.starts_with('"') || s.starts_with('!') ||
      starts_with_any(s, {"module", "func.", "builtin.", "stablehlo.", "sdy.", "vhlo.", "chlo.", "check."})) {
    if (!s.starts_with("module")) return FileKind::stablehlo_text;
    std::string_view after = skip_line_comments(s.substr(6));
    if (after.starts_with('{') || after.starts_with('@') || after.starts_with("attributes")) return FileKind::stablehlo_text;
  }
  if (looks_like_hlo(s)) return FileKind::hlo_text;
  // `%0 = stablehlo.constant …` and the like have no HLO name.
  return s.starts_with('%') ? FileKind::stablehlo_text : FileKind::unknown;
}

}  // namespace hloc::ir
