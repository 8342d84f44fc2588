// The pass `simplify`: the rewrite rules to a fixed point.
#pragma once

#include "passes/pass.h"

namespace hloc::passes {

extern const Pass simplify_pass;

}  // namespace hloc::passes
