// Relocations of all CPUs: what they are called, and what is put into their fields.
#include <cstring>

#include "backends/cpu/machine/object.h"
#include "ir/support/check.h"

namespace hloc::machine {
namespace {

constexpr int no_scale = -1;

// `scale`: for the kinds that loads have one number each of, log2 of the access's bytes.
struct RelocationRow {
  Isa isa;
  Relocation::Kind kind;
  int scale;
  RelocationName name;
};
constexpr RelocationRow relocation_table[] = {
    {Isa::x86_64, Relocation::Kind::address, no_scale, {2, "R_X86_64_PC32"}},
    {Isa::x86_64, Relocation::Kind::call, no_scale, {2, "R_X86_64_PC32"}},
    {Isa::aarch64, Relocation::Kind::call, no_scale, {283, "R_AARCH64_CALL26"}},
    {Isa::aarch64, Relocation::Kind::page, no_scale, {275, "R_AARCH64_ADR_PREL_PG_HI21"}},
    {Isa::aarch64, Relocation::Kind::low12, no_scale, {277, "R_AARCH64_ADD_ABS_LO12_NC"}},
    {Isa::aarch64, Relocation::Kind::low12, 0, {278, "R_AARCH64_LDST8_ABS_LO12_NC"}},
    {Isa::aarch64, Relocation::Kind::low12, 1, {284, "R_AARCH64_LDST16_ABS_LO12_NC"}},
    {Isa::aarch64, Relocation::Kind::low12, 2, {285, "R_AARCH64_LDST32_ABS_LO12_NC"}},
    {Isa::aarch64, Relocation::Kind::low12, 3, {286, "R_AARCH64_LDST64_ABS_LO12_NC"}},
    {Isa::aarch64, Relocation::Kind::low12, 4, {299, "R_AARCH64_LDST128_ABS_LO12_NC"}},
};

// Of a load or store with a scaled offset, log2 of its bytes; no_scale for an add.
int access_scale(uint32_t word) {
  if ((word & 0x3b000000) != 0x39000000) return no_scale;
  bool sixteen = (word & 0x04800000) == 0x04800000 && word >> 30 == 0;
  return sixteen ? 4 : static_cast<int>(word >> 30);
}

}  // namespace

RelocationName elf_relocation(Isa isa, Relocation::Kind kind, uint32_t word) {
  int scale = kind == Relocation::Kind::low12 ? access_scale(word) : no_scale;
  for (const RelocationRow& r : relocation_table) {
    if (r.isa == isa && r.kind == kind && r.scale == scale) return r.name;
  }
  HLOC_UNREACHABLE();
}

int64_t reach_of(Isa isa, Relocation::Kind kind) {
  if (isa == Isa::x86_64) return INT32_MAX - 256;  // addends are small
  return kind == Relocation::Kind::call ? (int64_t{1} << 27) - 4 : (int64_t{1} << 32) - 8192;  // page: of whole pages
}

void load_instead(Isa isa, Relocation::Kind kind, std::byte* field) {
  if (isa == Isa::x86_64) {
    HLOC_CHECK(field[-2] == std::byte{0x8d}, "only lea takes a far address");  // the opcode stands before the ModRM byte
    field[-2] = std::byte{0x8b};                                               // mov
    return;
  }
  if (kind == Relocation::Kind::page) return;  // adrp does for both
  uint32_t word;
  std::memcpy(&word, field, 4);
  HLOC_CHECK((word & 0xffc00000) == 0x91000000, "only adrp and add take a far address");
  word = 0xf9400000 | (word & 0x3ff);  // ldr of the same registers
  std::memcpy(field, &word, 4);
}

std::array<std::byte, jump_bytes> far_jump(Isa isa) {
  if (isa == Isa::x86_64)  // jmp [rip + 2], padded
    return {std::byte{0xff}, std::byte{0x25}, std::byte{2}, {}, {}, {}, std::byte{0xcc}, std::byte{0xcc}};
  constexpr uint32_t words[] = {0x58000050, 0xd61f0200};  // ldr x16, 8 bytes on; br x16
  std::array<std::byte, jump_bytes> out;
  std::memcpy(out.data(), words, sizeof words);
  return out;
}

bool apply_relocation(Isa isa, Relocation::Kind kind, std::byte* field, uint64_t place, uint64_t target) {
  uint32_t word;
  std::memcpy(&word, field, 4);
  auto distance = static_cast<int64_t>(target - place);
  bool reaches = true;
  if (isa == Isa::x86_64) {
    reaches = distance == static_cast<int32_t>(distance);
    word = static_cast<uint32_t>(distance);
  } else if (kind == Relocation::Kind::call) {
    reaches = distance >= -(int64_t{1} << 27) && distance < int64_t{1} << 27;
    word = (word & 0xfc000000) | (static_cast<uint32_t>(distance >> 2) & 0x03ffffff);
  } else if (kind == Relocation::Kind::page) {
    int64_t pages = static_cast<int64_t>(target >> 12) - static_cast<int64_t>(place >> 12);
    reaches = pages >= -(1 << 20) && pages < 1 << 20;
    auto bits = static_cast<uint32_t>(pages);
    word = (word & 0x9f00001f) | (bits & 3) << 29 | (bits >> 2 & 0x7ffff) << 5;
  } else {
    int scale = access_scale(word);
    word = (word & 0xffc003ff) | (static_cast<uint32_t>(target & 0xfff) >> (scale == no_scale ? 0 : scale)) << 10;
  }
  if (reaches) std::memcpy(field, &word, 4);
  return reaches;
}

}  // namespace hloc::machine
