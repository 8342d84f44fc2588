#include "ir/support/source.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace hloc {

std::string Diagnostic::render() const {
  std::string place = file;
  if (line != 0) place += fmt::format("{}{}:{}", place.empty() ? "" : ":", line, column);
  std::string out = place.empty() ? fmt::format("error: {}\n", message) : fmt::format("{}: error: {}\n", place, message);
  if (line != 0) {
    uint32_t tildes = std::max<uint32_t>(width, 1) - 1;
    out += fmt::format("  {}\n  {}^{}\n", source_line, std::string(caret, ' '), std::string(tildes, '~'));
  }
  return out;
}

namespace {

// Copies one line, replacing control bytes (tabs too, so that the caret stands right) and broken UTF-8.
std::string printable(std::string_view line) {
  std::string out;
  for (size_t i = 0; i < line.size(); ++i) {
    unsigned char c = line[i];
    out += c == '\t' ? ' ' : c < 0x20 || c >= 0x7f ? '?' : static_cast<char>(c);
  }
  return out;
}

}  // namespace

Diagnostic error_at(const Source& source, Loc at, std::string message) {
  constexpr size_t shown = 160;
  const std::string& text = source.text;
  size_t begin = std::min<size_t>(at.begin, text.size());
  size_t line_begin = begin == 0 ? std::string::npos : text.rfind('\n', begin - 1);
  line_begin = line_begin == std::string::npos ? 0 : line_begin + 1;
  size_t line_end = std::min(text.find('\n', begin), text.size());
  size_t cut = begin - line_begin > shown / 2 && line_end - line_begin > shown ? begin - shown / 2 : line_begin;
  Diagnostic d;
  d.message = std::move(message);
  d.file = source.file;
  d.line = static_cast<uint32_t>(1 + std::count(text.begin(), text.begin() + begin, '\n'));
  d.column = static_cast<uint32_t>(begin - line_begin + 1);
  d.caret = static_cast<uint32_t>(begin - cut);
  d.source_line = printable(std::string_view(text).substr(cut, std::min(shown, line_end - cut)));
  size_t end = std::min<size_t>({std::max<size_t>(at.end, begin), line_end, cut + shown});
  d.width = static_cast<uint32_t>(end > begin ? end - begin : 1);
  return d;
}

Diagnostic error(ErrorKind kind, std::string message) {
  Diagnostic d;
  d.kind = kind;
  d.message = std::move(message);
  return d;
}

std::string suggestion(std::string_view near, std::string_view mark, std::string_view otherwise) {
  return near.empty() ? std::string(otherwise) : fmt::format("; did you mean '{}{}'?", mark, near);
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t next = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = row[j];
      row[j] = next;
    }
  }
  return row[b.size()];
}

}  // namespace hloc
