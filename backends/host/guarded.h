// Memory between two inaccessible pages, for tests: an access beyond either end faults at once.
#pragma once

#include <cstddef>

namespace hloc::host {

class GuardedBuffer {
 public:
  // The last byte stands right before the guard page behind it (up to `alignment`); filled with bytes 0xff, which are
  // NaNs in every float format. Throws std::bad_alloc.
  explicit GuardedBuffer(size_t bytes, size_t alignment = 64);
  GuardedBuffer(GuardedBuffer&& other) noexcept;
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;
  ~GuardedBuffer();

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  void* mapping_ = nullptr;
  size_t size_ = 0, mapped_ = 0;
};

}  // namespace hloc::host
