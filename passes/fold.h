// The pass `fold`: what depends on constants only is computed now.
#pragma once

#include "passes/pass.h"

namespace hloc::passes {

extern const Pass fold_pass;

}  // namespace hloc::passes
