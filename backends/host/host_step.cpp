#include "backends/host/host_step.h"

#include "backends/host/literals.h"
#include "ir/eval/eval.h"

namespace hloc::host {

Result<void> run_host_step(const plan::HostStep& step, void* const* buffers) {
  std::vector<const std::byte*> inputs;
  for (size_t i = 0; i < step.inputs.size(); ++i) inputs.push_back(static_cast<const std::byte*>(buffers[i]));
  std::vector<std::byte*> outputs;
  for (size_t i = 0; i < step.outputs.size(); ++i) outputs.push_back(static_cast<std::byte*>(buffers[step.inputs.size() + i]));
  std::vector<ir::Literal> operands;
  size_t next = 0;
  for (ir::Value operand : step.instruction->operands()) operands.push_back(literal_from_buffers(operand->type, inputs, next));
  auto value = ir::evaluate(step.instruction, operands);
  if (!value) return value.error();
  next = 0;
  literal_to_buffers(*value, outputs, next);
  return {};
}

}  // namespace hloc::host
