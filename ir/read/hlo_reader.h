// The state of reading one HLO module: computations, their instructions and the names they have.
//
// Nothing recurses. A computation being read is a Scope; a computation written inline in an attribute opens another one
// on top of it and, when closed, becomes the callee that the statement below waits for. Nested operands of one statement
// are a stack of Open entries within its scope.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "ir/read/hlo_attribute.h"
#include "ir/read/hlo_names.h"
#include "ir/read/hlo_remembered.h"

namespace hloc::ir {

enum class AsyncPart : uint8_t { none, start, update, done };

// An instruction whose operands are being read.
struct HloOpen {
  std::string_view name;    // empty: written as an operand of another one
  std::string_view opcode;
  Op op = Op::Add;          // of OP-start and the like: OP
  AsyncPart async = AsyncPart::none;
  Type type;                // null: not written
  size_t first_operand = 0; // in HloScope::operands
};

// An attribute that any op may have, as text; what it says is read when the statement is complete.
struct HloCommon {
  size_t attribute;        // in hlo_common_attributes
  std::string_view value;
  bool operator==(const HloCommon&) const = default;
};

// Extras that were read from these texts already, earlier in the computation.
struct HloKnownExtras {
  std::vector<HloCommon> common;
  const Extras* extras = nullptr;
};

struct HloScope {
  HloScope(const ContextRef& context, std::string_view name) : builder(context, name) {}

  ComputationBuilder builder;
  HloNames names;
  bool is_entry = false, is_inline = false, is_bare = false;
  Loc at;                              // its name or opening brace
  Type declared_result;                // of `-> type`; null: not written
  size_t call_depth = 1;
  Value root = nullptr;
  std::string_view root_name;
  std::vector<std::pair<int64_t, std::string_view>> parameters;  // number, and the text that says it
  std::vector<Value> unnamed;
  std::unordered_map<uint64_t, Value> elements;  // name#1: by value and index
  std::unordered_map<uint64_t, HloKnownExtras> extras;  // by a hash of their texts

  // The statement that is being read.
  std::vector<HloOpen> open;
  std::vector<Value> operands;
  bool is_root = false;
  uint32_t name_hash = 0;
  const Attr* known_attr = nullptr;    // the interned attribute; null: it is `attr`, not interned yet
  Attr attr;
  AsyncAttr async;                     // of OP-start, beside OP's own
  std::vector<HloCommon> common;
  const Metadata* metadata = nullptr;
  std::vector<const Computation*> callees;
  uint64_t seen_rows = 0, seen_common = 0, seen_callees = 0;
  int waiting_slot = 0;                // where the inline computation's result goes; -1: to the end of a list
  bool in_callee_list = false;
};

class HloReader {
 public:
  static constexpr size_t max_depth = 512;

  HloReader(SourceRef source, ContextRef context);
  Result<ModuleRef> read();

 private:
  enum class Progress : uint8_t { failed, done, suspended };

  // Module (hlo.cpp)
  bool module();
  bool header();
  bool stack_frames();
  bool bare_instructions();
  bool computation();
  bool signature(HloScope& scope);
  bool scopes();  // until the scope at the bottom is closed
  bool close_scope();
  bool name_unnamed(HloScope& scope);
  bool check_parameters(const HloScope& scope);
  bool add_computation(HloScope& scope);
  std::string_view generated_name();

  // Statements (hlo_statement.cpp)
  Progress statement(HloScope& scope);
  Progress resume(HloScope& scope, const Computation* callee);
  bool open_instruction(HloScope& scope, std::string_view name);
  bool operands(HloScope& scope);
  bool operand(HloScope& scope);
  bool reference(HloScope& scope, Type declared, bool has_type);
  bool tuple_elements(HloScope& scope, Value& v);
  bool special_argument(HloScope& scope);
  bool parameter_argument(HloScope& scope);
  bool constant_argument(HloScope& scope);
  bool opcode(HloOpen& open);
  Value find_value(HloScope& scope, std::string_view name);
  Value close_nested(HloScope& scope);
  bool close_statement(HloScope& scope);
  Value make(HloScope& scope, HloOpen& open, std::span<const Value> operands);
  Value make_async(HloScope& scope, HloOpen& open, std::span<const Value> operands);
  bool check_arity(const HloOpen& open, size_t count);
  bool fail_undefined(const HloScope& scope, std::string_view name);

  // Attributes (hlo_statement_attributes.cpp)
  Progress attributes(HloScope& scope);
  Progress attribute(HloScope& scope);
  bool own_attribute(HloScope& scope, const HloAttributeRow& row);
  bool own_attribute_follows(Op op);
  std::string_view likely_value();
  bool common_attribute(HloScope& scope, std::string_view name, bool& known);
  bool metadata_attribute(HloScope& scope);
  bool common_attributes(HloScope& scope, Value v);
  bool read_common(HloScope& scope, const HloCommon& common, Extras& out);
  bool control_predecessors(HloScope& scope, Extras& out);
  bool statistics(Extras& out);
  Progress callee_attribute(HloScope& scope, const HloCallee& callee);
  Progress callee_list(HloScope& scope);
  Progress callee_reference(HloScope& scope, int slot);
  void put_callee(HloScope& scope, int slot, const Computation* callee);
  bool check_attributes(HloScope& scope);
  bool fail_unknown_attribute(const HloScope& scope, std::string_view name);

  // What the text alone can get wrong about an op (hlo_checks.cpp)
  bool check_instruction(const HloOpen& open, const Attr& attr, std::span<const Value> operands,
                         std::span<const Computation* const> callees);
  bool check_conditional(const HloOpen& open, std::span<const Value> operands, size_t callees);

  // The attribute of the statement: as it is, and to be written to.
  static const Attr& attr_of(const HloScope& scope) { return scope.known_attr ? *scope.known_attr : scope.attr; }
  static Attr& written_attr(HloScope& scope);
  const Attr* interned_default(Op op);

  SourceRef source_;
  HloParts parts_;
  HloLexer& lex_;
  ContextRef context_;
  std::optional<ModuleBuilder> builder_;
  ModuleConfig config_;
  std::string_view module_name_;
  std::vector<std::unique_ptr<HloScope>> scopes_;
  std::unordered_map<std::string_view, const Computation*> computations_;  // by name; none of those written inline
  std::unordered_map<const Computation*, size_t> call_depths_;
  const Computation* entry_ = nullptr;
  std::string_view entry_name_;
  std::string inline_prefix_;
  size_t inline_count_ = 0;
  uint32_t counted_until_ = 0;   // text whose lines were counted for a reservation

  // What was read from texts that are likely to come again.
  Remembered<Metadata, 256> metadata_texts_;  // {…}
  Remembered<Attr, 512> value_texts_;         // values of attributes, by row and by the attribute before
  Remembered<Attr, 512> constant_texts_;      // scalars, by type
  std::vector<const Attr*> defaults_ = std::vector<const Attr*>(all_ops().size());
  std::array<const Attr*, 64> parameter_attrs_{};
  struct RememberedOp {
    std::string_view text;
    Op op = Op::Add;
  };
  std::array<RememberedOp, 256> remembered_ops_{};
};

}  // namespace hloc::ir
