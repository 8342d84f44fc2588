// Shape inference: the result type of an op from its operands. One function per family in this folder.
#pragma once

#include <span>

#include "include/hloc/result.h"
#include "ir/graph.h"

namespace hloc::ir {

// The type that the result must have, row-major layout. The Diagnostic of an error has no place (the caller knows it) and
// names both shapes where two disagree. Ops whose result the operands do not determine (parameter, constant, iota,
// convert, reshape, slice sizes aside, custom-call, infeed…) return a null Type without an error after checking what can
// be checked.
Result<Type> infer(Context& context, Op op, std::span<const Type> operands, const Attr& attr,
                   std::span<const Computation* const> callees);

// Whether an instruction may have the type `declared`: everything that `infer` checks, and that the declared type
// agrees with the inferred one. Layouts are ignored; so is what XLA leaves to the program (a wider result of a dot or
// convolution, the precision of a reducer, the parameters of a quantised result).
Result<void> check_type(Context& context, Op op, std::span<const Type> operands, const Attr& attr,
                        std::span<const Computation* const> callees, Type declared);

}  // namespace hloc::ir
