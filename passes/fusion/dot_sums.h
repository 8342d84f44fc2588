// Products that no matrix stands behind become sums before the planner sees them.
#pragma once

#include "ir/graph.h"

namespace hloc::passes {

// The product of a vector with a matrix that elementwise ops compute is a multiplication and a sum: it takes the matrix's
// elements one by one as they are made, so the matrix need not be in memory (forces between all pairs of bodies). The
// module itself when there is none.
ir::ModuleRef sums_for_dots(const ir::ModuleRef& module);

}  // namespace hloc::passes
