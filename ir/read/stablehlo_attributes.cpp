// Attribute values of StableHLO text.
#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "ir/read/stablehlo_parser.h"

namespace hloc::ir::mlir {
namespace {

bool is_home_dialect(std::string_view name) { return name == "stablehlo" || name == "chlo" || name == "mhlo"; }

// The part after the first dot: "gather" of "stablehlo.gather".
std::string_view after_dot(std::string_view name) {
  size_t dot = name.find('.');
  return dot == std::string_view::npos ? std::string_view() : name.substr(dot + 1);
}

}  // namespace

bool Parser::parse_attribute(Attribute& out) {
  if (attribute_depth_ >= max_depth) return fail(token_.loc, fmt::format("attributes are nested deeper than {} levels", max_depth));
  ++attribute_depth_;
  uint32_t begin = token_.loc.begin;
  bool alias = at(Tok::hash) && piece_ && piece_->aliases.contains(token_.text);
  bool ok = parse_attribute_body(out);
  --attribute_depth_;
  if (!ok) return false;
  if (!alias) out.written = written_since(begin);
  out.loc = {begin, previous_end_};
  return true;
}

bool Parser::parse_bare_attribute(Attribute& out) {
  bare_ = true;
  bool ok = parse_attribute(out);
  bare_ = false;
  return ok;
}

bool Parser::parse_attribute_body(Attribute& out) {
  switch (token_.kind) {
    case Tok::integer:
    case Tok::real:
    case Tok::minus: return parse_number(out);
    case Tok::string: {
      out.kind = Attribute::string;
      if (!parse_string(out.text)) return false;
      Type ignored;
      return bare_ || !accept(Tok::colon) || parse_type(ignored);
    }
    case Tok::symbol: return parse_symbol(out);
    case Tok::l_square: return parse_list(out);
    case Tok::l_brace:
      out.kind = Attribute::dictionary;
      return parse_dictionary(out.entries);
    case Tok::hash: return parse_hash(out);
    case Tok::word: return parse_attribute_word(out);
    case Tok::bang:
      out.kind = Attribute::type_value;
      return parse_type(out.type);
    case Tok::l_paren: {
      out.kind = Attribute::type_value;
      FunctionType function;
      if (!parse_function_type(function)) return false;
      out.elements.resize(2);
      for (Type t : function.inputs) out.elements[0].elements.push_back(type_attribute(t));
      for (Type t : function.results) out.elements[1].elements.push_back(type_attribute(t));
      return true;
    }
    default: return fail_expected("an attribute value");
  }
}

bool Parser::parse_attribute_word(Attribute& out) {
  std::string_view word = token_.text;
  if (word == "true" || word == "false") {
    out.kind = Attribute::boolean;
    out.integer_value = word == "true";
    advance();
    return true;
  }
  if (word == "unit") {
    advance();
    return true;
  }
  if (word == "dense" || word == "dense_resource") return parse_dense(out);
  if (word == "array") return parse_array(out);
  if (word == "loc") return parse_location(out);
  if (at_type()) {
    out.kind = Attribute::type_value;
    return parse_type(out.type);
  }
  if (word == "sparse") return fail(token_.loc, "sparse<…> constants are not supported; write dense<…>");
  if (word == "affine_map" || word == "affine_set" || word == "opaque" || word == "strided") {
    out.kind = Attribute::opaque;
    uint32_t begin = token_.loc.begin;
    advance();
    if (!expect(Tok::less, "'<'") || !skip_balanced(Tok::greater)) return false;
    out.text = written_since(begin);
    return true;
  }
  if (word == "none" || word == "tf32") {
    out.kind = Attribute::type_value;
    out.text = word;
    advance();
    return true;
  }
  constexpr std::string_view words[] = {"true", "false", "unit", "dense", "dense_resource", "array", "loc", "tensor"};
  std::string_view near = nearest(word, words);
  return fail(token_.loc, fmt::format("expected an attribute value, found '{}'{}", word, suggestion(near)));
}

// 3, -3 : i64, 0x7F800000 : f32, 1.5e-3 : f64
bool Parser::parse_number(Attribute& out) {
  Loc loc = token_.loc;
  bool negative = accept(Tok::minus);
  std::string_view digits = token_.text;
  bool is_real = at(Tok::real);
  if (!is_real && !at(Tok::integer)) return fail_expected("a number after '-'");
  loc.end = token_.loc.end;
  advance();
  if (!bare_ && accept(Tok::colon) && !parse_type(out.type)) return false;
  bool float_type = out.type && out.type.is_scalar() && is_float(out.type.element());
  if (!is_real) {
    auto value = integer_of(digits, negative);
    if (!value) return fail(loc, fmt::format("{}{} does not fit into 64 bits", negative ? "-" : "", digits));
    out.integer_value = *value;
    out.kind = Attribute::integer;
    out.real_value = static_cast<double>(*value);
    if (!float_type) return true;
    out.kind = Attribute::real;
    if (digits.starts_with("0x")) {  // the bits of the number
      if (out.type.element() == ElementType::f64) {
        std::memcpy(&out.real_value, &out.integer_value, 8);
      } else if (out.type.element() == ElementType::f32) {
        float narrow;
        std::memcpy(&narrow, &out.integer_value, 4);
        out.real_value = narrow;
      }
    }
    return true;
  }
  out.kind = Attribute::real;
  std::from_chars(digits.data(), digits.data() + digits.size(), out.real_value);
  if (negative) out.real_value = -out.real_value;
  return true;
}

bool Parser::parse_symbol(Attribute& out) {
  out.kind = Attribute::symbol;
  while (true) {
    std::string_view text = token_.text;
    std::string part(text);
    if (text.starts_with('"') && !unescape(text.substr(1, text.size() - 2), part)) return fail(token_.loc, "this name has an escape that MLIR does not know");
    out.text += part;
    advance();
    if (!accept(Tok::double_colon)) return true;
    out.text += "::";
    if (!at(Tok::symbol)) return fail_expected("'@' and a name after '::'");
  }
}

// A list whose elements are all plain integers is kept as integers.
bool Parser::parse_list(Attribute& out) {
  advance();
  out.kind = Attribute::ints;
  bool first = true;
  while (!accept(Tok::r_square)) {
    if (!first && !expect(Tok::comma, "',' or ']' in a list")) return false;
    first = false;
    if (at(Tok::question)) {  // an unknown bound
      advance();
      out.kind = Attribute::list;
      out.elements.emplace_back();
      continue;
    }
    Attribute element;
    if (!parse_attribute(element)) return false;
    if (out.kind == Attribute::ints && element.kind == Attribute::integer) {
      out.integers.push_back(element.integer_value);
      continue;
    }
    if (out.kind == Attribute::ints) {
      out.kind = Attribute::list;
      for (int64_t i : out.integers) out.elements.push_back(integer_attribute(i));
      out.integers.clear();
    }
    out.elements.push_back(std::move(element));
  }
  return true;
}

// array<i64: 1, 2>, array<i1: true>, array<i64>
bool Parser::parse_array(Attribute& out) {
  advance();
  out.kind = Attribute::ints;
  if (!expect(Tok::less, "'<' after 'array'") || !parse_type(out.type)) return false;
  if (accept(Tok::greater)) return true;
  if (!expect(Tok::colon, "':' after the element type of an array")) return false;
  bool is_real = is_float(out.type.element());
  if (is_real) out.kind = Attribute::list;
  do {
    int64_t value = 0;
    if (at_word("true") || at_word("false")) {
      value = at_word("true");
      advance();
    } else if (is_real) {
      Attribute element;
      if (!parse_attribute(element)) return false;
      out.elements.push_back(std::move(element));
      continue;
    } else if (!parse_signed(value)) {
      return false;
    }
    out.integers.push_back(value);
  } while (accept(Tok::comma));
  return expect(Tok::greater, "',' or '>' in an array");
}

// The elements are only passed over: their type stands behind them. stablehlo_dense.cpp reads them later.
bool Parser::parse_dense(Attribute& out) {
  out.kind = at_word("dense") ? Attribute::dense : Attribute::resource;
  advance();
  if (!at(Tok::less)) return fail_expected(fmt::format("'<' after '{}'", out.kind == Attribute::dense ? "dense" : "dense_resource"));
  uint32_t open = token_.loc.begin;
  uint32_t begin = token_.loc.end, end = begin;
  bool in_string = false;
  for (; end < lexer_.end(); ++end) {
    char c = lexer_.at(end);
    if (c == '"') in_string = !in_string;
    else if (in_string) continue;
    else if (c == '>') break;
    else if (c == '/' && lexer_.at(end + 1) == '/')
      while (end + 1 < lexer_.end() && lexer_.at(end + 1) != '\n') ++end;
  }
  if (end >= lexer_.end()) return fail({open, open + 1}, "this '<' has no matching '>'");
  out.content = lexer_.text(begin, end);
  lexer_.set_position(end);
  advance();
  advance();
  if (!expect(Tok::colon, "':' and a type after the elements")) return false;
  Loc type_loc = token_.loc;
  if (!parse_type(out.type)) return false;
  if (!out.type.is_array() || !out.type.is_static()) return fail(type_loc, "constants must have a tensor type with known sizes");
  return true;
}

bool Parser::parse_hash(Attribute& out) {
  std::string_view name = token_.text;
  if (piece_)
    if (auto it = piece_->aliases.find(name); it != piece_->aliases.end()) {
      out = it->second;
      advance();
      return true;
    }
  Loc loc = token_.loc;
  advance();
  if (!at(Tok::less)) {
    std::vector<std::string_view> known;
    if (piece_)
      for (const auto& [alias, value] : piece_->aliases) known.push_back(alias);
    std::string_view near = nearest(name, known);
    return fail(loc, fmt::format("'#{}' is not defined{}", name, suggestion(near, "#", fmt::format("; write '#{} = …' above its first use", name))));
  }
  if (is_home_dialect(name)) {  // #stablehlo<precision HIGH>
    advance();
    if (!at(Tok::word)) return fail_expected("the kind of an enumeration, as in #stablehlo<precision HIGH>");
    advance();
    if (!at(Tok::word)) return fail_expected("the value of an enumeration, as in #stablehlo<precision HIGH>");
    out.kind = Attribute::enumeration;
    out.text = token_.text;
    advance();
    return expect(Tok::greater, "'>' after the value of an enumeration");
  }
  if (is_home_dialect(name.substr(0, name.find('.')))) {
    out.text = after_dot(name);
    advance();
    return parse_structure(out);
  }
  out.kind = Attribute::opaque;
  advance();
  if (!skip_balanced(Tok::greater)) return false;
  out.text = written_since(loc.begin);
  return true;
}

// After `#stablehlo.NAME<`: `key = value, …`, the convolution's brackets, or one word.
bool Parser::parse_structure(Attribute& out) {
  out.kind = Attribute::structure;
  if (out.text == "conv" && at(Tok::l_square)) return parse_conv_structure(out) && expect(Tok::greater, "'>' after the dimension numbers");
  if (at(Tok::word)) {
    Token word = token_;
    uint32_t position = lexer_.position();
    advance();
    if (accept(Tok::greater)) {
      out.kind = Attribute::enumeration;
      out.text = word.text;
      return true;
    }
    lexer_.set_position(position);
    token_ = word;
  }
  return parse_structure_entries(out, Tok::greater);
}

bool Parser::parse_structure_entries(Attribute& out, Tok close) {
  out.kind = Attribute::structure;
  return parse_entries(out.entries, close);
}

// [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f] as the lists "input", "kernel", "output" of words and integers.
bool Parser::parse_conv_structure(Attribute& out) {
  out.kind = Attribute::structure;
  out.text = "conv";
  constexpr std::string_view sides[] = {"input", "kernel", "output"};
  for (size_t i = 0; i < 3; ++i) {
    if (i == 1 && !expect_word("x")) return false;
    if (i == 2 && !expect(Tok::arrow, "'->' before the output's dimension numbers")) return false;
    Attribute side;
    if (!at(Tok::l_square)) return fail_expected("'[' of the dimension numbers");
    side.loc = token_.loc;
    if (!parse_conv_side(side)) return false;
    out.entries.push_back({std::string(sides[i]), side.loc, std::move(side)});
  }
  return true;
}

bool Parser::parse_conv_side(Attribute& out) {
  out.kind = Attribute::list;
  uint32_t begin = token_.loc.begin;
  advance();
  while (!at(Tok::r_square)) {
    Attribute element;
    element.loc = token_.loc;
    element.text = token_.text;
    element.kind = Attribute::enumeration;
    if (at(Tok::integer)) {
      element.kind = Attribute::integer;
      if (!parse_signed(element.integer_value)) return false;
    } else if (at(Tok::question) || (at(Tok::word) && std::string_view("bfio").find(token_.text) != std::string_view::npos)) {
      advance();
    } else {
      return fail_expected("one of b, f, i, o, ? or a number among the dimension numbers");
    }
    out.elements.push_back(std::move(element));
    if (!accept(Tok::comma)) break;
  }
  out.loc = {begin, token_.loc.end};
  return expect(Tok::r_square, "',' or ']' in the dimension numbers");
}

bool Parser::parse_dictionary(std::vector<NamedAttribute>& out) {
  return expect(Tok::l_brace, "'{'") && parse_entries(out, Tok::r_brace);
}

bool Parser::parse_optional_dictionary(std::vector<NamedAttribute>& out) { return !at(Tok::l_brace) || parse_dictionary(out); }

bool Parser::parse_entries(std::vector<NamedAttribute>& out, Tok close) {
  if (accept(close)) return true;
  do {
    if (at(close)) break;
    NamedAttribute entry;
    entry.loc = token_.loc;
    if (at(Tok::string)) {
      if (!parse_string(entry.name)) return false;
    } else if (at(Tok::word)) {
      entry.name = token_.text;
      advance();
    } else {
      return fail_expected("the name of an attribute");
    }
    if (out.size() < 64 && find_attribute(out, entry.name)) return fail(entry.loc, fmt::format("'{}' is given twice", entry.name));
    if (accept(Tok::equal)) {
      if (!parse_attribute(entry.value)) return false;
    } else {
      entry.value.loc = entry.loc;
    }
    out.push_back(std::move(entry));
  } while (accept(Tok::comma));
  return expect(close, close == Tok::r_brace ? "',' or '}' after an attribute" : "',' or '>' after an attribute");
}

bool Parser::parse_location(Attribute& out) {
  out.kind = Attribute::location;
  advance();
  if (!expect(Tok::l_paren, "'(' after 'loc'")) return false;
  uint32_t begin = token_.loc.begin;
  if (!skip_balanced(Tok::r_paren)) return false;
  out.text = lexer_.text(begin, previous_end_ - 1);
  return true;
}

}  // namespace hloc::ir::mlir
