// Compiled code in this process: code memory, scratch per call, host steps by the evaluator.
#pragma once

#include <memory>

#include "backends/cpu/driver.h"
#include "backends/cpu/machine/object.h"
#include "backends/registry.h"

namespace hloc::cpu {

Result<std::unique_ptr<backends::Executable>> make_executable(std::shared_ptr<const plan::Program> plan, DrivenProgram program,
                                                              const machine::ObjectCode& code);

}  // namespace hloc::cpu
