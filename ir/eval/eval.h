// The reference evaluator: what is right. One plain function per op; see the files of this folder.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "include/hloc/result.h"
#include "ir/graph.h"

namespace hloc::ir {

struct EvalOptions {
  int64_t max_bytes = int64_t{16} << 30;   // live bytes of literals; beyond: a Diagnostic of kind `memory`
  int64_t max_steps = INT64_MAX;           // ops evaluated; beyond: an error (constant folding bounds its work so)
  // Called with every value (computation, instruction, value) when set; for dumps and bisection.
  std::function<void(const Computation&, Value, const Literal&)> trace;
};

// Runs the entry computation. `arguments[k]` is parameter k (a tuple parameter is a tuple literal) and must have its
// type up to layout. check.expect_* ops that fail are an input error that names the first wrong element.
Result<Literal> evaluate(const Module& module, std::span<const Literal> arguments, const EvalOptions& options = {});
Result<Literal> evaluate(const Computation& computation, std::span<const Literal> arguments,
                         const EvalOptions& options = {});

// One op on given values.
Result<Literal> evaluate(Value instruction, std::span<const Literal> operands, const EvalOptions& options = {});

// Whether the evaluator knows the op with these types.
bool can_evaluate(Value instruction);

}  // namespace hloc::ir
