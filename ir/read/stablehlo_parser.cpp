// StableHLO text: tokens, pieces, modules, functions, regions and operations in generic form.
#include "ir/read/stablehlo_parser.h"

#include <fmt/format.h>

#include "ir/op.h"
#include "ir/print/print.h"
#include "ir/read/stablehlo_forms.h"

namespace hloc::ir::mlir {

Parser::Parser(const Source& source, Context& context, uint32_t begin, uint32_t end)
    : source_(source), context_(context), lexer_(source.text, begin, end) {
  token_.loc = {begin, begin};
  previous_end_ = begin;
  advance();
}

// ---- Tokens ----

void Parser::advance() {
  previous_end_ = token_.loc.end;
  token_ = error_ ? Token{Tok::end, token_.loc, {}} : lexer_.next();
}

bool Parser::accept(Tok kind) {
  if (token_.kind != kind) return false;
  advance();
  return true;
}

bool Parser::accept_word(std::string_view word) {
  if (!at_word(word)) return false;
  advance();
  return true;
}

bool Parser::expect(Tok kind, std::string_view what) { return accept(kind) || fail_expected(what); }

bool Parser::expect_word(std::string_view word) { return accept_word(word) || fail_expected(fmt::format("'{}'", word)); }

bool Parser::fail(Loc loc, std::string message) {
  if (!error_) error_ = error_at(source_, loc, std::move(message));
  token_.kind = Tok::end;
  return false;
}

bool Parser::fail_expected(std::string_view what) {
  if (at(Tok::bad) && token_.text.starts_with('"')) return fail(token_.loc, "this string has no end on its line");
  if (at(Tok::bad)) return fail(token_.loc, fmt::format("expected {}, found a character that StableHLO does not use here", what));
  return fail(token_.loc, fmt::format("expected {}, found {}", what, describe(token_)));
}

bool Parser::skip_balanced(Tok close) {
  Loc open{previous_end_ == 0 ? 0 : previous_end_ - 1, previous_end_};
  auto closer = [](Tok kind) {
    return kind == Tok::l_paren    ? Tok::r_paren
           : kind == Tok::l_brace  ? Tok::r_brace
           : kind == Tok::l_square ? Tok::r_square
           : kind == Tok::less     ? Tok::greater
                                   : Tok::end;
  };
  std::vector<Tok> expected = {close};
  while (!expected.empty()) {
    if (at(Tok::end)) return fail(open, "this bracket is never closed");
    if (token_.kind == expected.back()) expected.pop_back();
    else if (Tok c = closer(token_.kind); c != Tok::end) expected.push_back(c);
    advance();
  }
  return true;
}

std::string_view Parser::written_since(uint32_t begin) const { return lexer_.text(begin, std::max(begin, previous_end_)); }

bool Parser::parse_string(std::string& out) {
  if (!at(Tok::string)) return fail_expected("a string");
  if (!unescape(token_.text, out)) return fail(token_.loc, "this string has an escape that MLIR does not know; it has \\\", \\\\, \\n, \\t and \\XX");
  advance();
  return true;
}

// ---- Pieces and modules ----

bool Parser::parse_piece(Piece& piece) {
  piece_ = &piece;
  piece.loc = token_.loc;
  return parse_top_level(Tok::end) && !error_;
}

bool Parser::parse_top_level(Tok end) {
  while (!at(end)) {
    Loc loc = token_.loc;
    if (at(Tok::hash) || at(Tok::bang)) {
      if (!parse_alias()) return false;
    } else if (at(Tok::trailer_begin)) {
      if (!parse_trailer()) return false;
    } else if (at_word("module") || at_word("builtin.module")) {
      if (end != Tok::end) return fail(loc, "a module inside a module is not supported; put each module into a piece of its own, with '// -----' between them");
      if (!parse_module()) return false;
    } else if (at_word("func.func") || at_word("func")) {
      advance();
      if (!parse_function(loc)) return false;
    } else if (at_word("sdy.mesh")) {
      if (!parse_mesh(loc)) return false;
    } else if (at(Tok::string) && token_.text == "builtin.module") {
      if (!parse_generic_module()) return false;
    } else if (at(Tok::string) && token_.text == "func.func") {
      if (!parse_generic_function()) return false;
    } else if (at(Tok::end)) {
      return fail_expected("'}' at the end of the module");
    } else if (at(Tok::word) || at(Tok::string)) {
      constexpr std::string_view words[] = {"module", "func.func", "sdy.mesh"};
      std::string_view near = nearest(token_.text, words);
      return fail(loc, fmt::format("expected 'module' or 'func.func', found {}{}", describe(token_), suggestion(near)));
    } else {
      return fail_expected("'module' or 'func.func'");
    }
  }
  return !error_;
}

// #name = attribute, !name = type
bool Parser::parse_alias() {
  bool is_type = at(Tok::bang);
  std::string name(token_.text);
  advance();
  if (!expect(Tok::equal, "'=' after the name of an alias")) return false;
  if (is_type) {
    Type type;  // known from its end on: a type that names itself is an error like any unknown one
    if (!parse_type(type)) return false;
    type_aliases_[name] = type;
    return true;
  }
  Attribute value;
  if (!parse_attribute(value)) return false;
  piece_->aliases.insert_or_assign(std::move(name), std::move(value));
  return true;
}

// {-# dialect_resources: { builtin: { name: "0x0400…" } } #-}
bool Parser::parse_trailer() {
  Loc open = token_.loc;
  advance();
  while (!accept(Tok::trailer_end)) {
    if (at(Tok::end)) return fail(open, "this '{-#' has no matching '#-}'");
    if (at_word("dialect_resources")) {
      advance();
      if (!expect(Tok::colon, "':' after 'dialect_resources'") || !expect(Tok::l_brace, "'{'")) return false;
      while (!accept(Tok::r_brace)) {
        if (!at(Tok::word)) return fail_expected("the name of a dialect");
        advance();
        if (!expect(Tok::colon, "':' after the name of a dialect") || !expect(Tok::l_brace, "'{'") || !parse_resource_entries()) return false;
        accept(Tok::comma);
      }
    } else {
      advance();
    }
  }
  return true;
}

bool Parser::parse_resource_entries() {
  while (!accept(Tok::r_brace)) {
    if (!at(Tok::word) && !at(Tok::string)) return fail_expected("the name of a resource");
    std::string name(token_.text);
    advance();
    if (!expect(Tok::colon, "':' after the name of a resource")) return false;
    if (!at(Tok::string) || !token_.text.starts_with("0x")) return fail_expected("a string of hexadecimal digits, \"0x…\"");
    piece_->resources.insert_or_assign(std::move(name), token_.text.substr(2));
    advance();
    accept(Tok::comma);
  }
  return true;
}

bool Parser::parse_module() {
  piece_->loc = token_.loc;
  advance();
  if (at(Tok::symbol)) {
    Attribute name;
    if (!parse_symbol(name)) return false;
    piece_->name = name.text;
  }
  if (accept_word("attributes") && !parse_dictionary(piece_->attributes)) return false;
  if (!expect(Tok::l_brace, "'{' of the module's body") || !parse_top_level(Tok::r_brace)) return false;
  advance();
  Attribute location;
  return !at_word("loc") || parse_location(location);
}

// "builtin.module"() <{sym_name = "m"}> ({ … }) {…} : () -> ()
bool Parser::parse_generic_module() {
  advance();
  std::vector<NamedAttribute> attributes;
  if (!expect(Tok::l_paren, "'('") || !expect(Tok::r_paren, "')'")) return false;
  if (accept(Tok::less) && (!parse_dictionary(attributes) || !expect(Tok::greater, "'>'"))) return false;
  if (!expect(Tok::l_paren, "'(' of the module's region") || !expect(Tok::l_brace, "'{'") || !parse_top_level(Tok::r_brace)) return false;
  advance();
  FunctionType type;
  if (!expect(Tok::r_paren, "')'") || !parse_optional_dictionary(attributes) || !expect(Tok::colon, "': () -> ()'") || !parse_function_type(type)) return false;
  for (NamedAttribute& a : attributes) {
    if (a.name == "sym_name") piece_->name = a.value.text;
    else piece_->attributes.push_back(std::move(a));
  }
  Attribute location;
  return !at_word("loc") || parse_location(location);
}

// sdy.mesh @mesh = <["x"=4]> {…}: kept as text.
bool Parser::parse_mesh(Loc loc) {
  advance();
  Attribute name;
  if (!at(Tok::symbol)) return fail_expected("'@' and the name of the mesh");
  if (!parse_symbol(name) || !expect(Tok::equal, "'=' after the name of the mesh") || !expect(Tok::less, "'<' of the mesh") || !skip_balanced(Tok::greater)) return false;
  std::vector<NamedAttribute> ignored;
  if (!parse_optional_dictionary(ignored)) return false;
  piece_->others.emplace_back(written_since(loc.begin));
  Attribute location;
  return !at_word("loc") || parse_location(location);
}

// ---- Functions ----

bool Parser::parse_arguments(Function& function, std::vector<std::pair<std::string_view, Loc>>& names) {
  if (!expect(Tok::l_paren, "'(' of the function's arguments")) return false;
  if (accept(Tok::r_paren)) return true;
  do {
    names.push_back({at(Tok::value) ? token_.text : std::string_view(), token_.loc});
    if (at(Tok::value)) {
      advance();
      if (!expect(Tok::colon, "':' and a type after the argument's name")) return false;
    }
    Type type;
    Attribute location;
    if (!parse_type(type)) return false;
    function.argument_types.push_back(type);
    function.argument_attributes.emplace_back();
    if (!parse_optional_dictionary(function.argument_attributes.back())) return false;
    if (at_word("loc") && !parse_location(location)) return false;
  } while (accept(Tok::comma));
  return expect(Tok::r_paren, "',' or ')' after an argument");
}

bool Parser::parse_function_results(Function& function) {
  if (!accept(Tok::arrow)) return true;
  bool list = accept(Tok::l_paren);
  if (list && accept(Tok::r_paren)) return true;
  do {
    Type type;
    if (!parse_type(type)) return false;
    function.result_types.push_back(type);
    function.result_attributes.emplace_back();
    if (list && !parse_optional_dictionary(function.result_attributes.back())) return false;
  } while (list && accept(Tok::comma));
  return !list || expect(Tok::r_paren, "',' or ')' after a result type");
}

bool Parser::parse_function(Loc loc) {
  Function& function = piece_->functions.emplace_back();
  function.loc = loc;
  if (at_word("public") || at_word("private") || at_word("nested")) {
    function.is_public = at_word("public");
    advance();
  }
  if (!at(Tok::symbol)) return fail_expected("'@' and the name of the function");
  function.loc = token_.loc;
  Attribute name;
  if (!parse_symbol(name)) return false;
  function.name = name.text;
  std::vector<std::pair<std::string_view, Loc>> names;
  if (!parse_arguments(function, names) || !parse_function_results(function)) return false;
  if (accept_word("attributes") && !parse_dictionary(function.attributes)) return false;
  if (at(Tok::l_brace)) {
    std::vector<ResultName> arguments;
    for (auto [argument, at_name] : names) {
      if (argument.empty()) return fail(at_name, "the arguments of a function with a body need names, as in '%arg0: tensor<f32>'");
      arguments.push_back({argument, 1, at_name});
    }
    function.has_body = true;
    if (!parse_region(function.body, arguments, function.argument_types)) return false;
  }
  Attribute location;
  return !at_word("loc") || parse_location(location);
}

// "func.func"() <{function_type = (T) -> R, sym_name = "f"}> ({ ^bb0(%a: T): … }) : () -> ()
bool Parser::parse_generic_function() {
  Function& function = piece_->functions.emplace_back();
  function.loc = token_.loc;
  advance();
  std::vector<NamedAttribute> attributes;
  if (!expect(Tok::l_paren, "'('") || !expect(Tok::r_paren, "')'")) return false;
  if (accept(Tok::less) && (!parse_dictionary(attributes) || !expect(Tok::greater, "'>'"))) return false;
  if (!expect(Tok::l_paren, "'(' of the function's region")) return false;
  if (!parse_region(function.body, {}, {})) return false;
  FunctionType type;
  if (!expect(Tok::r_paren, "')'") || !parse_optional_dictionary(attributes) || !expect(Tok::colon, "': () -> ()'") || !parse_function_type(type)) return false;
  const Attribute* signature = find_attribute(attributes, "function_type");
  const Attribute* name = find_attribute(attributes, "sym_name");
  if (!signature || signature->elements.size() != 2 || !name) return fail(function.loc, "a function needs the attributes 'sym_name' and 'function_type'");
  for (const Attribute& a : signature->elements[0].elements) function.argument_types.push_back(a.type);
  for (const Attribute& a : signature->elements[1].elements) function.result_types.push_back(a.type);
  function.argument_attributes.resize(function.argument_types.size());
  function.result_attributes.resize(function.result_types.size());
  function.name = name->text;
  function.has_body = !function.body.operations.empty();
  const Attribute* visibility = find_attribute(attributes, "sym_visibility");
  function.is_public = !visibility || visibility->text == "public";
  auto spread = [&](const char* key, std::vector<std::vector<NamedAttribute>>& out) {
    const Attribute* list = find_attribute(attributes, key);
    for (size_t i = 0; list && i < list->elements.size() && i < out.size(); ++i) out[i] = list->elements[i].entries;
  };
  spread("arg_attrs", function.argument_attributes);
  spread("res_attrs", function.result_attributes);
  for (NamedAttribute& a : attributes)
    if (a.name != "function_type" && a.name != "sym_name" && a.name != "sym_visibility" && a.name != "arg_attrs" && a.name != "res_attrs")
      function.attributes.push_back(std::move(a));
  if (function.has_body && function.body.arguments.size() != function.argument_types.size())
    return fail(function.loc, "the block of the function has another number of arguments than 'function_type' says");
  Attribute location;
  return !at_word("loc") || parse_location(location);
}

// ---- Regions ----

bool Parser::enter_region(Region& region, Loc loc) {
  if (open_regions_.size() >= max_depth) return fail(loc, fmt::format("regions are nested deeper than {} levels", max_depth));
  region.loc = loc;
  open_regions_.push_back(&region);
  region_names_.emplace_back();
  captured_.emplace_back();
  return true;
}

void Parser::leave_region() {
  for (std::string_view name : region_names_.back()) names_.erase(name);
  region_names_.pop_back();
  captured_.pop_back();
  open_regions_.pop_back();
}

// At `{`. The block's arguments may be given by the op (function, while), else by a label.
bool Parser::parse_region(Region& region, std::span<const ResultName> argument_names, std::span<const Type> argument_types) {
  if (!at(Tok::l_brace)) return fail_expected("'{' of a region");
  if (!enter_region(region, token_.loc)) return false;
  advance();
  bool ok = true;
  for (size_t i = 0; ok && i < argument_names.size(); ++i) {
    region.arguments.push_back(add_value(argument_types[i], argument_names[i].name, argument_names[i].loc));
    ok = define(argument_names[i].name, region.arguments.back(), 1, argument_names[i].loc);
  }
  ok = ok && parse_region_body(region, Tok::r_brace);
  leave_region();
  return ok;
}

bool Parser::parse_block_arguments(Region& region) {
  if (!accept(Tok::l_paren)) return true;
  if (accept(Tok::r_paren)) return true;
  do {
    if (!at(Tok::value)) return fail_expected("the name of a block argument, as in '%arg0: tensor<f32>'");
    Token name = token_;
    Type type;
    advance();
    if (!expect(Tok::colon, "':' and a type after the argument's name") || !parse_type(type)) return false;
    Attribute location;
    if (at_word("loc") && !parse_location(location)) return false;
    region.arguments.push_back(add_value(type, name.text, name.loc));
    if (!define(name.text, region.arguments.back(), 1, name.loc)) return false;
  } while (accept(Tok::comma));
  return expect(Tok::r_paren, "',' or ')' after a block argument");
}

bool Parser::parse_region_body(Region& region, Tok close) {
  Loc open = region.loc;
  if (at(Tok::caret)) {
    advance();
    if (!parse_block_arguments(region) || !expect(Tok::colon, "':' after the label of the block")) return false;
  }
  while (!accept(close)) {
    if (error_) return false;
    if (at(Tok::end)) return fail(open, "this '{' has no matching '}'");
    if (at(Tok::caret)) return fail(token_.loc, "a second block in a region is not supported: hloc reads structured programs (stablehlo.while, if, case), not branches between blocks");
    if (!parse_operation(region.operations)) return false;
  }
  return true;
}

// ---- Values ----

ValueNumber Parser::add_value(Type type, std::string_view name, Loc loc) {
  piece_->values.push_back({type, name, loc, false});
  return static_cast<ValueNumber>(piece_->values.size() - 1);
}

bool Parser::define(std::string_view name, ValueNumber first, uint32_t count, Loc loc) {
  auto [it, fresh] = names_.try_emplace(name, Definition{first, count, static_cast<uint32_t>(open_regions_.size()), loc});
  if (!fresh) return fail(loc, fmt::format("'%{}' is defined twice", name));
  region_names_.back().push_back(name);
  return true;
}

void Parser::note_capture(ValueNumber value, uint32_t depth) {
  for (size_t level = open_regions_.size(); level > depth; --level) {
    if (!captured_[level - 1].try_emplace(value, true).second) return;
    open_regions_[level - 1]->captures.push_back(value);
  }
}

// %name or %name#3
bool Parser::parse_value(ValueNumber& out) {
  if (!at(Tok::value)) return fail_expected("a value such as '%0'");
  Token name = token_;
  advance();
  int64_t index = 0;
  Loc loc = name.loc;
  if (at(Tok::hash) && token_.loc.begin == previous_end_) {
    auto number = integer_of(token_.text, false);
    if (!number || *number < 0) return fail_expected("the number of a result after '#'");
    index = *number;
    loc.end = token_.loc.end;
    advance();
  }
  auto it = names_.find(name.text);
  if (it == names_.end()) {
    std::vector<std::string_view> known;
    for (const auto& [defined, where] : names_) known.push_back(defined);
    std::string_view near = nearest(name.text, known);
    return fail(name.loc, fmt::format("'%{}' is not defined here{}", name.text, suggestion(near, "%")));
  }
  const Definition& def = it->second;
  if (index >= def.count)
    return fail(loc, fmt::format("'%{}' has {} result{}, so the last one is '#{}'", name.text, def.count, def.count == 1 ? "" : "s", def.count - 1));
  out = def.first + static_cast<ValueNumber>(index);
  piece_->values[out].used = true;
  note_capture(out, def.depth);
  return true;
}

bool Parser::parse_values(std::vector<ValueNumber>& out) {
  if (accept(Tok::r_paren)) return true;
  do {
    ValueNumber value = 0;
    if (!parse_value(value)) return false;
    out.push_back(value);
  } while (accept(Tok::comma));
  return expect(Tok::r_paren, "',' or ')' after an operand");
}

bool Parser::check_operand_types(const Operation& op, std::span<const Type> types, Loc loc) {
  if (types.size() != op.operands.size())
    return fail(loc, fmt::format("'{}' has {} operand{}, but {} operand type{}", op.name, op.operands.size(), op.operands.size() == 1 ? "" : "s",
                                 types.size(), types.size() == 1 ? " is written" : "s are written"));
  for (size_t i = 0; i < types.size(); ++i) {
    const ValueFacts& value = piece_->values[op.operands[i]];
    if (value.type != types[i])
      return fail(loc, fmt::format("operand {} of '{}' is '%{}' of type {}, but its type is written as {}", i + 1, op.name, value.name,
                                   mlir_type(value.type), mlir_type(types[i])));
  }
  return true;
}

// ---- Operations ----

bool Parser::parse_results_of(Operation& op, std::span<const ResultName> names) {
  uint64_t named = 0;
  for (const ResultName& name : names) named += name.count;
  if (!names.empty() && named != op.result_types.size())
    return fail(names[0].loc, fmt::format("'{}' has {} result{}, but {} {} named", op.name, op.result_types.size(), op.result_types.size() == 1 ? "" : "s", named, named == 1 ? "is" : "are"));
  op.first_result = static_cast<ValueNumber>(piece_->values.size());
  if (names.empty()) {
    for (Type type : op.result_types) add_value(type, {}, op.loc);
    return true;
  }
  size_t next = 0;
  for (const ResultName& name : names) {
    ValueNumber first = static_cast<ValueNumber>(piece_->values.size());
    for (uint32_t i = 0; i < name.count; ++i)
      add_value(op.result_types[next++], name.count == 1 ? name.name : context_.string(fmt::format("{}#{}", name.name, i)), name.loc);
    if (!define(name.name, first, name.count, name.loc)) return false;
  }
  return true;
}

bool Parser::parse_operation(std::vector<Operation>& out) {
  std::vector<ResultName> names;
  while (at(Tok::value)) {
    ResultName name{token_.text, 1, token_.loc};
    advance();
    if (accept(Tok::colon)) {
      int64_t count = 0;
      Loc loc = token_.loc;
      if (!parse_signed(count)) return false;
      if (count < 1 || count > INT32_MAX) return fail(loc, "an op that is named has at least one result");
      name.count = static_cast<uint32_t>(count);
    }
    names.push_back(name);
    if (!accept(Tok::comma)) break;
  }
  if (!names.empty() && !expect(Tok::equal, "'=' after the results")) return false;
  Operation op;
  op.loc = token_.loc;
  if (at(Tok::string)) {
    op.name = token_.text;
    if (!known_operation(op.name)) return fail(op.loc, unknown_operation(op.name));
    advance();
    if (!parse_generic_operation(op, std::string(op.name))) return false;
  } else if (at(Tok::word)) {
    op.name = qualified_operation(token_.text);
    if (op.name.empty()) return fail(op.loc, unknown_operation(token_.text));
    advance();
    if (!parse_pretty(*this, op)) return false;
  } else {
    return fail_expected("an operation");
  }
  if (at_word("loc") && !parse_location(op.location)) return false;
  if (!parse_results_of(op, names)) return false;
  out.push_back(std::move(op));
  return true;
}

bool Parser::parse_generic_operation(Operation& op, std::string name) {
  if (!expect(Tok::l_paren, fmt::format("'(' and the operands of \"{}\"", name)) || !parse_values(op.operands)) return false;
  if (at(Tok::l_square)) return fail(token_.loc, "branches between blocks are not supported: hloc reads structured programs only");
  if (accept(Tok::less) && (!parse_dictionary(op.attributes) || !expect(Tok::greater, "'>' after the properties"))) return false;
  if (accept(Tok::l_paren)) {
    do {
      if (!parse_region(op.regions.emplace_back(), {}, {})) return false;
    } while (accept(Tok::comma));
    if (!expect(Tok::r_paren, "',' or ')' after a region")) return false;
  }
  if (!parse_optional_dictionary(op.attributes)) return false;
  if (!expect(Tok::colon, fmt::format("':' and the type of \"{}\"", name))) return false;
  Loc loc = token_.loc;
  FunctionType type;
  if (!parse_function_type(type) || !check_operand_types(op, type.inputs, loc)) return false;
  op.result_types = std::move(type.results);
  return true;
}

// After ':': `(T, U) -> V`, `T, U -> V` or a list of types.
bool Parser::parse_signature(Signature& out) {
  out.loc = token_.loc;
  if (at(Tok::l_paren)) {
    FunctionType type;
    if (!parse_function_type(type)) return false;
    out.operands = std::move(type.inputs);
    out.results = std::move(type.results);
    out.is_function = true;
    return true;
  }
  if (at(Tok::arrow)) out.is_function = true;  // no operands
  else if (!parse_type_list(out.operands)) return false;
  if (!accept(Tok::arrow)) return true;
  out.is_function = true;
  return parse_result_types(out.results);
}

}  // namespace hloc::ir::mlir
