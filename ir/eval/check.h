// Comparing a value with the expected one, as the check dialect does.
#pragma once

#include "ir/eval/evaluator.h"

namespace hloc::ir::eval {

struct Closeness {
  enum Kind : uint8_t { equal, almost, ulps } kind = equal;
  double tolerance = 0;
  int64_t min_ulps = 0, max_ulps = 0;
};

// An empty text when all elements agree, else where and how the first one differs.
std::string first_difference(const Literal& got, const Literal& want, const Closeness& closeness);

}  // namespace hloc::ir::eval
