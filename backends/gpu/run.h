// Runs a plan step by step: kernels on a device, what is left on this machine.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backends/gpu/launch.h"
#include "backends/registry.h"

namespace hloc::gpu {

// Memory and launches of one device, or of what stands for one. Addresses are the device's: what is there can't be read from
// here. Every function returns when its work is done. Calls for one device never overlap.
class Device {
 public:
  virtual ~Device() = default;
  // Aligned to 256 bytes, kept until the device goes. Errors of kind `memory`.
  virtual Result<std::byte*> allocate(size_t bytes) = 0;
  virtual Result<void> write(std::byte* to, const std::byte* from, size_t bytes) = 0;  // from here to the device
  virtual Result<void> read(std::byte* to, const std::byte* from, size_t bytes) = 0;   // from the device to here
  virtual Result<void> copy(std::byte* to, const std::byte* from, size_t bytes) = 0;   // on the device; both may overlap
  // `arguments[i]` is the memory of launch.buffers[i].
  virtual Result<void> launch(size_t kernel, size_t launch, std::span<std::byte* const> arguments) = 0;
};

// Takes all memory that calls need; `kernels` is what the code takes, where that is known. Errors: the device's.
Result<std::unique_ptr<backends::Executable>> make_executable(GpuProgram program, std::unique_ptr<Device> device,
                                                              std::vector<KernelResources> kernels = {});

}  // namespace hloc::gpu
