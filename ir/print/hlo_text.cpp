#include "ir/print/hlo_text.h"

#include <charconv>
#include <vector>

#include <fmt/format.h>

#include "ir/literal_text.h"

namespace hloc::ir {
namespace {

constexpr std::string_view hlo_keywords[] = {
    "HloModule", "ENTRY", "ROOT", "FileNames", "FunctionNames", "FileLocations", "StackFrames", "true", "false", "inf", "nan",
    "maximal", "replicated", "manual", "unknown", "unreduced", "last_tile_dim_replicate", "shard_as", "shard_like"};

constexpr std::string_view hlo_type_names[] = {
#define HLOC_X(name, bits, mlir, npy) #name,
    HLOC_ELEMENT_TYPES(HLOC_X)
#undef HLOC_X
        "token", "opaque"};

void append_hlo_list(std::string& out, const Ints& numbers) {
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) out += ',';
    append_integer(out, numbers[i]);
  }
}

void append_in_parentheses(std::string& out, std::string_view letter, std::string_view text) {
  out += letter;
  out += '(';
  out += text;
  out += ')';
}

void append_layout_extras(std::string& out, const LayoutExtras& x) {
  out += ':';
  if (!x.level_types.empty()) append_in_parentheses(out, "D", x.level_types);
  if (!x.tiles.empty()) out += 'T';
  for (const Tile& tile : x.tiles) {
    out += '(';
    for (size_t i = 0; i < tile.sizes.size(); ++i) {
      if (i > 0) out += ',';
      if (tile.sizes[i] == Tile::combine) out += '*';
      else append_integer(out, tile.sizes[i]);
    }
    out += ')';
  }
  if (x.tail_padding != 1) append_in_parentheses(out, "L", fmt::to_string(x.tail_padding));
  if (x.index_type != ElementType::invalid) append_in_parentheses(out, "#", name_of(x.index_type));
  if (x.pointer_type != ElementType::invalid) append_in_parentheses(out, "*", name_of(x.pointer_type));
  if (x.element_bits != 0) append_in_parentheses(out, "E", fmt::to_string(x.element_bits));
  if (x.memory_space != 0) append_in_parentheses(out, "S", fmt::to_string(x.memory_space));
  if (!x.splits.empty()) out += "SC";
  for (const SplitConfig& split : x.splits) {
    out += '(';
    append_integer(out, split.dimension);
    out += ':';
    append_hlo_list(out, split.indices);
    out += ')';
  }
  if (!x.physical_shape.empty()) append_in_parentheses(out, "P", x.physical_shape);
  if (x.metadata_prefix != 0) append_in_parentheses(out, "M", fmt::to_string(x.metadata_prefix));
}

void append_array_type(std::string& out, Type type) {
  out += name_of(type.element());
  out += '[';
  for (size_t i = 0; i < type.dims().size(); ++i) {
    if (i > 0) out += ',';
    const Dim& d = type.dims()[i];
    if (d.kind == Dim::unknown) {
      out += '?';
      continue;
    }
    if (d.kind == Dim::bounded) out += "<=";
    append_integer(out, d.size);
  }
  out += ']';
  const Layout& layout = type.layout();
  bool extras = layout.extras != LayoutExtras{};
  if (layout.minor_to_major.empty() && !extras) return;
  out += '{';
  append_hlo_list(out, layout.minor_to_major);
  if (extras) append_layout_extras(out, layout.extras);
  out += '}';
}

bool starts_hlo_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool in_hlo_name(char c) { return starts_hlo_name(c) || (c >= '0' && c <= '9') || c == '.' || c == '-'; }

// The length of the valid UTF-8 sequence at the start of `s`, 0 when there is none.
size_t utf8_length(std::string_view s) {
  auto c = static_cast<unsigned char>(s[0]);
  size_t n = c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
  if (n == 0 || s.size() < n) return 0;
  for (size_t i = 1; i < n; ++i)
    if ((static_cast<unsigned char>(s[i]) & 0xc0) != 0x80) return 0;
  auto second = static_cast<unsigned char>(s[1]);
  bool overlong = (c == 0xe0 && second < 0xa0) || (c == 0xf0 && second < 0x90);
  bool outside = (c == 0xed && second >= 0xa0) || (c == 0xf4 && second >= 0x90);
  return overlong || outside ? 0 : n;
}

