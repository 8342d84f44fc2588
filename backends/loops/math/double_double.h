// Numbers as unevaluated sums hi + lo of two f64, for functions whose inner values need more than 53 bits.
#pragma once

#include "backends/loops/math/expr.h"

namespace hloc::loops {

struct DoubleDouble {
  Expr hi, lo;
};

inline DoubleDouble sum_of(Expr a, Expr b) {
  Expr s = a + b, part = s - a;
  return {s, (a - (s - part)) + (b - part)};
}
// |a| >= |b|
inline DoubleDouble ordered_sum(Expr a, Expr b) {
  Expr s = a + b;
  return {s, b - (s - a)};
}
inline DoubleDouble product_of(Expr a, Expr b) {
  Expr p = a * b;
  return {p, fma_of(a, b, -p)};
}

// log x to about 2^-65 of itself, for x >= 0; log 0 is -infinity in hi.
DoubleDouble log_in_two_parts(Expr x);
// e^(hi + lo) with |lo| below hi's last bit.
Expr exp_of_two_parts(const DoubleDouble& x);

}  // namespace hloc::loops
