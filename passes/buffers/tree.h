// The draft of a program: its tree of steps over values instead of buffers, with what the assignment of memory must know.
//
// A value is one array that some step (or the caller) makes at one place of the tree. Values that must live in one
// memory (a carry and the loop's result) are said so in `same`; those between which a copy stands are in `moves`, and
// the copy goes away where both can live in one memory.
#pragma once

#include <vector>

#include "passes/plan.h"

namespace hloc::passes {

using ValueId = uint32_t;
inline constexpr ValueId no_value = UINT32_MAX;  // a token has no array

enum class Home : uint8_t { free, parameter, constant, result };  // who decides where the bytes are

struct PlanValue {
  ir::Type type;
  Home home = Home::free;
  uint32_t index = 0;                            // of the parameter leaf, result leaf or constant
  const ir::Computation* computation = nullptr;  // where it is made, by which leaf of which instruction
  ir::Value definer = nullptr;
  uint32_t leaf = 0;
  uint32_t first = 0, last = 0;                  // positions of its making and its last reading
  uint32_t loop = 0;                             // innermost loop around its making; 0: none
};

// A stretch of positions in which memory holds something: made as `first_value`, read last as `last_value`.
struct LiveRange {
  uint32_t begin = 0, end = 0;
  ValueId first_value = no_value, last_value = no_value;
};

struct Move {
  ValueId from = no_value, to = no_value;
  uint32_t position = 0, depth = 0;  // depth: of loops
};

struct Draft {
  std::vector<PlanValue> values;
  plan::Block steps;                            // buffer ids in it are value ids
  std::vector<LiveRange> more;                  // further ranges of first_value's memory
  std::vector<std::pair<ValueId, ValueId>> same;
  std::vector<Move> moves;                      // in order of position
  std::vector<std::pair<ValueId, ValueId>> in_place;  // (input, output): a kernel may write one over the other
  std::vector<ir::Literal> constants;
  std::vector<ValueId> parameters, results;
  std::vector<plan::Alias> aliases;
  uint32_t end = 0;                             // the last position
};

Result<Draft> draft_program(const ir::Module& module, const ir::Target& target);

}  // namespace hloc::passes
