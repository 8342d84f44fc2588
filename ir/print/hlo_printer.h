// The state of printing HLO text: what is written so far and how names of the current computation are written.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "ir/graph.h"
#include "ir/hlo_attributes.h"
#include "ir/print/print.h"

namespace hloc::ir {

class HloPrinter {
 public:
  explicit HloPrinter(const PrintOptions& options) : options_(options) {}

  void module(const Module& module);
  void instruction(const Computation& computation, Value v);
  // Names of the computation as HLO can write them, unique.
  void use_names(const Computation& computation);

  std::string& out() { return out_; }
  int64_t elide_above() const { return options_.large_constants ? INT64_MAX : options_.elide_above; }

 private:
  void header(const Module& module);
  void type(Type type);
  void computation(const Computation& computation, bool is_entry);
  void name(const Computation& computation, Value v);
  void operands(const Computation& computation, Value v);
  void attributes(Value v);
  void callees(Value v);
  void extras(const Computation& computation, const Extras& extras);
  void metadata(const Metadata& metadata);
  void find_sugar(const Module& module);
  Value sugared_root(Value v) const;  // OP of OP-start, OP-update, OP-done; null: the plain form

  std::string out_;
  PrintOptions options_;
  bool rename_types_ = false;  // XLA takes no instruction with the name of a type; a text that had one keeps it
  const Computation* named_ = nullptr;
  std::unordered_map<const Instruction*, std::string> renamed_;
  std::unordered_set<const Computation*> sugar_;  // written as OP-start, so not by themselves
  std::unordered_map<const TypeNode*, std::string> type_texts_;
};

// The name of a computation or a module as it stands in text.
std::string hlo_computation_name(std::string_view name);

// Null when HLO can say every op and type of the module, else why not.
std::optional<Diagnostic> unprintable_as_hlo(const Module& module);

}  // namespace hloc::ir
