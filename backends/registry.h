// What a backend is to the rest: one struct. Built-in backends stand in the table of registry.cpp.
//
// A target is a name such as "x86-64-v3"; a backend handles several. `compile.cpp` asks the registry who handles a name,
// gets the facts, runs the passes with them and hands the plan (or, for a backend that wants none, the module) back.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "include/hloc/program.h"
#include "include/hloc/result.h"
#include "ir/graph.h"
#include "ir/target.h"
#include "passes/plan.h"

namespace hloc::host {
class CodeCache;
}

namespace hloc::backends {

// Code ready to run. One pointer per leaf, dense row-major, in the order of plan::Program::parameters and results.
class Executable {
 public:
  virtual ~Executable() = default;
  virtual Result<void> call(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                            const CallOptions& options) const = 0;
  virtual int64_t code_bytes() const { return 0; }
  // Of code for a device; else empty.
  virtual std::vector<KernelResources> device_kernels() const { return {}; }
  // The command that runs the code where this machine can't by itself; else empty.
  virtual std::string_view runner() const { return {}; }
};

// What is compiled.
struct Job {
  ir::ModuleRef module;                         // after the passes, or as read for a backend without plan
  std::shared_ptr<const plan::Program> plan;    // null for a backend without plan
  const ir::Target* target = nullptr;
  host::CodeCache* cache = nullptr;             // of what another compiler makes; null: none
};

// What the kernels of code for a device take. Errors: it is no such code.
using ReadResources = Result<std::vector<KernelResources>>(std::string_view code);

struct EmitKind {
  std::string_view name;  // "loops", "machine", "asm"
  Result<std::string> (*emit)(const Job& job);
  bool needs_tool = false;  // another compiler: not among the levels of `--dump`
  ReadResources* resources = nullptr;  // of what was emitted; null: it is no code that a device takes as it is
};

struct TargetEntry {
  std::string name, description;
};

struct Backend {
  std::string_view name;
  std::vector<TargetEntry> (*targets)();
  // The facts of one of its targets; an error (kind `target`) when this machine can't run code for it but would have to.
  Result<ir::Target> (*facts)(std::string_view target);
  // The device of this machine that runs a target's code, "NVIDIA H200"; empty where there is none. Null: targets are CPUs.
  std::string (*device)(std::string_view target) = nullptr;
  bool wants_plan = true;
  Result<std::unique_ptr<Executable>> (*compile)(const Job& job) = nullptr;
  std::span<const EmitKind> emits;
  // Null: no object files.
  Result<ObjectFile> (*object)(const Job& job, std::string_view symbol) = nullptr;
};

std::span<const Backend* const> all_backends();
// By target name; an error that lists the nearest and all names.
Result<const Backend*> find_backend(std::string_view target);

}  // namespace hloc::backends
