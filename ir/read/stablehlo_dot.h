// The dot algorithms that HLO names by one word and StableHLO by their parts; in the order of DotAlgorithm.
#pragma once

#include <cstdint>
#include <string_view>

namespace hloc::ir::mlir {

struct DotParts {
  std::string_view operand, accumulation;
  int64_t operations = 1;
  bool imprecise = false;
};

inline constexpr DotParts dot_algorithms[] = {
    {},
    {"f8E5M2", "f32", 1, false},
    {"f8E5M2", "f32", 1, true},
    {"f16", "f16", 1, false},
    {"f16", "f32", 1, false},
    {"bf16", "bf16", 1, false},
    {"bf16", "f32", 1, false},
    {"bf16", "f32", 3, false},
    {"bf16", "f32", 6, false},
    {"bf16", "f32", 9, false},
    {"tf32", "f32", 1, false},
    {"tf32", "f32", 3, false},
    {"f32", "f32", 1, false},
    {"f64", "f64", 1, false},
};

}  // namespace hloc::ir::mlir