void append_hlo_dense(std::string& out, const Literal& literal) {
  Type type = literal.type();
  auto rank = static_cast<size_t>(type.rank());
  const std::byte* element = literal.bytes().data();
  auto width = static_cast<size_t>(byte_width(type.element()));
  if (rank == 0) return append_element(out, type.element(), element);
  Ints at(rank, 0);
  size_t depth = 0;  // of the innermost open brace
  out += '{';
  for (;;) {
    if (at[depth] == type.dim(static_cast<int64_t>(depth))) {
      out += depth + 1 < rank && at[depth] > 0 ? " }" : "}";
      if (depth == 0) return;
      ++at[--depth];
      continue;
    }
    if (at[depth] > 0) out += ", ";
    if (depth + 1 == rank) {
      append_element(out, type.element(), element);
      element += width;
      ++at[depth];
    } else {
      if (at[depth] == 0) out += ' ';
      out += '{';
      at[++depth] = 0;
    }
  }
}

bool is_elided_at(const Literal& literal, int64_t elide_above) {
  if (literal.is_elided()) return true;
  return literal.type().is_array() && !literal.type().is_scalar() && literal.type().count() > elide_above;
}

}  // namespace

void append_integer(std::string& out, int64_t value) {
  char buffer[24];
  auto r = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, r.ptr);
}

void append_type(std::string& out, Type type) {
  struct Open {
    Type type;
    size_t next;
  };
  std::vector<Open> open;
  for (;;) {
    switch (type.kind()) {
      case TypeKind::array: append_array_type(out, type); break;
      case TypeKind::token: out += "token[]"; break;
      case TypeKind::opaque: out += "opaque[]"; break;
      case TypeKind::tuple: out += '('; open.push_back({type, 0}); break;
      case TypeKind::buffer: out += "b("; open.push_back({type, 0}); break;
      case TypeKind::future: out += "future("; open.push_back({type, 0}); break;
    }
    while (!open.empty() && open.back().next == open.back().type->elements.size()) {
      out += ')';
      open.pop_back();
    }
    if (open.empty()) return;
    Open& top = open.back();
    if (top.next > 0) out += ", ";
    type = top.type.element_type(top.next++);
  }
}

namespace {

void append_literal_with(std::string& out, const Literal& whole, int64_t elide_above, bool with_types) {
  struct Open {
    const Literal* tuple;
    size_t next;
  };
  std::vector<Open> open;
  const Literal* literal = &whole;
  for (;;) {
    bool elided = is_elided_at(*literal, elide_above);
    if (literal->is_tuple() && !elided) {
      out += '(';
      open.push_back({literal, 0});
    } else {
      if (with_types) {
        append_type(out, literal->type());
        out += ' ';
      }
      if (elided) out += "{...}";
      else if (literal->type().is_array()) append_hlo_dense(out, *literal);
    }
    while (!open.empty() && open.back().next == open.back().tuple->parts().size()) {
      out += ')';
      open.pop_back();
    }
    if (open.empty()) return;
    Open& top = open.back();
    if (top.next > 0) out += ", ";
    literal = &top.tuple->parts()[top.next++];
  }
}

}  // namespace

void append_literal(std::string& out, const Literal& literal, int64_t elide_above) {
  append_literal_with(out, literal, elide_above, false);
}

void append_typed_literal(std::string& out, const Literal& literal, int64_t elide_above) {
  append_literal_with(out, literal, elide_above, true);
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    switch (c) {
      case '"': out += "\\\""; continue;
      case '\\': out += "\\\\"; continue;
      case '\n': out += "\\n"; continue;
      case '\t': out += "\\t"; continue;
      case '\r': out += "\\r"; continue;
      default: break;
    }
    auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else if (size_t n = utf8_length(text.substr(i)); n > 0) {
      out += text.substr(i, n);
      i += n - 1;
    } else {
      fmt::format_to(std::back_inserter(out), "\\{:03o}", byte);
    }
  }
  out += '"';
}

HloNameKind classify_name(std::string_view name) {
  if (name.empty() || !starts_hlo_name(name[0])) return HloNameKind::illegal;
  for (char c : name)
    if (!in_hlo_name(c)) return HloNameKind::illegal;
  for (std::string_view word : hlo_type_names)
    if (word == name) return HloNameKind::type_name;
  for (std::string_view word : hlo_keywords)
    if (word == name) return HloNameKind::keyword;
  return HloNameKind::plain;
}

std::string legal_name(std::string_view name) {
  switch (classify_name(name)) {
    case HloNameKind::plain: return std::string(name);
    case HloNameKind::keyword:
    case HloNameKind::type_name: return '%' + std::string(name);
    case HloNameKind::illegal: break;
  }
  std::string out(name);
  for (char& c : out)
    if (!in_hlo_name(c)) c = '_';
  if (out.empty() || !starts_hlo_name(out[0])) out.insert(0, 1, '_');
  return classify_name(out) == HloNameKind::plain ? out : out + '_';
}

}  // namespace hloc::ir
