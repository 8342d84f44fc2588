// The graph: a Module is a list of Computations; a Computation is instructions in order, parameters and a root.
//
//   Context       interned types, attributes and strings; shared by all modules made from one another; thread-safe
//   Module        shared list of computations (callees before callers), entry, module-wide attributes
//   Computation   one arena of instructions; immutable once built; shared between modules that did not change it
//   Instruction   an immutable value: op, type, operands, attribute, callees, extras
//
// A `Value` is a pointer to an instruction. `Value->id` is its dense position in its computation, so side tables
// (names, locations, whatever a pass computes) are vectors. Everything is made by `ComputationBuilder::make`.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/attr.h"
#include "ir/literal.h"
#include "ir/op.h"
#include "ir/support/arena.h"
#include "ir/support/hash.h"
#include "ir/support/hash_index.h"
#include "ir/support/source.h"
#include "ir/type.h"

namespace hloc::ir {

class Context;
class Computation;
struct Instruction;
using Value = const Instruction*;
using ContextRef = std::shared_ptr<Context>;
using ComputationRef = std::shared_ptr<const Computation>;

// key="value" pairs in order. `braced`: the value is a {...} text, printed without quotes.
struct FrontendAttribute {
  std::string key, value;
  bool braced = false;
  bool operator==(const FrontendAttribute&) const = default;
};
using FrontendAttributes = std::vector<FrontendAttribute>;

// What few instructions have. Part of identity.
struct Extras {
  std::optional<Sharding> sharding;
  FrontendAttributes frontend_attributes;
  std::optional<FrontendAttribute> backend_config;  // key unused; braced: {...} JSON, else a quoted string
  std::vector<Value> control_predecessors;
  std::string statistics, parameter_replication, origin;  // as written, with braces; empty: not written
  // Attributes of other dialects or newer versions (StableHLO discardable ones), name and text as written.
  std::vector<std::pair<std::string, std::string>> unknown;
  bool operator==(const Extras&) const = default;
};

struct Instruction {
  Op op;
  uint16_t flags = 0;
  uint32_t id = 0;  // position in its computation
  Type type;
  const Value* operand_list = nullptr;
  const Attr* attr = nullptr;  // never null
  const Computation* const* callee_list = nullptr;
  const Extras* extras = nullptr;
  uint32_t operand_count = 0;
  uint32_t callee_count = 0;

  // StableHLO printed its tuple as several results.
  static constexpr uint16_t multi_result = 1;

  std::span<const Value> operands() const { return {operand_list, operand_count}; }
  std::span<const Computation* const> callees() const { return {callee_list, callee_count}; }
  Value operand(size_t i) const { return operand_list[i]; }
  const Computation& callee(size_t i) const { return *callee_list[i]; }

  template <class A>
  const A& as() const {  // the op's attribute struct, as ops.def says
    return get<A>(*attr);
  }
};

// Where an instruction came from: bytes of a source, and what the frontend said.
struct Location {
  Loc text;                            // in the module's source
  const Metadata* metadata = nullptr;  // interned; null: none
};

// Interns types, attributes, metadata and strings, and keeps alive what modules have views of.
class Context {
 public:
  Type array(ElementType element, std::vector<Dim> dims, const QuantParams* quant = nullptr);
  Type array(ElementType element, std::vector<Dim> dims, Layout layout, const QuantParams* quant = nullptr);
  Type array(ElementType element, std::span<const int64_t> sizes);
  Type array(ElementType element, std::initializer_list<int64_t> sizes) {
    return array(element, std::span<const int64_t>(sizes.begin(), sizes.size()));
  }
  Type scalar(ElementType element) { return array(element, std::vector<Dim>{}); }
  Type tuple(std::span<const Type> elements);
  Type token() { return simple(TypeKind::token); }
  Type opaque() { return simple(TypeKind::opaque); }
  Type wrapped(TypeKind buffer_or_future, Type inside);
  // The same array with another element type, sizes or layout.
  Type with_element(Type type, ElementType element);
  Type with_layout(Type type, Layout layout);

  // A constant of few bytes need not own them while this is called; the interned one does.
  const Attr* attr(Attr value);
  const QuantParams* quant(QuantParams params);
  const Metadata* metadata(Metadata value);
  std::string_view string(std::string_view text);  // a copy that lives as long as the context
  void keep(std::shared_ptr<const void> owner);

