// A plan as a CPU runs it: kernels in loop IR, small ones that follow one another merged into one (loops/merge_kernels.h).
//
// A small kernel inside a loop is written into the entry itself. A loop whose condition is small tests it at the end of its
// body, where it is merged with the body's last kernels; before the first turn it is tested by a copy.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "backends/cpu/kernel.h"
#include "backends/loops/loops.h"
#include "include/hloc/result.h"
#include "passes/plan.h"

namespace hloc::cpu {

struct StepKernel {
  std::string symbol;
  loops::Kernel kernel;
  std::vector<plan::BufferId> buffers;  // of its inputs and outputs
  bool is_inline = false;
  std::vector<loops::BufferId> in_place;  // outputs that are the memory of an input
  std::vector<bool> apart;              // of inline ones, by buffer: no other one of the kernel has a byte in common with it
};

struct CpuStep;
using CpuSteps = std::vector<CpuStep>;

struct RunKernel {
  uint32_t kernel = 0;
};
struct RunWhile {
  const plan::WhileStep* plan = nullptr;
  CpuSteps condition;
  CpuSteps body;
  bool tests_at_end = false;  // the body makes the predicate anew
};
// The end of a turn of a loop, before the next test: arrays change places.
struct RunExchange {
  const plan::WhileStep* loop = nullptr;
};
struct RunBranch {
  plan::BufferId selector = 0;
  std::vector<CpuSteps> branches;
};
struct CpuStep {
  std::variant<RunKernel, const plan::CopyStep*, const plan::HostStep*, RunWhile, RunBranch, RunExchange> what;
};

struct CpuProgram {
  std::vector<StepKernel> kernels;  // in order of the text
  CpuSteps steps;
};

// Errors: a fusion that cannot be lowered.
Result<CpuProgram> cpu_program(const plan::Program& program);

}  // namespace hloc::cpu
