// The reference evaluator as a backend; also the smallest example of one.
#pragma once

#include "backends/registry.h"

namespace hloc::backends {

extern const Backend reference_backend;

}  // namespace hloc::backends
