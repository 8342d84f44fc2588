// Fusions that came with the program are taken apart before the planner sees it, so that it decides about their instructions
// itself.
#pragma once

#include "ir/graph.h"

namespace hloc::passes {

// The same module without fusions of kind loop, input or output; the very module when it has none. Control edges of a
// fusion go: what is ordered by effects stays so, and the rest need not be.
ir::ModuleRef dissolve_fusions(const ir::ModuleRef& module);

}  // namespace hloc::passes
