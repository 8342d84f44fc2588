#include "backends/gpu/device.h"

#include <fmt/format.h>

#include "backends/gpu/driver_device.h"
#include "backends/gpu/emulator.h"
#include "backends/gpu/source.h"
#include "backends/loops/lower.h"
#include "ir/support/source.h"

namespace hloc::gpu {

ir::Target device_facts(std::string_view target) {
  ir::Target facts;
  facts.name = target;
  facts.buffer_alignment = 256;  // of what a device's allocator gives
  facts.supports = loops::supports;
  return facts;
}

Result<std::string> source_text(const backends::Job& job, const Dialect& dialect) {
  auto program = gpu_program(job.plan);
  if (!program) return program.error();
  return kernel_source(*program, dialect);
}

Result<std::string> loops_text(const backends::Job& job) {
  auto program = gpu_program(job.plan);
  if (!program) return program.error();
  std::string out;
  for (const GpuKernel& k : program->kernels) out += loops::print(*k.kernel) + "\n";
  return out;
}

Result<std::string_view> device_of(const backends::Job& job, std::string_view example) {
  std::string_view name = job.target->name;
  std::string_view device = name.substr(name.find(':') + 1);
  if (device == "host")
    return error(ErrorKind::usage, fmt::format("code is made for a device: name one, such as --target {} (see `hloc targets`)", example));
  return device;
}

Result<std::unique_ptr<backends::Executable>> compile_for_emulator(const backends::Job& job, const Dialect& dialect) {
  auto program = gpu_program(job.plan);
  if (!program) return program.error();
  auto emulator = make_emulator(*program, dialect);
  if (!emulator) return emulator.error();
  return make_executable(*std::move(program), *std::move(emulator));
}

Result<std::unique_ptr<backends::Executable>> compile_for_device(const backends::Job& job, std::string_view code,
                                                                 std::unique_ptr<Driver> driver, backends::ReadResources* resources) {
  auto program = gpu_program(job.plan);
  if (!program) return program.error();
  auto device = make_driver_device(*program, code, std::move(driver));
  if (!device) return device.error();
  // What the driver has loaded runs, also where it can't be read here.
  auto kernels = resources(code);
  return make_executable(*std::move(program), *std::move(device), kernels ? *std::move(kernels) : std::vector<KernelResources>{});
}

Diagnostic no_device(const backends::Job& job, const Diagnostic& why, std::string_view kind, std::string_view emulated) {
  if (why.kind != ErrorKind::target) return why;
  return error(why.kind, fmt::format("code for {} can't run here: {}; `hloc compile --emit {}` writes its source, and --target {} runs "
                                     "that on the CPU", job.target->name, why.message, kind, emulated));
}

}  // namespace hloc::gpu
