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

namespace {

std::string_view architecture_of(std::string_view target) { return target.substr(target.find(':') + 1); }

}  // namespace

Result<std::string_view> device_of(const backends::Job& job, std::string_view example) {
  std::string_view device = architecture_of(job.target->name);
  if (device == "host")
    return error(ErrorKind::usage, fmt::format("code is made for a device: name one, such as --target {} (see `hloc targets`)", example));
  return device;
}

namespace {

Result<std::unique_ptr<backends::Executable>> compile_for_emulator(const backends::Job& job, const Dialect& dialect) {
  auto program = gpu_program(job.plan);
  if (!program) return program.error();
  auto emulator = make_emulator(*program, dialect);
  if (!emulator) return emulator.error();
  return make_executable(*std::move(program), *std::move(emulator));
}

Result<std::unique_ptr<backends::Executable>> compile_for_device(const backends::Job& job, const Maker& maker) {
  auto driver = maker.open(architecture_of(job.target->name));
  if (!driver) return driver.error();
  auto code = maker.code(job);
  if (!code) return code.error();
  auto program = gpu_program(job.plan);
  if (!program) return program.error();
  auto device = make_driver_device(*program, *code, *std::move(driver));
  if (!device) return device.error();
  // What the driver has loaded runs, also where it can't be read here.
  auto kernels = maker.resources(*code);
  return make_executable(*std::move(program), *std::move(device), kernels ? *std::move(kernels) : std::vector<KernelResources>{});
}

}  // namespace

Result<std::unique_ptr<backends::Executable>> compile(const backends::Job& job, const Dialect& dialect, const Maker& maker) {
  if (job.target->name == maker.emulated) return compile_for_emulator(job, dialect);
  auto out = compile_for_device(job, maker);
  if (out || out.error().kind != ErrorKind::target) return out;
  return error(ErrorKind::target, fmt::format("code for {} can't run here: {}; `hloc compile --emit {}` writes its source, and --target {} "
                                              "runs that on the CPU", job.target->name, out.error().message, maker.emit_kind, maker.emulated));
}

std::string device_name(std::string_view target, const Maker& maker) {
  if (target == maker.emulated) return "";
  auto info = maker.find(architecture_of(target));
  return info ? info->name : "";
}

}  // namespace hloc::gpu
