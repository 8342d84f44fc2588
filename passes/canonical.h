// The pass `canonical`: the module rebuilt through the interning builder.
#pragma once

#include "passes/pass.h"

namespace hloc::passes {

extern const Pass canonical_pass;

}  // namespace hloc::passes
