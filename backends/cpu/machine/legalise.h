// Instructions that a CPU has no form of become sequences of others: what the targets share. A target's own rules take one
// instruction each; what they append through the builder is looked at again, so a rule only needs to take one step.
#pragma once

#include <functional>

#include "backends/cpu/machine/element.h"
#include "backends/cpu/machine/machine.h"

namespace hloc::machine {

struct Expansion {
  Builder& b;
  const Inst& i;
  int vector_bytes;  // of the function

  VType type() const { return i.vtype(); }
  int width() const { return byte_width(i.type); }
  // The same lanes with another element type.
  VType with(ElementType e) const { return {e, i.lanes}; }
  bool fits(ElementType e) const { return byte_width(e) * i.lanes <= vector_bytes; }
  VType half() const { return {i.type, static_cast<uint8_t>(i.lanes / 2)}; }
};

// Expands what `expand` takes (it says true) until there is no more of it. Errors of kind `target`: a function of wider
// vectors than `vector_bytes`, an instruction that is not supported.
Result<void> legalise(Function& f, int vector_bytes, const std::function<bool(const Inst&)>& supports,
                      const std::function<bool(const Expansion&)>& expand);

// The instruction in two halves of its lanes; for lane-wise ones (also conversions and comparisons) only.
void split(const Expansion& x);

// Arithmetic and comparisons of f16 and bf16.
void through_f32(const Expansion& x);
void compare_through_f32(const Expansion& x);

// VMajority of and, or, xor; VScale by two factors.
void majority(const Expansion& x);
void scale_in_two_steps(const Expansion& x);

// Conversions: to `x`'s type from `through` from the source; f32 and f64 to floats of 16 bits; 64-bit integers to floats
// narrower than f64. All round once, to nearest even.
bool by_way_of(const Expansion& x, ElementType through);
void f32_to_bf16(const Expansion& x);
void f64_to_half(const Expansion& x);
void wide_to_narrow_float(const Expansion& x);

}  // namespace hloc::machine
