// CUDA C.
#pragma once

#include "backends/gpu/dialect.h"

namespace hloc::cuda {

extern const gpu::Dialect dialect;

}  // namespace hloc::cuda
