// Superword parallelism (Larsen and Amarasinghe, PLDI 2000) in a loop's turn of scalar statements: what the elements of a small
// array do alike is done by one vector instruction.
//
//   x0' = x0 m0 + x1 m3    x2' = x2 m0 + x3 m3          [x0' x2'] = [x0 x2] [m0 m0] + [x1 x3] [m3 m3]
//   x1' = x0 m1 + x1 m4    x3' = x2 m1 + x3 m4    is    [x1' x3'] = [x0 x2] [m1 m1] + [x1 x3] [m4 m4]
//
// The search starts from packs of the elements that a turn changes and goes from what they become to what that is made of, until
// it meets packs of such elements again. So packs stay vectors from turn to turn and nothing is shuffled in a turn, or little: what
// has to be taken out of a vector or put together is counted, and a plan is made only where it saves a good part of the turn.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backends/loops/loops.h"

namespace hloc::cpu {

// An element of memory that a turn has in a register.
struct TurnElement {
  loops::BufferId buffer = 0;
  int64_t offset = 0;                    // in elements
  std::vector<loops::ValueId> loaded;    // the values that are this element at the turn's beginning
  loops::ValueId stored = loops::no_id;  // what it is after the turn; none: it does not change
};

// A turn as scalar and vector statements.
struct Superwords {
  enum class Kind : uint8_t {
    scalar,   // `statement`, on one lane
    wide,     // `statement`, on all lanes
    extract,  // to = lane `lane` of from[0]
    gather,   // lanes of `to` = from
    splat,    // all lanes of `to` = from[0]
    data,     // lanes of `to` = from, which are constants
  };
  struct Step {
    Kind kind = Kind::scalar;
    loops::Statement statement;
    loops::ValueId to = loops::no_id;
    std::vector<loops::ValueId> from;
    int lane = 0;
  };
  // Elements as the lanes of one register.
  struct Pack {
    std::vector<uint32_t> elements;        // by number, one for each lane; further lanes of the vector may hold anything
    loops::ValueId value = loops::no_id;   // a wide one
    loops::ValueId next = loops::no_id;    // what it is after the turn; none: it does not change
  };

  loops::Kernel kernel;  // for these statements: its body is empty, and behind the values of the kernel there are wide ones
  int lanes = 1;         // a power of two
  std::vector<Pack> packs;
  std::vector<Step> steps;
  std::vector<bool> is_packed;  // by element: a changing one that is in a pack
  std::vector<bool> is_read;    // by element: a scalar statement reads it
  std::vector<loops::ValueId> stored;  // by element: of a changing one that is not in a pack, its value after the turn
};

// The turn as it is.
Superwords scalar_turn(const loops::Kernel& kernel, std::span<const TurnElement> elements);

// A turn in fewer instructions, if there is one. `kernel` has no blocks inside its own; `elements` are not in memory during the turn.
// `lanes` of the widest type fit into `vector_bytes`; no more than `registers` packs and elements change.
std::optional<Superwords> superwords(const loops::Kernel& kernel, std::span<const TurnElement> elements, int vector_bytes, int registers);

}  // namespace hloc::cpu