 private:
  Type simple(TypeKind kind);
  Type intern(TypeNode node);
  struct TypeHash { size_t operator()(const TypeNode* n) const { return n->hash; } };
  struct TypeEqual { bool operator()(const TypeNode* a, const TypeNode* b) const; };
  void keep_small(Literal& value);

  std::mutex mutex_;
  std::deque<TypeNode> types_;
  std::unordered_set<const TypeNode*, TypeHash, TypeEqual> type_set_;
  std::deque<Attr> attrs_;
  HashIndex attr_index_;
  std::shared_ptr<std::byte[]> small_;  // bytes of small constants, many to a block
  size_t small_size_ = 0, small_used_ = 0;
  std::deque<QuantParams> quants_;
  std::deque<Metadata> metadatas_;
  HashIndex metadata_index_;
  Arena strings_;
  std::vector<std::shared_ptr<const void>> kept_;
};

class Computation {
 public:
  std::string_view name() const { return name_; }
  std::span<const Value> instructions() const { return instructions_; }  // in order; operands stand before users
  size_t size() const { return instructions_.size(); }
  std::span<const Value> parameters() const { return parameters_; }      // by number
  Value root() const { return root_; }
  Type result_type() const { return root_->type; }
  // Instructions with an effect, in program order: their op has the trait, a custom call says so, or a computation
  // that they call has one.
  std::span<const Value> effects() const { return effects_; }
  std::string_view execution_thread() const { return thread_; }  // "" : the main one

  std::string_view name(Value v) const { return names_[v->id]; }  // without '%'; unique; never empty
  const Location& location(Value v) const {
    static constexpr Location nowhere{};
    return v->id < locations_.size() ? locations_[v->id] : nowhere;
  }

 private:
  friend class ComputationBuilder;
  std::string_view name_, thread_;
  Arena arena_;
  std::deque<Extras> extras_;
  std::vector<Value> instructions_, parameters_, effects_;
  Value root_ = nullptr;
  std::vector<std::string_view> names_;
  std::vector<Location> locations_;
};

struct AliasEntry {  // input_output_alias
  ShapeIndex output;
  int64_t parameter = 0;
  ShapeIndex index;
  bool must_alias = false;
  bool kind_written = true;
  bool operator==(const AliasEntry&) const = default;
};
struct DonorEntry {  // buffer_donor
  int64_t parameter = 0;
  ShapeIndex index;
  bool operator==(const DonorEntry&) const = default;
};

// Module-wide attributes; what text did not say is absent.
struct ModuleConfig {
  bool is_scheduled = false;
  struct EntryLayout {
    std::vector<Type> parameters;
    Type result;
    bool operator==(const EntryLayout&) const = default;
  };
  std::optional<EntryLayout> entry_layout;
  std::vector<AliasEntry> aliases;
  std::vector<DonorEntry> donors;
  bool alias_passthrough_params = false;
  int64_t replica_count = 1, num_partitions = 1;
  std::vector<bool> propagation_to_output, propagation_to_parameters;  // allow_spmd_sharding_propagation_*
  FrontendAttributes frontend_attributes;
  // Tables kept as written: FileNames…StackFrames block between header and computations, and provenance attributes
  // (name, text with braces).
  std::string stack_frames;
  std::vector<std::pair<std::string, std::string>> unknown;
  // sdy.mesh and other module-level StableHLO text, as written.
  std::string stablehlo_prologue;
};

class Module {
 public:
  std::string_view name() const { return name_; }
  std::span<const ComputationRef> computations() const { return computations_; }  // callees before callers
  const Computation& entry() const { return *entry_; }
  const ModuleConfig& config() const { return config_; }
  const ContextRef& context() const { return context_; }
  const SourceRef& source() const { return source_; }  // null: built, not read

 private:
  friend class ModuleBuilder;
  std::string name_;
  std::vector<ComputationRef> computations_;
  const Computation* entry_ = nullptr;
  ModuleConfig config_;
  ContextRef context_;
  SourceRef source_;
};
using ModuleRef = std::shared_ptr<const Module>;

// Whether readers (append: everything stays as written) or rewriting passes (intern: equal values are one object,
// effects excepted) make instructions.
enum class Interning : uint8_t { append, intern };

class ComputationBuilder {
 public:
  explicit ComputationBuilder(ContextRef context, std::string_view name, Interning interning = Interning::append);

