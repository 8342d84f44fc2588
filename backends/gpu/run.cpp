#include "backends/gpu/run.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

#include "backends/host/guarded_call.h"
#include "backends/host/host_step.h"
#include "ir/support/check.h"

namespace hloc::gpu {
namespace {

size_t rounded(int64_t bytes) { return (static_cast<size_t>(bytes) + 255) / 256 * 256; }

// One call: where the buffers are, and the steps over them.
class PlanRun {
 public:
  PlanRun(const GpuProgram& program, const std::map<const plan::KernelStep*, size_t>& numbers, const Launcher& launcher, const std::byte* const* in,
          std::byte* const* out, std::byte* memory)
      : program_(program), plan_(*program.plan), numbers_(numbers), launcher_(launcher), in_(in), out_(out), memory_(memory),
        scratch_(memory + rounded(plan_.arena_bytes)) {}

  Result<void> block(const plan::Block& steps) {
    for (const plan::Step& step : steps)
      if (auto ok = std::visit([this](const auto& s) { return run(s); }, step.what); !ok) return ok;
    return {};
  }

 private:
  std::byte* address(plan::BufferId id) const {
    const plan::Buffer& b = plan_.buffers[id];
    switch (b.storage) {
      case plan::Storage::parameter: return const_cast<std::byte*>(in_[b.index]);  // kernels only read it
      case plan::Storage::result: return out_[b.index];
      case plan::Storage::constant: return const_cast<std::byte*>(plan_.constants[b.index].bytes().data());
      case plan::Storage::arena: return memory_ + b.offset;
    }
    HLOC_UNREACHABLE();
  }

  Result<void> run(const plan::KernelStep& step) {
    size_t number = numbers_.at(&step);
    const GpuKernel& k = program_.kernels[number];
    for (size_t i = 0; i < k.launches.size(); ++i) {
      std::vector<void*> arguments;
      for (loops::BufferId b : k.launches[i].buffers) {
        if (k.scratch_offsets[b] >= 0) arguments.push_back(scratch_ + k.scratch_offsets[b]);
        else if (b < step.inputs.size()) arguments.push_back(address(step.inputs[b]));
        else arguments.push_back(address(step.outputs[b - step.inputs.size()]));
      }
      if (auto ok = launcher_.launch(number, i, arguments.data()); !ok) return ok;
    }
    return {};
  }

  Result<void> run(const plan::HostStep& step) {
    std::vector<void*> buffers;
    for (plan::BufferId id : step.inputs) buffers.push_back(address(id));
    for (plan::BufferId id : step.outputs) buffers.push_back(address(id));
    return host::run_host_step(step, buffers.data());
  }

  Result<void> run(const plan::CopyStep& step) {
    auto bytes = static_cast<size_t>(plan_.buffers[step.from].bytes());
    if (bytes != 0) std::memmove(address(step.to), address(step.from), bytes);
    return {};
  }

  Result<void> run(const plan::WhileStep& step) {
    for (;;) {
      if (auto ok = block(step.condition); !ok) return ok;
      if (*address(step.predicate) == std::byte{0}) return {};
      if (auto ok = block(step.body); !ok) return ok;
    }
  }

  Result<void> run(const plan::BranchStep& step) {
    size_t last = step.branches.size() - 1, chosen = last;
    if (plan_.buffers[step.selector].type.element() == ElementType::pred) {
      chosen = *address(step.selector) != std::byte{0} ? 0 : 1;
    } else {
      int32_t number = 0;
      std::memcpy(&number, address(step.selector), sizeof number);
      if (number >= 0 && static_cast<size_t>(number) < last) chosen = static_cast<size_t>(number);
    }
    return block(step.branches[chosen]);
  }

  const GpuProgram& program_;
  const plan::Program& plan_;
  const std::map<const plan::KernelStep*, size_t>& numbers_;
  const Launcher& launcher_;
  const std::byte* const* in_;
  std::byte* const* out_;
  std::byte* memory_;
  std::byte* scratch_;
};

class GpuExecutable final : public backends::Executable {
 public:
  GpuExecutable(GpuProgram program, std::unique_ptr<Launcher> launcher) : program_(std::move(program)), launcher_(std::move(launcher)) {
    for (size_t i = 0; i < program_.kernels.size(); ++i) numbers_[program_.kernels[i].step] = i;
  }

  Result<void> call(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs, const CallOptions& options) const override {
    size_t bytes = rounded(program_.plan->arena_bytes) + rounded(program_.scratch_bytes);
    if (options.guard_pages)
      return host::guarded_call(*program_.plan, inputs, outputs, bytes, [this](const std::byte* const* in, std::byte* const* out, std::byte* memory) {
        return run(in, out, memory);
      });
    struct Memory {
      void* at;
      ~Memory() { std::free(at); }
    } memory{std::aligned_alloc(256, bytes == 0 ? 256 : bytes)};
    if (!memory.at) throw std::bad_alloc();
    return run(inputs.data(), outputs.data(), static_cast<std::byte*>(memory.at));
  }

 private:
  Result<void> run(const std::byte* const* in, std::byte* const* out, std::byte* memory) const {
    std::lock_guard lock(mutex_);  // shared memory is one for all calls
    return PlanRun(program_, numbers_, *launcher_, in, out, memory).block(program_.plan->steps);
  }

  GpuProgram program_;
  std::unique_ptr<Launcher> launcher_;
  std::map<const plan::KernelStep*, size_t> numbers_;
  mutable std::mutex mutex_;
};

}  // namespace

std::unique_ptr<backends::Executable> make_executable(GpuProgram program, std::unique_ptr<Launcher> launcher) {
  return std::make_unique<GpuExecutable>(std::move(program), std::move(launcher));
}

}  // namespace hloc::gpu
