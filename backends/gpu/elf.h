// Code for a device as the makers' compilers leave it: an ELF file, 64-bit and little-endian (System V gABI). For reading
// only, and no byte of it is trusted: what does not fit is an error.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "include/hloc/result.h"

namespace hloc::gpu {

// Numbers (little-endian, as this machine's) and runs of bytes in their order, never past the end.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  bool is_at_end() const { return bytes_.empty(); }
  // False, and nothing is read, where fewer bytes are left.
  template <class T>
  bool number(T& out) {
    if (bytes_.size() < sizeof(T)) return false;
    std::memcpy(&out, bytes_.data(), sizeof(T));
    bytes_.remove_prefix(sizeof(T));
    return true;
  }
  bool run(uint64_t size, std::string_view& out) {
    if (bytes_.size() < size) return false;
    out = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return true;
  }

 private:
  std::string_view bytes_;
};

struct ElfSection {
  std::string_view name;
  uint32_t type = 0;         // SHT_…
  uint32_t link = 0;
  uint64_t size = 0;         // bytes when loaded
  std::string_view content;  // empty where the file holds none of them
};

struct ElfNote {
  std::string_view owner;
  uint32_t type = 0;
  std::string_view content;
};

// Views into the bytes, which must outlive it.
class ElfFile {
 public:
  // `machine`: EM_…. Errors of kind `input`: bytes that are no such file, or of another machine.
  static Result<ElfFile> read(std::string_view bytes, uint16_t machine);

  uint8_t abi() const { return abi_; }      // EI_OSABI
  uint32_t flags() const { return flags_; }  // e_flags
  const std::vector<ElfSection>& sections() const { return sections_; }
  // Null where there is none.
  const ElfSection* find(std::string_view name) const;
  // Names of the symbols, by index; none where there is no table of symbols.
  Result<std::vector<std::string_view>> symbol_names() const;
  // Of all sections that hold notes.
  Result<std::vector<ElfNote>> notes() const;

 private:
  uint8_t abi_ = 0;
  uint32_t flags_ = 0;
  std::vector<ElfSection> sections_;
  std::unordered_map<std::string_view, size_t> by_name_;  // the first of each name
};

// "the code made for the device is damaged: …"
Diagnostic damaged_code(std::string_view what);

}  // namespace hloc::gpu
