// Pretty forms with a syntax of their own: constants, slices, windows, calls, reductions, loops, other dialects.
#include <algorithm>

#include <fmt/format.h>

#include "ir/print/print.h"
#include "ir/read/stablehlo_forms.h"
#include "ir/read/stablehlo_parser.h"

namespace hloc::ir::mlir {
namespace {

// constant {a = 1} dense<…> : T
bool special_constant(Parser& p, Operation& op) {
  Attribute value;
  if (!p.parse_optional_dictionary(op.attributes)) return false;
  Loc loc = p.token().loc;
  if (!p.parse_attribute(value)) return false;
  if (!value.type) return p.fail(loc, "a constant needs a value with a type, as in 'dense<1.0> : tensor<2xf32>'");
  op.result_types.push_back(value.type);
  add_attribute(op, "value", std::move(value));
  return true;
}

// slice %a [0:2, 1:9:3] : (T) -> R
bool special_slice(Parser& p, Operation& op) {
  Ints start, limit, stride;
  if (!parse_operands(p, op) || !p.expect(Tok::l_square, "'[' and the ranges of the slice, as in '[0:2, 1:9:3]'")) return false;
  while (!p.at(Tok::r_square)) {
    int64_t begin = 0, end = 0, step = 1;
    if (!p.parse_signed(begin) || !p.expect(Tok::colon, "':' between start and limit") || !p.parse_signed(end)) return false;
    if (p.accept(Tok::colon) && !p.parse_signed(step)) return false;
    start.push_back(begin);
    limit.push_back(end);
    stride.push_back(step);
    if (!p.accept(Tok::comma)) break;
  }
  if (!p.expect(Tok::r_square, "',' or ']' after a range")) return false;
  add_attribute(op, "start_indices", ints_attribute(std::move(start)));
  add_attribute(op, "limit_indices", ints_attribute(std::move(limit)));
  add_attribute(op, "strides", ints_attribute(std::move(stride)));
  return p.parse_optional_dictionary(op.attributes) && parse_function_signature(p, op);
}

// get_tuple_element %t[1] : (tuple<…>) -> T
bool special_tuple_element(Parser& p, Operation& op) {
  int64_t index = 0;
  if (!parse_operands(p, op) || !p.expect(Tok::l_square, "'[' and the position, as in '%t[0]'") || !p.parse_signed(index) ||
      !p.expect(Tok::r_square, "']' after the position"))
    return false;
  add_attribute(op, "index", integer_attribute(index));
  return p.parse_optional_dictionary(op.attributes) && parse_function_signature(p, op);
}

// One entry of window = {…}: a list of integers or booleans, or of pairs.
bool special_window_entry(Parser& p, Operation& op) {
  struct Names { std::string_view word, attribute; };
  constexpr Names names[] = {{"stride", "window_strides"}, {"pad", "padding"}, {"lhs_dilate", "lhs_dilation"},
                             {"rhs_dilate", "rhs_dilation"}, {"reverse", "window_reversal"}};
  for (const Names& n : names) {
    if (!p.at_word(n.word)) continue;
    p.advance();
    Attribute value;
    if (!p.expect(Tok::equal, fmt::format("'=' after '{}'", n.word)) || !p.parse_attribute(value)) return false;
    add_attribute(op, n.attribute, std::move(value));
    return true;
  }
  return p.fail_expected("one of stride, pad, lhs_dilate, rhs_dilate, reverse");
}

// convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1]} {…} : (T, U) -> V
bool special_convolution(Parser& p, Operation& op) {
  Attribute numbers;
  if (!p.expect(Tok::l_paren, "'(' and the operands") || !p.parse_values(op.operands)) return false;
  if (!parse_key(p, "dim_numbers") || !p.parse_conv_structure(numbers)) return false;
  add_attribute(op, "dimension_numbers", std::move(numbers));
  if (!p.expect(Tok::comma, "',' after the dimension numbers") || !parse_key(p, "window") || !p.expect(Tok::l_brace, "'{' of the window")) return false;
  while (!p.at(Tok::r_brace)) {
    if (!special_window_entry(p, op)) return false;
    if (!p.accept(Tok::comma)) break;
  }
  if (!p.expect(Tok::r_brace, "',' or '}' in the window")) return false;
  return p.parse_optional_dictionary(op.attributes) && parse_function_signature(p, op);
}

// custom_call @name(%a) {…} : (T) -> R, and call @f(%a) : (T) -> R
bool special_call(Parser& p, Operation& op) {
  Attribute callee;
  if (!p.at(Tok::symbol)) return p.fail_expected("'@' and the name of what is called");
  Loc loc = p.token().loc;
  if (!p.parse_symbol(callee)) return false;
  callee.loc = loc;
  bool custom = op.name == "stablehlo.custom_call";
  if (custom) callee.kind = Attribute::string;
  add_attribute(op, custom ? "call_target_name" : "callee", std::move(callee));
  if (!p.expect(Tok::l_paren, "'(' and the operands") || !p.parse_values(op.operands)) return false;
  return p.parse_optional_dictionary(op.attributes) && parse_function_signature(p, op);
}

// composite "my.op" %a, %b {…} : (T, U) -> V
bool special_composite(Parser& p, Operation& op) {
  Attribute name;
  name.kind = Attribute::string;
  if (!p.parse_string(name.text)) return false;
  add_attribute(op, "name", std::move(name));
  return parse_operands(p, op) && p.parse_optional_dictionary(op.attributes) && parse_function_signature(p, op);
}

// ---- Reductions ----

// The body of `applies OP`: one op on the block's arguments.
bool special_applied_body(Parser& p, Operation& op, std::string_view inner, Loc loc) {
  size_t inputs = op.operands.size() / 2;
  if (inputs != 1) return p.fail(loc, "'applies' is only for a reduction of one input; write the reducer as a region");
  if (!p.enter_region(op.regions.emplace_back(), loc)) return false;
  Region& region = op.regions.back();
  Type type = p.facts(op.operands[1]).type;
  for (int i = 0; i < 2; ++i) region.arguments.push_back(p.add_value(type, {}, loc));
  Operation apply, end;
  apply.name = inner;
  apply.loc = end.loc = loc;
  apply.operands = region.arguments;
  apply.result_types = {type};
  apply.first_result = p.add_value(type, {}, loc);
  end.name = "stablehlo.return";
  end.operands = {apply.first_result};
  end.first_result = apply.first_result + 1;
  region.operations.push_back(std::move(apply));
  region.operations.push_back(std::move(end));
  p.leave_region();
  return true;
}

// reducer(%a: T, %x: T) (%b: U, %y: U) { … }: the accumulators come first among the block's arguments.
bool special_reducer(Parser& p, Operation& op) {
  if (!p.expect_word("reducer")) return false;
  std::vector<Parser::ResultName> accumulators, elements;
  std::vector<Type> types[2];
  auto argument = [&](std::vector<Parser::ResultName>& names, std::vector<Type>& list) {
    if (!p.at(Tok::value)) return p.fail_expected("a pair of arguments, as in '(%a: tensor<f32>, %x: tensor<f32>)'");
    names.push_back({p.token().text, 1, p.token().loc});
    p.advance();
    Attribute location;
    return p.expect(Tok::colon, "':' and a type") && p.parse_type(list.emplace_back()) && (!p.at_word("loc") || p.parse_location(location));
  };
  while (p.accept(Tok::l_paren)) {
    if (!argument(accumulators, types[0]) || !p.expect(Tok::comma, "',' between accumulator and element") || !argument(elements, types[1]) ||
        !p.expect(Tok::r_paren, "')' after a pair"))
      return false;
  }
  accumulators.insert(accumulators.end(), elements.begin(), elements.end());
  types[0].insert(types[0].end(), types[1].begin(), types[1].end());
  return p.parse_region(op.regions.emplace_back(), accumulators, types[0]);
}

// reduce(%x init: %z), (%y init: %w) [applies OP] across dimensions = [0] : fn [reducer(…) {…}]
bool special_reduce(Parser& p, Operation& op) {
  std::vector<ValueNumber> inits;
  do {
    ValueNumber input = 0, init = 0;
    if (!p.expect(Tok::l_paren, "'(%input init: %value)'") || !p.parse_value(input) || !p.expect_word("init") ||
        !p.expect(Tok::colon, "':' after 'init'") || !p.parse_value(init) || !p.expect(Tok::r_paren, "')' after the initial value"))
      return false;
    op.operands.push_back(input);
    inits.push_back(init);
  } while (p.accept(Tok::comma));
  op.operands.insert(op.operands.end(), inits.begin(), inits.end());
  std::string_view applied;
  Loc loc = p.token().loc;
  if (p.accept_word("applies")) {
    loc = p.token().loc;
    std::string_view word = p.at(Tok::word) || p.at(Tok::string) ? p.token().text : std::string_view();
    applied = qualified_operation(word);
    if (applied.empty()) return p.fail(loc, unknown_operation(word));
    p.advance();
  }
  Ints dims;
  if (!p.expect_word("across") || !parse_key(p, "dimensions") || !parse_ints(p, dims)) return false;
  add_attribute(op, "dimensions", ints_attribute(std::move(dims)));
  if (!p.parse_optional_dictionary(op.attributes) || !parse_function_signature(p, op)) return false;
  return applied.empty() ? special_reducer(p, op) : special_applied_body(p, op, applied, loc);
}

// ---- Loops ----

// while(%i = %a, %s = %b) : T, U [attributes {…}] cond {…} do {…}
bool special_while(Parser& p, Operation& op) {
  std::vector<Parser::ResultName> names;
  if (!p.expect(Tok::l_paren, "'(' and the loop's values, as in '(%i = %0)'")) return false;
  while (p.at(Tok::value)) {
    names.push_back({p.token().text, 1, p.token().loc});
    p.advance();
    ValueNumber value = 0;
    if (!p.expect(Tok::equal, "'=' and the first value") || !p.parse_value(value)) return false;
    op.operands.push_back(value);
    if (!p.accept(Tok::comma)) break;
  }
  if (!p.expect(Tok::r_paren, "',' or ')' after a loop value")) return false;
  if (p.accept(Tok::colon)) {
    Loc loc = p.token().loc;
    if (!p.parse_type_list(op.result_types) || !p.check_operand_types(op, op.result_types, loc)) return false;
  } else if (!op.operands.empty()) {
    return p.fail_expected("':' and the types of the loop's values");
  }
  if (p.accept_word("attributes") && !p.parse_dictionary(op.attributes)) return false;
  if (!p.expect_word("cond") || !p.parse_region(op.regions.emplace_back(), names, op.result_types)) return false;
  return p.expect_word("do") && p.parse_region(op.regions.emplace_back(), names, op.result_types);
}

// top_k(%x, k = 2) : T -> (T, U)
bool special_top_k(Parser& p, Operation& op) {
  ValueNumber value = 0;
  if (!p.expect(Tok::l_paren, "'(' and the operand") || !p.parse_value(value)) return false;
  op.operands.push_back(value);
  while (p.accept(Tok::comma)) {
    NamedAttribute entry;
    entry.loc = p.token().loc;
    entry.name = p.token().text;
    if (!p.at_word("k") && !p.at_word("largest") && !p.at_word("is_stable")) return p.fail_expected("one of k, largest, is_stable");
    p.advance();
    if (!p.expect(Tok::equal, "'='") || !p.parse_attribute(entry.value)) return false;
    op.attributes.push_back(std::move(entry));
  }
  return p.expect(Tok::r_paren, "',' or ')' after an operand") && p.parse_optional_dictionary(op.attributes) && parse_function_signature(p, op);
}

// scan(%x, %y) inits(%c) dimension=0 [attributes {…}] {…} : (T, U, C) -> (…)
bool special_scan(Parser& p, Operation& op) {
  if (!p.expect(Tok::l_paren, "'(' and the inputs") || !p.parse_values(op.operands)) return false;
  int64_t inputs = static_cast<int64_t>(op.operands.size());
  if (!p.expect_word("inits") || !p.expect(Tok::l_paren, "'(' and the first carries") || !p.parse_values(op.operands)) return false;
  Attribute dimension;
  if (!parse_key(p, "dimension") || !p.parse_attribute(dimension)) return false;
  add_attribute(op, "dimension", std::move(dimension));
  add_attribute(op, "inputs", integer_attribute(inputs));
  if (p.accept_word("attributes") && !p.parse_dictionary(op.attributes)) return false;
  return p.parse_region(op.regions.emplace_back(), {}, {}) && parse_function_signature(p, op);
}

// expect_eq_const %a, dense<…> : T [{tolerance = 0.1 : f64}]
bool special_check_const(Parser& p, Operation& op) {
  ValueNumber value = 0;
  Attribute expected;
  if (!p.parse_value(value) || !p.expect(Tok::comma, "',' and the expected value")) return false;
  op.operands.push_back(value);
  Loc loc = p.token().loc;
  if (!p.parse_attribute(expected)) return false;
  if (!expected.type) return p.fail(loc, "the expected value must be a constant such as 'dense<1.0> : tensor<2xf32>'");
  add_attribute(op, "value", std::move(expected));
  while (p.accept(Tok::comma)) {
    NamedAttribute entry{std::string(p.token().text), p.token().loc, {}};
    if (!p.at_word("tolerance")) return p.fail_expected("'tolerance'");
    p.advance();
    if (!p.expect(Tok::equal, "'='") || !p.parse_attribute(entry.value)) return false;
    op.attributes.push_back(std::move(entry));
  }
  return p.parse_optional_dictionary(op.attributes);
}

// interpreter.probe %a, probe_id = "p" : T is a table row; interpreter.run_parallel exists in generic form only.

// ---- Shardy: the text is kept, with % where the operand stands ----

bool special_sdy(Parser& p, Operation& op) {
  std::string text;
  auto take = [&](std::string_view piece) {
    if (!text.empty()) text += ' ';
    text += piece;
  };
  int depth = 0;
  uint32_t run = p.token().loc.begin;
  while (depth > 0 || !p.at(Tok::colon)) {
    if (p.at(Tok::end)) return p.fail_expected(fmt::format("':' and the type of '{}'", op.name));
    if (depth == 0 && p.at(Tok::l_brace)) break;  // attributes
    if (p.at(Tok::value)) {
      std::string_view before = p.written_since(run);
      if (!before.empty()) take(before);
      take("%");
      ValueNumber value = 0;
      if (!p.parse_value(value)) return false;
      op.operands.push_back(value);
      run = p.token().loc.begin;
      continue;
    }
    Tok kind = p.token().kind;
    if (kind == Tok::l_square || kind == Tok::less || kind == Tok::l_brace || kind == Tok::l_paren) ++depth;
    if (kind == Tok::r_square || kind == Tok::greater || kind == Tok::r_brace || kind == Tok::r_paren) --depth;
    p.advance();
  }
  std::string_view rest = p.written_since(run);
  if (!rest.empty()) take(rest);
  add_attribute(op, "text", string_attribute(text));
  if (!p.parse_optional_dictionary(op.attributes) || !p.expect(Tok::colon, "':' and a type")) return false;
  Parser::Signature signature;
  if (!p.parse_signature(signature)) return false;
  if (signature.operands.size() == 1) signature.operands.resize(op.operands.size(), signature.operands[0]);
  if (!p.check_operand_types(op, signature.operands, signature.loc)) return false;
  if (signature.is_function) op.result_types = signature.results;
  else if (op.name != "sdy.sharding_group") op.result_types = {signature.operands[0]};
  return true;
}

// sdy.manual_computation(%a) in_shardings=[…] out_shardings=[…] manual_axes={…} (%b: T) {…} : fn
bool special_manual_computation(Parser& p, Operation& op) {
  if (!p.expect(Tok::l_paren, "'(' and the operands") || !p.parse_values(op.operands)) return false;
  uint32_t begin = p.token().loc.begin;
  constexpr std::string_view keys[] = {"in_shardings", "out_shardings", "manual_axes"};
  for (std::string_view key : keys) {
    if (!parse_key(p, key)) return false;
    bool square = key != "manual_axes";
    if (!p.expect(square ? Tok::l_square : Tok::l_brace, square ? "'['" : "'{'") || !p.skip_balanced(square ? Tok::r_square : Tok::r_brace)) return false;
  }
  add_attribute(op, "text", string_attribute(std::string(p.written_since(begin))));
  std::vector<Parser::ResultName> names;
  std::vector<Type> types;
  if (!p.expect(Tok::l_paren, "'(' and the arguments of the body")) return false;
  while (p.at(Tok::value)) {
    names.push_back({p.token().text, 1, p.token().loc});
    p.advance();
    Attribute location;
    if (!p.expect(Tok::colon, "':' and a type") || !p.parse_type(types.emplace_back())) return false;
    if (p.at_word("loc") && !p.parse_location(location)) return false;
    if (!p.accept(Tok::comma)) break;
  }
  if (!p.expect(Tok::r_paren, "',' or ')' after an argument") || !p.parse_region(op.regions.emplace_back(), names, types)) return false;
  return p.parse_optional_dictionary(op.attributes) && parse_function_signature(p, op);
}

// sdy.named_computation<"name">(%a) (%b: T) {…} : fn
bool special_named_computation(Parser& p, Operation& op) {
  uint32_t begin = p.token().loc.begin;
  if (!p.expect(Tok::less, "'<' and the name") || !p.skip_balanced(Tok::greater)) return false;
  add_attribute(op, "text", string_attribute(std::string(p.written_since(begin))));
  if (!p.expect(Tok::l_paren, "'(' and the operands") || !p.parse_values(op.operands)) return false;
  while (p.at_word("in_shardings") || p.at_word("out_shardings")) {
    p.advance();
    if (!p.expect(Tok::equal, "'='") || !p.expect(Tok::l_square, "'['") || !p.skip_balanced(Tok::r_square)) return false;
  }
  std::vector<Parser::ResultName> names;
  std::vector<Type> types;
  if (!p.expect(Tok::l_paren, "'(' and the arguments of the body")) return false;
  while (p.at(Tok::value)) {
    names.push_back({p.token().text, 1, p.token().loc});
    p.advance();
    if (!p.expect(Tok::colon, "':' and a type") || !p.parse_type(types.emplace_back())) return false;
    if (!p.accept(Tok::comma)) break;
  }
  if (!p.expect(Tok::r_paren, "',' or ')' after an argument") || !p.parse_region(op.regions.emplace_back(), names, types)) return false;
  return p.parse_optional_dictionary(op.attributes) && parse_function_signature(p, op);
}

// ---- shape, tensor, arith ----

// shape.const_shape [32] : tensor<1xindex>
bool special_const_shape(Parser& p, Operation& op) {
  Ints sizes;
  if (!p.parse_optional_dictionary(op.attributes) || !parse_ints(p, sizes) || !p.expect(Tok::colon, "':' and a type")) return false;
  add_attribute(op, "shape", ints_attribute(std::move(sizes)));
  return p.parse_type(op.result_types.emplace_back());
}

// shape.assuming %w -> (T) { … shape.assuming_yield %x : T }
bool special_assuming(Parser& p, Operation& op) {
  if (!parse_operands(p, op)) return false;
  if (p.accept(Tok::arrow) && !p.parse_result_types(op.result_types)) return false;
  return p.parse_region(op.regions.emplace_back(), {}, {}) && p.parse_optional_dictionary(op.attributes);
}

// shape.cstr_broadcastable %a, %b : T, U, whose result is a witness
bool special_cstr(Parser& p, Operation& op) {
  if (!parse_operands(p, op) || !p.parse_optional_dictionary(op.attributes) || !p.expect(Tok::colon, "':' and the operands' types")) return false;
  Parser::Signature signature;
  if (!p.parse_signature(signature) || !p.check_operand_types(op, signature.operands, signature.loc)) return false;
  op.result_types = {p.context().scalar(ElementType::pred)};
  return true;
}

// tensor.dim %x, %i : T has an i64 result
bool special_tensor_dim(Parser& p, Operation& op) {
  if (!parse_operands(p, op) || !p.parse_optional_dictionary(op.attributes) || !p.expect(Tok::colon, "':' and the tensor's type")) return false;
  Type type;
  Loc loc = p.token().loc;
  if (!p.parse_type(type)) return false;
  if (op.operands.size() != 2) return p.fail(op.loc, "'tensor.dim' has two operands: the tensor and a position");
  if (p.facts(op.operands[0]).type != type) return p.fail(loc, fmt::format("the operand has type {}", mlir_type(p.facts(op.operands[0]).type)));
  op.result_types = {p.context().scalar(ElementType::s64)};
  return true;
}

// tensor.from_elements %a, %b : tensor<2xindex>
bool special_from_elements(Parser& p, Operation& op) {
  return parse_operands(p, op) && p.parse_optional_dictionary(op.attributes) && p.expect(Tok::colon, "':' and the type of the result") &&
         p.parse_type(op.result_types.emplace_back());
}

// tensor.extract %t[%i] : tensor<2xindex>
bool special_extract(Parser& p, Operation& op) {
  if (!parse_operands(p, op) || !p.expect(Tok::l_square, "'[' and the positions")) return false;
  if (!parse_operands(p, op) || !p.expect(Tok::r_square, "']' after the positions") || !p.expect(Tok::colon, "':' and the tensor's type")) return false;
  Type type;
  if (!p.parse_type(type)) return false;
  op.result_types = {p.context().scalar(type.element())};
  return true;
}

// tensor.cast %a : T to U, arith.index_cast %a : T to U
bool special_cast(Parser& p, Operation& op) {
  Type type;
  if (!parse_operands(p, op) || !p.parse_optional_dictionary(op.attributes) || !p.expect(Tok::colon, "':' and a type") || !p.parse_type(type)) return false;
  return p.expect_word("to") && p.parse_type(op.result_types.emplace_back());
}

struct SpecialRow {
  std::string_view op;
  SpecialForm form;
};

constexpr SpecialRow special_rows[] = {
    {"stablehlo.constant", special_constant},
    {"chlo.constant", special_constant},
    {"sdy.constant", special_constant},
    {"arith.constant", special_constant},
    {"stablehlo.slice", special_slice},
    {"stablehlo.get_tuple_element", special_tuple_element},
    {"stablehlo.convolution", special_convolution},
    {"stablehlo.custom_call", special_call},
    {"func.call", special_call},
    {"stablehlo.composite", special_composite},
    {"stablehlo.reduce", special_reduce},
    {"stablehlo.while", special_while},
    {"chlo.top_k", special_top_k},
    {"chlo.scan", special_scan},
    {"check.expect_eq_const", special_check_const},
    {"check.expect_almost_eq_const", special_check_const},
    {"sdy.manual_computation", special_manual_computation},
    {"sdy.named_computation", special_named_computation},
    {"shape.const_shape", special_const_shape},
    {"shape.assuming", special_assuming},
    {"shape.cstr_broadcastable", special_cstr},
    {"tensor.dim", special_tensor_dim},
    {"tensor.from_elements", special_from_elements},
    {"tensor.extract", special_extract},
    {"tensor.cast", special_cast},
    {"arith.index_cast", special_cast},
};

}  // namespace

SpecialForm special_form(std::string_view name) {
  for (const SpecialRow& row : special_rows)
    if (row.op == name) return row.form;
  if (name.starts_with("sdy.") && name != "sdy.return") return special_sdy;
  return nullptr;
}

}  // namespace hloc::ir::mlir
