#include "backends/gpu/c_text.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "ir/support/c_words.h"
#include "ir/support/check.h"

namespace hloc::gpu {
namespace {

using loops::Predicate;
using loops::ScalarOp;

std::string_view unsigned_type(ElementType t) {
  switch (byte_width(t)) {
    case 1: return "unsigned char";
    case 2: return "unsigned short";
    case 4: return "unsigned int";
    default: return "unsigned long long";
  }
}

// Signed overflow has no meaning in C, and short operands are widened to int: both go through an unsigned type.
std::string wrapping(ElementType t, const std::string& a, std::string_view op, const std::string& b) {
  if (t == ElementType::u32 || t == ElementType::u64) return fmt::format("{} {} {}", a, op, b);
  std::string_view word = byte_width(t) == 8 ? "unsigned long long" : "unsigned int";
  return fmt::format("({})(({}){} {} ({}){})", c_type(t), word, a, op, word, b);
}

std::string floating(ElementType t, std::string_view name, const std::string& args) {
  return fmt::format("{}{}({})", name, t == ElementType::f32 ? "f" : "", args);
}

std::string_view sign_of(Predicate p) {
  constexpr std::string_view signs[] = {"==", "!=", "<", "<=", ">", ">="};
  return signs[static_cast<size_t>(p)];
}

std::string float_text(double x, std::string_view suffix) {
  std::string out = fmt::format("{:a}{}", std::fabs(x), suffix);
  return std::signbit(x) ? fmt::format("(-{})", out) : out;
}

std::string integer_text(ElementType t, uint64_t bits) {
  int unused = 64 - bit_width(t);
  if (!is_signed_integer(t)) return fmt::format("{}{}", bits << unused >> unused, byte_width(t) == 8 ? "ull" : "u");
  auto x = static_cast<int64_t>(bits << unused) >> unused;
  std::string_view suffix = t == ElementType::s64 ? "ll" : "";
  if (x == INT64_MIN || (t == ElementType::s32 && x == INT32_MIN)) return fmt::format("(-{}{} - 1)", -(x + 1), suffix);
  return x < 0 ? fmt::format("({}{})", x, suffix) : fmt::format("{}{}", x, suffix);
}

std::string half_of_bits(ElementType t, const std::string& bits) { return fmt::format("{}{{(unsigned short)({})}}", c_type(t), bits); }

std::string conversion(ElementType from, ElementType to, const std::string& x) {
  if (to == ElementType::pred) return fmt::format("{} != 0", x);
  if (loops::is_half(to)) return fmt::format("to_{}({})", name_of(to), from == ElementType::f32 ? x : conversion(from, ElementType::f32, x));
  if (loops::is_half(from)) {
    std::string wide = fmt::format("to_f32({})", x);
    return to == ElementType::f32 ? wide : conversion(ElementType::f32, to, wide);
  }
  if (!is_float(from) || is_float(to)) return fmt::format("({}){}", c_type(to), x);
  int bits = is_signed_integer(to) ? bit_width(to) - 1 : bit_width(to);
  std::string_view suffix = from == ElementType::f32 ? "f" : "";
  return fmt::format("to_integer<{}>({}, {}0x1p{}{})", c_type(to), x, is_signed_integer(to) ? fmt::format("-0x1p{}{}, ", bits, suffix) : fmt::format("0x0p0{}, ", suffix), bits, suffix);
}

std::string smaller_or_larger(ElementType t, bool larger, const std::string& a, const std::string& b) {
  if (t == ElementType::pred) return fmt::format("{} {} {}", a, larger ? "||" : "&&", b);
  if (is_float(t)) return fmt::format("{}({}, {})", larger ? "maximum" : "minimum", a, b);
  return fmt::format("{} {} {} ? {} : {}", a, larger ? ">" : "<", b, a, b);
}

std::string bitwise(ElementType t, const std::string& a, std::string_view op, const std::string& b) {
  return byte_width(t) < 4 ? fmt::format("({})({} {} {})", c_type(t), a, op, b) : fmt::format("{} {} {}", a, op, b);
}

// A constant between 0 and the width.
bool is_shift_amount(ElementType t, const std::string& by) {
  if (by[0] < '0' || by[0] > '9' || by.size() > 5) return false;
  return std::stoi(by) < bit_width(t);
}

std::string shift(ElementType t, const std::string& x, const std::string& by, std::string_view op, std::string_view function) {
  if (!is_shift_amount(t, by)) return fmt::format("{}<{}>({}, {})", function, c_type(t), x, by);
  return is_signed_integer(t) || byte_width(t) < 4 ? fmt::format("({})(({}){} {} {})", c_type(t), unsigned_type(t), x, op, by) : fmt::format("{} {} {}", x, op, by);
}

std::string negated(ElementType t, const std::string& x) {
  if (loops::is_half(t)) return half_of_bits(t, x + ".bits ^ 0x8000");
  return is_float(t) ? "-" + x : wrapping(t, "0", "-", x);
}

std::string absolute(ElementType t, const std::string& x) {
  if (loops::is_half(t)) return half_of_bits(t, x + ".bits & 0x7fff");
  if (is_float(t)) return floating(t, "fabs", x);
  return is_signed_integer(t) ? fmt::format("{} < 0 ? {} : {}", x, negated(t, x), x) : x;
}

}  // namespace

std::string_view c_type(ElementType type) {
  switch (type) {
    case ElementType::pred: return "bool";
    case ElementType::s8: return "signed char";
    case ElementType::s16: return "short";
    case ElementType::s32: return "int";
    case ElementType::s64: return "long long";
    case ElementType::f16: return "f16";
    case ElementType::bf16: return "bf16";
    case ElementType::f32: return "float";
    case ElementType::f64: return "double";
    default: return unsigned_type(type);
  }
}

std::string c_constant(ElementType type, uint64_t bits) {
  if (type == ElementType::pred) return bits ? "true" : "false";
  if (loops::is_half(type)) return fmt::format("{}{{0x{:04x}}}", c_type(type), bits);
  if (type == ElementType::f32) {
    float x = 0;
    std::memcpy(&x, &bits, sizeof x);
    return std::isfinite(x) ? float_text(x, "f") : fmt::format("bit_cast<float>(0x{:08x}u)", bits);
  }
  if (type == ElementType::f64) {
    double x = 0;
    std::memcpy(&x, &bits, sizeof x);
    return std::isfinite(x) ? float_text(x, "") : fmt::format("bit_cast<double>(0x{:016x}ull)", bits);
  }
  return integer_text(type, bits);
}

std::string c_expression(const loops::Compute& c, ElementType t, ElementType result, const std::array<std::string, 3>& args) {
  const auto& [a, b, third] = args;
  bool real = is_float(t), boolean = t == ElementType::pred;
  auto infix = [&](std::string_view op) { return real ? fmt::format("{} {} {}", a, op, b) : wrapping(t, a, op, b); };
  auto call = [&](std::string_view name) { return fmt::format("{}<{}>({}, {})", name, c_type(t), a, b); };  // a constant alone may be an int
  switch (c.op) {
    case ScalarOp::Add: return infix("+");
    case ScalarOp::Sub: return infix("-");
    case ScalarOp::Mul: return infix("*");
    case ScalarOp::Div: return real ? infix("/") : call("quotient");
    case ScalarOp::Rem: return call("remainder_of");
    case ScalarOp::Min: return smaller_or_larger(t, false, a, b);
    case ScalarOp::Max: return smaller_or_larger(t, true, a, b);
    case ScalarOp::Lesser: return fmt::format("{} < {} ? {} : {}", a, b, a, b);
    case ScalarOp::Greater: return fmt::format("{} > {} ? {} : {}", a, b, a, b);
    case ScalarOp::Fma: return floating(t, "fma", fmt::format("{}, {}, {}", a, b, third));
    case ScalarOp::Scale: return fmt::format("scaled({}, {})", a, b);
    case ScalarOp::Neg: return negated(t, a);
    case ScalarOp::Abs: return absolute(t, a);
    case ScalarOp::Sqrt: return floating(t, "sqrt", a);
    case ScalarOp::Floor: return floating(t, "floor", a);
    case ScalarOp::Ceil: return floating(t, "ceil", a);
    case ScalarOp::Trunc: return floating(t, "trunc", a);
    case ScalarOp::RoundEven: return floating(t, "rint", a);
    case ScalarOp::And: return boolean ? fmt::format("{} && {}", a, b) : bitwise(t, a, "&", b);
    case ScalarOp::Or: return boolean ? fmt::format("{} || {}", a, b) : bitwise(t, a, "|", b);
    case ScalarOp::Xor: return boolean ? fmt::format("{} != {}", a, b) : bitwise(t, a, "^", b);
    case ScalarOp::Not: return boolean ? "!" + a : fmt::format("({})~{}", c_type(t), a);
    case ScalarOp::Shl: return shift(t, a, b, "<<", "shift_left");
    case ScalarOp::ShrArith: return is_signed_integer(t) && is_shift_amount(t, b) ? fmt::format("({})({} >> {})", c_type(t), a, b) : call("shift_right_signed");
    case ScalarOp::ShrLogic: return shift(t, a, b, ">>", "shift_right");
    case ScalarOp::Popcnt: return fmt::format("({})count_ones(({}){})", c_type(t), unsigned_type(t), a);
    case ScalarOp::Clz: return fmt::format("({})({} - bits_of(({}){}))", c_type(t), bit_width(t), unsigned_type(t), a);
    case ScalarOp::Compare: return fmt::format("{} {} {}", a, sign_of(c.predicate), b);
    case ScalarOp::Select: return fmt::format("{} ? {} : {}", a, b, third);
    case ScalarOp::Convert: return conversion(t, result, a);
    case ScalarOp::Bitcast: return fmt::format("bit_cast<{}>({})", c_type(result), a);
#define HLOC_LOOP_OP(Name, text, operands, types, result, level) HLOC_C_##level(Name)
#define HLOC_C_basic(Name)
#define HLOC_C_halves(Name)
#define HLOC_C_composite(Name) case ScalarOp::Name:
#include "backends/loops/ops.def"
#undef HLOC_C_composite
#undef HLOC_C_halves
#undef HLOC_C_basic
#undef HLOC_LOOP_OP
      HLOC_CHECK(false, "legalise leaves no composite operation");
  }
  HLOC_UNREACHABLE();
}

std::string c_combination(ScalarOp op, ElementType type, const std::string& a, const std::string& b) {
  return c_expression({loops::no_id, op, Predicate::eq, {}}, type, type, {a, b, ""});
}

std::string c_name(std::string_view name) {
  // What a prelude, the emulator's words or a compiler without headers defines: threads, functions of C's library.
  static constexpr std::string_view taken[] = {
      "EMULATOR_GAP", "EMULATOR_JOINED", "EMULATOR_PLACE", "abs", "block_barrier", "blockDim", "blockIdx", "ceil", "ceilf", "clock", "cos", "emulator",
      "exp", "fabs", "fabsf", "floor", "floorf", "fma", "fmaf", "gridDim", "grid_index", "log", "max", "min", "pow", "rint", "rintf",
      "shuffle_down_word", "sin", "sqrt", "sqrtf", "square_root", "tan", "threadIdx", "trunc", "truncf", "wave"};
  std::string out;
  for (char c : name) {
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'), digit = c >= '0' && c <= '9';
    if (digit && out.empty()) out = "n";
    if (letter || digit) out += c;
    else if (!out.empty() && out.back() != '_') out += '_';
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  if (out.empty()) out = "array";
  if (ir::is_c_word(out) || is_helper_function(out) || std::ranges::find(taken, out) != std::end(taken)) out += '_';
  return out;
}

}  // namespace hloc::gpu
