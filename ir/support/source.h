// Source text: who reads it, where a byte offset is, and how an error shows its place.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "include/hloc/result.h"

namespace hloc {

// A run of bytes in a source; line and column are only computed when an error is shown.
struct Loc {
  uint32_t begin = 0;
  uint32_t end = 0;
};

// One file's text. Names and strings of a module are views into it, so modules share its ownership.
struct Source {
  std::string file;  // as the user named it; "<stdin>", "<text>" else
  std::string text;
};

using SourceRef = std::shared_ptr<const Source>;

// A Diagnostic of kind `input` that points at `at`. A line longer than 160 bytes is cut around the place; bytes that
// are no printable UTF-8 are shown as '?'.
Diagnostic error_at(const Source& source, Loc at, std::string message);

// A Diagnostic without a place.
Diagnostic error(ErrorKind kind, std::string message);

// The nearest of `candidates` to `word` by edit distance, or "" when none is near enough to be helpful.
template <class Range>
std::string_view nearest(std::string_view word, const Range& candidates);
size_t edit_distance(std::string_view a, std::string_view b);

// How a message about an unknown word ends: "; did you mean '%add'?" for the nearest known one and the mark '%' that it is
// written with, or `otherwise` where none is near.
std::string suggestion(std::string_view near, std::string_view mark = {}, std::string_view otherwise = {});

template <class Range>
std::string_view nearest(std::string_view word, const Range& candidates) {
  std::string_view best;
  size_t best_distance = word.size() / 3 + 2;
  for (std::string_view candidate : candidates) {
    size_t difference = candidate.size() > word.size() ? candidate.size() - word.size() : word.size() - candidate.size();
    if (difference >= best_distance) continue;
    if (size_t d = edit_distance(word, candidate); d < best_distance) best = candidate, best_distance = d;
  }
  return best;
}

}  // namespace hloc
