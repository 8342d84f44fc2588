// What the backends of devices have in common, by their dialect.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "backends/gpu/dialect.h"
#include "backends/gpu/driver.h"
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

// The kernels run on a device; `code` is what its driver loads, and `resources` reads what its kernels take. Errors as for
// make_driver_device, and no memory there.
Result<std::unique_ptr<backends::Executable>> compile_for_device(const backends::Job& job, std::string_view code,
                                                                 std::unique_ptr<Driver> driver, backends::ReadResources* resources);

// An error that may be of kind `target`: then also what can be done here, source by --emit `kind`, and `emulated`, the target
// that runs it.
Diagnostic no_device(const backends::Job& job, const Diagnostic& why, std::string_view kind, std::string_view emulated);

}  // namespace hloc::gpu
