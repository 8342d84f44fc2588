#include "backends/cpu/x86_backend.h"

#include <fmt/format.h>

#include "backends/cpu/generate.h"
#include "backends/cpu/jit.h"
#include "backends/cpu/x86/x86.h"
#include "backends/loops/lower.h"
#include "ir/support/source.h"

namespace hloc::backends {
namespace {

std::vector<TargetEntry> x86_targets() {
  std::vector<TargetEntry> out{{"x86-64-v3", "x86-64 with AVX2, FMA, BMI2 (2013 and later)"},
                               {"x86-64-v4", "x86-64 with AVX-512 F, BW, CD, DQ, VL"}};
  if (machine::host_isa == machine::Isa::x86_64) out.insert(out.begin(), {"native", "x86-64 with what this machine's CPU has"});
  return out;
}

Result<ir::Target> x86_facts(std::string_view target) {
  auto features = x86::features_of(target);
  if (!features) return features.error();
  ir::Target facts;
  facts.name = target;
  facts.vector_bytes = features->vector_bytes();
  facts.vector_registers = features->v4 ? 32 : 16;
  if (target == "native") {
    facts.name = features->v4 ? "native (x86-64-v4)" : "native (x86-64-v3)";
    cpu::take_caches_of_this_machine(facts);
  }
  facts.exchanges_buffers = true;
  facts.supports = loops::supports;
  return facts;
}

// The facts as the code generator wants them; the target's name is that of `x86_facts`.
x86::Features features_for(const ir::Target& target) {
  std::string name = target.name.starts_with("native") ? "native" : target.name;
  auto features = x86::features_of(name);
  HLOC_CHECK(features.ok(), "a target that has facts has features");
  return *features;
}

cpu::Machine machine_for(const ir::Target& target) {
  cpu::Machine m = cpu::machine_of(target);
  m.masked_width = m.vector_bytes == 64 ? 1 : 4;
  return m;
}

Result<machine::ObjectCode> assemble_x86(std::vector<machine::Function> functions, const ir::Target& target,
                                         const machine::AssembleOptions& options) {
  return x86::assemble(std::move(functions), features_for(target), options);
}

constexpr cpu::CodeGenerator x86_code{machine_for, assemble_x86, "System V ABI"};

Result<std::unique_ptr<Executable>> compile_x86(const Job& job) {
  if (!x86::can_run(features_for(*job.target)))
    return error(ErrorKind::target, fmt::format("this machine's CPU can't run code for {}; compile an object file instead, or take "
                                                "--target native", job.target->name));
  return cpu::compile_in_process(job, x86_code);
}

Result<ObjectFile> object_x86(const Job& job, std::string_view symbol) { return cpu::object_file(job, x86_code, symbol); }
Result<std::string> machine_x86(const Job& job) { return cpu::machine_text(job, x86_code); }
Result<std::string> asm_x86(const Job& job) { return cpu::assembler_text(job, x86_code); }

constexpr EmitKind x86_emits[] = {{"loops", cpu::loops_text}, {"machine", machine_x86}, {"asm", asm_x86}};

}  // namespace

constinit const Backend x86_backend{
    .name = "x86-64",
    .targets = x86_targets,
    .facts = x86_facts,
    .wants_plan = true,
    .compile = compile_x86,
    .emits = x86_emits,
    .object = object_x86,
};

}  // namespace hloc::backends
