// Open files of this process that are closed when their owner goes, and files that live in memory.
#pragma once

#include <cstddef>
#include <span>
#include <sys/types.h>
#include <utility>

namespace hloc::host {

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor();

  bool is_open() const { return number_ >= 0; }
  int get() const { return number_; }

 private:
  int number_;
};

// A file without a name; not open where there is none to be had (errno says why). Programs that are started do not get it.
Descriptor memory_file();

// All of the bytes, from where the file stands, or from an offset on. False where that can't be.
bool write_all(const Descriptor& to, std::span<const std::byte> bytes);
bool read_all(const Descriptor& from, off_t at, std::span<std::byte> bytes);

}  // namespace hloc::host
