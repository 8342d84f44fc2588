// Quantised tensors and the values that they stand for.
#pragma once

#include "ir/eval/evaluator.h"

namespace hloc::ir::eval {

Literal dequantized(Evaluator& eval, const Literal& in);              // in its expressed type; itself when not quantised
Literal quantized(Evaluator& eval, const Literal& in, Type type);     // in `type`; itself when that is not quantised

bool has_quantized_type(const Call& c);
// The op on dequantised operands; the result quantised as its type says.
Result<Literal> apply_dequantized(Call& c, OpFunction function);

}  // namespace hloc::ir::eval
