// Writes the sections one after the other and the table of their headers last.
#include <algorithm>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "backends/cpu/aot/elf.h"
#include "backends/cpu/aot/elf_structures.h"
#include "ir/support/check.h"
#include "ir/support/source.h"

namespace hloc::aot {
namespace {

using machine::ObjectCode;
using machine::Relocation;

struct SectionHeader {
  uint32_t name = 0, type = 0;
  uint64_t flags = 0, address = 0, offset = 0, size = 0;
  uint32_t link = 0, info = 0;
  uint64_t alignment = 1, entry_size = 0;
};
static_assert(sizeof(SectionHeader) == 64);

struct SymbolEntry {
  uint32_t name = 0;
  uint8_t info = 0, other = 0;
  uint16_t section = 0;
  uint64_t value = 0, size = 0;
};
static_assert(sizeof(SymbolEntry) == 24);

struct RelaEntry {
  uint64_t offset, info;
  int64_t addend;
};

constexpr uint32_t type_progbits = 1, type_symtab = 2, type_strtab = 3, type_rela = 4;
constexpr uint64_t flag_alloc = 2, flag_exec = 4, flag_info_link = 0x40;
constexpr uint8_t symbol_object = 1, symbol_function = 2, symbol_section = 3, bind_global = 1 << 4;

// The order of the sections in the file.
enum Section : uint16_t { null_section, text, rodata, rela_text, symtab, strtab, shstrtab, gnu_stack, section_count };

class ElfWriter {
 public:
  explicit ElfWriter(const ObjectCode& code) : code_(code) {}

  std::vector<std::byte> write() {
    file_.resize(sizeof(ElfHeader));
    begin(text, ".text", type_progbits, flag_alloc | flag_exec, 64);
    append(code_.text.data(), code_.text.size());
    end(text);
    write_rodata();
    write_symbols();
    write_relocations();
    begin(shstrtab, ".shstrtab", type_strtab, 0, 1);
    sections_[gnu_stack].name = add_name(section_names_, ".note.GNU-stack");
    append(section_names_.data(), section_names_.size());
    end(shstrtab);
    sections_[gnu_stack].type = type_progbits;
    sections_[gnu_stack].offset = file_.size();
    return finish();
  }

 private:
  template <class T>
  void append(const T* data, size_t count) {
    const auto* bytes = reinterpret_cast<const std::byte*>(data);
    file_.insert(file_.end(), bytes, bytes + count * sizeof(T));
  }
  void align(uint64_t to) { file_.resize((file_.size() + to - 1) / to * to); }

  void begin(Section s, std::string_view name, uint32_t type, uint64_t flags, uint64_t alignment) {
    align(alignment);
    sections_[s].name = add_name(section_names_, name);
    sections_[s].type = type;
    sections_[s].flags = flags;
    sections_[s].alignment = alignment;
    sections_[s].offset = file_.size();
  }
  void end(Section s) { sections_[s].size = file_.size() - sections_[s].offset; }

  static uint32_t add_name(std::string& table, std::string_view name) {
    auto at = static_cast<uint32_t>(table.size());
    table += name;
    table += '\0';
    return at;
  }

  void write_rodata() {
    uint64_t alignment = 64;
    for (const machine::NamedData& d : code_.data) alignment = std::max<uint64_t>(alignment, d.alignment);
    begin(rodata, ".rodata", type_progbits, flag_alloc, alignment);
    size_t total = file_.size() + code_.rodata.size();
    for (const machine::NamedData& d : code_.data) total += d.bytes.size() + d.alignment;
    file_.reserve(total + 4096);
    append(code_.rodata.data(), code_.rodata.size());
    for (const machine::NamedData& d : code_.data) {
      align(std::max<uint64_t>(d.alignment, 1));
      data_offsets_.push_back(file_.size() - sections_[rodata].offset);
      append(d.bytes.data(), d.bytes.size());
    }
    end(rodata);
  }

  bool is_exported(std::string_view name) const {
    return std::find(code_.exported.begin(), code_.exported.end(), name) != code_.exported.end();
  }

  // Local symbols come before global ones; `info` of the section says where those begin.
  void write_symbols() {
    begin(symtab, ".symtab", type_symtab, 0, 8);
    std::vector<SymbolEntry> symbols(1);
    symbols.push_back({0, symbol_section, 0, text, 0, 0});
    symbols.push_back({0, symbol_section, 0, rodata, 0, 0});
    for (size_t n = 0; n < code_.data.size(); n++) {
      const machine::NamedData& d = code_.data[n];
      symbols.push_back({add_name(names_, d.name), symbol_object, 0, rodata, data_offsets_[n], d.bytes.size()});
    }
    for (bool global : {false, true}) {
      if (global) sections_[symtab].info = static_cast<uint32_t>(symbols.size());
      for (const machine::FunctionSymbol& f : code_.functions) {
        if (is_exported(f.name) != global) continue;
        auto info = static_cast<uint8_t>(symbol_function | (global ? bind_global : 0));
        symbols.push_back({add_name(names_, f.name), info, 0, text, f.offset, f.size});
      }
    }
    sections_[symtab].link = strtab;
    sections_[symtab].entry_size = sizeof(SymbolEntry);
    append(symbols.data(), symbols.size());
    end(symtab);
    begin(strtab, ".strtab", type_strtab, 0, 1);
    append(names_.data(), names_.size());
    end(strtab);
  }

  // All targets are in this object, so each is its section and an offset.
  void write_relocations() {
    begin(rela_text, ".rela.text", type_rela, flag_info_link, 8);
    sections_[rela_text].link = symtab;
    sections_[rela_text].info = text;
    sections_[rela_text].entry_size = sizeof(RelaEntry);
    for (const Relocation& r : code_.relocations) {
      bool in_text = r.target == Relocation::Target::function;
      uint64_t offset = in_text                                   ? code_.functions[r.index].offset
                        : r.target == Relocation::Target::data ? data_offsets_[r.index]
                                                               : 0;
      uint64_t symbol = in_text ? 1 : 2;  // of the section
      uint32_t word;
      std::memcpy(&word, code_.text.data() + r.offset, sizeof word);
      uint32_t type = machine::elf_relocation(code_.isa, r.kind, word).number;
      RelaEntry e{r.offset, symbol << 32 | type, r.addend + static_cast<int64_t>(offset)};
      append(&e, 1);
    }
    end(rela_text);
  }

  std::vector<std::byte> finish() {
    align(8);
    ElfHeader h = elf_header(code_.isa, elf_relocatable);
    h.section_headers = file_.size();
    h.section_header_size = sizeof(SectionHeader);
    h.section_header_count = section_count;
    h.names_index = shstrtab;
    sections_[null_section].alignment = 0;
    append(sections_, section_count);
    std::memcpy(file_.data(), &h, sizeof h);
    return std::move(file_);
  }

  const ObjectCode& code_;
  std::vector<std::byte> file_;
  SectionHeader sections_[section_count];
  std::string section_names_ = std::string(1, '\0'), names_ = std::string(1, '\0');
  std::vector<uint64_t> data_offsets_;
};

}  // namespace

Result<std::vector<std::byte>> write_elf(const ObjectCode& code) {
  if (!code.externals.empty()) {
    return error(ErrorKind::target,
                 fmt::format("the object would need '{}' from outside; object files stand alone", code.externals[0]));
  }
  return ElfWriter(code).write();
}

}  // namespace hloc::aot
