// What is wanted of a maker's driver for one of its devices. Each maker's backend has one; driver_device.h runs programs on it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "include/hloc/result.h"

namespace hloc::gpu {

// Functions with an int result return the driver's status, 0 when good. Work on the device happens in the order of the calls;
// `read` returns when it is done, so does `synchronize`, others may return before. `write` is done with the host's memory.
class Driver {
 public:
  virtual ~Driver() = default;

  virtual std::string device() const = 0;            // "NVIDIA H200 (sm_90)"
  virtual std::string words(int status) const = 0;   // "CUDA_ERROR_OUT_OF_MEMORY: out of memory"

  // Between these two the device is the calling thread's; afterwards it is as it was. All functions below are called between
  // them. `before` belongs to the driver.
  virtual int enter(int& before) = 0;
  virtual void leave(int before) = 0;

  virtual int load(void*& module, const void* code) = 0;
  virtual int unload(void* module) = 0;
  virtual int find(void*& function, void* module, const char* name) = 0;
  virtual int allocate(std::byte*& memory, size_t bytes) = 0;
  virtual int free(std::byte* memory) = 0;
  virtual int write(std::byte* to, const std::byte* from, size_t bytes) = 0;  // host to device
  virtual int read(std::byte* to, const std::byte* from, size_t bytes) = 0;   // device to host
  virtual int copy(std::byte* to, const std::byte* from, size_t bytes) = 0;   // on the device; no overlap
  virtual int launch(void* function, unsigned blocks, unsigned threads, void** parameters) = 0;  // parameters[i]: where the i-th stands
  virtual int synchronize() = 0;
};

// What statuses mean; the makers give them the same numbers. A fault: a kernel was stopped, for an illegal or misaligned
// address or instruction or the like.
ErrorKind kind_of_status(int status);
bool is_fault(int status);

// A device of this machine, by the number that its driver knows it by.
struct DeviceInfo {
  int number = 0;
  std::string name, architecture;  // "NVIDIA H200", "sm_90"
  std::string text() const { return name + " (" + architecture + ")"; }
};

// Whether a device of one architecture runs code for another.
using RunsCode = bool(std::string_view device, std::string_view wanted);

// The first device that runs code for `wanted`. An error of kind `target` that says what there is.
Result<DeviceInfo> choose_device(std::span<const DeviceInfo> devices, std::string_view wanted, RunsCode* runs);

}  // namespace hloc::gpu
