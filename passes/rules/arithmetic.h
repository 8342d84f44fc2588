// Rules of arithmetic and logic, one element at a time. Each line states its law; `Valid` says for which element types it
// holds bit by bit, -0, infinities, NaN and overflow included. What holds for real numbers only is not here.
#pragma once

#include <cmath>

#include "passes/rewrite/algebra.h"

namespace hloc::passes::rules {

// 1/c is a number of the same type, so dividing by c and multiplying by 1/c round the same real number.
inline bool inverse_is_exact(const Match& m) {
  std::optional<double> value = uniform_double(m[c]);
  int exponent = 0;
  if (!value || std::fabs(std::frexp(*value, &exponent)) != 0.5) return false;
  double inverse = 1 / *value;
  return std::isfinite(inverse) && scalar_from_double(m.context, m[c]->type.element(), inverse);
}

inline ir::Value times_inverse(const Match& m, Replacement& out) {
  if (!inverse_is_exact(m)) return nullptr;
  std::optional<ir::Literal> inverse = scalar_from_double(m.context, m[c]->type.element(), 1 / *uniform_double(m[c]));
  return out.make(ir::Op::Multiply, m.root->type, {m[x], out.splat(m.root->type, *std::move(inverse))});
}

// The square of up to 32 bits is exact in the evaluator's double; f64 is not.
inline bool square_is_exact(const Match& m) { return m[x]->type.element() != ElementType::f64; }

inline bool has_sign(const Match& m) { return !is_unsigned_integer(m[x]->type.element()); }

inline constexpr Rule arithmetic[] = {
    {"neg-neg", -(-x), x, Valid::negatable},
    {"neg-sub", -(x - y), y - x, Valid::integers},  // -(0.0 - 0.0) is -0.0
    {"add-zero", x + 0, x, Valid::integers},        // -0.0 + 0.0 is +0.0
    {"add-minus-zero", x + minus_zero, x, Valid::floats},
    {"add-neg", x + -y, x - y, Valid::negatable},
    {"sub-zero", x - 0, x},
    {"sub-self", x - x, 0, Valid::integers},        // inf - inf is NaN
    {"sub-neg", x - -y, x + y, Valid::negatable},
    {"sub-to-neg", 0 - x, -x, Valid::integers},     // 0.0 - 0.0 is not -0.0
    {"sub-add", (x + y) - y, x, Valid::integers},
    {"add-sub", (x - y) + y, x, Valid::integers},
    {"mul-one", x * 1, x, Valid::real},             // (a + bi)(1 + 0i) turns -0 into +0 and makes NaN of infinities
    {"mul-zero", x * 0, 0, Valid::integers},
    {"mul-minus-one", x * -1, -x, Valid::real},
    {"mul-neg-neg", -x * -y, x * y, Valid::negatable},
    {"div-one", x / 1, x, Valid::real},
    {"div-neg-neg", -x / -y, x / y, Valid::floats},  // INT_MIN has no negative
    {"div-power-of-two", x / c, Build{"x * (1 / c), c a power of two", times_inverse}, Valid::floats},
    {"rem-one", x % 1, 0, Valid::integers},
    {"power-zero", power(x, 0), 1, Valid::real},
    {"power-one", power(x, 1), x, Valid::real},
    {"power-two", power(x, 2), x * x, Valid::real, Condition{"x has at most 32 bits or is an integer", square_is_exact}},
    {"abs-neg", abs(-x), abs(x), Valid::negatable, Condition{"x is not unsigned", has_sign}},
    {"abs-abs", abs(bind(p, abs(x))), at(p)},
    {"max-self", maximum(x, x), x, Valid::real},
    {"min-self", minimum(x, x), x, Valid::real},
    {"max-max", maximum(bind(p, maximum(x, y)), y), at(p), Valid::real},
    {"min-min", minimum(bind(p, minimum(x, y)), y), at(p), Valid::real},
    {"max-lowest", maximum(x, lowest), x, Valid::real},
    {"min-highest", minimum(x, highest), x, Valid::real},
    {"max-highest", maximum(x, highest), highest, Valid::integers},  // maximum(NaN, inf) is NaN
    {"min-lowest", minimum(x, lowest), lowest, Valid::integers},
    {"clamp-clamp", clamp(y, bind(p, clamp(y, x, z)), z), at(p), Valid::real},
    {"real-complex", real(complex(x, y)), x},
    {"imag-complex", imag(complex(x, y)), y},
    {"complex-real-imag", complex(real(x), imag(x)), x},
};

inline constexpr Rule logic[] = {
    {"not-not", !!x, x},
    {"and-self", x & x, x},
    {"or-self", x | x, x},
    {"xor-self", x ^ x, 0},
    {"and-zero", x & 0, 0},
    {"or-zero", x | 0, x},
    {"xor-zero", x ^ 0, x},
    {"and-ones", x & ones, x},
    {"or-ones", x | ones, ones},
    {"xor-ones", x ^ ones, !x},
    {"and-not", x & !x, 0},
    {"or-not", x | !x, ones},
    {"and-and", bind(p, x & y) & y, at(p)},
    {"or-or", bind(p, x | y) | y, at(p)},
    {"xor-xor", (x ^ y) ^ y, x},
    {"and-or", (x | y) & y, y},
    {"or-and", (x & y) | y, y},
    {"shift-left-zero", shift_left(x, 0), x},
    {"shift-right-arithmetic-zero", shift_right_arithmetic(x, 0), x},
    {"shift-right-logical-zero", shift_right_logical(x, 0), x},
};

}  // namespace hloc::passes::rules
