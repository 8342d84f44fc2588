// The JIT loader: places an object into fresh pages, resolves its relocations, and makes the code executable only when
// nothing is left to write.
//
// Layout of the mapping: text | jumps and address table | rodata; the first part becomes read-execute, rodata read-only.
// What may lie beyond the reach of an instruction (libraries, weights of the caller) goes by the table: a call by a jump
// that stands before the address, and an instruction that computes the address becomes one that loads it.
#include <algorithm>
#include <cstdlib>
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

constexpr size_t entry_bytes = jump_bytes + 8;  // of the table: a jump and the address that it takes

class Loader {
 public:
  Loader(const ObjectCode& code, std::byte* base, size_t table_at, size_t rodata_at)
      : code_(code), base_(base), table_at_(table_at), rodata_at_(rodata_at) {}

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
    if (is_far(r.kind, target)) {
      const std::byte* entry = table_entry(target);
      if (r.kind == Relocation::Kind::call) target = entry;
      else load_instead(code_.isa, r.kind, field), target = entry + jump_bytes;
    }
    bool reaches = apply_relocation(code_.isa, r.kind, field, reinterpret_cast<uint64_t>(field), reinterpret_cast<uint64_t>(target + r.addend));
    HLOC_CHECK(reaches, "this object is larger than its instructions reach");
  }

  // Asked of the whole text, so that all instructions that make up one address agree.
  bool is_far(Relocation::Kind kind, const std::byte* target) const {
    auto at = reinterpret_cast<int64_t>(target), begin = reinterpret_cast<int64_t>(base_);
    int64_t end = begin + static_cast<int64_t>(rodata_at_ + code_.rodata.size());
    if (at >= begin && at <= end) return false;
    return std::max(std::abs(at - begin), std::abs(at - end)) > reach_of(code_.isa, kind);
  }

  const std::byte* table_entry(const std::byte* target) {
    auto [it, fresh] = entries_.try_emplace(target, entries_.size());
    std::byte* entry = base_ + table_at_ + it->second * entry_bytes;
    if (fresh) {
      auto jump = far_jump(code_.isa);
      std::copy(jump.begin(), jump.end(), entry);
      std::memcpy(entry + jump_bytes, &target, 8);
    }
    return entry;
  }

  const ObjectCode& code_;
  std::byte* base_;
  size_t table_at_, rodata_at_;
  std::unordered_map<const std::byte*, size_t> entries_;
};

}  // namespace

Result<CodeMemory> load(const ObjectCode& code, const std::function<const void*(std::string_view)>& resolve) {
  HLOC_CHECK(host_isa && code.isa == *host_isa, "code for another machine can't be loaded");
  std::vector<const void*> externals;
  for (const std::string& name : code.externals) {
    externals.push_back(resolve ? resolve(name) : nullptr);
    if (!externals.back()) return error(ErrorKind::bug, fmt::format("compiled code refers to '{}', which is not known", name));
  }
  auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto up = [](size_t n, size_t to) { return (n + to - 1) / to * to; };
  size_t table_at = up(code.text.size(), 16);
  size_t code_end = up(table_at + (code.data.size() + externals.size()) * entry_bytes, page);
  size_t bytes = std::max(up(code_end + code.rodata.size(), page), page);
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return error(ErrorKind::memory, fmt::format("no memory for {} bytes of code", bytes));
  CodeMemory memory;
  memory.base_ = base;
  memory.bytes_ = bytes;
  memory.functions_ = code.functions;
  Loader(code, static_cast<std::byte*>(base), table_at, code_end).place(externals);
  if (code_end > 0 && mprotect(base, code_end, PROT_READ | PROT_EXEC) != 0) {
    return error(ErrorKind::target, "the system does not allow executable memory");
  }
  // Instructions are fetched by another way than they were written where the caches do not see to it themselves.
  __builtin___clear_cache(static_cast<char*>(base), static_cast<char*>(base) + code_end);
  if (bytes > code_end) mprotect(static_cast<std::byte*>(base) + code_end, bytes - code_end, PROT_READ);
  return memory;
}

}  // namespace hloc::machine
