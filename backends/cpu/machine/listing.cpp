// Assembler text: the bytes of an object in a form that GNU as takes, with the machine IR beside them.
#include <algorithm>
#include <cstring>
#include <iterator>

#include <fmt/format.h>

#include "backends/cpu/machine/object.h"

namespace hloc::machine {
namespace {

class ListingWriter {
 public:
  explicit ListingWriter(const ObjectCode& code) : code_(code) {
    relocations_ = code.relocations;
    std::sort(relocations_.begin(), relocations_.end(),
              [](const Relocation& a, const Relocation& b) { return a.offset < b.offset; });
  }

  std::string write() {
    out_ += "\t.text\n\t.p2align 6\n";
    write_text();
    if (!code_.rodata.empty() || !code_.data.empty()) out_ += "\t.section .rodata\n";
    if (!code_.rodata.empty()) {
      out_ += "\t.p2align 6\n.Lconstants:\n";
      put_bytes(code_.rodata);
    }
    for (size_t n = 0; n < code_.data.size(); n++) {
      put("\t.balign {}\n{}:\n", code_.data[n].alignment, data_label(n));
      put_bytes(code_.data[n].bytes);
    }
    out_ += "\t.section .note.GNU-stack,\"\",@progbits\n";
    return std::move(out_);
  }

 private:
  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  static std::string quoted(std::string_view name) {
    std::string out = "\"";
    for (char c : name) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    return out + '"';
  }
  std::string data_label(size_t n) const { return fmt::format(".Ldata{}", n); }

  void put_bytes(std::span<const std::byte> bytes) {
    for (size_t at = 0; at < bytes.size(); at++) {
      put("{}{:#04x}", at % 16 == 0 ? "\t.byte " : ",", static_cast<unsigned>(bytes[at]));
      if (at % 16 == 15 || at + 1 == bytes.size()) out_ += '\n';
    }
  }

  std::string target_of(const Relocation& r) const {
    switch (r.target) {
      case Relocation::Target::rodata: return ".Lconstants";
      case Relocation::Target::data: return data_label(r.index);
      case Relocation::Target::function: return quoted(code_.functions[r.index].name);
      case Relocation::Target::external: return quoted(code_.externals[r.index]);
    }
    return {};
  }

  void put_symbol(const FunctionSymbol& f) {
    std::string name = quoted(f.name);
    if (std::find(code_.exported.begin(), code_.exported.end(), f.name) != code_.exported.end()) put("\t.globl {}\n", name);
    put("\t.type {0}, @function\n\t.size {0}, {1}\n{0}:\n", name, f.size);
  }

  // A field is four bytes: a distance, or an instruction of which some bits are.
  void put_relocation(const Relocation& r, size_t at) {
    std::string target = fmt::format("{} {} {}", target_of(r), r.addend < 0 ? '-' : '+', r.addend < 0 ? -r.addend : r.addend);
    if (code_.isa == Isa::x86_64) return put("\t.long {} - .\n", target);
    uint32_t word;
    std::memcpy(&word, code_.text.data() + at, sizeof word);
    put("\t.reloc ., {}, {}\n", elf_relocation(code_.isa, r.kind, word).name, target);
    put_bytes(std::span(code_.text).subspan(at, 4));
  }

  // The bytes of [begin, end), fields of relocations as expressions.
  void put_code(size_t begin, size_t end) {
    for (size_t at = begin; at < end;) {
      while (next_relocation_ < relocations_.size() && relocations_[next_relocation_].offset < at) next_relocation_++;
      size_t stop = next_relocation_ < relocations_.size() ? std::min<size_t>(end, relocations_[next_relocation_].offset) : end;
      if (stop > at) {
        put_bytes(std::span(code_.text).subspan(at, stop - at));
        at = stop;
      } else {
        const Relocation& r = relocations_[next_relocation_];
        put_relocation(r, at);
        at += 4;
      }
    }
  }

  void write_text() {
    size_t at = 0, line = 0, function = 0;
    while (at < code_.text.size()) {
      if (function < code_.functions.size() && code_.functions[function].offset == at) put_symbol(code_.functions[function++]);
      while (line < code_.listing.size() && code_.listing[line].offset == at) put("\t{} {}\n", code_.isa == Isa::x86_64 ? "#" : "//", one_line(code_.listing[line++].text));
      size_t end = code_.text.size();
      if (line < code_.listing.size()) end = std::min<size_t>(end, code_.listing[line].offset);
      if (function < code_.functions.size()) end = std::min<size_t>(end, code_.functions[function].offset);
      put_code(at, end);
      at = end;
    }
  }

  // Comments end with the line.
  static std::string one_line(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
  }

  const ObjectCode& code_;
  std::vector<Relocation> relocations_;
  size_t next_relocation_ = 0;
  std::string out_;
};

}  // namespace

std::string assembly_listing(const ObjectCode& code) { return ListingWriter(code).write(); }

}  // namespace hloc::machine
