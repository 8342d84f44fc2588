// The rules of `legalise`, one operation at a time.
#pragma once

#include "backends/loops/builder.h"

namespace hloc::loops {

// The operation on legal operands in terms of basic operations.
ValueId legal_compute(KernelBuilder& b, ScalarOp op, Predicate predicate, std::span<const ValueId> args, ElementType result);

// Whether an operation with these types is left by `legalise`.
bool is_legal(ScalarOp op, ElementType operand, ElementType result);

// Drops statements whose results nobody uses.
void remove_unused(Kernel& kernel);

}  // namespace hloc::loops
