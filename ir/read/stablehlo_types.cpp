// Types of StableHLO text.
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "ir/print/print.h"
#include "ir/read/stablehlo_parser.h"

namespace hloc::ir::mlir {
namespace {

constexpr uint64_t largest_count = uint64_t{1} << 59;  // so that bytes still fit into 63 bits

constexpr std::string_view scalar_words[] = {
#define HLOC_X(name, bits, text, npy) text,
    HLOC_ELEMENT_TYPES(HLOC_X)
#undef HLOC_X
};

// i32, ui8, si16, f32, …; `index` counts as i64. Complex has a syntax of its own.
ElementType element_of_word(std::string_view word) {
  size_t i = 0;
  for (std::string_view text : scalar_words) {
    ++i;
    if (text == word && !text.empty()) return static_cast<ElementType>(i);
  }
  if (word == "index") return ElementType::s64;
  if (word.starts_with("si")) return element_of_word(word.substr(1));
  return ElementType::invalid;
}

int64_t smallest_of(ElementType type) {
  return is_unsigned_integer(type) ? 0 : -(int64_t{1} << (bit_width(type) - 1));
}
int64_t largest_of(ElementType type) {
  int bits = bit_width(type) - (is_unsigned_integer(type) ? 0 : 1);
  return bits >= 63 ? INT64_MAX : (int64_t{1} << bits) - 1;
}

}  // namespace

bool Parser::at_type() const {
  if (at(Tok::bang)) return true;
  if (!at(Tok::word)) return false;
  std::string_view w = token_.text;
  return w == "tensor" || w == "tuple" || w == "complex" || element_of_word(w) != ElementType::invalid;
}

std::optional<int64_t> Parser::integer_of(std::string_view digits, bool negative) {
  uint64_t value = 0;
  int base = 10;
  if (digits.starts_with("0x")) digits.remove_prefix(2), base = 16;
  auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (code != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  if (negative && value > (uint64_t{1} << 63)) return std::nullopt;
  return static_cast<int64_t>(negative ? 0 - value : value);
}

bool Parser::parse_signed(int64_t& out) {
  bool negative = accept(Tok::minus);
  if (!at(Tok::integer)) return fail_expected("an integer");
  auto value = integer_of(token_.text, negative);
  if (!value) return fail(token_.loc, fmt::format("{} does not fit into 64 bits", token_.text));
  out = *value;
  advance();
  return true;
}

// What walks over the leaves of a value, or over nested literals, may rely on types no deeper or larger than this. Aliases
// are shared, so a few of them could stand for any number of leaves.
bool Parser::bounded(Type type, Loc begin) {
  if (type->depth > deepest_stablehlo_type)
    return fail(begin, fmt::format("types are nested deeper than {} here, which is not supported", deepest_stablehlo_type));
  size_t largest = source_.text.size() + 65536;
  return type->written_size <= largest || fail(begin, fmt::format("this type has more than {} parts when its aliases are written out", largest));
}

// Tuples and futures nest; a stack of open ones keeps any depth off the call stack.
bool Parser::parse_type(Type& out) {
  struct Open {
    bool is_tuple;
    std::vector<Type> parts;
  };
  std::vector<Open> open;
  Loc begin = token_.loc;
  while (true) {
    bool complete = false;
    if (at_word("tuple")) {
      advance();
      if (!expect(Tok::less, "'<' after 'tuple'")) return false;
      open.push_back({true, {}});
      if (accept(Tok::greater)) {
        open.pop_back();
        out = context_.tuple({});
        complete = true;
      }
    } else if (at(Tok::bang) && (token_.text == "stablehlo.future" || token_.text == "mhlo.async_bundle")) {
      advance();
      if (!expect(Tok::less, "'<' after the future type")) return false;
      open.push_back({false, {}});
    } else {
      if (!parse_simple_type(out)) return false;
      complete = true;
    }
    while (complete && !open.empty()) {
      open.back().parts.push_back(out);
      if (accept(Tok::comma)) break;
      if (!expect(Tok::greater, "',' or '>' in a type")) return false;
      out = open.back().is_tuple ? context_.tuple(open.back().parts)
            : open.back().parts.size() == 1
                ? context_.wrapped(TypeKind::future, open.back().parts[0])
                : context_.wrapped(TypeKind::future, context_.tuple(open.back().parts));
      open.pop_back();
      if (!bounded(out, begin)) return false;
    }
    if (complete && open.empty()) return true;
  }
}

bool Parser::parse_simple_type(Type& out) {
  if (at_word("tensor")) return parse_tensor(out);
  if (at(Tok::bang)) return parse_bang_type(out);
  if (at(Tok::word)) {
    ElementType element = ElementType::invalid;
    const QuantParams* quant = nullptr;
    if (!parse_element(element, quant)) return false;
    out = context_.scalar(element);
    return true;
  }
  return fail_expected("a type such as tensor<2x3xf32>");
}

bool Parser::parse_bang_type(Type& out) {
  std::string_view name = token_.text;
  if (name == "stablehlo.token" || name == "mhlo.token") {
    advance();
    out = context_.token();
    return true;
  }
  if (name == "shape.witness") {  // stands for "this was checked": a boolean
    advance();
    out = context_.scalar(ElementType::pred);
    return true;
  }
  if (name == "quant.uniform") {
    const QuantParams* quant = nullptr;
    if (!parse_quant(quant)) return false;
    out = context_.array(quant->storage, std::vector<Dim>{}, quant);
    return true;
  }
  if (auto it = type_aliases_.find(name); it != type_aliases_.end()) {
    advance();
    out = it->second;
    return true;
  }
  std::vector<std::string_view> known = {"stablehlo.token", "stablehlo.future", "quant.uniform"};
  for (const auto& [alias, type] : type_aliases_) known.push_back(alias);
  std::string_view near = nearest(name, known);
  return fail(token_.loc, fmt::format("'!{}' is no type that hloc knows{}", name, suggestion(near, "!")));
}

bool Parser::parse_tensor(Type& out) {
  Loc begin = token_.loc;
  advance();
  if (!at(Tok::less)) return fail_expected("'<' after 'tensor'");
  std::vector<Dim> dims;
  if (!parse_dimensions(dims)) return false;
  ElementType element = ElementType::invalid;
  const QuantParams* quant = nullptr;
  if (!parse_element(element, quant)) return false;
  if (accept(Tok::comma) && !parse_encoding(dims)) return false;
  Loc whole{begin.begin, token_.loc.end};
  if (!expect(Tok::greater, "'>' at the end of a tensor type")) return false;
  uint64_t count = 1;
  bool fits = true, empty = false;  // a zero anywhere makes it small
  for (const Dim& dim : dims) {
    uint64_t size = dim.kind == Dim::unknown ? 1 : static_cast<uint64_t>(dim.size);
    empty |= size == 0;
    fits &= size == 0 || count <= largest_count / size;
    if (fits && size != 0) count *= size;
  }
  if (!fits && !empty) return fail(whole, "the tensor type has more than 2^59 elements");
  out = context_.array(element, std::move(dims), quant);
  return true;
}

// Sizes are read from the characters: `2x3xf32` and `0x4xi8` are no words of the other grammar.
bool Parser::parse_dimensions(std::vector<Dim>& dims) {
  lexer_.set_position(token_.loc.end);
  while (true) {
    lexer_.skip_blanks();
    uint32_t begin = lexer_.position();
    char c = lexer_.peek();
    uint32_t end = begin;
    if (c == '*') return fail({begin, begin + 1}, "unranked tensors are not supported; write the sizes, or '?' for unknown ones");
    if (c == '?') {
      dims.push_back(Dim::any());
      end = begin + 1;
    } else if (c >= '0' && c <= '9') {
      while (lexer_.at(end) >= '0' && lexer_.at(end) <= '9') ++end;
      auto size = integer_of(lexer_.text(begin, end), false);
      if (!size || *size < 0) return fail({begin, end}, "this size is too large: sizes are at most 2^63 - 1");
      dims.push_back(Dim::of(*size));
    } else {
      break;
    }
    lexer_.set_position(end);
    lexer_.skip_blanks();
    if (lexer_.peek() != 'x') {
      uint32_t here = lexer_.position();
      return fail({here, here + 1}, "expected 'x' after a size of a tensor type, as in tensor<2x3xf32>");
    }
    lexer_.set_position(lexer_.position() + 1);
  }
  advance();
  return true;
}

bool Parser::parse_encoding(std::vector<Dim>& dims) {
  Loc loc = token_.loc;
  std::vector<std::optional<int64_t>> bounds;
  auto parse_bounds = [&](Tok close) {
    while (!at(close)) {
      int64_t bound = 0;
      if (accept(Tok::question)) {
        bounds.push_back(std::nullopt);
      } else if (parse_signed(bound)) {
        if (bound < 0) return fail(loc, "a bound of a dimension must not be negative");
        bounds.push_back(bound);
      } else {
        return false;
      }
      if (!accept(Tok::comma)) break;
    }
    return true;
  };
  std::string_view name = at(Tok::hash) ? token_.text : std::string_view();
  if (name == "stablehlo.bounds" || name == "mhlo.bounds") {
    advance();
    if (!expect(Tok::less, "'<' after '#stablehlo.bounds'") || !parse_bounds(Tok::greater)) return false;
  } else if (name == "stablehlo.type_extensions" || name == "mhlo.type_extensions") {
    advance();
    if (!expect(Tok::less, "'<' after '#stablehlo.type_extensions'") || !expect_word("bounds") ||
        !expect(Tok::equal, "'=' after 'bounds'") || !expect(Tok::l_square, "'[' after 'bounds ='") ||
        !parse_bounds(Tok::r_square) || !expect(Tok::r_square, "']' after the bounds"))
      return false;
  } else if (piece_ && piece_->aliases.contains(name)) {
    const Attribute& value = piece_->aliases.find(name)->second;
    const Attribute* list = value.find("bounds");
    if (!list) return fail(loc, fmt::format("'#{}' is no encoding of a tensor; only bounds are", name));
    for (const Attribute& bound : list->elements)
      bounds.push_back(bound.kind == Attribute::integer ? std::optional(bound.integer_value) : std::nullopt);
    for (int64_t bound : list->integers) bounds.push_back(bound);
    advance();
    return bounds.size() == dims.size() || fail(loc, "the bounds must have one entry for each dimension");
  } else {
    return fail(loc, "this encoding of a tensor type is not known; hloc reads #stablehlo.bounds<…> only");
  }
  if (!expect(Tok::greater, "'>' after the bounds")) return false;
  if (bounds.size() != dims.size())
    return fail(loc, fmt::format("the bounds have {} entries, but the tensor has {} dimensions", bounds.size(), dims.size()));
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!bounds[i]) continue;
    if (dims[i].is_static()) return fail(loc, fmt::format("dimension {} has a size; only '?' dimensions can have a bound", i));
    dims[i] = Dim::at_most(*bounds[i]);
  }
  return true;
}

