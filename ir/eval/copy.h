// Moving blocks of elements between arrays, and walking indices: what data movement ops are made of.
#pragma once

#include <cstddef>
#include <span>

#include "ir/literal.h"
#include "ir/type.h"

namespace hloc::ir::eval {

// Row-major strides, in elements.
Ints strides_of(std::span<const int64_t> sizes);
int64_t product(std::span<const int64_t> sizes);

// A block of `sizes`, read and written with a stride in elements for each dimension (any sign, 0 repeats).
struct Block {
  Ints sizes, to_strides, from_strides;
};

// to[to_offset + sum(i * to_stride)] = from[from_offset + sum(i * from_stride)] for each index i of the block.
void copy_block(const Block& block, std::byte* to, int64_t to_offset, const std::byte* from, int64_t from_offset,
                int width);

// Dimensions that are walked alike in both arrays become one; dimensions of size 1 go.
Block merged(const Block& block);

void fill_elements(std::byte* to, int64_t count, const std::byte* element, int width);

// Steps through all indices of `sizes` in row-major order: `for (Odometer i(sizes); i.valid(); i.next())`.
class Odometer {
 public:
  explicit Odometer(std::span<const int64_t> sizes) : sizes_(sizes), index_(sizes.size(), 0) {
    for (int64_t size : sizes) valid_ &= size > 0;
  }
  bool valid() const { return valid_; }
  const Ints& index() const { return index_; }
  int64_t operator[](size_t d) const { return index_[d]; }
  void next() {
    for (size_t d = sizes_.size(); d-- > 0;) {
      if (++index_[d] < sizes_[d]) return;
      index_[d] = 0;
    }
    valid_ = false;
  }
  // sum(index * strides)
  int64_t dot(std::span<const int64_t> strides) const {
    int64_t at = 0;
    for (size_t d = 0; d < index_.size(); ++d) at += index_[d] * strides[d];
    return at;
  }

 private:
  std::span<const int64_t> sizes_;
  Ints index_;
  bool valid_ = true;
};

// Element i of an integer (or pred) array; values beyond int64_t come as INT64_MAX.
int64_t integer_at(const Literal& literal, int64_t i);
Ints integers_of(const Literal& literal);

// A row-major copy with dimension d of the result being dimension order[d] of `sizes`.
void copy_transposed(std::byte* to, const std::byte* from, std::span<const int64_t> sizes,
                     std::span<const int64_t> order, int width);

}  // namespace hloc::ir::eval
