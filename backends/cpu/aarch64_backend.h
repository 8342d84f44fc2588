// AArch64 as a backend: the target aarch64.
#pragma once

#include "backends/registry.h"

namespace hloc::backends {

extern const Backend aarch64_backend;

}  // namespace hloc::backends
