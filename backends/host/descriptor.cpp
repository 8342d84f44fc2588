#include "backends/host/descriptor.h"

#include <cerrno>
#include <sys/mman.h>
#include <unistd.h>

namespace hloc::host {

Descriptor::~Descriptor() {
  if (is_open()) ::close(number_);
}

Descriptor memory_file() { return Descriptor(::memfd_create("hloc", MFD_CLOEXEC)); }

bool write_all(const Descriptor& to, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::write(to.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return to.is_open();
}

bool read_all(const Descriptor& from, off_t at, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::pread(from.get(), bytes.data(), bytes.size(), at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return from.is_open();
}

}  // namespace hloc::host