bool Parser::parse_element(ElementType& element, const QuantParams*& quant) {
  if (at(Tok::bang)) {
    Loc loc = token_.loc;
    Type type;
    if (!parse_bang_type(type)) return false;
    if (!type.is_scalar()) return fail(loc, "this type cannot be the element type of a tensor");
    element = type.element();
    quant = type->quant;
    return true;
  }
  if (!at(Tok::word)) return fail_expected("an element type such as f32");
  std::string_view word = token_.text;
  Loc loc = token_.loc;
  if (word == "complex") {
    advance();
    if (!expect(Tok::less, "'<' after 'complex'")) return false;
    if (at_word("f32")) element = ElementType::c64;
    else if (at_word("f64")) element = ElementType::c128;
    else return fail(token_.loc, "complex numbers have parts of type f32 or f64");
    advance();
    return expect(Tok::greater, "'>' after 'complex<f32'");
  }
  element = element_of_word(word);
  if (element == ElementType::invalid) {
    std::string_view near = nearest(word, scalar_words);
    return fail(loc, fmt::format("'{}' is no element type{}", word, suggestion(near)));
  }
  advance();
  return true;
}

bool Parser::parse_quant_number(double& scale, int64_t& zero_point) {
  bool negative = accept(Tok::minus);
  if (!at(Tok::real) && !at(Tok::integer)) return fail_expected("a scale such as 0.5");
  Loc loc = token_.loc;
  std::from_chars(token_.text.data(), token_.text.data() + token_.text.size(), scale);
  advance();
  if (negative || !(scale > 0) || !std::isfinite(scale)) return fail(loc, "a quantization scale must be finite and greater than 0");
  zero_point = 0;
  return !accept(Tok::colon) || parse_signed(zero_point);
}

