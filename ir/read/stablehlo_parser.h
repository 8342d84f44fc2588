// The parser of StableHLO text: pretty and generic forms to the tree of stablehlo_tree.h.
//
// Members return false once something failed; the first error is kept and the rest of the text is not looked at. Files:
//   stablehlo_parser.cpp      tokens, pieces, modules, functions, regions, operations in generic form
//   stablehlo_types.cpp       types
//   stablehlo_attributes.cpp  attribute values
//   stablehlo_forms.cpp       pretty forms that a table row can say
//   stablehlo_special.cpp     pretty forms that need a function of their own
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "ir/read/stablehlo_lexer.h"
#include "ir/read/stablehlo_tree.h"

namespace hloc::ir::mlir {

struct FunctionType {
  std::vector<Type> inputs, results;
};

class Parser {
 public:
  // Regions, attributes and nested ops deeper than this are refused.
  static constexpr int max_depth = 512;

  Parser(const Source& source, Context& context, uint32_t begin, uint32_t end);

  bool parse_piece(Piece& piece);
  Diagnostic take_error() { return std::move(*error_); }

  // What follows is for the files named above and for the pretty forms.
  struct Definition {
    ValueNumber first = 0;
    uint32_t count = 1;
    uint32_t depth = 0;  // of the region that defines it
    Loc loc;
  };
  // A number of results with one name, before `=`.
  struct ResultName {
    std::string_view name;
    uint32_t count = 1;
    Loc loc;
  };
  struct Signature {
    std::vector<Type> operands, results;
    bool is_function = false;  // written as (…) -> … or … -> …
    Loc loc;
  };

  // Tokens
  void advance();
  bool at(Tok kind) const { return token_.kind == kind; }
  bool at_word(std::string_view word) const { return token_.kind == Tok::word && token_.text == word; }
  bool accept(Tok kind);
  bool accept_word(std::string_view word);
  bool expect(Tok kind, std::string_view what);
  bool expect_word(std::string_view word);
  bool fail(Loc loc, std::string message);
  bool fail_expected(std::string_view what);
  bool skip_balanced(Tok close);  // to the `close` that matches an open bracket already taken
  std::string_view written_since(uint32_t begin) const;
  bool parse_string(std::string& out);

  // Types
  bool parse_type(Type& out);
  bool parse_simple_type(Type& out);
  bool parse_bang_type(Type& out);
  bool parse_tensor(Type& out);
  bool parse_dimensions(std::vector<Dim>& dims);
  bool parse_encoding(std::vector<Dim>& dims);
  bool parse_element(ElementType& element, const QuantParams*& quant);
  bool parse_quant(const QuantParams*& quant);
  bool parse_quant_number(double& scale, int64_t& zero_point);
  bool parse_type_list(std::vector<Type>& out);  // up to what no comma follows
  bool parse_function_type(FunctionType& out);
  bool parse_result_types(std::vector<Type>& out);  // one type, or a list in parentheses
  bool at_type() const;
  bool parse_signed(int64_t& out);
  std::optional<int64_t> integer_of(std::string_view digits, bool negative);

  // Attributes
  bool parse_attribute(Attribute& out);
  bool parse_bare_attribute(Attribute& out);  // a number or string without its type: what follows ':' belongs to the op
  bool parse_attribute_body(Attribute& out);
  bool parse_attribute_word(Attribute& out);
  bool parse_number(Attribute& out);
  bool parse_list(Attribute& out);
  bool parse_array(Attribute& out);
  bool parse_dense(Attribute& out);
  bool parse_hash(Attribute& out);
  bool parse_structure(Attribute& out);
  bool parse_structure_entries(Attribute& out, Tok close);
  bool parse_conv_structure(Attribute& out);
  bool parse_conv_side(Attribute& out);
  bool parse_dictionary(std::vector<NamedAttribute>& out);        // at `{`
  bool parse_entries(std::vector<NamedAttribute>& out, Tok close);  // after the opening bracket
  bool parse_optional_dictionary(std::vector<NamedAttribute>& out);
  bool parse_location(Attribute& out);
  bool parse_symbol(Attribute& out);

  // Modules, functions, regions
  bool parse_top_level(Tok end);
  bool parse_alias();
  bool bounded(Type type, Loc begin);
  bool parse_trailer();
  bool parse_resource_entries();
  bool parse_module();
  bool parse_generic_module();
  bool parse_function(Loc loc);
  bool parse_generic_function();
  bool parse_arguments(Function& function, std::vector<std::pair<std::string_view, Loc>>& names);
  bool parse_function_results(Function& function);
  bool parse_mesh(Loc loc);
  bool parse_region(Region& region, std::span<const ResultName> argument_names, std::span<const Type> argument_types);
  bool parse_region_body(Region& region, Tok close);
  bool parse_block_arguments(Region& region);
  bool parse_operation(std::vector<Operation>& out);
  bool parse_generic_operation(Operation& op, std::string name);
  bool parse_results_of(Operation& op, std::span<const ResultName> names);
  bool enter_region(Region& region, Loc loc);
  void leave_region();

  // Values
  bool define(std::string_view name, ValueNumber first, uint32_t count, Loc loc);
  ValueNumber add_value(Type type, std::string_view name, Loc loc);
  bool parse_value(ValueNumber& out);
  bool parse_values(std::vector<ValueNumber>& out);  // possibly none, in parentheses already taken
  bool check_operand_types(const Operation& op, std::span<const Type> types, Loc loc);
  void note_capture(ValueNumber value, uint32_t depth);

  bool parse_signature(Signature& out);

  Context& context() { return context_; }
  const Token& token() const { return token_; }
  const ValueFacts& facts(ValueNumber value) const { return piece_->values[value]; }

 private:
  const Source& source_;
  Context& context_;
  Lexer lexer_;
  Token token_;
  uint32_t previous_end_ = 0;
  std::optional<Diagnostic> error_;
  Piece* piece_ = nullptr;
  int attribute_depth_ = 0;
  bool bare_ = false;
  std::unordered_map<std::string_view, Definition> names_;
  std::vector<std::vector<std::string_view>> region_names_;  // names defined in each open region
  std::vector<Region*> open_regions_;
  std::vector<std::unordered_map<ValueNumber, bool>> captured_;
  std::map<std::string, Type, std::less<>> type_aliases_;
};

}  // namespace hloc::ir::mlir
