// A case folder: case.json with a program's inputs and expected outputs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "include/hloc/hloc.h"
#include "src/commands/inputs.h"

namespace hloc::cli {

struct CaseArray {
  Shape shape;
  std::string file;    // relative to the folder; empty: a fill
  std::string fill;    // uniform, randint, zeros, const
  uint64_t seed = 0;
  double lo = 0, hi = 0, value = 0;
  int64_t every = 1;   // outputs: the file holds flat elements 0, every, 2·every, …
};

struct CaseInstance {
  std::vector<CaseArray> inputs, outputs;
};

struct Case {
  std::string folder;
  std::vector<CaseInstance> instances;  // one; several for dynamic shapes
  double rtol = 0, atol = 0, mismatch_fraction = 0;
};

Result<Case> read_case(const std::string& folder);
Result<std::vector<Bytes>> case_inputs(const Case& c, const CaseInstance& instance);

// Compares results with the expected ones; the text of the first difference, or nothing when all are right.
Result<std::optional<std::string>> compare_outputs(const Case& c, const CaseInstance& instance, std::span<const Shape> shapes,
                                                   const std::vector<Bytes>& results);

}  // namespace hloc::cli
