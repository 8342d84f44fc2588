// The JIT loader: places an object into fresh pages, resolves its relocations, and makes the code executable only when
// nothing is left to write.
//
// Layout of the mapping: text | stubs and address table | rodata; the first part becomes read-execute, rodata read-only.
// What lies beyond the reach of a 32-bit distance (libraries, weights of the caller) goes by the table: a call through a
// stub `jmp [table]`, and `lea reg, [x]` becomes `mov reg, [table]`, which has the same length.
#include <algorithm>
#include <cstring>
#include <unordered_map>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends/cpu/machine/object.h"
#include "ir/support/check.h"
#include "ir/support/source.h"

namespace hloc::machine {

CodeMemory& CodeMemory::operator=(CodeMemory&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  std::swap(functions_, other.functions_);
  return *this;
}

CodeMemory::~CodeMemory() {
  if (base_) munmap(base_, bytes_);
}

const void* CodeMemory::find(std::string_view function) const {
  for (const FunctionSymbol& f : functions_) {
    if (f.name == function) return static_cast<const std::byte*>(base_) + f.offset;
  }
  return nullptr;
}

namespace {

constexpr size_t stub_bytes = 8;  // jmp [rip + d32], padded

class Loader {
 public:
  Loader(const ObjectCode& code, std::byte* base, size_t stubs_at, size_t rodata_at)
      : code_(code), base_(base), stubs_at_(stubs_at), rodata_at_(rodata_at) {}

  void place(const std::vector<const void*>& externals) {
    std::copy(code_.text.begin(), code_.text.end(), base_);
    std::copy(code_.rodata.begin(), code_.rodata.end(), base_ + rodata_at_);
    for (const Relocation& r : code_.relocations) {
      const std::byte* target = nullptr;
      switch (r.target) {
        case Relocation::Target::rodata: target = base_ + rodata_at_; break;
        case Relocation::Target::function: target = base_ + code_.functions[r.index].offset; break;
        case Relocation::Target::data: target = code_.data[r.index].bytes.data(); break;
        case Relocation::Target::external: target = static_cast<const std::byte*>(externals[r.index]); break;
      }
      relocate(r, target);
    }
  }

 private:
  void relocate(const Relocation& r, const std::byte* target) {
    std::byte* field = base_ + r.offset;
    int64_t distance = target + r.addend - field;
    if (distance != static_cast<int32_t>(distance)) {
      std::byte* entry = table_entry(target);
      if (r.kind == Relocation::Kind::call) {
        entry -= stub_bytes;
      } else {
        HLOC_CHECK(field[-2] == std::byte{0x8d}, "only lea can reach far");  // opcode before the ModRM byte
        field[-2] = std::byte{0x8b};
      }
      distance = entry + r.addend - field;
    }
    auto value = static_cast<int32_t>(distance);
    std::memcpy(field, &value, 4);
  }

  // An 8-byte address with its stub before it.
  std::byte* table_entry(const std::byte* target) {
    auto [it, fresh] = entries_.try_emplace(target, entries_.size());
    std::byte* stub = base_ + stubs_at_ + it->second * (stub_bytes + 8);
    if (fresh) {
      const std::byte jump[] = {std::byte{0xff}, std::byte{0x25}, std::byte{2}, {}, {}, {}, std::byte{0xcc}, std::byte{0xcc}};
      std::memcpy(stub, jump, stub_bytes);
      std::memcpy(stub + stub_bytes, &target, 8);
    }
    return stub + stub_bytes;
  }

  const ObjectCode& code_;
  std::byte* base_;
  size_t stubs_at_, rodata_at_;
  std::unordered_map<const std::byte*, size_t> entries_;
};

}  // namespace

Result<CodeMemory> load(const ObjectCode& code, const std::function<const void*(std::string_view)>& resolve) {
  HLOC_CHECK(code.isa == Isa::x86_64, "this loader knows x86-64 only");
  std::vector<const void*> externals;
  for (const std::string& name : code.externals) {
    externals.push_back(resolve ? resolve(name) : nullptr);
    if (!externals.back()) return error(ErrorKind::bug, fmt::format("compiled code refers to '{}', which is not known", name));
  }
  auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto up = [](size_t n, size_t to) { return (n + to - 1) / to * to; };
  size_t stubs_at = up(code.text.size(), 16);
  size_t code_end = up(stubs_at + (code.data.size() + externals.size()) * (stub_bytes + 8), page);
  size_t bytes = std::max(up(code_end + code.rodata.size(), page), page);
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return error(ErrorKind::memory, fmt::format("no memory for {} bytes of code", bytes));
  CodeMemory memory;
  memory.base_ = base;
  memory.bytes_ = bytes;
  memory.functions_ = code.functions;
  Loader(code, static_cast<std::byte*>(base), stubs_at, code_end).place(externals);
  if (code_end > 0 && mprotect(base, code_end, PROT_READ | PROT_EXEC) != 0) {
    return error(ErrorKind::target, "the system does not allow executable memory");
  }
  if (bytes > code_end) mprotect(static_cast<std::byte*>(base) + code_end, bytes - code_end, PROT_READ);
  return memory;
}

}  // namespace hloc::machine
