// A bump allocator for trivially destructible objects: nodes and their operand lists live and die together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace hloc {

class Arena {
 public:
  Arena() = default;
  Arena(Arena&&) = default;
  Arena& operator=(Arena&&) = default;

  void* allocate(size_t bytes, size_t alignment) {
    size_t at = (used_ + alignment - 1) & ~(alignment - 1);
    if (blocks_.empty() || at + bytes > size_) {
      grow(bytes + alignment);
      at = 0;  // operator new[] aligns to at least 16
    }
    used_ = at + bytes;
    allocated_ += bytes;
    return blocks_.back().get() + at;
  }

  template <class T, class... Args>
  T* make(Args&&... args) {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (allocate(sizeof(T), alignof(T))) T{std::forward<Args>(args)...};
  }

  template <class T>
  std::span<const T> copy(std::span<const T> items) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (items.empty()) return {};
    T* out = static_cast<T*>(allocate(items.size_bytes(), alignof(T)));
    std::uninitialized_copy(items.begin(), items.end(), out);
    return {out, items.size()};
  }

  std::string_view copy(std::string_view s) {
    auto bytes = copy(std::span<const char>(s.data(), s.size()));
    return {bytes.data(), bytes.size()};
  }

  // Room for about so many bytes, so that they stand together and none is left over.
  void reserve(size_t bytes) {
    if (blocks_.empty() || used_ + bytes > size_) add_block(bytes);
  }

  size_t allocated() const { return allocated_; }

 private:
  void grow(size_t at_least) {
    size_t size = size_ == 0 ? 512 : std::min<size_t>(size_ * 2, size_t{1} << 20);
    add_block(std::max(size, at_least));
  }
  void add_block(size_t size) {
    blocks_.push_back(std::unique_ptr<std::byte[]>(new std::byte[size]));
    size_ = size;
    used_ = 0;
  }

  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  size_t size_ = 0;
  size_t used_ = 0;
  size_t allocated_ = 0;
};

}  // namespace hloc
