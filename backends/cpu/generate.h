// From a plan to code and text, for all CPUs: what the backends' tables hold is these functions with a CodeGenerator.
#pragma once

#include "backends/cpu/driver.h"
#include "backends/cpu/machine/assembly.h"
#include "backends/cpu/machine/object.h"
#include "backends/registry.h"

namespace hloc::cpu {

// What differs between two CPUs.
struct CodeGenerator {
  Machine (*machine)(const ir::Target& target);
  Result<machine::ObjectCode> (*assemble)(std::vector<machine::Function> functions, const ir::Target& target, const machine::AssembleOptions& options);
  std::string_view abi;  // how C calls the entry: "System V ABI"
};

// Puts in the sizes of this machine's caches, where the system knows them. Only for `native`: object files for a named target
// must not depend on the machine that made them.
void take_caches_of_this_machine(ir::Target& facts);

// The target's facts for code generation; what facts do not say is the CPU's own.
Machine machine_of(const ir::Target& target);

// `program.functions` is empty then.
struct AssembledPlan {
  DrivenProgram program;
  machine::ObjectCode code;
};
Result<AssembledPlan> assemble_plan(const plan::Program& plan, const ir::Target& target, const CodeGenerator& cpu, std::string_view entry,
                                    bool listing = false);

Result<ObjectFile> object_file(const backends::Job& job, const CodeGenerator& cpu, std::string_view symbol);

// The kernels in loop IR; all functions in machine IR; code as an assembler takes it.
Result<std::string> loops_text(const backends::Job& job);
Result<std::string> machine_text(const backends::Job& job, const CodeGenerator& cpu);
Result<std::string> assembler_text(const backends::Job& job, const CodeGenerator& cpu);

}  // namespace hloc::cpu
