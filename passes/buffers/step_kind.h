// What each instruction becomes in a program: a step, a part of the control structure, or only a name for buffers.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "ir/target.h"

namespace hloc::passes {

enum class StepKind : uint8_t {
  leaf,       // parameter, constant: a buffer that is there before
  structure,  // tuples, tokens, barriers: they gather and order values
  rename,     // the same bytes under another type
  control,    // while, conditional, call
  kernel,     // a fusion whose every op the target supports
  host,       // any other computing instruction
};

StepKind step_kind(ir::Value v, const ir::Target& target);

// Whether the result has the bytes of operand 0: reshape, copy, and bitcasts that keep the row-major bytes.
bool is_rename(ir::Value v);

// Whether the target has a native lowering for `v` inside a kernel.
inline bool is_supported(ir::Value v, const ir::Target& target) { return target.supports && target.supports(*v); }

// The computations whose instructions are executed as steps: the entry and what its whiles, conditionals and calls
// name, transitively. Callees before callers. Reducers, comparators and fused computations are not among them.
std::vector<const ir::Computation*> step_computations(const ir::Computation& entry);

}  // namespace hloc::passes
