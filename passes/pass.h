// Passes: named functions Module → Module, and the runner that verifies, times and dumps between them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "include/hloc/result.h"
#include "ir/graph.h"
#include "ir/target.h"

namespace hloc::passes {

// One decision or rewrite, for `explain`.
struct Remark {
  std::string pass, rule, computation, instruction, text;
};

// What a pass is given besides the module.
struct PassContext {
  const ir::Target& target;
  std::vector<std::string> disabled_rules;
  std::vector<Remark>* remarks = nullptr;  // null: nobody asks
};

struct Pass {
  std::string_view name;         // kebab-case
  std::string_view description;  // one line, no full stop
  // Returns the very module it was given when it changed nothing.
  Result<ir::ModuleRef> (*run)(const ir::ModuleRef& module, PassContext& context);
};

std::span<const Pass> all_passes();             // every pass, by name, for `hloc passes` and `opt --passes`
std::span<const Pass* const> pipeline();        // what `compile` runs, in order; it reads as the story of the compiler
const Pass* find_pass(std::string_view name);

struct PassTiming {
  std::string_view pass;
  double milliseconds = 0;
  bool changed = false;
};

struct RunOptions {
  bool verify_each = false;                    // after every pass that changed something; a failure is a bug Diagnostic
  std::vector<std::string> disabled_passes;
  std::function<void(std::string_view pass, const ir::Module&)> after_each;  // dumps
  std::vector<PassTiming>* timings = nullptr;
};

Result<ir::ModuleRef> run_passes(ir::ModuleRef module, std::span<const Pass* const> passes, PassContext& context,
                                 const RunOptions& options = {});

}  // namespace hloc::passes
