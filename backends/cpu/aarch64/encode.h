// A64 instructions as 32-bit words, made from a table of forms (forms.def) and of what their operands are (fields.def).
//
//   encode(Form::Add, {0, 1, 2, 0})                      add x0, x1, x2, lsl #0
//   encode(Form::VFadd, {0, arrangement(2, 16), 1, 2})   fadd v0.4s, v1.4s, v2.4s
//
// A form and its operands are checked: what the machine has no bits for is a bug of the caller.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace hloc::aarch64 {

// What becomes of an operand besides a number in its place.
enum class Coding : uint8_t {
  number,            // (value / step) in the field
  general, stack,    // x0 … x30 and xzr, or sp
  word,              // w0 … w30 and wzr
  by_element,        // general or word, by the size of the element
  precision,         // of a scalar float: 0 s, 1 d, 3 h
  arrangement,       // how many lanes of which size, see `arrangement`; bit 30 is on for 16 bytes, the size in the field
  copied,            // an arrangement of a copy: the size as the lowest bit that is on in the field
  wide, pairs, one_element,  // no operand of their own: written as the arrangement says
  element,           // an element size, 0 to 3, as the lowest bit that is on
  lane, second_lane, // the bits beyond that, or beyond the size
  multiplier_lane,   // bit 11 and bit 21
  memory_lane,       // bit 30, then bits 12 to 10
  bit_mask,          // a 64-bit constant that bits of the same kind in a row, rotated and repeated, make up
  condition,
  bit_number,        // bit 31, then five bits
  shift_left, shift_right,  // with the element size in the same field
  split_byte, split_mask, split_float,  // three bits at 16, five at 5: a byte; 8 bits for 8 bytes; a float of 8 bits
  scalar_float,
  distance,          // from this instruction, in bytes
  near_address,      // two bits at 29, the rest in the field
};

enum class Field : uint8_t {
#define HLOC_A64_FIELD(word, coding, at, bits, low, high, step) word,
#include "backends/cpu/aarch64/fields.def"
#undef HLOC_A64_FIELD
};

struct FieldRow {
  std::string_view word;
  Coding coding;
  uint8_t at, bits;
  int64_t low, high, step;
};
inline constexpr FieldRow field_table[] = {
#define HLOC_A64_FIELD(word, coding, at, bits, low, high, step) {#word, Coding::coding, at, bits, low, high, step},
#include "backends/cpu/aarch64/fields.def"
#undef HLOC_A64_FIELD
};
constexpr const FieldRow& row(Field f) { return field_table[static_cast<size_t>(f)]; }

enum class Form : uint16_t {
#define HLOC_A64(name, syntax, bits) name,
#include "backends/cpu/aarch64/forms.def"
#undef HLOC_A64
};

struct FormRow {
  std::string_view syntax;
  uint32_t bits;
};
inline constexpr FormRow form_table[] = {
#define HLOC_A64(name, syntax, bits) {syntax, bits},
#include "backends/cpu/aarch64/forms.def"
#undef HLOC_A64
};
constexpr size_t form_count = std::size(form_table);

// The operands of a form: fields in the order in which they first stand in the syntax.
struct Operands {
  std::array<Field, 8> fields{};
  uint8_t count = 0;
};
const Operands& operands_of(Form f);

// The field whose word begins `text` (the longest one).
Field field_at(std::string_view text);

// Vectors of `bytes` (8 or 16) with elements of 1 << size bytes: twice the size, and one more for 16 bytes.
constexpr int64_t arrangement(int size, int bytes) { return size << 1 | (bytes > 8); }
constexpr int64_t bytes_8 = 0, bytes_16 = 1;

// Can `value` be the operand of AndImmediate, OrrImmediate, EorImmediate?
bool is_bit_mask(uint64_t value);

// ±(16 + f) / 16 * 2^e with -3 ≤ e ≤ 4, in 8 bits; -1 if `value` is none of these.
int float_immediate(double value);
double float_of_immediate(int immediate);

uint32_t encode(Form form, std::initializer_list<int64_t> operands);

}  // namespace hloc::aarch64
