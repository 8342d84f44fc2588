// The verifier: everything that the types of the graph do not already enforce.
#pragma once

#include "include/hloc/result.h"
#include "ir/graph.h"

namespace hloc::ir {

// Checks every instruction (operand count and types against ir/infer, attributes in range, callee signatures, element
// types the op admits), every computation (parameters, root) and the module (entry layout, aliases). The first error in
// program order; it points into the module's source where there is one, else names computation and instruction.
Result<void> verify(const Module& module);

}  // namespace hloc::ir
