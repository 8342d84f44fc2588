// How a fusion reads its operands: for each parameter of the fused computation, which element an iteration reads.
#pragma once

#include <string_view>
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace hloc::passes {

enum class Access : uint8_t {
  contiguous,  // the loops' order is the memory's order and neighbours of the innermost loop are neighbours in memory
  broadcast,   // some loop does not move in the operand; the others are in the memory's order
  strided,     // in the memory's order, but the innermost loop takes larger steps, or backwards
  transposed,  // the loops' order is not the memory's
  gathered,    // other operands decide about the position
};
std::string_view name_of(Access access);

// One way in which the fusion reads a parameter.
struct OperandAccess {
  Access kind = Access::contiguous;
  bool guarded = false;         // only part of the iterations reads (pad, concatenate, dynamic-update-slice)
  std::vector<int64_t> stride;  // elements, by loop: the root's dimensions, then those that a reduction or contraction adds

  bool operator==(const OperandAccess&) const = default;
};

// By parameter; a parameter that is read in several ways has several entries.
std::vector<std::vector<OperandAccess>> classify_accesses(const ir::Computation& fused);

// By parameter: whether a result may be written over it, given elements of one width. So it is when each element is read
// before the root's is written in its place: at the root's own index, or, by what is computed once a row and ready before
// the row's first element is written, in the same row. All false when the results are not of one shape.
std::vector<bool> overwritable_parameters(const ir::Computation& fused);

// By result: the parameter that it has all elements of which it does not set itself (dynamic-update-slice and scatter of a
// parameter), if any.
std::vector<std::optional<uint32_t>> updated_parameters(const ir::Computation& fused);

}  // namespace hloc::passes
