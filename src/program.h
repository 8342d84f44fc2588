// What a Program is behind the public interface.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "backends/host/code_cache.h"
#include "backends/registry.h"
#include "include/hloc/program.h"

namespace hloc {

class Program::Implementation {
 public:
  std::vector<Shape> parameters, results;
  std::vector<Alias> aliases;
  ProgramStats stats;
  std::unique_ptr<backends::Executable> executable;
};

// A module after the passes, with its plan where the backend wants one.
struct Lowered {
  const backends::Backend* backend = nullptr;
  std::shared_ptr<ir::Target> target;
  ir::ModuleRef module;
  std::shared_ptr<const plan::Program> plan;
  std::unique_ptr<host::CodeCache> cache;  // null: nothing is kept

  backends::Job job() const { return {module, plan, target.get(), cache.get()}; }
};

// That the rules and passes to be left out exist: a misspelt one would silently stay on.
Result<void> check_switches(const CompileOptions& options);
std::vector<std::string_view> pass_names();

// Verifies, runs the pipeline for the target and plans. The only place that knows all layers.
Result<Lowered> lower(const Module& module, const CompileOptions& options);

}  // namespace hloc
