// What is done to a graph before the planner sees it: fusions that came with the program are taken apart, so that it decides
// about their instructions itself, and products that no matrix stands behind become sums.
#pragma once

#include "ir/graph.h"

namespace hloc::passes {

// The same module without fusions of kind loop, input or output; the very module when it has none. Control edges of a
// fusion go: what is ordered by effects stays so, and the rest need not be.
ir::ModuleRef dissolve_fusions(const ir::ModuleRef& module);

// The product of a vector with a matrix that elementwise ops compute is a multiplication and a sum: it takes the matrix's
// elements one by one as they are made, so the matrix need not be in memory (forces between all pairs of bodies). The
// module itself when there is none.
ir::ModuleRef sums_for_dots(const ir::ModuleRef& module);

}  // namespace hloc::passes
