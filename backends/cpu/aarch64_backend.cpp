#include "backends/cpu/aarch64_backend.h"

#include <limits>

#include <fmt/format.h>

#include "backends/cpu/aarch64/aarch64.h"
#include "backends/cpu/aarch64/system_call.h"
#include "backends/cpu/aot/emulated.h"
#include "backends/cpu/generate.h"
#include "backends/cpu/jit.h"
#include "backends/loops/lower.h"
#include "ir/op.h"
#include "ir/support/source.h"

namespace hloc::backends {
namespace {

constexpr aot::Emulator emulator{"qemu-aarch64", "qemu-user"};

constexpr bool is_at_home = machine::host_isa == machine::Isa::aarch64;

std::vector<TargetEntry> aarch64_targets() {
  std::vector<TargetEntry> out{{"aarch64", "64-bit Arm with NEON (ARMv8-A); run by qemu-aarch64 on other machines"}};
  if (is_at_home) out.insert(out.begin(), {"native", "64-bit Arm with what this machine's CPU has"});
  return out;
}

Result<ir::Target> aarch64_facts(std::string_view target) {
  ir::Target facts;
  facts.name = target;
  facts.vector_bytes = aarch64::vector_bytes;
  facts.vector_registers = aarch64::vector_registers;
  facts.exchanges_buffers = true;
  if (target == "native") {
    facts.name = "native (aarch64)";
    cpu::take_caches_of_this_machine(facts);
  }
  facts.supports = loops::supports;
  return facts;
}

// No masked memory and no gathers: ends of loops go one by one, lanes that lie apart each by itself. No store that passes by
// the caches either.
cpu::Machine machine_for_aarch64(const ir::Target& target) {
  cpu::Machine m = cpu::machine_of(target);
  m.masked_width = 16;
  m.has_gather = false;
  m.streaming_bytes = std::numeric_limits<int64_t>::max();
  return m;
}

Result<machine::ObjectCode> assemble_aarch64(std::vector<machine::Function> functions, const ir::Target&, const machine::AssembleOptions& options) {
  return aarch64::assemble(std::move(functions), options);
}

constexpr cpu::CodeGenerator aarch64_code{machine_for_aarch64, assemble_aarch64, "AAPCS64"};

std::vector<int64_t> sizes_of(const plan::Program& plan, const std::vector<plan::BufferId>& buffers) {
  std::vector<int64_t> out;
  for (plan::BufferId id : buffers) out.push_back(plan.buffers[id].bytes());
  return out;
}

// The code with a start function around it, as a program for the emulator.
Result<std::unique_ptr<Executable>> compile_for_emulator(const Job& job) {
  if (auto found = aot::find_emulator(emulator); !found) return found.error();
  auto program = cpu::compile_program(*job.plan, machine_for_aarch64(*job.target), "hloc_entry");
  if (!program) return program.error();
  if (!program->host_steps.empty())
    return error(ErrorKind::target, fmt::format("{} has no native code yet, and a program under an emulator can't have hloc evaluate it; "
                                                "--target native can", ir::name_of(program->host_steps[0]->instruction->op)));
  aot::CallSizes sizes{sizes_of(*job.plan, job.plan->parameters), sizes_of(*job.plan, job.plan->results), program->scratch_bytes};
  aot::Standalone standalone(program->entry, sizes);
  program->functions.push_back(standalone.start(aarch64::system_calls, aarch64::vector_bytes));
  machine::AssembleOptions options;
  options.data = standalone.data();
  options.data.insert(options.data.end(), program->constants.begin(), program->constants.end());
  auto code = aarch64::assemble(std::move(program->functions), options);
  if (!code) return code.error();
  machine::define_function(*code, aot::Standalone::system_symbol, aarch64::system_call_code());
  auto code_bytes = static_cast<int64_t>(code->text.size() + code->rodata.size());
  auto executable = aot::write_executable(std::move(*code), aot::Standalone::start_symbol, standalone.memory());
  if (!executable) return executable.error();
  return aot::make_emulated(std::move(sizes), *executable, emulator, code_bytes);
}

Result<std::unique_ptr<Executable>> compile_aarch64(const Job& job) {
  return is_at_home ? cpu::compile_in_process(job, aarch64_code) : compile_for_emulator(job);
}

Result<ObjectFile> object_aarch64(const Job& job, std::string_view symbol) { return cpu::object_file(job, aarch64_code, symbol); }
Result<std::string> machine_aarch64(const Job& job) { return cpu::machine_text(job, aarch64_code); }
Result<std::string> asm_aarch64(const Job& job) { return cpu::assembler_text(job, aarch64_code); }

constexpr EmitKind aarch64_emits[] = {{"loops", cpu::loops_text}, {"machine", machine_aarch64}, {"asm", asm_aarch64}};

}  // namespace

constinit const Backend aarch64_backend{
    .name = "aarch64",
    .targets = aarch64_targets,
    .facts = aarch64_facts,
    .wants_plan = true,
    .compile = compile_aarch64,
    .emits = aarch64_emits,
    .object = object_aarch64,
};

}  // namespace hloc::backends
