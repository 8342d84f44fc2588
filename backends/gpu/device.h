// What the backends of devices have in common, by their dialect.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "backends/gpu/dialect.h"
#include "backends/gpu/driver.h"
#include "backends/registry.h"

namespace hloc::gpu {

ir::Target device_facts(std::string_view target);

// The kernels as source; in loop IR.
Result<std::string> source_text(const backends::Job& job, const Dialect& dialect);
Result<std::string> loops_text(const backends::Job& job);

// What stands after the colon of the target's name, "sm_80". An error (kind `usage`) that names `example` where it is "host".
Result<std::string_view> device_of(const backends::Job& job, std::string_view example);

// What a backend of devices has besides its dialect.
struct Maker {
  std::string_view emit_kind;  // of source: "cuda"
  std::string_view emulated;   // the target whose code runs on this machine's CPU, "cuda:host"
  // The first device of this machine that runs code for an architecture, "sm_80", to be used or to be named only.
  Result<std::unique_ptr<Driver>> (*open)(std::string_view architecture);
  Result<DeviceInfo> (*find)(std::string_view architecture);
  Result<std::string> (*code)(const backends::Job& job);  // what the driver loads
  backends::ReadResources* resources;                     // of it
};

// By the emulator for the target that is so named, else on a device; where that can't be, the error says what can be done here.
Result<std::unique_ptr<backends::Executable>> compile(const backends::Job& job, const Dialect& dialect, const Maker& maker);

// For backends::Backend::device.
std::string device_name(std::string_view target, const Maker& maker);

}  // namespace hloc::gpu
