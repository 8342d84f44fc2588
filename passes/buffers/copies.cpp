#include "passes/buffers/copies.h"

#include <unordered_map>

#include "ir/support/check.h"

namespace hloc::passes {

std::vector<OrderedCopy> order_copies(const std::vector<PlaceCopy>& copies) {
  constexpr uint32_t none = UINT32_MAX;
  std::unordered_map<uint32_t, uint32_t> readers, writer;  // of each place: how many still read it, which copy writes it
  for (uint32_t i = 0; i < copies.size(); ++i) {
    HLOC_CHECK(writer.emplace(copies[i].to_place, i).second, "copies at once have distinct destinations");
    if (copies[i].from_place != copies[i].to_place) ++readers[copies[i].from_place];
  }
  auto is_free = [&](uint32_t place) {
    auto it = readers.find(place);
    return it == readers.end() || it->second == 0;
  };
  std::vector<OrderedCopy> order;
  std::vector<bool> saved(copies.size()), done(copies.size());

  // Does copy i and then those that waited for its source to be read.
  auto run = [&](uint32_t i) {
    while (i != none && !done[i] && is_free(copies[i].to_place)) {
      order.push_back({i, saved[i] ? OrderedCopy::restore : OrderedCopy::plain});
      done[i] = true;
      uint32_t place = copies[i].from_place;
      if (saved[i] || place == copies[i].to_place) return;
      --readers[place];
      auto next = writer.find(place);
      i = next == writer.end() ? none : next->second;
    }
  };
  for (uint32_t i = 0; i < copies.size(); ++i) run(i);
  // What is left are circles: each place is read once and written once. Saving one source opens a circle.
  for (uint32_t i = 0; i < copies.size(); ++i) {
    if (done[i]) continue;
    order.push_back({i, OrderedCopy::save});
    saved[i] = true;
    --readers[copies[i].from_place];
    run(writer.at(copies[i].from_place));
    HLOC_CHECK(done[i], "a circle of copies ends where it began");
  }
  return order;
}

}  // namespace hloc::passes
