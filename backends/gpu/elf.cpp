#include "backends/gpu/elf.h"

#include <elf.h>

#include <fmt/format.h>

#include "ir/support/source.h"

namespace hloc::gpu {
namespace {

// A structure or a run of bytes at an offset; false when it is not all there.
template <class T>
bool read_at(std::string_view bytes, uint64_t offset, T& out) {
  return offset <= bytes.size() && ByteReader(bytes.substr(offset)).number(out);
}
bool run_at(std::string_view bytes, uint64_t offset, uint64_t size, std::string_view& out) {
  return offset <= bytes.size() && ByteReader(bytes.substr(offset)).run(size, out);
}

// The string that begins at `offset` of a table of strings, each ended by a zero.
bool string_at(std::string_view table, uint64_t offset, std::string_view& out) {
  if (offset >= table.size()) return false;
  size_t end = table.find('\0', offset);
  if (end == table.npos) return false;
  out = table.substr(offset, end - offset);
  return true;
}

uint64_t padded_to_word(uint32_t size) { return (uint64_t{size} + 3) / 4 * 4; }

}  // namespace

Diagnostic damaged_code(std::string_view what) {
  return error(ErrorKind::input, fmt::format("the code made for the device is damaged: {}", what));
}

Result<ElfFile> ElfFile::read(std::string_view bytes, uint16_t machine) {
  Elf64_Ehdr header;
  if (!read_at(bytes, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB)
    return damaged_code("it is no ELF file of 64 bits");
  if (header.e_machine != machine) return damaged_code(fmt::format("it is for machine {}, not {}", header.e_machine, machine));
  if (header.e_shnum != 0 && header.e_shentsize != sizeof(Elf64_Shdr)) return damaged_code("its section headers have an unknown size");

  ElfFile out;
  out.abi_ = header.e_ident[EI_OSABI];
  out.flags_ = header.e_flags;
  std::vector<Elf64_Shdr> headers(header.e_shnum);
  for (size_t i = 0; i < headers.size(); ++i) {
    Elf64_Shdr& h = headers[i];
    uint64_t at = i * sizeof h;
    ElfSection s;
    if (at > bytes.size() || header.e_shoff > bytes.size() - at || !read_at(bytes, header.e_shoff + at, h))
      return damaged_code("its section headers are not all there");
    bool is_in_file = h.sh_type != SHT_NOBITS && h.sh_type != SHT_NULL;
    if (is_in_file && !run_at(bytes, h.sh_offset, h.sh_size, s.content))
      return damaged_code(fmt::format("section {} reaches past the end", i));
    s.type = h.sh_type, s.link = h.sh_link, s.size = h.sh_size;
    out.sections_.push_back(s);
  }
  if (out.sections_.empty()) return out;
  if (header.e_shstrndx >= out.sections_.size()) return damaged_code("its sections have no names");
  std::string_view names = out.sections_[header.e_shstrndx].content;
  for (size_t i = 0; i < headers.size(); ++i) {
    if (!string_at(names, headers[i].sh_name, out.sections_[i].name))
      return damaged_code(fmt::format("the name of section {} is not there", i));
    out.by_name_.emplace(out.sections_[i].name, i);
  }
  return out;
}

const ElfSection* ElfFile::find(std::string_view name) const {
  auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : &sections_[it->second];
}

Result<std::vector<std::string_view>> ElfFile::symbol_names() const {
  std::vector<std::string_view> out;
  for (const ElfSection& s : sections_) {
    if (s.type != SHT_SYMTAB) continue;
    if (s.link >= sections_.size()) return damaged_code("its symbols have no names");
    ByteReader symbols(s.content);
    for (Elf64_Sym symbol; symbols.number(symbol);)
      if (!string_at(sections_[s.link].content, symbol.st_name, out.emplace_back()))
        return damaged_code(fmt::format("the name of symbol {} is not there", out.size() - 1));
    break;  // there is one at most
  }
  return out;
}

Result<std::vector<ElfNote>> ElfFile::notes() const {
  std::vector<ElfNote> out;
  for (const ElfSection& s : sections_) {
    if (s.type != SHT_NOTE) continue;
    for (ByteReader in(s.content); !in.is_at_end();) {
      Elf64_Nhdr header;
      std::string_view owner, content;
      if (!in.number(header) || !in.run(padded_to_word(header.n_namesz), owner) || !in.run(padded_to_word(header.n_descsz), content))
        return damaged_code(fmt::format("a note of section {} is not all there", s.name));
      owner = owner.substr(0, header.n_namesz);
      out.push_back({owner.substr(0, owner.find('\0')), header.n_type, content.substr(0, header.n_descsz)});
    }
  }
  return out;
}

}  // namespace hloc::gpu
