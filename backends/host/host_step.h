// One host step: the evaluator on dense buffers.
#pragma once

#include "include/hloc/result.h"
#include "passes/plan.h"

namespace hloc::host {

// `buffers`: the step's inputs, then its outputs.
Result<void> run_host_step(const plan::HostStep& step, void* const* buffers);

}  // namespace hloc::host
