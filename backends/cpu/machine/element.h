// Elements of vectors as bits and as numbers, for constants.
#pragma once

#include <cstdint>
#include <string>

#include "include/hloc/tensor.h"

namespace hloc::machine {

// May a vector or a load have this element type?
constexpr bool is_machine_element(ElementType t) {
  return t == ElementType::pred || (is_integer(t) && bit_width(t) >= 8) || t == ElementType::f16 ||
         t == ElementType::bf16 || t == ElementType::f32 || t == ElementType::f64;
}
constexpr bool is_machine_float(ElementType t) { return is_machine_element(t) && is_float(t); }

// The integer types of a width in bytes.
constexpr ElementType unsigned_of(int bytes) {
  return bytes == 1 ? ElementType::u8 : bytes == 2 ? ElementType::u16 : bytes == 4 ? ElementType::u32 : ElementType::u64;
}
constexpr ElementType signed_of(int bytes) {
  return bytes == 1 ? ElementType::s8 : bytes == 2 ? ElementType::s16 : bytes == 4 ? ElementType::s32 : ElementType::s64;
}

// Ones in the low `bits` bits.
constexpr uint64_t low_mask(int bits) { return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

// `value` rounded to the element type (integers: truncated towards zero, then wrapped).
uint64_t element_bits(ElementType t, double value);
double element_value(ElementType t, uint64_t bits);

// The shortest text that reads back as the same bits; NaNs as 0x… bits.
std::string element_text(ElementType t, uint64_t bits);
// False if `text` is no element of type t.
bool parse_element(ElementType t, std::string_view text, uint64_t& bits);

}  // namespace hloc::machine
