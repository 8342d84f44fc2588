#include "backends/cpu/generate.h"

#include <unistd.h>

#include "backends/cpu/aot/elf.h"
#include "backends/cpu/aot/header.h"
#include "backends/cpu/steps.h"

namespace hloc::cpu {

void take_caches_of_this_machine(ir::Target& facts) {
  auto take = [](int64_t& bytes, int name) {
    if (int64_t found = ::sysconf(name); found > 0) bytes = found;
  };
  take(facts.l1_bytes, _SC_LEVEL1_DCACHE_SIZE);
  take(facts.l2_bytes, _SC_LEVEL2_CACHE_SIZE);
  take(facts.l3_bytes, _SC_LEVEL3_CACHE_SIZE);
}

Machine machine_of(const ir::Target& target) {
  Machine m;
  m.vector_bytes = static_cast<int>(target.vector_bytes);
  m.vector_registers = static_cast<int>(target.vector_registers);
  m.l1_bytes = target.l1_bytes;
  m.l2_bytes = target.l2_bytes;
  m.l3_bytes = target.l3_bytes;
  m.streaming_bytes = target.streaming_bytes;
  return m;
}

Result<AssembledPlan> assemble_plan(const plan::Program& plan, const ir::Target& target, const CodeGenerator& cpu, std::string_view entry,
                                    bool listing) {
  auto program = compile_program(plan, cpu.machine(target), entry);
  if (!program) return program.error();
  AssembledPlan out;
  out.program = std::move(*program);
  machine::AssembleOptions options;
  options.data = out.program.constants;
  options.exported = {out.program.entry};
  options.listing = listing;
  auto code = cpu.assemble(std::move(out.program.functions), target, options);
  if (!code) return code.error();
  out.code = std::move(*code);
  return out;
}

Result<ObjectFile> object_file(const backends::Job& job, const CodeGenerator& cpu, std::string_view symbol) {
  auto assembled = assemble_plan(*job.plan, *job.target, cpu, symbol);
  if (!assembled) return assembled.error();
  ObjectFile out;
  out.header = c_header(*job.plan, *job.target, cpu.abi, symbol, assembled->program.scratch_bytes);
  auto elf = aot::write_elf(assembled->code);
  if (!elf) return elf.error();
  out.object = std::move(*elf);
  return out;
}

Result<std::string> loops_text(const backends::Job& job) {
  auto program = cpu_program(*job.plan);
  if (!program) return program.error();
  std::string out;
  for (const StepKernel& kernel : program->kernels) out += loops::print(kernel.kernel) + "\n";
  return out;
}

Result<std::string> machine_text(const backends::Job& job, const CodeGenerator& cpu) {
  auto program = compile_program(*job.plan, cpu.machine(*job.target), "hloc_entry");
  if (!program) return program.error();
  std::string out;
  for (const machine::Function& f : program->functions) out += machine::print(f) + "\n";
  return out;
}

Result<std::string> assembler_text(const backends::Job& job, const CodeGenerator& cpu) {
  auto assembled = assemble_plan(*job.plan, *job.target, cpu, "hloc_entry", true);
  if (!assembled) return assembled.error();
  return machine::assembly_listing(assembled->code);
}

}  // namespace hloc::cpu
