// Instructions of the A64 table with random operands, as text and as the encoder's word: what the assemblers that the encoder
// is compared with are given.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "backends/cpu/aarch64/encode.h"

namespace hloc::test {

struct A64Sample {
  aarch64::Form form{};
  std::string text;
  uint32_t word = 0;
};

constexpr int a64_rounds = 40;  // samples of each form

// Operands from all that the form's fields allow, their bounds more often than the rest.
A64Sample a64_sample(aarch64::Form form, std::mt19937& random);

}  // namespace hloc::test
