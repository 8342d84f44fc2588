// The verifier's answer with the number of the statement, for the reader's places.
#pragma once

#include <optional>

#include "backends/loops/loops.h"

namespace hloc::loops {

struct Fault {
  size_t statement = SIZE_MAX;  // its position in the order of for_each_statement; SIZE_MAX: the kernel's head
  std::string message;
};
std::optional<Fault> find_fault(const Kernel& kernel);

// The statement's first line with the numbers that it has in the tables (not those of `print`).
std::string describe(const Kernel& kernel, const Statement& statement);

// Whether lo <= affine <= hi can be proved wherever all guards hold.
bool stays_within(const Kernel& kernel, const Affine& affine, const std::vector<Guard>& guards, Range within);

// Deepest nesting of blocks that is accepted.
inline constexpr size_t max_loop_depth = 256;

}  // namespace hloc::loops
