#include "ir/read/hlo_type.h"

#include <fmt/format.h>

namespace hloc::ir {
namespace {

constexpr std::string_view element_names[] = {
#define HLOC_X(name, bits, mlir, npy) #name,
    HLOC_ELEMENT_TYPES(HLOC_X)
#undef HLOC_X
};

// Elements of an array times the bytes of each must be countable; a zero anywhere makes it small.
bool countable(const std::vector<Dim>& dims, ElementType element) {
  int64_t bytes = byte_width(element);
  bool fits = true;
  for (const Dim& d : dims) {
    if (d.size == 0) return true;
    if (d.kind != Dim::unknown) fits &= !__builtin_mul_overflow(bytes, d.size, &bytes);
  }
  return fits;
}

}  // namespace

ElementType find_element_type(std::string_view name) {
  if (name.size() < 2 || name.size() > 13) return ElementType::invalid;
  for (size_t i = 0; i < std::size(element_names); ++i)
    if (element_names[i] == name) return static_cast<ElementType>(i + 1);
  return ElementType::invalid;
}

bool HloTypeReader::starts_type() {
  char c = lex_.peek();
  if (c == '(') return true;
  if (!HloLexer::starts_word(c)) return false;
  std::string_view word = lex_.peek_word();
  const char* after = word.data() + word.size();
  if (*after == '(') return word == "b";
  while (HloLexer::is_blank(*after)) ++after;
  return *after == '[';  // an opcode or a name is never followed by a bracket
}

// The text that the next type most likely has: up to the closing parenthesis, bracket or layout brace. It need not be
// right; it is only looked up among texts whose extent is known.
std::string_view HloTypeReader::likely_extent() const {
  const char* begin = lex_.cursor();
  const char* end = lex_.end();
  const char* p = begin;
  if (p < end && *p == '(') {
    size_t depth = 0;
    for (; p < end; ++p) {
      if (*p == '(') ++depth;
      if (*p == ')' && --depth == 0) return {begin, static_cast<size_t>(p + 1 - begin)};
      if (*p != '/' || p + 1 == end) continue;
      if (p[1] != '*') return {};
      for (p += 2; p + 1 < end && (*p != '*' || p[1] != '/');) ++p;
    }
    return {};
  }
  while (*p != ']' && *p != '\n' && *p != '\0') ++p;
  if (*p != ']') return {};
  ++p;
  if (*p == '{')
    for (const char* q = p; *q != '\n' && *q != '\0'; ++q)
      if (*q == '}') return {begin, static_cast<size_t>(q + 1 - begin)};
  return {begin, static_cast<size_t>(p - begin)};
}

bool HloTypeReader::read(Type& out) {
  lex_.peek();
  std::string_view extent = likely_extent();
  Remembered* slot = extent.empty() ? nullptr : &remembered_[hash_short(extent) % slots];
  if (slot && equal_short(slot->text, extent)) {
    const char* before = lex_.cursor();
    lex_.seek(before + extent.size());
    bool whole = extent.back() == '}' || extent.back() == ')' || lex_.peek() != '{' || !layout_follows();
    if (whole) {
      lex_.seek(before + extent.size());
      out = slot->type;
      return true;
    }
    lex_.seek(before);
  }
  if (!read_unremembered(out)) return false;
  if (slot && lex_.cursor() == extent.data() + extent.size()) *slot = {extent, out};
  return true;
}

bool HloTypeReader::read_unremembered(Type& out) {
  size_t bottom = open_.size(), first_part = parts_.size();
  bool ok = [&] {
    for (;;) {
      Type value;
      bool closed = false;
      if (lex_.peek() == '(' || (lex_.peek_word() == "b" && lex_.cursor()[1] == '(')) {
        TypeKind kind = lex_.accept_word("b") ? TypeKind::buffer : TypeKind::tuple;
        lex_.accept('(');
        open_.push_back({kind, parts_.size()});
        if (kind == TypeKind::buffer || !lex_.accept(')')) continue;
        closed = true;
      } else if (!leaf(value)) {
        return false;
      }
      for (;;) {  // a value is complete, or a parenthesis was closed
        if (closed) {
          Open top = open_.back();
          open_.pop_back();
          std::span<const Type> elements(parts_.data() + top.first, parts_.size() - top.first);
          value = top.kind == TypeKind::tuple ? context_.tuple(elements) : context_.wrapped(TypeKind::buffer, elements[0]);
          parts_.resize(top.first);
          closed = false;
        }
        if (open_.size() == bottom) {
          out = value;
          return true;
        }
        parts_.push_back(value);
        if (open_.back().kind == TypeKind::tuple && lex_.accept(',')) break;
        if (!lex_.expect(')', open_.back().kind == TypeKind::tuple ? "',' or ')' in a tuple type" : "')' after a buffer's type"))
          return false;
        closed = true;
      }
    }
  }();
  open_.resize(bottom);
  parts_.resize(first_part);
  return ok;
}

bool HloTypeReader::element_type(ElementType& out) {
  std::string_view word = lex_.peek_word();
  out = find_element_type(word);
  if (out == ElementType::invalid) {
    if (word.empty()) return lex_.expected("an element type such as f32");
    std::string_view near = nearest(word, element_names);
    return lex_.fail_here(fmt::format("'{}' is not an element type{}", word, suggestion(near, "", "; expected one such as f32, s32 or pred")));
  }
  lex_.word();
  return true;
}

bool HloTypeReader::leaf(Type& out) {
  std::string_view word = lex_.peek_word();
  if (word.empty()) return lex_.expected("a type such as f32[2,3]");
  if (word == "token" || word == "opaque") {
    lex_.word();
    if (!lex_.expect('[', "'[' after the type's name") || !lex_.expect(']', "']'")) return false;
    out = word == "token" ? context_.token() : context_.opaque();
    if (layout_follows()) {  // dumps may write token[]{}; there is nothing to lay out
      lex_.accept('{');
      return lex_.expect('}', "'}' (a token has no layout)");
    }
    return true;
  }
  ElementType element;
  return element_type(element) && array(element, word, out);
}

bool HloTypeReader::array(ElementType element, std::string_view word, Type& out) {
  std::vector<Dim> dims;
  if (!lex_.expect('[', "'[' and the sizes of the array")) return false;
  if (!dimensions(dims)) return false;
  uint32_t end = lex_.raw_offset();
  if (!countable(dims, element))
    return lex_.fail({lex_.loc_of(word).begin, end}, "this array has more elements than fit in 64 bits");
  if (!layout_follows()) {
    out = context_.array(element, std::move(dims));
    return true;
  }
  Layout l;
  if (!layout(dims.size(), l)) return false;
  out = context_.array(element, std::move(dims), std::move(l));
  return true;
}

bool HloTypeReader::dimensions(std::vector<Dim>& out) {
  if (lex_.accept(']')) return true;
  for (;;) {
    if (lex_.accept('?')) {
      out.push_back(Dim::any());
    } else {
      bool bounded = lex_.accept("<=");
      Loc at = lex_.next_loc();
      int64_t size;
      if (!lex_.integer(size, "a size, '<=' and a bound, or '?'")) return false;
      if (size < 0) return lex_.fail({at.begin, lex_.raw_offset()}, "a size may not be negative");
      out.push_back(bounded ? Dim::at_most(size) : Dim::of(size));
    }
    if (lex_.accept(']')) return true;
    if (!lex_.expect(',', "',' or ']' after a size")) return false;
  }
}

// A brace after a type is its layout when a number or a colon follows, or, directly after the bracket, nothing.
// Where none follows nothing is consumed, blanks included.
bool HloTypeReader::layout_follows() {
  const char* before = lex_.cursor();
  bool close = before < lex_.end() && *before == '{';
  if (lex_.peek() == '{') {
    char c = lex_.peek_after();
    if (HloLexer::is_digit(c) || c == ':' || (close && c == '}' && lex_.peek_second() == '}')) return true;
  }
  lex_.seek(before);
  return false;
}

bool HloTypeReader::layout(size_t rank, Layout& out) {
  Loc open = lex_.next_loc();
  if (!lex_.expect('{', "'{'")) return false;
  std::vector<bool> seen(rank);
  while (lex_.peek() != ':' && lex_.peek() != '}') {
    if (!out.minor_to_major.empty() && !lex_.expect(',', "',', ':' or '}' in a layout")) return false;
    Loc at = lex_.next_loc();
    int64_t dim;
    if (!lex_.integer(dim, "a dimension number")) return false;
    if (dim < 0 || static_cast<size_t>(dim) >= rank)
      return lex_.fail(at, fmt::format("the layout names dimension {}, but the array has rank {}", dim, rank));
    if (seen[static_cast<size_t>(dim)]) return lex_.fail(at, fmt::format("the layout names dimension {} twice", dim));
    seen[static_cast<size_t>(dim)] = true;
    out.minor_to_major.push_back(dim);
  }
  if (out.minor_to_major.size() != rank)
    return lex_.fail({open.begin, lex_.raw_offset() + 1},
                     fmt::format("the layout orders {} dimensions, but the array has rank {}", out.minor_to_major.size(), rank));
  if (lex_.accept(':') && !layout_extras(out.extras)) return false;
  return lex_.expect('}', "'}' after the layout (its parts are D T L # * E S SC P M, in this order)");
}

// In the one order that XLA reads.
bool HloTypeReader::layout_extras(LayoutExtras& out) {
  if (lex_.accept_word("D") && !level_types(out.level_types)) return false;
  if (lex_.accept_word("T") && !tiles(out)) return false;
  if (lex_.accept_word("L") && !number_in_parentheses(out.tail_padding, "a number of elements")) return false;
  if (lex_.accept('#') && !type_in_parentheses(out.index_type)) return false;
  if (lex_.accept('*') && !type_in_parentheses(out.pointer_type)) return false;
  if (lex_.accept_word("E") && !number_in_parentheses(out.element_bits, "a number of bits")) return false;
  if (lex_.accept_word("S") && !number_in_parentheses(out.memory_space, "the number of a memory space")) return false;
  if (lex_.accept_word("SC") && !splits(out)) return false;
  if (lex_.accept_word("P")) {
    std::string_view text;
    if (!lex_.balanced('(', ')', text, "'(' and a physical shape")) return false;
    out.physical_shape = text.substr(1, text.size() - 2);
  }
  return !lex_.accept_word("M") || number_in_parentheses(out.metadata_prefix, "a number of bytes");
}

bool HloTypeReader::level_types(std::string& out) {
  if (!lex_.expect('(', "'(' and level types")) return false;
  for (;;) {
    std::string_view word = lex_.peek_word();
    if (word != "D" && word != "C" && word != "S" && word != "H") return lex_.expected("a level type: D, C, S or H");
    out += lex_.word();
    if (lex_.accept('+')) out += '+';
    if (lex_.accept('~')) out += '~';
    if (lex_.accept(')')) return true;
    if (!lex_.expect(',', "',' or ')' after a level type")) return false;
    out += ',';
  }
}

bool HloTypeReader::tiles(LayoutExtras& out) {
  if (lex_.peek() != '(') return lex_.expected("'(' and the sizes of a tile");
  while (lex_.accept('(')) {
    Tile tile;
    while (!lex_.accept(')')) {
      if (!tile.sizes.empty() && !lex_.expect(',', "',' or ')' in a tile")) return false;
      int64_t size = Tile::combine;
      if (!lex_.accept('*')) {
        Loc at = lex_.next_loc();
        if (!lex_.integer(size, "a tile size or '*'")) return false;
        if (size < 0) return lex_.fail(at, "a tile size may not be negative");
      }
      tile.sizes.push_back(size);
    }
    out.tiles.push_back(std::move(tile));
  }
  return true;
}

bool HloTypeReader::splits(LayoutExtras& out) {
  if (lex_.peek() != '(') return lex_.expected("'(' and a split, such as (0:1,2)");
  while (lex_.accept('(')) {
    SplitConfig split;
    if (!lex_.integer(split.dimension, "a dimension number") || !lex_.expect(':', "':' after the split dimension")) return false;
    do {
      int64_t index;
      if (!lex_.integer(index, "an index")) return false;
      split.indices.push_back(index);
    } while (lex_.accept(','));
    if (!lex_.expect(')', "',' or ')' in a split")) return false;
    out.splits.push_back(std::move(split));
  }
  return true;
}

bool HloTypeReader::number_in_parentheses(int64_t& out, std::string_view what) {
  if (!lex_.expect('(', "'('")) return false;
  Loc at = lex_.next_loc();
  if (!lex_.integer(out, what)) return false;
  if (out < 0) return lex_.fail(at, "this number may not be negative");
  return lex_.expect(')', "')'");
}

bool HloTypeReader::type_in_parentheses(ElementType& out) {
  return lex_.expect('(', "'('") && element_type(out) && lex_.expect(')', "')'");
}

}  // namespace hloc::ir
