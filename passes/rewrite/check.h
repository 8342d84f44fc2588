// The proof of rules: both sides on random shapes, all element types and the values at which laws break, evaluated and
// compared bit by bit (NaN equals NaN, -0 differs from 0).
#pragma once

#include "include/hloc/result.h"
#include "ir/literal.h"
#include "passes/rewrite/pattern.h"

namespace hloc::passes {

struct RuleProof {
  int64_t instances = 0;      // graphs on which the rule fired and both sides agreed
  int64_t element_types = 0;  // of the first variable, or of the root
};

// An error says which graph, types and element made the sides differ, or that too few graphs could be made.
Result<RuleProof> check_rule(const Rule& rule, uint64_t seed);

// The first element (of the first differing leaf) at which two literals of one type differ by that measure; -1: none.
int64_t first_difference(const ir::Literal& a, const ir::Literal& b);

}  // namespace hloc::passes
