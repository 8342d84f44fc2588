// Proves on symbols that a program moves its data right; for tests.
#pragma once

#include "passes/plan.h"

namespace hloc::plan {

// Runs the program with symbols in place of arrays: each step must find in its buffers the very values that the graph says
// it reads, whole and not overwritten since. Loops run 0, 1, 2, 3 and other numbers of times, branches are taken in turn
// and at random, aliased parameters and results are in one memory and in two. Also checks offsets, alignment, and that a
// kernel writes over an input only where `in_place` says so and each access is the identity. An error (kind `bug`) names
// the step.
Result<void> check_program(const Program& program, const ir::Target& target);

}  // namespace hloc::plan
