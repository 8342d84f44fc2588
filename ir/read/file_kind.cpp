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

// A protobuf message starts with a field's tag and length. HloModuleProto and HloProto start with field 1: a string (the
// module's name) or a message, whose length must fit into the file.
bool looks_like_proto(std::string_view s) {
  if (s.size() < 4 || s[0] != 0x0a) return false;
  uint64_t length = 0;
  for (size_t i = 1, shift = 0; i < s.size() && i < 6; ++i, shift += 7) {
    auto byte = static_cast<unsigned char>(s[i]);
    length |= uint64_t{byte & 0x7fu} << shift;
    if (byte & 0x80) continue;
    // The text formats may start with a blank line too, but then no binary length and tag follow.
    size_t next = i + 1 + length;
    return length > 0 && next <= s.size() && (next == s.size() || (static_cast<unsigned char>(s[next]) & 7) <= 2) &&
           s.substr(0, next).find_first_of(std::string_view("\0\x01\x02\x03\x04\x05\x06\x07\x08\x12\x1a", 11)) != std::string_view::npos;
  }
  return false;
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
  std::string_view s = skip_line_comments(bytes);
  if (s.starts_with('#') || s.starts_with('"') || s.starts_with('!') ||
      starts_with_any(s, {"module", "func.", "builtin.", "stablehlo.", "sdy.", "vhlo.", "chlo.", "check."})) {
    if (!s.starts_with("module")) return FileKind::stablehlo_text;
    std::string_view after = skip_line_comments(s.substr(6));
    if (after.starts_with('{') || after.starts_with('@') || after.starts_with("attributes")) return FileKind::stablehlo_text;
  }
  if (looks_like_hlo(s)) return FileKind::hlo_text;
  // `%0 = stablehlo.constant …` and the like have no HLO name.
  if (s.starts_with('%')) return FileKind::stablehlo_text;
  return looks_like_proto(bytes) ? FileKind::hlo_proto : FileKind::unknown;
}

}  // namespace hloc::ir
