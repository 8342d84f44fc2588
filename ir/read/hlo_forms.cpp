#include "ir/read/hlo_forms.h"

#include "ir/read/hlo_literal.h"
#include "ir/read/hlo_sharding.h"

namespace hloc::ir {
namespace {

// {0,1}: a path into a nested tuple.
bool read_shape_index(HloParts& parts, ShapeIndex& out) {
  return read_numbers(parts.lex, '{', '}', out, "the position of a tuple element");
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

// Calls `item` for each entry between braces, with commas between them (one may follow the last).
template <class F>
bool read_braced_list(HloParts& parts, std::string_view what, F&& item) {
  HloLexer& lex = parts.lex;
  if (!lex.expect('{', fmt::format("'{{' and {}", what))) return false;
  while (!lex.accept('}')) {
    if (!item()) return false;
    if (!lex.accept(',') && lex.peek() != '}') return lex.expected(fmt::format("',' or '}}' after {}", what));
  }
  return true;
}

// 3x3: numbers with 'x' between them, each read by `item`.
template <class F>
bool read_by_x(HloParts& parts, F&& item) {
  HloLexer& lex = parts.lex;
  lex.peek();
  do {
    if (!item()) return false;
    if (lex.cursor() == lex.end() || *lex.cursor() != 'x') return true;
    lex.seek(lex.cursor() + 1);
  } while (true);
}

// What follows a number directly, without blanks: pads are 1_2, window sizes 3x3.
bool accept_directly(HloLexer& lex, char c) {
  if (lex.cursor() == lex.end() || *lex.cursor() != c) return false;
  lex.seek(lex.cursor() + 1);
  return true;
}

}  // namespace

bool read_one_of(HloParts& parts, std::span<const std::string_view> words, size_t& out) {
  std::string_view word = parts.lex.peek_word();
  for (size_t i = 0; i < words.size() && !word.empty(); ++i)
    if (words[i] == word) {
      parts.lex.word();
      out = i;
      return true;
    }
  std::string all;
  for (std::string_view w : words)
    if (!w.empty()) all += (all.empty() ? "" : ", ") + std::string(w);
  if (word.empty()) return parts.lex.expected("one of " + all);
  std::string_view near = nearest(word, words);
  return parts.lex.fail_here(fmt::format("'{}' is no value of '{}'{}", word, parts.attribute, suggestion(near, "", "; expected one of " + all)));
}

bool read_text_or_braces(HloParts& parts, FrontendAttribute& out, std::string_view what) {
  if (parts.lex.peek() != '{') return parts.lex.quoted(out.value, what);
  std::string_view text;
  if (!parts.lex.braced(text, what)) return false;
  out.value = text;
  out.braced = true;
  return true;
}

bool read_form(HloParts& parts, form::Integer, int64_t& out) { return parts.lex.integer(out, "an integer"); }

bool read_form(HloParts& parts, form::Integer, std::optional<int64_t>& out) {
  return parts.lex.integer(out.emplace(), "an integer");
}

bool read_form(HloParts& parts, form::Real, double& out) { return parts.lex.real(out, "a number"); }
bool read_form(HloParts& parts, form::Flag, bool& out) { return parts.lex.boolean(out); }
bool read_form(HloParts& parts, form::Ints, Ints& out) { return read_numbers(parts.lex, '{', '}', out, "an integer"); }

bool read_form(HloParts& parts, form::OneInt, int64_t& out) {
  Loc at = parts.lex.next_loc();
  Ints list;
  if (!read_form(parts, form::Ints{}, list)) return false;
  if (list.size() != 1)
    return parts.lex.fail({at.begin, parts.lex.raw_offset()},
                          fmt::format("expected a list of one number, such as {{0}}, found {}", list.size()));
  out = list[0];
  return true;
}

bool read_form(HloParts& parts, form::IntLists, std::vector<Ints>& out) {
  return read_braced_list(parts, "lists of integers", [&] { return read_form(parts, form::Ints{}, out.emplace_back()); });
}

bool read_form(HloParts& parts, form::Quoted, std::string& out) { return parts.lex.quoted(out, "a string in quotes"); }

bool read_form(HloParts& parts, form::Quoted, KeptText& out) {
  std::string_view plain;
  if (parts.lex.accept_plain_quoted(plain)) {
    out = KeptText(plain);
    return true;
  }
  std::string text;
  if (!parts.lex.quoted(text, "a string in quotes")) return false;
  out = KeptText(parts.context->string(text));
  return true;
}

bool read_form(HloParts& parts, form::Words, std::vector<Precision>& out) {
  return read_braced_list(parts, "words", [&] {
    std::string_view word = parts.lex.peek_word();
    for (size_t i = 0; i < std::size(HloWords<Precision>::list); ++i)
      if (equal_ignoring_case(word, HloWords<Precision>::list[i])) {
        parts.lex.word();
        out.push_back(static_cast<Precision>(i));
        return true;
      }
    return parts.lex.expected("a precision: default, high or highest");
  });
}

bool read_form(HloParts& parts, form::Braced, std::string& out) {
  std::string_view text;
  if (!parts.lex.braced(text, "'{'")) return false;
  out = text;
  return true;
}

bool read_form(HloParts& parts, form::Accuracy, ResultAccuracy& out) {
  HloLexer& lex = parts.lex;
  if (!lex.expect('{', "'{' and mode= or tolerance=")) return false;
  std::string_view word = lex.peek_word();
  if (word != "mode" && word != "tolerance") return lex.expected("mode= or tolerance=");
  lex.word();
  if (!lex.expect('=', "'='")) return false;
  if (word == "mode") return read_form(parts, form::Word{}, out.mode) && lex.expect('}', "'}'");
  out.mode = AccuracyMode::tolerance;
  return read_braced_list(parts, "atol=, rtol= or ulps=",
                          [&] {
                            std::string_view part = lex.peek_word();
                            if (part != "atol" && part != "rtol" && part != "ulps") return lex.expected("atol=, rtol= or ulps=");
                            lex.word();
                            if (!lex.expect('=', "'='")) return false;
                            if (part == "ulps") return lex.integer(out.ulps, "a number of units in the last place");
                            return lex.real(part == "atol" ? out.atol : out.rtol, "a tolerance");
                          }) &&
         lex.expect('}', "'}'");
}

bool read_form(HloParts& parts, form::Slices, SliceAttr& out) {
  HloLexer& lex = parts.lex;
  return read_braced_list(parts, "ranges such as [0:4:2]", [&] {
    int64_t start, limit, stride = 1;
    if (!lex.expect('[', "'[' and a range such as [0:4:2]") || !lex.integer(start, "the first index") ||
        !lex.expect(':', "':' and the limit") || !lex.integer(limit, "the limit"))
      return false;
    if (lex.accept(':') && !lex.integer(stride, "a stride")) return false;
    out.start.push_back(start);
    out.limit.push_back(limit);
    out.stride.push_back(stride);
    return lex.expect(']', "']' after a range");
  });
}

bool read_form(HloParts& parts, form::Padding, PadAttr& out) {
  HloLexer& lex = parts.lex;
  return read_by_x(parts, [&] {
    int64_t low, high, interior = 0;
    if (!lex.integer(low, "a padding such as 0_0x1_1_0")) return false;
    if (!accept_directly(lex, '_')) return lex.expected("'_' and the padding at the end");
    if (!lex.integer(high, "the padding at the end")) return false;
    if (accept_directly(lex, '_') && !lex.integer(interior, "the interior padding")) return false;
    out.low.push_back(low);
    out.high.push_back(high);
    out.interior.push_back(interior);
    return true;
  });
}

namespace {

// One part of window={…}: `value` stores the i-th number (or pair) of it.
template <class F>
bool read_window_part(HloParts& parts, std::string_view part, Window& window, bool first, F&& value) {
  HloLexer& lex = parts.lex;
  Loc at = lex.next_loc();
  size_t i = 0;
  bool ok = read_by_x(parts, [&] {
    if (first && i == window.size()) window.emplace_back();
    WindowDim excess;
    return value(i < window.size() ? window[i++] : (++i, excess));
  });
  if (!ok) return false;
  if (i != window.size())
    return lex.fail({at.begin, lex.raw_offset()},
                    fmt::format("'{}' has {} dimensions, but 'size' has {}", part, i, window.size()));
  return true;
}

}  // namespace

bool read_form(HloParts& parts, form::Windows, Window& out) {
  static constexpr std::string_view names[] = {"size", "stride", "pad", "lhs_dilate", "rhs_dilate", "rhs_reversal"};
  HloLexer& lex = parts.lex;
  if (!lex.expect('{', "'{' and size=…")) return false;
  uint32_t seen = 0;
  while (!lex.accept('}')) {
    std::string_view part = lex.peek_word();
    size_t k = static_cast<size_t>(std::find(std::begin(names), std::end(names), part) - std::begin(names));
    if (k == std::size(names)) return lex.expected("size=, stride=, pad=, lhs_dilate=, rhs_dilate=, rhs_reversal= or '}'");
    if (k != 0 && !(seen & 1)) return lex.fail_here("a window starts with 'size'");
    if (seen & 1u << k) return lex.fail_here(fmt::format("'{}' occurs twice in this window", part));
    seen |= 1u << k;
    lex.word();
    if (!lex.expect('=', "'='")) return false;
    bool ok = read_window_part(parts, part, out, k == 0, [&](WindowDim& d) {
      switch (k) {
        case 0: return lex.integer(d.size, "a window size");
        case 1: return lex.integer(d.stride, "a stride");
        case 2:
          return lex.integer(d.pad_low, "a padding such as 1_1") &&
                 (accept_directly(lex, '_') || lex.expected("'_' and the padding at the end")) &&
                 lex.integer(d.pad_high, "the padding at the end");
        case 3: return lex.integer(d.lhs_dilate, "a dilation");
        case 4: return lex.integer(d.rhs_dilate, "a dilation");
        default: break;
      }
      int64_t reversed = 0;
      if (!lex.integer(reversed, "0 or 1")) return false;
      d.reversal = reversed != 0;
      return true;
    });
    if (!ok) return false;
  }
  return true;
}

bool read_form(HloParts& parts, form::Windows, std::optional<Window>& out) {
  return read_form(parts, form::Windows{}, out.emplace());
}

namespace {

// "b01f": positions of two letters, of the digits 0…n-1 and of '?'. False when it is none.
bool parse_labels(std::string_view text, char letter_a, char letter_b, int64_t& a, int64_t& b, Ints& spatial, Ints& unknown) {
  bool seen_a = false, seen_b = false;
  std::array<int64_t, 10> digits;
  digits.fill(-1);
  size_t count = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    auto at = static_cast<int64_t>(i);
    if (c == letter_a && !seen_a) seen_a = true, a = at;
    else if (c == letter_b && !seen_b) seen_b = true, b = at;
    else if (c == '?') unknown.push_back(at);
    else if (c >= '0' && c <= '9' && digits[static_cast<size_t>(c - '0')] < 0) digits[static_cast<size_t>(c - '0')] = at, ++count;
    else return false;
  }
  for (size_t i = 0; i < count; ++i) {
    if (digits[i] < 0) return false;
    spatial.push_back(digits[i]);
  }
  return seen_a && seen_b;
}

}  // namespace

bool read_form(HloParts& parts, form::DimLabels, ConvDims& out) {
  HloLexer& lex = parts.lex;
  lex.peek();
  const char* begin = lex.cursor();
  const char* p = begin;
  while (p < lex.end() && (HloLexer::in_word(*p) || *p == '?' || *p == '>')) ++p;
  std::string_view text(begin, static_cast<size_t>(p - begin));
  size_t underscore = text.find('_'), arrow = text.find("->");
  out = ConvDims{};
  bool ok = underscore != std::string_view::npos && arrow != std::string_view::npos && underscore < arrow &&
            parse_labels(text.substr(0, underscore), 'b', 'f', out.input_batch, out.input_feature, out.input_spatial, out.input_unknown) &&
            parse_labels(text.substr(underscore + 1, arrow - underscore - 1), 'i', 'o', out.kernel_input_feature,
                         out.kernel_output_feature, out.kernel_spatial, out.kernel_unknown) &&
            parse_labels(text.substr(arrow + 2), 'b', 'f', out.output_batch, out.output_feature, out.output_spatial, out.output_unknown) &&
            out.input_spatial.size() == out.kernel_spatial.size() && out.input_spatial.size() == out.output_spatial.size();
  if (!ok)
    return lex.fail({lex.offset(), lex.offset() + static_cast<uint32_t>(text.size())},
                    "expected labels of input, kernel and output such as b01f_01io->b01f: b, f (i, o for the kernel) and the "
                    "numbers of the spatial dimensions, each once");
  lex.seek(p);
  return true;
}

bool read_form(HloParts& parts, form::DimLabels, std::optional<ConvDims>& out) {
  return read_form(parts, form::DimLabels{}, out.emplace());
}

bool read_form(HloParts& parts, form::CollectiveDims, CollectiveAttr& out) {
  out.has_dims = true;
  return read_form(parts, form::Ints{}, out.dims);
}

bool read_form(HloParts& parts, form::Groups, ReplicaGroups& out) {
  HloLexer& lex = parts.lex;
  char c = lex.peek();
  if (c == '{') {
    out.kind = ReplicaGroups::list;
    return read_form(parts, form::IntLists{}, out.groups);
  }
  if (c == '[') {
    out.kind = ReplicaGroups::iota;
    Loc at = lex.next_loc();
    if (!read_iota_tile(lex, out.tile)) return false;
    if (out.tile.dims.size() != 2)
      return lex.fail({at.begin, lex.raw_offset()}, "replica groups are a table of two dimensions: [groups, size of each]");
    return true;
  }
  if (!lex.accept_word("mesh")) return lex.expected("replica groups such as {{0,1},{2,3}} or [2,2]<=[4]");
  out.kind = ReplicaGroups::mesh;
  uint32_t begin = lex.raw_offset() - 4;
  std::string_view text;
  if (!lex.balanced('[', ']', text, "'[' and the axes of the mesh")) return false;
  if (lex.accept(',')) {
    if (!lex.accept_word("device_ids")) return lex.expected("device_ids=");
    if (!lex.expect('=', "'='") || !lex.balanced('(', ')', text, "'(' and device numbers")) return false;
  }
  if (!lex.braced(text, "'{' and the axes that form a group")) return false;
  out.mesh_text = lex.text(begin, lex.raw_offset());
  return true;
}

bool read_form(HloParts& parts, form::Aliases, std::vector<OperandAlias>& out) {
  HloLexer& lex = parts.lex;
  return read_braced_list(parts, "entries such as {0}: (1, {})", [&] {
    OperandAlias& a = out.emplace_back();
    return read_shape_index(parts, a.output) && lex.expect(':', "':' and an operand") && lex.expect('(', "'(' and an operand") &&
           lex.integer(a.operand, "the number of an operand") && lex.expect(',', "',' and a place in the operand") &&
           read_shape_index(parts, a.index) && lex.expect(')', "')'");
  });
}

bool read_form(HloParts& parts, form::Shape, Type& out) { return parts.types.read(out); }

bool read_form(HloParts& parts, form::Shapes, std::optional<std::vector<Type>>& out) {
  out.emplace();
  return read_braced_list(parts, "types", [&] { return parts.types.read(out->emplace_back()); });
}

bool read_form(HloParts& parts, form::Constant, Literal& out) {
  return read_typed_literal(parts.lex, parts.types, *parts.context, out);
}

bool read_form(HloParts& parts, form::DomainText, std::string& out) {
  HloLexer& lex = parts.lex;
  uint32_t begin = lex.offset();
  Sharding sharding;
  std::string kind;
  if (!lex.expect('{', "'{' and kind=") || !lex.expect_word("kind", "kind=") || !lex.expect('=', "'='")) return false;
  Loc at = lex.next_loc();
  if (!lex.quoted(kind, "a kind of domain in quotes")) return false;
  if (kind != "sharding") return lex.fail(at, fmt::format("'{}' is not a kind of domain; expected \"sharding\"", kind));
  for (std::string_view part : {"entry", "exit"}) {
    lex.accept(',');
    if (!lex.expect_word(part, fmt::format("{}=", part)) || !lex.expect('=', "'='") || !read_sharding(lex, sharding)) return false;
  }
  if (!lex.expect('}', "'}' after a domain")) return false;
  out = lex.text(begin, lex.raw_offset());
  return true;
}

bool read_form(HloParts& parts, form::EntryLayout, std::optional<ModuleConfig::EntryLayout>& out) {
  HloLexer& lex = parts.lex;
  out.emplace();
  if (!lex.expect('{', "'{' and the entry's types") || !lex.expect('(', "'(' and the parameters' types")) return false;
  if (!lex.accept(')')) {
    do {
      if (!parts.types.read(out->parameters.emplace_back())) return false;
    } while (lex.accept(','));
    if (!lex.expect(')', "',' or ')' after a parameter's type")) return false;
  }
  if (!lex.accept("->")) return lex.expected("'->' and the result's type");
  return parts.types.read(out->result) && lex.expect('}', "'}' after the entry's types");
}

bool read_form(HloParts& parts, form::ModuleAliases, std::vector<AliasEntry>& out) {
  HloLexer& lex = parts.lex;
  return read_braced_list(parts, "entries such as {0}: (1, {}, may-alias)", [&] {
    AliasEntry& a = out.emplace_back();
    a.kind_written = false;
    if (!read_shape_index(parts, a.output) || !lex.expect(':', "':' and a parameter") || !lex.expect('(', "'(' and a parameter") ||
        !lex.integer(a.parameter, "the number of a parameter") || !lex.expect(',', "',' and a place in the parameter") ||
        !read_shape_index(parts, a.index))
      return false;
    if (lex.accept(',')) {
      std::string_view kind = lex.peek_word();
      if (kind != "may-alias" && kind != "must-alias") return lex.expected("may-alias or must-alias");
      lex.word();
      a.kind_written = true;
      a.must_alias = kind == "must-alias";
    }
    return lex.expect(')', "')'");
  });
}

bool read_form(HloParts& parts, form::Donors, std::vector<DonorEntry>& out) {
  HloLexer& lex = parts.lex;
  return read_braced_list(parts, "entries such as (0, {})", [&] {
    DonorEntry& d = out.emplace_back();
    return lex.expect('(', "'(' and a parameter") && lex.integer(d.parameter, "the number of a parameter") &&
           lex.expect(',', "',' and a place in the parameter") && read_shape_index(parts, d.index) && lex.expect(')', "')'");
  });
}

bool read_form(HloParts& parts, form::Flags, std::vector<bool>& out) {
  bool flag = false;
  if (parts.lex.peek() != '{') {
    if (!parts.lex.boolean(flag)) return false;
    out.push_back(flag);
    return true;
  }
  return read_braced_list(parts, "true or false", [&] {
    if (!parts.lex.boolean(flag)) return false;
    out.push_back(flag);
    return true;
  });
}

bool read_form(HloParts& parts, form::Frontend, FrontendAttributes& out) {
  return read_braced_list(parts, "entries such as key=\"value\"", [&] {
    FrontendAttribute& a = out.emplace_back();
    std::string_view key = parts.lex.word();
    if (key.empty()) return parts.lex.expected("a key and '='");
    a.key = key;
    return parts.lex.expect('=', "'=' after a key") && read_text_or_braces(parts, a, "a value in quotes or braces");
  });
}

bool read_form(HloParts& parts, form::Unknown, std::vector<std::pair<std::string, std::string>>& out) {
  std::string_view text;
  if (!parts.lex.braced(text, "'{'")) return false;
  out.emplace_back(parts.attribute, text);
  return true;
}

}  // namespace hloc::ir
