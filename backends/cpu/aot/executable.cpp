// One segment holds the headers, code and constants, one the memory.
#include "backends/cpu/aot/executable.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/aot/elf_structures.h"
#include "ir/support/check.h"
#include "ir/support/source.h"

namespace hloc::aot {
namespace {

using machine::ObjectCode;
using machine::Relocation;

constexpr uint64_t load_address = 0x400000;
constexpr uint64_t page = 4096;

struct Placement {
  uint64_t text = 0, rodata = 0;
  std::vector<uint64_t> data;
};

// Offsets in the file; addresses are `load_address` more.
Placement place(const ObjectCode& code, uint64_t headers) {
  Placement p;
  auto up = [](uint64_t n, uint64_t to) { return (n + to - 1) / to * to; };
  p.text = up(headers, 64);
  p.rodata = up(p.text + code.text.size(), 64);
  uint64_t at = p.rodata + code.rodata.size();
  for (const machine::NamedData& d : code.data) {
    at = up(at, std::max<uint64_t>(d.alignment, 1));
    p.data.push_back(at);
    at += d.bytes.size();
  }
  return p;
}

uint64_t offset_of(const Relocation& r, const ObjectCode& code, const Placement& p) {
  switch (r.target) {
    case Relocation::Target::rodata: return p.rodata;
    case Relocation::Target::data: return p.data[r.index];
    case Relocation::Target::function: return p.text + code.functions[r.index].offset;
    case Relocation::Target::external: break;
  }
  HLOC_UNREACHABLE();
}

}  // namespace

Result<std::vector<std::byte>> write_executable(ObjectCode code, std::string_view start, MemoryRange memory) {
  HLOC_CHECK(code.externals.empty(), "an executable has nothing outside of itself");
  Placement p = place(code, sizeof(ElfHeader) + 2 * sizeof(ProgramHeader));
  for (const Relocation& r : code.relocations) {
    uint64_t target = load_address + offset_of(r, code, p) + static_cast<uint64_t>(r.addend);
    if (!machine::apply_relocation(code.isa, r.kind, code.text.data() + r.offset, load_address + p.text + r.offset, target))
      return error(ErrorKind::target, "the program's constants are too large for one executable");
  }
  uint64_t end = code.data.empty() ? p.rodata + code.rodata.size() : p.data.back() + code.data.back().bytes.size();
  std::vector<std::byte> file(end);
  auto put = [&](uint64_t at, const void* bytes, size_t size) {
    if (size != 0) std::memcpy(file.data() + at, bytes, size);
  };
  auto is_start = [start](const machine::FunctionSymbol& f) { return f.name == start; };
  auto entry = std::find_if(code.functions.begin(), code.functions.end(), is_start);
  HLOC_CHECK(entry != code.functions.end(), "the start function is missing");

  ElfHeader h = elf_header(code.isa, elf_executable);
  h.entry = load_address + p.text + entry->offset;
  h.program_headers = sizeof(ElfHeader);
  h.program_header_size = sizeof(ProgramHeader);
  h.program_header_count = 2;
  constexpr uint32_t load = 1, execute = 1, write = 2, read = 4;
  ProgramHeader headers[2] = {{load, read | execute, 0, load_address, load_address, end, end, page},
                              {load, read | write, 0, memory.begin, memory.begin, 0, memory.bytes, page}};
  put(0, &h, sizeof h);
  put(sizeof h, headers, sizeof headers);
  put(p.text, code.text.data(), code.text.size());
  put(p.rodata, code.rodata.data(), code.rodata.size());
  for (size_t n = 0; n < code.data.size(); n++) put(p.data[n], code.data[n].bytes.data(), code.data[n].bytes.size());
  return file;
}

}  // namespace hloc::aot
