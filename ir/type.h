// Types: what an instruction's value is. Interned in a Context, so equality is pointer equality.
//
// An array type has an element type, dimensions and a layout. A dimension is a size, a bound (`<=n`) or unknown (`?`),
// so dynamic shapes need no other kind of type. A missing layout means row-major: every array type has one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "include/hloc/tensor.h"
#include "ir/support/check.h"

namespace hloc::ir {

using Ints = std::vector<int64_t>;

struct Dim {
  enum Kind : uint8_t { fixed, bounded, unknown };
  int64_t size = 0;     // fixed: the size; bounded: the largest size; unknown: -1
  Kind kind = fixed;
  uint32_t symbol = 0;  // unknown: 0, or an id that equal sizes share

  static constexpr Dim of(int64_t size) { return {size, fixed, 0}; }
  static constexpr Dim at_most(int64_t bound) { return {bound, bounded, 0}; }
  static constexpr Dim any(uint32_t symbol = 0) { return {-1, unknown, symbol}; }
  constexpr bool is_static() const { return kind == fixed; }
  bool operator==(const Dim&) const = default;
};

// One tile of a layout, T(8,128); `combine` (printed `*`) merges a dimension with the next.
struct Tile {
  static constexpr int64_t combine = INT64_MIN;
  Ints sizes;
  bool operator==(const Tile&) const = default;
};

struct SplitConfig {
  int64_t dimension = 0;
  Ints indices;
  bool operator==(const SplitConfig&) const = default;
};

// The parts of a layout that few have; in the order in which HLO text writes them.
struct LayoutExtras {
  std::string level_types;      // "D(D,C+)" content as written, or empty
  std::vector<Tile> tiles;
  int64_t tail_padding = 1;     // L(n)
  ElementType index_type = ElementType::invalid;    // #(u32)
  ElementType pointer_type = ElementType::invalid;  // *(u32)
  int64_t element_bits = 0;     // E(n), 0: natural
  int64_t memory_space = 0;     // S(n)
  std::vector<SplitConfig> splits;  // SC(0:1,2)
  std::string physical_shape;   // P(shape) content as written
  int64_t metadata_prefix = 0;  // M(n)
  bool operator==(const LayoutExtras&) const = default;
};

struct Layout {
  Ints minor_to_major;  // the first number is the fastest dimension
  LayoutExtras extras;

  static Layout row_major(size_t rank);
  bool is_row_major() const;  // plain descending order and no extras
  bool operator==(const Layout&) const = default;
};

// Parameters of a quantised element type, StableHLO `!quant.uniform<storage<min:max>:expressed:axis, {scale:zero}>`.
struct QuantParams {
  ElementType storage = ElementType::s8;
  ElementType expressed = ElementType::f32;
  int64_t storage_min = 0, storage_max = 0;
  bool explicit_range = false;
  int64_t axis = -1;  // -1: per tensor
  std::vector<double> scales;
  Ints zero_points;
  bool operator==(const QuantParams&) const = default;
};

enum class TypeKind : uint8_t { array, tuple, token, opaque, buffer, future };

class Type;

struct TypeNode {
  TypeKind kind = TypeKind::array;
  ElementType element = ElementType::invalid;  // quantised: the storage type
  std::vector<Dim> dims;
  Layout layout;
  const QuantParams* quant = nullptr;          // interned; null for a plain element type
  std::vector<const TypeNode*> elements;       // tuple: the parts; buffer and future: the one inside
  uint64_t hash = 0;
  int64_t count = 0;                           // array: product of sizes or bounds; -1 when a size is unknown
  bool is_static = true;                       // no dynamic dimension anywhere inside
  uint32_t depth = 0;                          // how deep types are nested in it
  uint32_t written_size = 1;                   // types in it when each is written out (interned ones are shared); saturates
};

// A handle to an interned type. Cheap to copy; equality is identity. Default-constructed: no type.
class Type {
 public:
  Type() = default;
  explicit Type(const TypeNode* node) : node_(node) {}

  explicit operator bool() const { return node_ != nullptr; }
  bool operator==(const Type&) const = default;
  const TypeNode* node() const { return node_; }
  const TypeNode* operator->() const { return node_; }

  TypeKind kind() const { return node_->kind; }
  bool is_array() const { return node_->kind == TypeKind::array; }
  bool is_tuple() const { return node_->kind == TypeKind::tuple; }
  bool is_token() const { return node_->kind == TypeKind::token; }
  bool is_static() const { return node_->is_static; }
  bool is_scalar() const { return is_array() && node_->dims.empty(); }

  // Of arrays.
  ElementType element() const { return node_->element; }
  std::span<const Dim> dims() const { return node_->dims; }
  int64_t rank() const { return static_cast<int64_t>(node_->dims.size()); }
  int64_t dim(int64_t i) const { return node_->dims[static_cast<size_t>(i)].size; }  // size, bound or -1
  Ints sizes() const;                                 // all of them
  int64_t count() const { return node_->count; }      // number of elements (at most, when bounded)
  int64_t byte_size() const { return node_->count * byte_width(node_->element); }
  const Layout& layout() const { return node_->layout; }

  // Of tuples.
  size_t tuple_size() const { return node_->elements.size(); }
  Type element_type(size_t i) const { return Type(node_->elements[i]); }

 private:
  const TypeNode* node_ = nullptr;
};

// The leaves (arrays, tokens, opaques) of a type, depth first.
std::vector<Type> leaves(Type type);

// What stands for a type, made from its leaves up with a list in place of recursion (tuples may nest deeper than a stack
// allows): `leaf(type)` for each leaf, depth first, and `tuple(type, parts)` for each tuple after its parts.
template <class T, class Leaf, class Tuple>
T build_up(Type type, Leaf&& leaf, Tuple&& tuple) {
  struct Open {
    Type type;
    std::vector<T> parts;
  };
  if (!type.is_tuple()) return leaf(type);
  std::vector<Open> open{{type, {}}};
  for (;;) {
    if (Open& top = open.back(); top.parts.size() == top.type.tuple_size()) {
      T made = tuple(top.type, std::move(top.parts));
      open.pop_back();
      if (open.empty()) return made;
      open.back().parts.push_back(std::move(made));
    } else if (Type next = top.type.element_type(top.parts.size()); next.is_tuple()) {
      open.push_back({next, {}});
    } else {
      top.parts.push_back(leaf(next));
    }
  }
}

// Same kind, element types and dimensions; layouts are ignored (and bounded equals fixed of the same size when
// `ignore_dynamic`).
bool same_shape(Type a, Type b, bool ignore_dynamic = false);

}  // namespace hloc::ir
