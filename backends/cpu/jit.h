// Compiled code in this process: code memory, scratch per call, host steps by the evaluator.
#pragma once

#include <memory>

#include "backends/cpu/generate.h"
#include "backends/registry.h"

namespace hloc::cpu {

// The job's plan compiled by `cpu`, whose code must be what this process runs (machine::host_isa).
Result<std::unique_ptr<backends::Executable>> compile_in_process(const backends::Job& job, const CodeGenerator& cpu);

}  // namespace hloc::cpu
