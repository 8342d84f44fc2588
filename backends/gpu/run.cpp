#include "backends/gpu/run.h"

#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "backends/host/host_step.h"
#include "ir/support/check.h"

namespace hloc::gpu {
namespace {

// Where a plan's memory is on the device; the same for all calls.
struct DeviceMemory {
  std::vector<std::byte*> parameters, results, constants;  // by plan::Buffer::index
  std::byte* arena = nullptr;
  std::byte* scratch = nullptr;

  std::byte* address(const plan::Buffer& b) const {
    switch (b.storage) {
      case plan::Storage::parameter: return parameters[b.index];
      case plan::Storage::result: return results[b.index];
      case plan::Storage::constant: return constants[b.index];
      case plan::Storage::arena: return arena + b.offset;
    }
    HLOC_UNREACHABLE();
  }
};

Result<DeviceMemory> make_memory(const GpuProgram& program, Device& device) {
  const plan::Program& plan = *program.plan;
  DeviceMemory out;
  auto allocate = [&](int64_t bytes, std::byte*& at) -> Result<void> {
    auto memory = device.allocate(static_cast<size_t>(bytes));
    if (!memory) return memory.error();
    at = *memory;
    return {};
  };
  if (auto ok = allocate(plan.arena_bytes, out.arena); !ok) return ok.error();
  if (auto ok = allocate(program.scratch_bytes, out.scratch); !ok) return ok.error();
  for (plan::BufferId id : plan.parameters)
    if (auto ok = allocate(plan.buffers[id].bytes(), out.parameters.emplace_back()); !ok) return ok.error();
  for (plan::BufferId id : plan.results)
    if (auto ok = allocate(plan.buffers[id].bytes(), out.results.emplace_back()); !ok) return ok.error();
  for (const auto& constant : plan.constants) {
    std::span<const std::byte> bytes = constant.bytes();
    if (auto ok = allocate(static_cast<int64_t>(bytes.size()), out.constants.emplace_back()); !ok) return ok.error();
    if (auto ok = device.write(out.constants.back(), bytes.data(), bytes.size()); !ok) return ok.error();
  }
  return out;
}

// The steps of one call.
class PlanRun {
 public:
  PlanRun(const GpuProgram& program, const std::map<const plan::KernelStep*, size_t>& numbers, Device& device, const DeviceMemory& memory)
      : program_(program), plan_(*program.plan), numbers_(numbers), device_(device), memory_(memory) {}

  Result<void> block(const plan::Block& steps) {
    for (const plan::Step& step : steps)
      if (auto ok = std::visit([this](const auto& s) { return run(s); }, step.what); !ok) return ok;
    return {};
  }

 private:
  std::byte* address(plan::BufferId id) const { return memory_.address(plan_.buffers[id]); }
  size_t bytes(plan::BufferId id) const { return static_cast<size_t>(plan_.buffers[id].bytes()); }

  Result<void> run(const plan::KernelStep& step) {
    size_t number = numbers_.at(&step);
    const GpuKernel& k = program_.kernels[number];
    std::vector<std::byte*> arguments;
    for (size_t i = 0; i < k.launches.size(); ++i) {
      arguments.clear();
      for (loops::BufferId b : k.launches[i].buffers) {
        if (k.scratch_offsets[b] >= 0) arguments.push_back(memory_.scratch + k.scratch_offsets[b]);
        else if (b < step.inputs.size()) arguments.push_back(address(step.inputs[b]));
        else arguments.push_back(address(step.outputs[b - step.inputs.size()]));
      }
      if (auto ok = device_.launch(number, i, arguments); !ok) return ok;
    }
    return {};
  }

  Result<void> run(const plan::HostStep& step) {
    std::vector<std::vector<std::byte>> copies;
    std::vector<void*> buffers;
    for (plan::BufferId id : step.inputs) {
      copies.emplace_back(bytes(id));
      if (auto ok = device_.read(copies.back().data(), address(id), bytes(id)); !ok) return ok;
    }
    for (plan::BufferId id : step.outputs) copies.emplace_back(bytes(id));
    for (std::vector<std::byte>& copy : copies) buffers.push_back(copy.data());
    if (auto ok = host::run_host_step(step, buffers.data()); !ok) return ok;
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      const std::vector<std::byte>& copy = copies[step.inputs.size() + i];
      if (auto ok = device_.write(address(step.outputs[i]), copy.data(), copy.size()); !ok) return ok;
    }
    return {};
  }

