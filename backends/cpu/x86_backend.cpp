#include "backends/cpu/x86_backend.h"

#include <fmt/format.h>
#include <unistd.h>

#include "backends/cpu/aot/elf.h"
#include "backends/cpu/aot/header.h"
#include "backends/cpu/driver.h"
#include "backends/cpu/jit.h"
#include "backends/cpu/steps.h"
#include "backends/cpu/x86/x86.h"
#include "backends/loops/lower.h"
#include "ir/support/source.h"

namespace hloc::backends {
namespace {

std::vector<TargetEntry> x86_targets() {
  return {{"native", "x86-64 with what this machine's CPU has"},
          {"x86-64-v3", "x86-64 with AVX2, FMA, BMI2 (2013 and later)"},
          {"x86-64-v4", "x86-64 with AVX-512 F, BW, CD, DQ, VL"}};
}

int64_t cache_bytes(int name, int64_t otherwise) {
  int64_t bytes = ::sysconf(name);
  return bytes > 0 ? bytes : otherwise;
}

// Object files for a named target must not depend on the machine that made them, so only `native` asks it.
Result<ir::Target> x86_facts(std::string_view target) {
  auto features = x86::features_of(target);
  if (!features) return features.error();
  ir::Target facts;
  facts.name = target;
  facts.vector_bytes = features->vector_bytes();
  facts.vector_registers = features->v4 ? 32 : 16;
  if (target == "native") {
    facts.name = features->v4 ? "native (x86-64-v4)" : "native (x86-64-v3)";
    facts.l1_bytes = cache_bytes(_SC_LEVEL1_DCACHE_SIZE, facts.l1_bytes);
    facts.l2_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE, facts.l2_bytes);
    facts.l3_bytes = cache_bytes(_SC_LEVEL3_CACHE_SIZE, facts.l3_bytes);
  }
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
  cpu::Machine m;
  m.vector_bytes = static_cast<int>(target.vector_bytes);
  m.vector_registers = static_cast<int>(target.vector_registers);
  m.has_masks = m.vector_bytes == 64;
  m.l1_bytes = target.l1_bytes;
  m.l2_bytes = target.l2_bytes;
  m.l3_bytes = target.l3_bytes;
  return m;
}

struct Assembled {
  cpu::DrivenProgram program;
  machine::ObjectCode code;
};

Result<Assembled> assemble_job(const Job& job, std::string_view entry, bool listing) {
  auto program = cpu::compile_program(*job.plan, machine_for(*job.target), entry);
  if (!program) return program.error();
  Assembled out;
  out.program = std::move(*program);
  x86::AssembleOptions options;
  options.data = out.program.constants;
  options.exported = {out.program.entry};
  options.listing = listing;
  auto code = x86::assemble(std::move(out.program.functions), features_for(*job.target), options);
  if (!code) return code.error();
  out.code = std::move(*code);
  return out;
}

Result<std::unique_ptr<Executable>> compile_x86(const Job& job) {
  if (!x86::can_run(features_for(*job.target)))
    return error(ErrorKind::target, fmt::format("this machine's CPU can't run code for {}; compile an object file instead, or take "
                                                "--target native", job.target->name));
  auto assembled = assemble_job(job, "hloc_entry", false);
  if (!assembled) return assembled.error();
  return cpu::make_executable(job.plan, std::move(assembled->program), assembled->code);
}

Result<ObjectFile> object_x86(const Job& job, std::string_view symbol) {
  auto assembled = assemble_job(job, symbol, false);
  if (!assembled) return assembled.error();
  ObjectFile out;
  out.header = cpu::c_header(*job.plan, *job.target, symbol, assembled->program.scratch_bytes);
  auto elf = aot::write_elf(assembled->code);
  if (!elf) return elf.error();
  out.object = std::move(*elf);
  return out;
}

// Text of the kernels, one after the other.
Result<std::string> emit_loops(const Job& job) {
  auto program = cpu::cpu_program(*job.plan);
  if (!program) return program.error();
  std::string out;
  for (const cpu::StepKernel& kernel : program->kernels) out += loops::print(kernel.kernel) + "\n";
  return out;
}

Result<std::string> emit_machine(const Job& job) {
  auto program = cpu::compile_program(*job.plan, machine_for(*job.target), "hloc_entry");
  if (!program) return program.error();
  std::string out;
  for (const machine::Function& f : program->functions) out += machine::print(f) + "\n";
  return out;
}

Result<std::string> emit_asm(const Job& job) {
  auto assembled = assemble_job(job, "hloc_entry", true);
  if (!assembled) return assembled.error();
  return machine::assembly_listing(assembled->code);
}

constexpr EmitKind x86_emits[] = {{"loops", emit_loops}, {"machine", emit_machine}, {"asm", emit_asm}};

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
