// The rules of `legalise`, by family. Each takes one instruction; if the target has no direct form of it, the rule
// appends an equivalent sequence through the builder and returns true. What it appends is looked at again, so a rule
// only needs to take one step.
#pragma once

#include "backends/cpu/machine/element.h"
#include "backends/cpu/machine/legalise.h"
#include "backends/cpu/x86/x86.h"

namespace hloc::x86 {

using machine::split;

struct Expansion : machine::Expansion {
  const Features& features;
};

bool expand_general(const Expansion& x);     // immediates, tail masks, copies
bool expand_float(const Expansion& x);       // min, max, sign bits, f16 and bf16 through f32, rounding
bool expand_integer(const Expansion& x);     // missing widths of multiply, min, max, abs, division, counts
bool expand_shift(const Expansion& x);
bool expand_compare(const Expansion& x);
bool expand_lanes(const Expansion& x);       // extract, insert, part, permute beyond 16 bytes
bool expand_masks(const Expansion& x);
bool expand_convert(const Expansion& x);

}  // namespace hloc::x86
