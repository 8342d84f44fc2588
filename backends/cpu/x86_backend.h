// x86-64 as a backend: targets native, x86-64-v3 and x86-64-v4.
#pragma once

#include "backends/registry.h"

namespace hloc::backends {

extern const Backend x86_backend;

}  // namespace hloc::backends
