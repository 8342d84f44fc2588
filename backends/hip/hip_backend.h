// AMD devices; "host" runs the same source on this machine's CPU.
#pragma once

#include "backends/registry.h"

namespace hloc::backends {

extern const Backend hip_backend;

}  // namespace hloc::backends