// !quant.uniform<i8<-127:127>:f32:1, {0.1:-30, 0.5}>
bool Parser::parse_quant(const QuantParams*& quant) {
  QuantParams q;
  Loc loc = token_.loc;
  advance();
  if (!expect(Tok::less, "'<' after '!quant.uniform'")) return false;
  std::string storage(at(Tok::word) ? token_.text : "");
  if (storage.starts_with("u") && !storage.starts_with("ui")) storage.insert(1, "i");
  q.storage = element_of_word(storage);
  if (!is_integer(q.storage)) return fail_expected("a storage type such as i8");
  advance();
  q.storage_min = smallest_of(q.storage);
  q.storage_max = largest_of(q.storage);
  if (accept(Tok::less)) {
    q.explicit_range = true;
    Loc range = token_.loc;
    if (!parse_signed(q.storage_min) || !expect(Tok::colon, "':' in the storage range") || !parse_signed(q.storage_max) ||
        !expect(Tok::greater, "'>' after the storage range"))
      return false;
    if (q.storage_min < smallest_of(q.storage) || q.storage_max > largest_of(q.storage) || q.storage_min > q.storage_max)
      return fail(range, fmt::format("the storage range {}:{} does not lie in the range of the storage type", q.storage_min, q.storage_max));
  }
  if (!expect(Tok::colon, "':' after the storage type")) return false;
  const QuantParams* none = nullptr;
  Loc expressed = token_.loc;
  if (!parse_element(q.expressed, none)) return false;
  if (!is_float(q.expressed)) return fail(expressed, "the expressed type of a quantized type must be a float type");
  if (accept(Tok::colon)) {
    if (at(Tok::l_brace)) return fail(token_.loc, "blockwise quantization is not supported; give one axis");
    if (!parse_signed(q.axis)) return false;
    if (q.axis < 0) return fail(loc, "the quantization axis must not be negative");
  }
  if (!expect(Tok::comma, "',' before the scale")) return false;
  double scale = 0;
  int64_t zero_point = 0;
  bool per_axis = accept(Tok::l_brace);
  do {
    Loc at_zero = token_.loc;
    if (!parse_quant_number(scale, zero_point)) return false;
    if (zero_point < q.storage_min || zero_point > q.storage_max)
      return fail(at_zero, fmt::format("the zero point {} does not lie in the storage range {}:{}", zero_point, q.storage_min, q.storage_max));
    q.scales.push_back(scale);
    q.zero_points.push_back(zero_point);
  } while (per_axis && accept(Tok::comma));
  if (per_axis && !expect(Tok::r_brace, "'}' after the scales")) return false;
  if (per_axis != (q.axis >= 0)) return fail(loc, "a list of scales needs an axis, as in !quant.uniform<i8:f32:1, {0.1, 0.2}>");
  if (!expect(Tok::greater, "'>' at the end of the quantized type")) return false;
  quant = context_.quant(std::move(q));
  return true;
}

bool Parser::parse_type_list(std::vector<Type>& out) {
  do {
    Type type;
    if (!parse_type(type)) return false;
    out.push_back(type);
  } while (accept(Tok::comma));
  return true;
}

bool Parser::parse_result_types(std::vector<Type>& out) {
  if (!accept(Tok::l_paren)) {
    Type type;
    if (!parse_type(type)) return false;
    out.push_back(type);
    return true;
  }
  if (accept(Tok::r_paren)) return true;
  return parse_type_list(out) && expect(Tok::r_paren, "')' after the types");
}

bool Parser::parse_function_type(FunctionType& out) {
  if (!expect(Tok::l_paren, "'(' of a function type")) return false;
  if (!accept(Tok::r_paren) && (!parse_type_list(out.inputs) || !expect(Tok::r_paren, "')' after the types"))) return false;
  return expect(Tok::arrow, "'->' in a function type") && parse_result_types(out.results);
}

}  // namespace hloc::ir::mlir
