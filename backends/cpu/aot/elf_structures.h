// The head of an ELF64 file.
#pragma once

#include <cstdint>
#include <cstring>

#include "backends/cpu/machine/object.h"

namespace hloc::aot {

// The file structures by their names in the gABI; little-endian, as all our machines are.
struct ElfHeader {
  uint8_t ident[16];
  uint16_t type, machine;
  uint32_t version;
  uint64_t entry, program_headers, section_headers;
  uint32_t flags;
  uint16_t header_size, program_header_size, program_header_count, section_header_size, section_header_count, names_index;
};
static_assert(sizeof(ElfHeader) == 64);

struct ProgramHeader {
  uint32_t type = 0, flags = 0;
  uint64_t offset = 0, address = 0, physical_address = 0, file_bytes = 0, memory_bytes = 0, alignment = 0;
};
static_assert(sizeof(ProgramHeader) == 56);

constexpr uint16_t elf_relocatable = 1, elf_executable = 2;
constexpr uint16_t elf_x86_64 = 62, elf_aarch64 = 183;

// The fields that all files for a machine have.
inline ElfHeader elf_header(machine::Isa isa, uint16_t type) {
  ElfHeader h{};
  const uint8_t ident[] = {0x7f, 'E', 'L', 'F', 2, 1, 1, 0};  // 64 bits, little-endian, version 1, System V
  std::memcpy(h.ident, ident, sizeof ident);
  h.type = type;
  h.machine = isa == machine::Isa::x86_64 ? elf_x86_64 : elf_aarch64;
  h.version = 1;
  h.header_size = sizeof(ElfHeader);
  return h;
}

}  // namespace hloc::aot
