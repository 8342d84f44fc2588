// Kernel source run on this machine's CPU.
//
// The source is the text that a device's compiler gets, to the letter. It is compiled by g++ as part of a small program, which
// runs as a child process for as long as the device lives (emulator_device.h). That program looks at every access to memory
// and at every wait, and reports what a device would not: accesses outside of what an argument or a shared array has, writes
// to inputs, shared memory that nobody has written, races, vectors at the wrong address, barriers and shuffles that not all
// threads come to, stack overflows. A launch with such a fault ends with an error of kind `bug` that points at the line.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/gpu/dialect.h"
#include "backends/gpu/run.h"

namespace hloc::gpu {

// A pointer that a launch's function takes.
struct EmulatedArgument {
  std::string name;
  int64_t bytes = 0;
  int element_bytes = 1;
  bool is_written = false;  // else a store by way of it is an error
};

struct EmulatedLaunch {
  std::string function;
  int64_t blocks = 1;
  int threads = 1;              // of a block; 1024 at most
  bool is_cooperative = false;  // threads of a block wait for each other
  std::vector<EmulatedArgument> arguments;
};

// `launches[kernel][launch]`: what Device::launch is asked for. Errors: no g++, or no child process can be had (kind `target`);
// g++ refuses the source (`bug`).
Result<std::unique_ptr<Device>> make_emulator(std::string source, std::vector<std::vector<EmulatedLaunch>> launches,
                                              const Dialect& dialect);

// The same for the source and the launches of a program.
Result<std::unique_ptr<Device>> make_emulator(const GpuProgram& program, const Dialect& dialect);

// The source of such a program is kernel_source(program, dialect), whose lines are those that errors name.
std::vector<std::vector<EmulatedLaunch>> emulated_launches(const GpuProgram& program);

}  // namespace hloc::gpu
