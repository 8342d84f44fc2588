// The names of one computation's instructions; their texts stay with the builder.
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>

#include "ir/graph.h"
#include "ir/read/lexer.h"
#include "ir/support/hash_index.h"

namespace hloc::ir {

class HloNames {
 public:
  static uint32_t hash_of(std::string_view name) { return static_cast<uint32_t>(hash_short(name)); }

  // The value of that name, or null.
  Value find(const ComputationBuilder& builder, std::string_view name) const { return find(builder, name, hash_of(name)); }
  Value find(const ComputationBuilder& builder, std::string_view name, uint32_t hash) const {
    uint32_t id = index_.find(hash, [&](uint32_t i) { return equal_short(builder.name(i), name); });
    return id == HashIndex::none ? nullptr : builder.instructions()[id];
  }

  // `v` has its name already, which no other value has.
  void insert(uint32_t hash, Value v) { index_.insert(hash, v->id); }
  // For a name that is looked up or inserted soon. An index larger than a cache needs to know a whole statement ahead: most
  // often the next line starts with the next name. Whatever stands there, it is a glance at some bytes and nothing else.
  [[gnu::always_inline]] void prefetch(uint32_t hash, const HloLexer& lexer) const {
    if (!is_large_) return index_.prefetch(hash);
    constexpr ptrdiff_t longest_line = 512, longest_name = 64;
    const char* p = lexer.cursor();
    p = static_cast<const char*>(std::memchr(p, '\n', static_cast<size_t>(std::min(lexer.end() - p, longest_line))));
    if (!p) return;
    ++p;
    for (int blanks = 0; blanks < 8 && (*p == ' ' || *p == '%'); ++blanks) ++p;
    const char* end = p;
    while (HloLexer::in_word(*end) && end - p < longest_name) ++end;
    index_.prefetch(hash_of({p, static_cast<size_t>(end - p)}));
  }
  void reserve(size_t names) {
    index_.reserve(names);
    is_large_ = names >= size_t{1} << 16;
  }

 private:
  HashIndex index_;
  bool is_large_ = false;
};

}  // namespace hloc::ir
