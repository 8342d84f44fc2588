// From a plan to one object: a machine function for each kernel that is not inside the entry, and the entry, which runs the
// steps (see steps.h).
//
// The entry is
//
//   int NAME(const void* const* in, void* const* out, void* scratch, const hloc_context* context)
//
// with one pointer per parameter leaf and result leaf. Loops, branches and copies are code of the entry; a kernel is a
// call; its pieces go through context->parallel_for where there is one. Scratch is laid out as
//
//   [ arena | pointers of the step at hand | the job handed to parallel_for | scratch of the kernel's pieces ]
//
// A host step calls JitContext::host_step with its number and its buffers; object files have none.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/kernel.h"
#include "backends/cpu/machine/machine.h"
#include "include/hloc/context.h"
#include "include/hloc/result.h"
#include "passes/plan.h"

namespace hloc::cpu {

// What compiled code in this process gets as its context.
struct JitContext {
  hloc_context base;
  // Runs host step `step`; non-zero ends the call.
  int32_t (*host_step)(JitContext* context, int64_t step, void* const* buffers) = nullptr;
};

struct DrivenProgram {
  std::vector<machine::Function> functions;     // kernels, what the entry calls besides, and the entry
  std::vector<machine::NamedData> constants;    // views into the plan's literals
  std::vector<const plan::HostStep*> host_steps;  // by number; owned by the plan
  std::string entry;
  int64_t scratch_bytes = 0;
};

Result<DrivenProgram> compile_program(const plan::Program& program, const Machine& machine, std::string_view entry);

}  // namespace hloc::cpu
