// Bytes of an array that begin at a cache line, as literals and the arena do: whole vectors then never cross from one line into
// the next, and large results are written past the caches in whole lines.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace hloc::cli {

template <class T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t line{64};

  LineAllocator() = default;
  template <class U>
  LineAllocator(const LineAllocator<U>&) {}
  T* allocate(size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), line)); }
  void deallocate(T* p, size_t) { ::operator delete(p, line); }
  friend bool operator==(const LineAllocator&, const LineAllocator&) { return true; }
};

using Bytes = std::vector<std::byte, LineAllocator<std::byte>>;

}  // namespace hloc::cli
