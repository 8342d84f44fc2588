// What the backends of devices have in common, by their dialect.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "backends/gpu/dialect.h"
#include "backends/registry.h"

namespace hloc::gpu {

ir::Target device_facts(std::string_view target);

// The kernels as source; in loop IR.
Result<std::string> source_text(const backends::Job& job, const Dialect& dialect);
Result<std::string> loops_text(const backends::Job& job);

// What stands after the colon of the target's name, "sm_80". An error (kind `usage`) that names `example` where it is "host".
Result<std::string_view> device_of(const backends::Job& job, std::string_view example);

// The source compiled and run on this machine's CPU. Errors as for make_emulator.
Result<std::unique_ptr<backends::Executable>> compile_for_emulator(const backends::Job& job, const Dialect& dialect);

// What to say of a device on which code can't be run yet: source is had by --emit `kind`, and `emulated` is the target that runs it.
Diagnostic not_run_yet(const backends::Job& job, std::string_view kind, std::string_view emulated);

}  // namespace hloc::gpu
