// The operand column of ops.def, word by word: for the printer, the reader and the verifier.
#pragma once

#include <string_view>

#include "backends/cpu/machine/inst.h"

namespace hloc::machine {

struct OperandSpec {
  char field;              // O A B C D M I W N S P T F
  std::string_view kinds;  // of g v k * m i ?
  bool takes(char kind) const { return kinds.find(kind) != std::string_view::npos; }
};

template <class F>
void for_each_operand(Op op, F f) {
  std::string_view rest = row(op).operands;
  while (!rest.empty()) {
    size_t end = rest.find(' ');
    std::string_view word = rest.substr(0, end);
    f(OperandSpec{word[0], word.substr(1)});
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  }
}

// The register field that `field` (O A B C D) names.
constexpr Reg& register_field(Inst& i, char field) {
  return field == 'O' ? i.dst : field == 'A' ? i.a : field == 'B' ? i.b : field == 'C' ? i.c : i.d;
}
constexpr Reg register_field(const Inst& i, char field) {
  return field == 'O' ? i.dst : field == 'A' ? i.a : field == 'B' ? i.b : field == 'C' ? i.c : i.d;
}

constexpr bool has_suffix(Op op, char s) { return row(op).suffix.find(s) != std::string_view::npos; }

constexpr char letter_of(RegClass c) {
  return c == RegClass::general ? 'r' : c == RegClass::vector ? 'v' : c == RegClass::mask ? 'k' : 't';
}
// The kind letter of the operand column for a class.
constexpr char kind_of(RegClass c) {
  return c == RegClass::general ? 'g' : c == RegClass::vector ? 'v' : c == RegClass::mask ? 'k' : 't';
}

}  // namespace hloc::machine
