// AArch64 as a backend: the target aarch64, and native where this is one.
#pragma once

#include "backends/registry.h"

namespace hloc::backends {

extern const Backend aarch64_backend;

}  // namespace hloc::backends
