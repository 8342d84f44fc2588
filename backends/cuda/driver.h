// NVIDIA's driver, loaded when it is asked for.
#pragma once

#include <memory>
#include <string_view>

#include "backends/gpu/driver.h"

namespace hloc::cuda {

// The first device of this machine that runs code for `architecture`, "sm_80"; its context is the one that all libraries of
// the process share. Errors of kind `target`: no driver, no device, or none that runs this code.
Result<std::unique_ptr<gpu::Driver>> open_driver(std::string_view architecture);

// The same, but it is only named.
Result<gpu::DeviceInfo> find_device(std::string_view architecture);

// Code for one version of a generation runs on it and later ones of that generation ("sm_80" on 8.6); "sm_90a" on 9.0 alone.
bool runs_code(std::string_view device, std::string_view architecture);

}  // namespace hloc::cuda
