#include "backends/reference/reference.h"

#include "backends/host/literals.h"
#include "ir/eval/eval.h"

namespace hloc::backends {
namespace {

class ReferenceExecutable : public Executable {
 public:
  explicit ReferenceExecutable(ir::ModuleRef module) : module_(std::move(module)) {}

  Result<void> call(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                    const CallOptions&) const override {
    std::vector<ir::Literal> arguments;
    size_t next = 0;
    for (ir::Value p : module_->entry().parameters())
      arguments.push_back(host::literal_from_buffers(p->type, inputs, next));
    auto result = ir::evaluate(*module_, arguments);
    if (!result) return result.error();
    next = 0;
    host::literal_to_buffers(*result, outputs, next);
    return {};
  }

 private:
  ir::ModuleRef module_;
};

std::vector<TargetEntry> reference_targets() {
  return {{"reference", "the evaluator: plain, slow, and what the others are compared with"}};
}

Result<ir::Target> reference_facts(std::string_view target) {
  ir::Target facts;
  facts.name = target;
  facts.supports = [](const ir::Instruction&) { return false; };
  return facts;
}

Result<std::unique_ptr<Executable>> compile_reference(const Job& job) {
  return std::unique_ptr<Executable>(std::make_unique<ReferenceExecutable>(job.module));
}

}  // namespace

constinit const Backend reference_backend{
    .name = "reference",
    .targets = reference_targets,
    .facts = reference_facts,
    .wants_plan = false,
    .compile = compile_reference,
    .emits = {},
    .object = nullptr,
};

}  // namespace hloc::backends
