// Making a failing module small: ever smaller modules are tried for as long as the failure stays.
#pragma once

#include <functional>

#include "ir/graph.h"

namespace hloc::passes {

// Whether a module still shows what is looked for. Modules given to it verify.
using StillFails = std::function<bool(const ir::ModuleRef&)>;

// A module that still fails and from which no single step can be taken away: results that are not needed, instructions
// that may be an operand, a constant or (in the entry) a parameter instead, loops and branches that may be their body.
// `module` must fail; tables about parameters and results (layouts, aliases, donors) are dropped.
ir::ModuleRef shrink(ir::ModuleRef module, const StillFails& still_fails);

}  // namespace hloc::passes
