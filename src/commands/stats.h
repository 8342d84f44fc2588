// What compiling produced, for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "include/hloc/program.h"

namespace hloc::cli {

// To standard error: a line about the program; one for each host step and each kernel of a device.
void show_stats(const ProgramStats& stats);

// Adds the sizes, the target and its runner, and what concerns code for a device where it is known: "from_cache", and
// "device_kernels", a list of objects with the fields of KernelResources.
void add_stats(nlohmann::ordered_json& to, const ProgramStats& stats);

}  // namespace hloc::cli
