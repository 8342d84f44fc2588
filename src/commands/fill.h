// Reproducible inputs by formula: element i depends on the seed and i alone (a SplitMix64 of both).
#pragma once

#include <cstdint>

#include "include/hloc/tensor.h"
#include "src/commands/bytes.h"

namespace hloc::cli {

// u in [0, 1) has 24 bits; the value is lo + (hi - lo) * u, each step rounded to f32, then converted. Complex types:
// the imaginary part uses seed + 1000003.
Bytes fill_uniform(const Shape& shape, uint64_t seed, double lo, double hi);
// lo + (z mod (hi - lo)).
Bytes fill_integers(const Shape& shape, uint64_t seed, int64_t lo, int64_t hi);
Bytes fill_constant(const Shape& shape, double value);
// What `--fill` makes: floats uniform in [-1, 1), integers in [0, 100), pred 0 or 1.
Bytes fill_default(const Shape& shape, uint64_t seed);

}  // namespace hloc::cli
