// The pass `ranges`: integers whose values are known to lie between two numbers.
#pragma once

#include "passes/pass.h"

namespace hloc::passes {

extern const Pass ranges_pass;

}  // namespace hloc::passes
