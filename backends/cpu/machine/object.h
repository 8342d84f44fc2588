// Assembled code: what an emitter makes, and what both the JIT loader and the ELF writer take.
//
// `text` holds the functions, `rodata` the constants they load. They are placed apart; relocations say which 4-byte
// fields of `text` hold distances to other things, or parts of their addresses.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/cpu/machine/inst.h"
#include "include/hloc/result.h"

namespace hloc::machine {

enum class Isa : uint8_t { x86_64, aarch64 };

// What this process itself runs; none where hloc writes no code for it.
constexpr std::optional<Isa> host_isa =
#if defined(__x86_64__)
    Isa::x86_64;
#elif defined(__aarch64__)
    Isa::aarch64;
#else
    std::nullopt;
#endif

struct FunctionSymbol {
  std::string name;
  uint64_t offset = 0, size = 0;  // in text
};

struct Relocation {
  enum class Target : uint8_t {
    rodata,    // ObjectCode::rodata
    data,      // ObjectCode::data[index]
    function,  // ObjectCode::functions[index]
    external,  // ObjectCode::externals[index]: not part of this object
  };
  enum class Kind : uint8_t {
    address,  // x86: the 4-byte displacement of a load or of `lea reg, [rip + d]`
    call,     // x86: the displacement of `call rel32`; A64: of `bl`
    page,     // A64: the distance of 4 KiB pages in `adrp`
    low12,    // A64: the low 12 bits of the address in an add, a load or a store
  };
  uint64_t offset = 0;  // of the field, in text
  Target target = Target::rodata;
  Kind kind = Kind::address;
  uint32_t index = 0;
  int64_t addend = 0;  // what counts is target + addend, and (but for low12) the distance from the field
};

// Puts the field's value in for the object placed at an address: `place` is the field's, `target` includes the addend. False
// if it does not reach that far.
bool apply_relocation(Isa isa, Relocation::Kind kind, std::byte* field, uint64_t place, uint64_t target);

// How far from its field, in bytes either way, what a relocation names may lie at most; low12 has no bound of its own.
int64_t reach_of(Isa isa, Relocation::Kind kind);

// Turns the instruction that computes an address (by `address`, or by `page` and `low12`) into one of the same length that
// loads it from memory, so that the field then names the 8 bytes that hold it.
void load_instead(Isa isa, Relocation::Kind kind, std::byte* field);

// Code of 8 bytes that jumps to the address in the 8 bytes after it.
constexpr size_t jump_bytes = 8;
std::array<std::byte, jump_bytes> far_jump(Isa isa);

// What ELF calls the relocation of a field whose bytes are `word`.
struct RelocationName {
  uint32_t number = 0;
  std::string_view name;
};
RelocationName elf_relocation(Isa isa, Relocation::Kind kind, uint32_t word);

// One line of a listing: which machine instruction the bytes from `offset` on come from.
struct ListingLine {
  uint64_t offset = 0;
  std::string text;
};

struct ObjectCode {
  Isa isa = Isa::x86_64;
  std::vector<std::byte> text, rodata;
  std::vector<FunctionSymbol> functions;
  std::vector<NamedData> data;  // bytes stay with their owner
  std::vector<std::string> externals;
  std::vector<Relocation> relocations;
  std::vector<ListingLine> listing;  // only if asked for

  // Functions that are named here are visible from outside in object files.
  std::vector<std::string> exported;
};

// The whole as assembler text for GNU as: bytes with the machine instruction beside them, relocations as expressions,
// so that assembling it gives the same object. Named data is given by `.byte` lines too.
std::string assembly_listing(const ObjectCode& code);

// Loaded code: memory that is written, then made executable (never both). Move only. NamedData is used where it is and
// must outlive the code.
class CodeMemory {
 public:
  CodeMemory() = default;
  CodeMemory(CodeMemory&& other) noexcept { *this = std::move(other); }
  CodeMemory& operator=(CodeMemory&& other) noexcept;
  ~CodeMemory();

  // The address of a function of the object; null if there is none of that name.
  const void* find(std::string_view function) const;
  template <class Signature>
  Signature* function(std::string_view name) const {
    return reinterpret_cast<Signature*>(reinterpret_cast<uintptr_t>(find(name)));
  }
  size_t size() const { return bytes_; }  // mapped

 private:
  friend Result<CodeMemory> load(const ObjectCode&, const std::function<const void*(std::string_view)>&);
  void* base_ = nullptr;
  size_t bytes_ = 0;
  std::vector<FunctionSymbol> functions_;
};

// Places the object, whose instructions must be this process's (host_isa), into it. `resolve` gives the addresses of
// externals (null: an error of kind `bug`).
Result<CodeMemory> load(const ObjectCode& code, const std::function<const void*(std::string_view)>& resolve = {});

}  // namespace hloc::machine
