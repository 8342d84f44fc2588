// AMD's HIP runtime, loaded when it is asked for.
#pragma once

#include <memory>
#include <string_view>

#include "backends/gpu/driver.h"

namespace hloc::hip {

// The first device of this machine that is a `processor`, "gfx90a". Errors of kind `target`: no runtime, no device, or none
// that runs this code.
Result<std::unique_ptr<gpu::Driver>> open_runtime(std::string_view processor);

// The same, but it is only named.
Result<gpu::DeviceInfo> find_device(std::string_view processor);

}  // namespace hloc::hip