  Result<void> run(const plan::CopyStep& step) {
    if (bytes(step.from) == 0 || address(step.from) == address(step.to)) return {};
    return device_.copy(address(step.to), address(step.from), bytes(step.from));
  }

  Result<void> run(const plan::WhileStep& step) {
    for (;;) {
      if (auto ok = block(step.condition); !ok) return ok;
      std::byte goes_on{};
      if (auto ok = device_.read(&goes_on, address(step.predicate), 1); !ok) return ok;
      if (goes_on == std::byte{0}) return {};
      if (auto ok = block(step.body); !ok) return ok;
    }
  }

  Result<void> run(const plan::BranchStep& step) {
    std::byte selector[sizeof(int32_t)] = {};
    if (auto ok = device_.read(selector, address(step.selector), bytes(step.selector)); !ok) return ok;
    size_t last = step.branches.size() - 1, chosen = last;
    if (plan_.buffers[step.selector].type.element() == ElementType::pred) {
      chosen = selector[0] != std::byte{0} ? 0 : 1;
    } else {
      int32_t number = 0;
      std::memcpy(&number, selector, sizeof number);
      if (number >= 0 && static_cast<size_t>(number) < last) chosen = static_cast<size_t>(number);
    }
    return block(step.branches[chosen]);
  }

  const GpuProgram& program_;
  const plan::Program& plan_;
  const std::map<const plan::KernelStep*, size_t>& numbers_;
  Device& device_;
  const DeviceMemory& memory_;
};

class GpuExecutable final : public backends::Executable {
 public:
  GpuExecutable(GpuProgram program, std::unique_ptr<Device> device, DeviceMemory memory, std::vector<KernelResources> kernels)
      : program_(std::move(program)), device_(std::move(device)), memory_(std::move(memory)), kernels_(std::move(kernels)) {
    for (size_t i = 0; i < program_.kernels.size(); ++i) numbers_[program_.kernels[i].step] = i;
  }

  std::vector<KernelResources> device_kernels() const override { return kernels_; }

  Result<void> call(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                    const CallOptions& options) const override {
    std::lock_guard lock(mutex_);  // memory is one for all calls
    const plan::Program& plan = *program_.plan;
    if (options.guard_pages)
      if (auto ok = spoil(); !ok) return ok;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (auto ok = device_->write(memory_.parameters[i], inputs[i], bytes(plan.parameters[i])); !ok) return ok;
    }
    if (auto ok = PlanRun(program_, numbers_, *device_, memory_).block(plan.steps); !ok) return ok;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (auto ok = device_->read(outputs[i], memory_.results[i], bytes(plan.results[i])); !ok) return ok;
    }
    return {};
  }

 private:
  size_t bytes(plan::BufferId id) const { return static_cast<size_t>(program_.plan->buffers[id].bytes()); }

  // What nothing has written is NaN in every float format.
  Result<void> spoil() const {
    auto fill = [this](std::byte* at, int64_t size) {
      std::vector<std::byte> pattern(static_cast<size_t>(size), std::byte{0xff});
      return device_->write(at, pattern.data(), pattern.size());
    };
    if (auto ok = fill(memory_.arena, program_.plan->arena_bytes); !ok) return ok;
    if (auto ok = fill(memory_.scratch, program_.scratch_bytes); !ok) return ok;
    for (size_t i = 0; i < memory_.results.size(); ++i)
      if (auto ok = fill(memory_.results[i], program_.plan->buffers[program_.plan->results[i]].bytes()); !ok) return ok;
    return {};
  }

  GpuProgram program_;
  std::unique_ptr<Device> device_;
  DeviceMemory memory_;
  std::vector<KernelResources> kernels_;
  std::map<const plan::KernelStep*, size_t> numbers_;
  mutable std::mutex mutex_;
};

}  // namespace

Result<std::unique_ptr<backends::Executable>> make_executable(GpuProgram program, std::unique_ptr<Device> device,
                                                              std::vector<KernelResources> kernels) {
  auto memory = make_memory(program, *device);
  if (!memory) return memory.error();
  return std::unique_ptr<backends::Executable>(
      std::make_unique<GpuExecutable>(std::move(program), std::move(device), *std::move(memory), std::move(kernels)));
}

}  // namespace hloc::gpu
