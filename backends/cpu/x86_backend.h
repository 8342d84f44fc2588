// x86-64 as a backend: targets x86-64-v3, x86-64-v4, and native where this is one.
#pragma once

#include "backends/registry.h"

namespace hloc::backends {

extern const Backend x86_backend;

}  // namespace hloc::backends
