// Pretty forms that a table row can say: operands, `key = value` pairs and a type, separated by commas.
#include "ir/read/stablehlo_forms.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/op.h"
#include "ir/print/print.h"
#include "ir/read/stablehlo_parser.h"

namespace hloc::ir::mlir {
namespace {

// What the types after ':' say.
enum class TypeForm : uint8_t {
  same,      // one type of all operands and the result, or a function type
  function,  // a function type
  select,    // the predicate's type and the type of the rest, or a function type
  complex,   // the result's type, or a function type
  result,    // the result's type
  pairwise,  // the results' types are the operands'
  effect,    // no result: the operands' types
};

enum class KeyForm : uint8_t {
  value,      // any attribute
  word,       // an enumeration's word
  words,      // [HIGH, DEFAULT]
  exponent,   // e5m10
  pair,       // [0] x [1], lhs and rhs of the dot's dimension numbers
  structure,  // <a = 1, b = 2>
};

struct Key {
  std::string_view word, attribute;
  KeyForm form = KeyForm::value;
};

struct Row {
  std::string_view op;
  TypeForm types = TypeForm::function;
  Key keys[4] = {};
};

constexpr Row rows[] = {
    {"stablehlo.iota", TypeForm::result, {{"dim", "iota_dimension"}}},
    {"stablehlo.replica_id", TypeForm::result},
    {"stablehlo.partition_id", TypeForm::result},
    {"stablehlo.create_token", TypeForm::result},
    {"stablehlo.after_all", TypeForm::result},
    {"stablehlo.tuple", TypeForm::result},
    {"stablehlo.complex", TypeForm::complex},
    {"stablehlo.select", TypeForm::select},
    {"stablehlo.optimization_barrier", TypeForm::pairwise},
    {"stablehlo.return", TypeForm::effect},
    {"func.return", TypeForm::effect},
    {"sdy.return", TypeForm::effect},
    {"shape.assuming_yield", TypeForm::effect},
    {"stablehlo.compare", TypeForm::function},
    {"stablehlo.dynamic_iota", TypeForm::function, {{"dim", "iota_dimension"}}},
    {"stablehlo.broadcast_in_dim", TypeForm::function, {{"dims", "broadcast_dimensions"}}},
    {"stablehlo.broadcast", TypeForm::function, {{"sizes", "broadcast_sizes"}}},
    {"stablehlo.dynamic_broadcast_in_dim", TypeForm::function, {{"dims", "broadcast_dimensions"}}},
    {"stablehlo.transpose", TypeForm::function, {{"dims", "permutation"}}},
    {"stablehlo.reverse", TypeForm::same, {{"dims", "dimensions"}}},
    {"stablehlo.concatenate", TypeForm::function, {{"dim", "dimension"}}},
    {"stablehlo.dynamic_slice", TypeForm::function, {{"sizes", "slice_sizes"}}},
    {"stablehlo.dynamic_update_slice", TypeForm::function},
    {"stablehlo.real_dynamic_slice", TypeForm::function},
    {"stablehlo.pad", TypeForm::function,
     {{"low", "edge_padding_low"}, {"high", "edge_padding_high"}, {"interior", "interior_padding"}}},
    {"stablehlo.dynamic_pad", TypeForm::function},
    {"stablehlo.dynamic_reshape", TypeForm::function},
    {"stablehlo.get_dimension_size", TypeForm::function, {{"dim", "dimension"}}},
    {"stablehlo.set_dimension_size", TypeForm::function, {{"dim", "dimension"}}},
    {"stablehlo.dot", TypeForm::function, {{"precision", "precision_config", KeyForm::words}}},
    {"stablehlo.dot_general", TypeForm::function,
     {{"batching_dims", "batching", KeyForm::pair},
      {"contracting_dims", "contracting", KeyForm::pair},
      {"precision", "precision_config", KeyForm::words},
      {"algorithm", "algorithm", KeyForm::structure}}},
    {"stablehlo.reduce_precision", TypeForm::same, {{"format", "", KeyForm::exponent}}},
    {"stablehlo.rng", TypeForm::function, {{"distribution", "rng_distribution", KeyForm::word}}},
    {"stablehlo.rng_bit_generator", TypeForm::function, {{"algorithm", "rng_algorithm", KeyForm::word}}},
    {"stablehlo.fft", TypeForm::function, {{"type", "fft_type", KeyForm::word}, {"length", "fft_length"}}},
    {"stablehlo.cholesky", TypeForm::same, {{"lower", "lower"}}},
    {"stablehlo.einsum", TypeForm::function, {{"config", "einsum_config"}}},
    {"stablehlo.unary_einsum", TypeForm::function, {{"config", "einsum_config"}}},
    {"check.expect_eq", TypeForm::effect},
    {"check.expect_almost_eq", TypeForm::effect, {{"tolerance", "tolerance"}}},
    {"check.expect_close", TypeForm::effect,
     {{"max_ulp_difference", "max_ulp_difference"}, {"min_ulp_difference", "min_ulp_difference"}}},
    {"check.expect_serialized_eq", TypeForm::effect, {{"probe_id", "probe_id"}, {"iter", "iter"}}},
    {"interpreter.probe", TypeForm::same, {{"probe_id", "probe_id"}}},
    {"interpreter.print", TypeForm::effect},
    {"chlo.broadcast_compare", TypeForm::function},
};

// Names that ops.def does not list: other dialects' ops that are rewritten while they are read.
constexpr std::string_view foreign_names[] = {
    "arith.constant", "func.call", "sdy.return", "shape.assuming_yield", "tensor.cast", "tensor.dim", "tensor.extract",
    "tensor.from_elements", "arith.index_cast", "arith.muli", "arith.addi",
    "chlo.tan", "chlo.broadcast_add", "chlo.broadcast_and", "chlo.broadcast_atan2", "chlo.broadcast_compare", "chlo.broadcast_complex",
    "chlo.broadcast_divide", "chlo.broadcast_maximum", "chlo.broadcast_minimum", "chlo.broadcast_multiply",
    "chlo.broadcast_next_after", "chlo.broadcast_or", "chlo.broadcast_polygamma", "chlo.broadcast_power",
    "chlo.broadcast_remainder", "chlo.broadcast_select", "chlo.broadcast_shift_left", "chlo.broadcast_shift_right_arithmetic",
    "chlo.broadcast_shift_right_logical", "chlo.broadcast_subtract", "chlo.broadcast_xor", "chlo.broadcast_zeta",
    "mhlo.copy", "mhlo.erf", "mhlo.topk", "mhlo.tan", "mhlo.acos", "mhlo.acosh", "mhlo.asin", "mhlo.asinh", "mhlo.atanh", "mhlo.cosh", "mhlo.sinh",
};

const Row* find_row(std::string_view name) {
  for (const Row& row : rows)
    if (row.op == name) return &row;
  return nullptr;
}

}  // namespace

bool known_operation(std::string_view name) {
  if (find_stablehlo_op(name)) return true;
  return std::find(std::begin(foreign_names), std::end(foreign_names), name) != std::end(foreign_names);
}

std::string_view qualified_operation(std::string_view word) {
  if (word == "return") return "func.return";
  if (word == "call") return "func.call";
  return known_operation(word) ? word : std::string_view();
}

std::string unknown_operation(std::string_view word) {
  std::vector<std::string_view> names(std::begin(foreign_names), std::end(foreign_names));
  for (const OpFacts& facts : all_ops())
    if (!facts.stablehlo.empty()) names.push_back(facts.stablehlo);
  std::string_view near = nearest(word, names);
  if (near.empty() && word.find('.') == std::string_view::npos) {
    std::string full = "stablehlo." + std::string(word);
    near = nearest(full, names);
  }
  return fmt::format("'{}' is not an op that hloc reads{}", word, suggestion(near));
}

// ---- Pieces ----

void add_attribute(Operation& op, std::string_view name, Attribute value) {
  op.attributes.push_back({std::string(name), value.loc, std::move(value)});
}

bool parse_ints(Parser& p, Ints& out) {
  Attribute list;
  Loc loc = p.token().loc;
  if (!p.parse_attribute(list)) return false;
  if (list.kind != Attribute::ints) return p.fail(loc, "expected a list of integers such as [0, 1]");
  out = std::move(list.integers);
  return true;
}

bool parse_key(Parser& p, std::string_view word) {
  return p.expect_word(word) && p.expect(Tok::equal, fmt::format("'=' after '{}'", word));
}

bool parse_operands(Parser& p, Operation& op) {
  while (p.at(Tok::value)) {
    ValueNumber value = 0;
    if (!p.parse_value(value)) return false;
    op.operands.push_back(value);
    if (!p.accept(Tok::comma)) break;
  }
  return true;
}

bool parse_function_signature(Parser& p, Operation& op) {
  if (!p.expect(Tok::colon, fmt::format("':' and the type of '{}'", op.name))) return false;
  Parser::Signature signature;
  if (!p.parse_signature(signature)) return false;
  if (!signature.is_function)
    return p.fail(signature.loc, fmt::format("'{}' needs a function type here, as in '(tensor<f32>) -> tensor<f32>'", op.name));
  if (!p.check_operand_types(op, signature.operands, signature.loc)) return false;
  op.result_types = std::move(signature.results);
  return true;
}

// ---- Rows ----

namespace {

bool form_word(Parser& p, Attribute& out) {
  if (!p.at(Tok::word)) return p.fail_expected("a word");
  out = word_attribute(p.token().text);
  out.loc = p.token().loc;
  p.advance();
  return true;
}

bool form_words(Parser& p, Attribute& out) {
  out.kind = Attribute::list;
  if (!p.expect(Tok::l_square, "'['")) return false;
  while (!p.at(Tok::r_square)) {
    Attribute word;
    if (!form_word(p, word)) return false;
    out.elements.push_back(std::move(word));
    if (!p.accept(Tok::comma)) break;
  }
  return p.expect(Tok::r_square, "',' or ']' in a list");
}

// e5m10
bool form_exponent(Parser& p, Operation& op) {
  std::string_view text = p.at(Tok::word) ? p.token().text : std::string_view();
  size_t m = text.find('m');
  auto number = [&](std::string_view digits) { return digits.empty() ? std::nullopt : p.integer_of(digits, false); };
  auto exponent = text.starts_with('e') && m != std::string_view::npos ? number(text.substr(1, m - 1)) : std::nullopt;
  auto mantissa = exponent ? number(text.substr(m + 1)) : std::nullopt;
  if (!mantissa) return p.fail_expected("a format such as e5m10");
  add_attribute(op, "exponent_bits", integer_attribute(*exponent));
  add_attribute(op, "mantissa_bits", integer_attribute(*mantissa));
  p.advance();
  return true;
}

// [0] x [1]: two lists of the dot's dimension numbers.
bool form_pair(Parser& p, Operation& op, std::string_view what) {
  Ints lhs, rhs;
  if (!parse_ints(p, lhs) || !p.expect_word("x") || !parse_ints(p, rhs)) return false;
  auto it = std::find_if(op.attributes.begin(), op.attributes.end(), [](auto& a) { return a.name == "dot_dimension_numbers"; });
  if (it == op.attributes.end()) {
    add_attribute(op, "dot_dimension_numbers", structure_attribute("dot"));
    it = op.attributes.end() - 1;
  }
  it->value.entries.push_back({fmt::format("lhs_{}_dimensions", what), {}, ints_attribute(std::move(lhs))});
  it->value.entries.push_back({fmt::format("rhs_{}_dimensions", what), {}, ints_attribute(std::move(rhs))});
  return true;
}

bool form_key(Parser& p, Operation& op, const Key& key) {
  Attribute value;
  value.loc = p.token().loc;
  bool ok = false;
  switch (key.form) {
    case KeyForm::exponent: return form_exponent(p, op);
    case KeyForm::pair: return form_pair(p, op, key.attribute);
    case KeyForm::value: ok = p.parse_bare_attribute(value); break;
    case KeyForm::word: ok = form_word(p, value); break;
    case KeyForm::words: ok = form_words(p, value); break;
    case KeyForm::structure: ok = p.expect(Tok::less, "'<'") && p.parse_structure_entries(value, Tok::greater); break;
  }
  if (ok) add_attribute(op, key.attribute, std::move(value));
  return ok;
}

bool form_unknown_key(Parser& p, const Operation& op, const Row* row) {
  std::vector<std::string_view> words;
  if (row)
    for (const Key& key : row->keys)
      if (!key.word.empty()) words.push_back(key.word);
  std::string_view word = p.token().text, near = nearest(word, words);
  if (near.empty() && words.size() == 1) near = words[0];
  return p.fail(p.token().loc, fmt::format("'{}' takes no '{}' here{}", op.name, word, suggestion(near)));
}

bool form_item(Parser& p, Operation& op, const Row* row) {
  if (p.at(Tok::value)) {
    ValueNumber value = 0;
    if (!p.parse_value(value)) return false;
    op.operands.push_back(value);
    return true;
  }
  if (!p.at(Tok::word)) return p.fail_expected("an operand or an attribute");
  if (op.name == "stablehlo.compare") {
    add_attribute(op, op.find("comparison_direction") ? "compare_type" : "comparison_direction", word_attribute(p.token().text));
    op.attributes.back().value.loc = p.token().loc;
    p.advance();
    return true;
  }
  if (row)
    for (const Key& key : row->keys)
      if (!key.word.empty() && p.at_word(key.word)) {
        p.advance();
        return p.expect(Tok::equal, fmt::format("'=' after '{}'", key.word)) && form_key(p, op, key);
      }
  return form_unknown_key(p, op, row);
}

// Operand types and result types from a list without an arrow.
bool form_list_types(Parser& p, Operation& op, TypeForm form, Parser::Signature& s) {
  auto wrong = [&](std::string_view expected) { return p.fail(s.loc, fmt::format("'{}' needs {} here", op.name, expected)); };
  std::vector<Type>& types = s.operands;
  switch (form) {
    case TypeForm::function: return wrong("a function type such as '(tensor<2xf32>) -> tensor<2xf32>'");
    case TypeForm::result:
      if (types.size() != 1) return wrong("the type of its result");
      op.result_types = types;
      return true;
    case TypeForm::pairwise:
      op.result_types = types;
      return p.check_operand_types(op, types, s.loc);
    case TypeForm::effect:
      if (types.size() == 1) types.resize(op.operands.size(), types[0]);
      return p.check_operand_types(op, types, s.loc);
    case TypeForm::same:
      if (types.size() != 1) return wrong("one type, or a function type");
      op.result_types = types;
      types.resize(op.operands.size(), types[0]);
      return p.check_operand_types(op, types, s.loc);
    case TypeForm::complex: {
      if (types.size() != 1 || !types[0].is_array() || !is_complex(types[0].element())) return wrong("a tensor type of complex numbers");
      op.result_types = types;
      Type part = p.context().with_element(types[0], types[0].element() == ElementType::c64 ? ElementType::f32 : ElementType::f64);
      types.assign(op.operands.size(), part);
      return p.check_operand_types(op, types, s.loc);
    }
    case TypeForm::select:
      if (types.size() != 2) return wrong("two types, the predicate's and the values'");
      op.result_types = {types[1]};
      types.push_back(types[1]);
      return p.check_operand_types(op, types, s.loc);
  }
  return false;
}

bool form_types(Parser& p, Operation& op, TypeForm form) {
  bool no_values = form == TypeForm::effect || form == TypeForm::pairwise;
  if (no_values && op.operands.empty() && !p.at(Tok::colon)) return true;
  if (!p.expect(Tok::colon, fmt::format("':' and the type of '{}'", op.name))) return false;
  Parser::Signature signature;
  if (!p.parse_signature(signature)) return false;
  if (!signature.is_function) return form_list_types(p, op, form, signature);
  if (!p.check_operand_types(op, signature.operands, signature.loc)) return false;
  op.result_types = std::move(signature.results);
  return true;
}

}  // namespace

bool parse_pretty(Parser& p, Operation& op) {
  if (SpecialForm special = special_form(op.name)) return special(p, op);
  const Row* row = find_row(op.name);
  bool parens = p.accept(Tok::l_paren);  // optimization_barrier()
  while (p.at(Tok::value) || p.at(Tok::word)) {
    if (!form_item(p, op, row)) return false;
    if (!p.accept(Tok::comma)) break;
    if (!p.at(Tok::value) && !p.at(Tok::word)) return p.fail_expected("an operand or an attribute after ','");
  }
  if (parens && !p.expect(Tok::r_paren, "')' after the operands")) return false;
  return p.parse_optional_dictionary(op.attributes) && form_types(p, op, row ? row->types : TypeForm::same);
}

}  // namespace hloc::ir::mlir
