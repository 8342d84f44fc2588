// What scalar operations compute, on runs of elements in memory form: for the interpreter and for folding constants.
#pragma once

#include "backends/loops/loops.h"

namespace hloc::loops {

// out[i] = op(args[0][i], args[1][i], args[2][i]) for i < n. `operand` is the type of the last operand, `result` that of
// `out`. `out` overlaps no operand.
void apply(const Compute& c, ElementType operand, ElementType result, const void* const* args, void* out, size_t n);

// acc = op(acc, in[i]) for i = 0…n-1, in order.
void fold(ScalarOp op, ElementType type, void* acc, const void* in, size_t n);

// out[i] = acc + Σ a[k] * b[k], k = 0…n-1, in order, each step rounded, in `type` (f32, f64, integers).
void multiply_add(ElementType type, void* acc, const void* a, const void* b, size_t n);

}  // namespace hloc::loops
