// A small table of what texts stand for: those that come again need not be read again. A text that falls on the place of
// another takes it over, so the table never grows, and what it forgets is only read once more.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "ir/read/lexer.h"

namespace hloc::ir {

template <class T, size_t slots>
class Remembered {
 public:
  // A text, and what else its meaning hangs on.
  struct Key {
    std::string_view text;
    const void* of = nullptr;
    const void* and_of = nullptr;
  };

  // Null when the text is not there; empty texts never are.
  const T* find(const Key& key) const {
    const Slot& slot = table_[place(key)];
    bool same = slot.key.of == key.of && slot.key.and_of == key.and_of && equal_short(slot.key.text, key.text);
    return same ? slot.value : nullptr;
  }
  void keep(const Key& key, const T* value) {
    if (!key.text.empty()) table_[place(key)] = {key, value};
  }

 private:
  struct Slot {
    Key key;
    const T* value = nullptr;
  };
  static size_t place(const Key& key) {
    auto number = [](const void* p) { return static_cast<uint64_t>(reinterpret_cast<uintptr_t>(p)); };
    return (hash_short(key.text) ^ mix(number(key.of) ^ number(key.and_of) * 31)) % slots;
  }

  std::array<Slot, slots> table_{};
};

}  // namespace hloc::ir
