// The tree of stablehlo_tree.h to the HLO graph. One PieceBuilder makes one Module; an op's handler makes the
// instructions of one operation. Files:
//   stablehlo_build.cpp        functions, their order, modules
//   stablehlo_regions.cpp      regions to computations, captured values
//   stablehlo_read_attr.cpp    attributes by name, extras
//   stablehlo_ops_*.cpp        handlers by family; stablehlo_ops.cpp holds the table
//   chlo*.cpp                  chlo ops that HLO cannot say, as expressions
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/graph.h"
#include "ir/read/stablehlo_tree.h"

namespace hloc::ir::mlir {

class PieceBuilder {
 public:
  PieceBuilder(SourceRef source, ContextRef context, Piece& piece);

  // Null when an error was found; take_error has it.
  ModuleRef build();
  Diagnostic take_error() { return std::move(*error_); }

  // ---- For handlers ----

  Context& context() { return *context_; }
  ComputationBuilder& builder() { return *builder_; }
  const Piece& piece() const { return piece_; }
  bool failed() const { return error_.has_value(); }

  bool fail(Loc loc, std::string message);
  bool fail(const Operation& op, std::string message) { return fail(op.loc, std::move(message)); }

  // Operands and results.
  Value value(ValueNumber number) const { return values_[number]; }
  Value operand(const Operation& op, size_t i) const { return values_[op.operands[i]]; }
  std::vector<Value> operands(const Operation& op) const;
  bool expect_operands(const Operation& op, size_t fewest, size_t most);
  bool expect_results(const Operation& op, size_t count);
  bool expect_regions(const Operation& op, size_t count);
  Type result_type(const Operation& op);  // a tuple unless the op has one result
  void set_value(ValueNumber number, Value v) { values_[number] = v; }
  // The op's results are `v`: itself when there is one, else its elements.
  bool finish(const Operation& op, Value v);

  // One instruction that stands for the op: checked against shape inference, named and placed like the op, and the one
  // that gets the attributes that no handler asked for. Null on error.
  Value emit(const Operation& op, Op hlo, Type type, std::span<const Value> operands, Attr attr = NoAttr{},
             std::span<const Computation* const> callees = {}, uint16_t flags = 0);
  Value emit(const Operation& op, Op hlo, Type type, std::initializer_list<Value> operands, Attr attr = NoAttr{},
             std::initializer_list<const Computation*> callees = {}, uint16_t flags = 0) {
    return emit(op, hlo, type, std::span(operands.begin(), operands.size()), std::move(attr),
                std::span(callees.begin(), callees.size()), flags);
  }
  // An instruction beside it.
  Value aux(Op hlo, Type type, std::initializer_list<Value> operands, Attr attr = NoAttr{});
  Value element_of(Value tuple, int64_t index);
  Value tuple_of(std::span<const Value> parts);
  // A scalar or uniform value in `type`'s shape.
  Value broadcast_scalar(Value scalar, Type type);
  // The attribute as an instruction; a splat becomes a broadcast of a scalar.
  Value constant(const Operation& op, const Attribute& dense, Type type);
  bool literal(const Attribute& dense, Literal& out);  // expanded
  uint16_t result_flags(const Operation& op) const {
    return op.result_types.size() == 1 ? 0 : Instruction::multi_result;
  }

