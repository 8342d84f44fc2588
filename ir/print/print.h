// Printers: Module to text that reads back equal.
#pragma once

#include <string>

#include "include/hloc/result.h"
#include "ir/graph.h"

namespace hloc::ir {

struct PrintOptions {
  bool metadata = true;              // metadata={...} and the stack frame tables
  bool large_constants = true;       // false: constants of more than `elide_above` elements print as {...}
  int64_t elide_above = 16;
};

// HLO text that XLA's own parser reads. An error when an op has no HLO form (a dynamic StableHLO op).
Result<std::string> print_hlo(const Module& module, const PrintOptions& options = {});
// StableHLO text. An error when an op has no StableHLO form (fusion, bitcast with layouts, async-update…).
Result<std::string> print_stablehlo(const Module& module, const PrintOptions& options = {});

// StableHLO writes the types of every op out, so that nesting costs as much text at each of its levels: types nested
// deeper than this are neither printed nor read.
constexpr uint32_t deepest_stablehlo_type = 512;

// One piece each, for messages, tests and `explain`.
std::string to_string(Type type);                                     // f32[2,3]{1,0}
std::string to_string(const Literal& literal, int64_t elide_above = INT64_MAX);  // {1, 2}
std::string to_string(const Computation& computation, Value v, const PrintOptions& options = {});  // one HLO line
std::string mlir_type(Type type);                                     // tensor<2x3xf32>

}  // namespace hloc::ir
