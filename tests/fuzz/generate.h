// Random HLO modules by grammar: well-typed graphs over small shapes.
#pragma once

#include <string>

#include "tests/fuzz/fuzz.h"

namespace hloc::fuzz {

// Exact modules use only ops whose results every target must give bit by bit: + - * / sqrt on floats, all integer work,
// comparisons, selections, conversions, movement of data. Others add math functions and sums, whose results may differ
// in the last places, and leave out what turns a small difference into a large one (comparisons, roundings to integers).
struct GeneratorOptions {
  bool exact = true;
  int instructions = 20;
};
std::string generate_module(Random& random, const GeneratorOptions& options);

}  // namespace hloc::fuzz
