// An index by open addressing: finds the number of a thing by its hash. Eight bytes a slot and no memory of its own for
// keys: the owner of the things compares them. Numbers count from 0; nothing is ever removed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hloc {

class HashIndex {
 public:
  static constexpr uint32_t none = UINT32_MAX;

  // The number of the thing of this hash for which `is_it(number)` holds, else `none`.
  template <class F>
  uint32_t find(uint32_t hash, F&& is_it) const {
    if (slots_.empty()) return none;
    for (size_t i = home(hash);; i = next(i)) {
      const Slot& slot = slots_[i];
      if (slot.number == none) return none;
      if (slot.hash == hash && is_it(slot.number)) return slot.number;
    }
  }

  void insert(uint32_t hash, uint32_t number) {
    if (used_ + used_ / 4 >= slots_.size()) resize(slots_.empty() ? 16 : slots_.size() + slots_.size() / 2);
    put({hash, number});
    ++used_;
  }

  // Room for about so many things.
  void reserve(size_t things) {
    size_t slots = things + things / 3 + 16;
    if (slots > slots_.size()) resize(slots);
  }

  // Brings the place where the hash would be found into the cache, for a find or an insert that follows later. Inlined
  // by force: g++ takes a function that only prefetches for one without effects and leaves out its calls.
  [[gnu::always_inline]] void prefetch(uint32_t hash) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[home(hash)]);
  }

 private:
  struct Slot {
    uint32_t hash = 0;
    uint32_t number = none;
  };

  size_t home(uint32_t hash) const { return static_cast<size_t>((uint64_t{hash} * slots_.size()) >> 32); }
  size_t next(size_t i) const { return i + 1 == slots_.size() ? 0 : i + 1; }
  void put(Slot slot) {
    size_t i = home(slot.hash);
    while (slots_[i].number != none) i = next(i);
    slots_[i] = slot;
  }
  void resize(size_t size) {
    std::vector<Slot> old = std::move(slots_);
    slots_.assign(size, Slot{});
    for (const Slot& slot : old)
      if (slot.number != none) put(slot);
  }

  std::vector<Slot> slots_;
  size_t used_ = 0;
};

}  // namespace hloc
