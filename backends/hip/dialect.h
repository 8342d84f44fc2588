// HIP C.
#pragma once

#include "backends/gpu/dialect.h"

namespace hloc::hip {

extern const gpu::Dialect dialect;         // waves of 64: GCN and CDNA
extern const gpu::Dialect narrow_dialect;  // waves of 32: RDNA

}  // namespace hloc::hip
