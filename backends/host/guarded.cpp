#include "backends/host/guarded.h"

#include <cstring>
#include <new>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace hloc::host {

GuardedBuffer::GuardedBuffer(size_t bytes, size_t alignment) : size_(bytes) {
  auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  size_t inner = (bytes + page - 1) / page * page;
  mapped_ = inner + 2 * page;
  void* p = ::mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  mapping_ = p;
  auto* first = static_cast<std::byte*>(p) + page;
  if (inner != 0 && ::mprotect(first, inner, PROT_READ | PROT_WRITE) != 0) {
    ::munmap(p, mapped_);
    throw std::bad_alloc();
  }
  data_ = first + (inner - bytes) / alignment * alignment;
  if (inner != 0) std::memset(first, 0xff, inner);
}

GuardedBuffer::GuardedBuffer(GuardedBuffer&& other) noexcept
    : data_(other.data_), mapping_(std::exchange(other.mapping_, nullptr)), size_(other.size_), mapped_(other.mapped_) {}

GuardedBuffer::~GuardedBuffer() {
  if (mapping_) ::munmap(mapping_, mapped_);
}

}  // namespace hloc::host
