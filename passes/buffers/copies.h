// Copies that happen at once, put into an order in which one after the other does the same.
#pragma once

#include <cstdint>
#include <vector>

namespace hloc::passes {

// A copy between numbered places. `place` numbers are any that tell equal memory from different memory.
struct PlaceCopy {
  uint32_t from_place = 0, to_place = 0;
};

struct OrderedCopy {
  uint32_t index = 0;  // among the given ones
  enum Kind : uint8_t {
    plain,    // from → to
    save,     // from → the scratch of copy `index`: breaks a circle
    restore,  // the scratch of copy `index` → to
  } kind = plain;
};

// The copies have distinct destinations. Linear in their number; circles (a swap of two loop carries) need one scratch
// each. Deterministic: copies that don't hinder one another keep their order.
std::vector<OrderedCopy> order_copies(const std::vector<PlaceCopy>& copies);

}  // namespace hloc::passes