  // Attributes. Asking for one marks it as known.
  const Attribute* find(const Operation& op, std::string_view name);
  const Attribute* require(const Operation& op, std::string_view name);
  bool get_ints(const Operation& op, std::string_view name, Ints& out, bool required = true);
  bool get_int(const Operation& op, std::string_view name, int64_t& out, bool required = false);
  bool get_bool(const Operation& op, std::string_view name, bool& out);
  bool get_real(const Operation& op, std::string_view name, double& out, bool required = false);
  bool get_string(const Operation& op, std::string_view name, std::string& out, bool required = false);
  // The position of the attribute's word among `words`; keeps `out` when the attribute is absent.
  bool get_word(const Operation& op, std::string_view name, std::span<const std::string_view> words, size_t& out,
                bool required = false);
  bool ints_of(const Attribute& attribute, std::string_view name, Ints& out);
  // An entry of a structure such as #stablehlo.gather<…>.
  bool structure_ints(const Attribute& structure, std::string_view name, Ints& out);
  bool structure_int(const Attribute& structure, std::string_view name, int64_t& out);
  // A list of lists of integers, and its text's form: [[0, 1]], dense<[[0, 1]]>.
  bool get_int_lists(const Operation& op, std::string_view name, std::vector<Ints>& out, bool required = true);
  bool int_lists_of(const Attribute& attribute, std::string_view name, std::vector<Ints>& out);
  std::string all_attributes(const Operation& op);  // as a dictionary; all are known then

  // Regions.
  struct RegionForm {
    std::vector<ValueNumber> captures;  // become parameters after the region's own
    bool one_parameter = false;         // a single parameter: a tuple, or the value when there is but one
    bool return_captures = false;       // the root passes the captures on
  };
  // Values used by `regions` from outside that are no constants (those are repeated inside).
  std::vector<ValueNumber> captures(std::span<const Region> regions);
  const Computation* region(const Region& region, std::string_view role, const RegionForm& form);
  // A region of scalars (reducers, comparators): captured scalars turn into more inputs, see stablehlo_regions.cpp.
  const Computation* reducer(const Region& region, std::string_view role, std::span<const ValueNumber> captures,
                             std::span<const size_t> parameter_order);
  bool inline_region(const Region& region, std::vector<Value>& results);  // in place; results of its last op
  const Operation* terminator(const Region& region);

  const Computation* function(const Operation& op, std::string_view name);
  const Function* function_named(std::string_view name) const;

 private:
  struct Reference {
    size_t function;
    Loc loc;
  };

  bool order_functions(std::vector<size_t>& order);
  void references(const Region& region, std::vector<Reference>& out) const;
  void references(const Attribute& attribute, Loc loc, std::vector<Reference>& out) const;
  bool build_function(size_t index);
  bool build_operations(const Region& region);
  bool build_operation(const Operation& op);
  bool attach_rest(const Operation& op);
  bool check_type(const Operation& op, Op hlo, Type type, std::span<const Value> operands, const Attr& attr,
                  std::span<const Computation* const> callees);
  void module_attributes();
  bool read_sharding_text(const Attribute& attribute, std::optional<Sharding>& out);
  void argument_attributes(const Function& function, size_t index, Value parameter, bool is_entry);
  void result_attributes(const Function& function, Value root);
  Extras extras_of(std::span<const NamedAttribute* const> attributes);
  const Metadata* metadata_of(const Attribute& location);
  std::string unique_name(std::string name);
  void name_value(Value v, std::string_view name);
  Value clone_constant(Value outer);
  bool is_constant(Value v) const;
  std::vector<Value> region_parameters(const Region& region, const RegionForm& form);
  const Function* entry_function() const;

  SourceRef source_;
  ContextRef context_;
  Piece& piece_;
  std::optional<Diagnostic> error_;
  ModuleBuilder module_;
  ComputationBuilder* builder_ = nullptr;
  std::vector<Value> values_;
  std::unordered_map<std::string_view, size_t> functions_;
  std::vector<const Computation*> built_;
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, int> name_counts_;
  std::string_view current_function_;
  Loc here_;  // of the operation at hand

  // Of the operation at hand.
  struct Asked {
    std::vector<bool> known;
    std::vector<std::string> missing;
    Value main = nullptr;
  };
  Asked asked_;
};

using OpHandler = bool (*)(PieceBuilder&, const Operation&);
OpHandler find_handler(std::string_view name);

// chlo ops by decomposition; null when `name` is none of them.
OpHandler find_chlo_handler(std::string_view name);

}  // namespace hloc::ir::mlir
