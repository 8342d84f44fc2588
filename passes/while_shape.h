// A while loop taken apart: its carried values, which of them never change, and how often the loop runs.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace hloc::passes {

// A loop whose state is a tuple that the body takes apart and puts together again.
struct WhileShape {
  const ir::Computation* body = nullptr;
  const ir::Computation* condition = nullptr;
  size_t carries = 0;

  // What carry `i` becomes after one more round, in the body.
  ir::Value next(size_t i) const { return body->root()->operand(i); }
  // Whether carry `i` is the same in every round.
  bool is_invariant(size_t i) const;
};

// The index of the carry that `v`, of a body or condition, reads from its parameter; nothing when it is something else.
std::optional<size_t> carry_of(ir::Value v);

// Null unless both computations see the state only element by element.
std::optional<WhileShape> while_shape(ir::Value loop, const ir::Computation* condition, const ir::Computation* body);

// What the condition compares: a carry that changes, on the left, with a number or a carry that never changes.
struct LoopLimit {
  size_t carry = 0;
  ir::Value value = nullptr;  // of the condition
  ir::Direction direction = ir::Direction::LT;
};
std::optional<LoopLimit> loop_limit(const WhileShape& shape);

// The number that the body adds to carry `i` in each round; `initial` as below.
std::optional<int64_t> step_of(const WhileShape& shape, const std::vector<ir::Value>& initial, size_t i);

// How often the body runs: known when the condition compares a carry with a constant and the body adds a constant to it.
// `initial` gives the first value of a carry as a scalar constant, or null.
std::optional<int64_t> trip_count(const WhileShape& shape, const std::vector<ir::Value>& initial);

}  // namespace hloc::passes
