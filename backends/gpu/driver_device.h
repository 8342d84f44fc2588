// A program's memory and launches on a device, by its driver.
#pragma once

#include <memory>
#include <string_view>

#include "backends/gpu/driver.h"
#include "backends/gpu/run.h"

namespace hloc::gpu {

// `code`: the program's kernels in the form that the driver loads. Errors: it does not load.
//
// Launches are queued and done in order, and whoever reads bytes waits for them: nobody can tell that from launches that
// return when they are done, except by an error, which is then found by a later call and names the launches it may be of.
Result<std::unique_ptr<Device>> make_driver_device(const GpuProgram& program, std::string_view code, std::unique_ptr<Driver> driver);

}  // namespace hloc::gpu
