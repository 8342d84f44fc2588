// Literals: constant values. Dense, logical row-major order whatever the layout says; sub-byte elements take one byte
// each; bytes have shared ownership, so a 500 MB constant is never copied. An elided literal (`constant({...})`) has a
// type but no value: whatever needs the value must ask first.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "ir/type.h"

namespace hloc::ir {

class Literal {
 public:
  Literal() = default;

  static Literal uninitialized(Type array);  // fill through mutable_bytes() or mutable_data()
  static Literal zeros(Type array);
  static Literal tuple(Type type, std::vector<Literal> parts);
  static Literal elided(Type type);
  static Literal token(Type type);           // a token's (empty) value
  // Bytes owned elsewhere, kept alive by `owner`; byte_size() of them.
  static Literal view(Type array, std::shared_ptr<const void> owner, const std::byte* bytes);

  Type type() const { return type_; }
  bool is_elided() const { return elided_; }
  bool is_tuple() const { return type_ && type_.is_tuple(); }
  const std::vector<Literal>& parts() const;  // of a tuple; else none

  std::span<const std::byte> bytes() const { return {bytes_, size()}; }
  std::span<std::byte> mutable_bytes();      // only while no other literal shares the bytes
  size_t size() const { return bytes_ ? static_cast<size_t>(type_.byte_size()) : 0; }

  template <class T>
  std::span<const T> data() const {
    return {reinterpret_cast<const T*>(bytes_), size() / sizeof(T)};
  }
  template <class T>
  std::span<T> mutable_data() {
    auto b = mutable_bytes();
    return {reinterpret_cast<T*>(b.data()), b.size() / sizeof(T)};
  }

  // Whether others see the bytes too (or own them altogether): only bytes that are not shared may be written.
  bool is_shared() const { return bytes_ == nullptr || owner_.use_count() != 1; }

  // The same bytes under another array type of equal byte size (a reshape, a bitcast).
  Literal with_type(Type type) const;

  // Equal type and equal bits (NaN equals itself, -0 differs from 0). Elided literals equal only themselves by type.
  bool operator==(const Literal& other) const;
  uint64_t hash() const;  // of type and bits; long ones are hashed by a sample

 private:
  struct Parts;

  Type type_;
  const std::byte* bytes_ = nullptr;   // null: a tuple, a token, elided
  std::shared_ptr<const void> owner_;  // of the bytes; of a tuple: its vector of parts
  bool elided_ = false;
  bool tuple_ = false;                 // owner_ holds parts
};

// The arrays, tokens and elided values of a literal, depth first, with a list in place of recursion.
std::vector<const Literal*> leaves(const Literal& literal);

}  // namespace hloc::ir
