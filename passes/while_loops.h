// What a while loop carries: constants and unused carries go, invariant work is done once, known trip counts 0 and 1.
#pragma once

#include "passes/pass.h"

namespace hloc::passes {

extern const Pass while_pass;

}  // namespace hloc::passes
