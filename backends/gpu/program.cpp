// A plan's kernels, mapped one by one.
#include <algorithm>

#include <fmt/format.h>

#include "backends/gpu/c_text.h"
#include "backends/gpu/launch.h"
#include "backends/loops/lower.h"

namespace hloc::gpu {
namespace {

class GpuProgramBuilder {
 public:
  explicit GpuProgramBuilder(GpuProgram& out) : out_(out) {}

  Result<void> block(const plan::Block& steps) {
    for (const plan::Step& step : steps)
      if (auto ok = one(step); !ok) return ok;
    return {};
  }

 private:
  Result<void> one(const plan::Step& step) {
    if (auto* k = std::get_if<plan::KernelStep>(&step.what)) return kernel(*k);
    if (auto* w = std::get_if<plan::WhileStep>(&step.what)) {
      if (auto ok = block(w->condition); !ok) return ok;
      return block(w->body);
    }
    if (auto* b = std::get_if<plan::BranchStep>(&step.what)) {
      for (const plan::Block& branch : b->branches)
        if (auto ok = block(branch); !ok) return ok;
    }
    return {};
  }

  Result<void> kernel(const plan::KernelStep& step) {
    size_t number = out_.kernels.size();
    auto made = loops::make_kernel(step.fusion, fmt::format("k{}", number), step.in_place);
    if (!made) return made.error();
    GpuKernel k;
    k.kernel = std::make_unique<loops::Kernel>(*std::move(made));
    k.kernel->name += "_" + c_name(k.kernel->buffers[step.inputs.size()].name);
    k.step = &step;
    k.is_in_place.resize(k.kernel->buffers.size());
    for (auto [input, output] : step.in_place) k.is_in_place[input] = true;
    map_kernel(k);
    out_.scratch_bytes = std::max(out_.scratch_bytes, k.scratch_bytes);
    out_.kernels.push_back(std::move(k));
    return {};
  }

  GpuProgram& out_;
};

}  // namespace

Result<GpuProgram> gpu_program(std::shared_ptr<const plan::Program> plan) {
  GpuProgram out;
  out.plan = std::move(plan);
  if (auto ok = GpuProgramBuilder(out).block(out.plan->steps); !ok) return ok.error();
  return out;
}

}  // namespace hloc::gpu
