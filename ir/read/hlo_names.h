// The names of one computation's instructions; their texts stay with the builder.
#pragma once

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
  void prefetch(uint32_t hash) const { index_.prefetch(hash); }
  void reserve(size_t names) {
    index_.reserve(names);
  }

 private:
  HashIndex index_;
};

}  // namespace hloc::ir
