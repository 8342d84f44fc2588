// Runs a plan step by step on memory that the launches can reach.
#pragma once

#include <memory>

#include "backends/gpu/launch.h"
#include "backends/registry.h"

namespace hloc::gpu {

// Whoever executes launches.
class Launcher {
 public:
  virtual ~Launcher() = default;
  // Returns when it is done. `arguments[i]` is the memory of launch.buffers[i].
  virtual Result<void> launch(size_t kernel, size_t launch, void** arguments) const = 0;
};

std::unique_ptr<backends::Executable> make_executable(GpuProgram program, std::unique_ptr<Launcher> launcher);

}  // namespace hloc::gpu