  // The only way to make an instruction. `attr` is interned; operands must come from this builder. No shape inference
  // happens here (ir/infer does that); invariants that the verifier checks are not checked again.
  Value make(Op op, Type type, std::span<const Value> operands = {}, Attr attr = NoAttr{},
             std::span<const Computation* const> callees = {}, const Extras* extras = nullptr, uint16_t flags = 0) {
    return make_interned(op, type, operands, context_->attr(std::move(attr)), callees, extras, flags);
  }
  // With an attribute that the context gave out.
  Value make_interned(Op op, Type type, std::span<const Value> operands, const Attr* attr,
                      std::span<const Computation* const> callees = {}, const Extras* extras = nullptr, uint16_t flags = 0);
  Value make(Op op, Type type, std::initializer_list<Value> operands, Attr attr = NoAttr{},
             std::initializer_list<const Computation*> callees = {}) {
    return make(op, type, std::span(operands.begin(), operands.size()), std::move(attr),
                std::span(callees.begin(), callees.size()));
  }
  Value parameter(int64_t number, Type type, std::string_view name = {});
  Value constant(Literal value);

  // A copy of `like` (op, type, attribute, extras without control predecessors, flags) with other operands and callees;
  // its name and location are taken from `from`.
  Value copy(const Computation& from, Value like, std::span<const Value> operands,
             std::span<const Computation* const> callees);
  Value copy(const Computation& from, Value like, std::span<const Value> operands) {
    return copy(from, like, operands, like->callees());
  }

  // Names are made unique by a suffix `.N`; the first name given to an instruction stays. A view passed to set_name
  // must outlive the context (text of the source, or Context::string).
  void set_name(Value v, std::string_view name);
  void set_location(Value v, Location location);
  // Control predecessors may be set after both ends exist.
  void set_extras(Value v, Extras extras);
  // Many instructions may share one object: keep it once, then give it to each.
  const Extras* keep_extras(Extras extras) { return &result_->extras_.emplace_back(std::move(extras)); }
  void share_extras(Value v, const Extras* kept);
  void set_thread(std::string_view thread);

  size_t size() const { return result_->instructions_.size(); }
  std::span<const Value> instructions() const { return result_->instructions_; }
  const ContextRef& context() const { return context_; }
  std::string_view name() const { return result_->name_; }
  // "" while it has none.
  std::string_view name(Value v) const { return name(v->id); }
  std::string_view name(uint32_t id) const { return id < result_->names_.size() ? result_->names_[id] : std::string_view(); }

  // Room for about so many instructions of about two operands, so that a large computation is not moved while it grows.
  void reserve(size_t instructions);

  // Ends the computation; the builder is empty afterwards. Unnamed instructions get the name of their op. Parameters
  // are collected by number: dense and unique numbers are the caller's duty (checked by HLOC_CHECK).
  // `names_are_unique`: every instruction has a name that no other has, so nothing is to be made unique.
  ComputationRef finish(Value root, bool names_are_unique = false);

 private:
  struct KeyHash { size_t operator()(Value v) const; };
  struct KeyEqual { bool operator()(Value a, Value b) const; };

  ContextRef context_;
  Interning interning_;
  std::shared_ptr<Computation> result_;
  std::unordered_set<Value, KeyHash, KeyEqual> interned_;
};

class ModuleBuilder {
 public:
  ModuleBuilder(ContextRef context, std::string_view name);
  // Starts with another module's name, config, context and source; no computations.
  explicit ModuleBuilder(const Module& like);

  // Adds a computation after all those that it calls; returns it for use as a callee.
  const Computation* add(ComputationRef computation);
  ModuleConfig& config() { return result_->config_; }
  void set_source(SourceRef source);
  void set_name(std::string_view name) { result_->name_ = name; }
  const Computation* last() const { return result_->computations_.back().get(); }
  const ContextRef& context() const { return result_->context_; }

  // `entry` null: the last computation.
  ModuleRef finish(const Computation* entry = nullptr);

 private:
  std::shared_ptr<Module> result_;
};

// Computations reachable from `entry`, callees before callers, each once.
std::vector<const Computation*> reachable(const Computation& entry);

// True when evaluating `v` does more than compute its value.
bool has_effect(Value v);

// Number of uses of each instruction as an operand (the root counts as one more use), by id. Only uses by the instructions
// that are set in `users` count, unless it is empty.
std::vector<uint32_t> use_counts(const Computation& computation, const std::vector<bool>& users = {});

}  // namespace hloc::ir
