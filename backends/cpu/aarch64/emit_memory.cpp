// Vectors in memory, and constants.
//
// There are no masked accesses: each lane has a branch of its own.
#include <bit>

#include "backends/cpu/aarch64/emitter.h"

namespace hloc::aarch64 {

using machine::Relocation;

namespace {

constexpr Form load_forms[] = {Form::VLdr1, Form::VLdr2, Form::VLdr4, Form::VLdr8, Form::VLdr16};
constexpr Form store_forms[] = {Form::VStr1, Form::VStr2, Form::VStr4, Form::VStr8, Form::VStr16};
constexpr Form lane_loads[] = {Form::Ld1Byte, Form::Ld1Half, Form::Ld1Word, Form::Ld1Double};
constexpr Form lane_stores[] = {Form::St1Byte, Form::St1Half, Form::St1Word, Form::St1Double};

}  // namespace

void Emitter::vmove(int64_t to, int64_t from) {
  if (to != from) put(Form::VOrr, {to, bytes_16, from, from});
}

// ---- constants ---------------------------------------------------------------------------------------------------

void Emitter::load_constant(int64_t to, std::span<const std::byte> bytes) {
  uint32_t offset = pool_.add(bytes);
  relocation(Relocation::Target::rodata, Relocation::Kind::page, 0, offset);
  put(Form::Adrp, {x16, 0});
  relocation(Relocation::Target::rodata, Relocation::Kind::low12, 0, offset);
  put(load_forms[size_of(static_cast<int>(bytes.size()))], {to, x16, 0});
}

// `bits` in every element of `width` bytes: an immediate where there is one, by way of a general register else.
void Emitter::vector_constant(int64_t to, uint64_t bits, int width) {
  for (int n = width; n < 8; n *= 2) bits |= bits << (8 * n);
  auto byte = [&](int n) { return bits >> (8 * n) & 0xff; };
  int mask = 0;
  bool is_mask = true;
  for (int n = 0; n < 8; n++) {
    is_mask &= byte(n) == 0 || byte(n) == 0xff;
    mask |= byte(n) != 0 ? 1 << n : 0;
  }
  if (is_mask) return put(Form::VMoviMask, {to, mask});
  auto word = static_cast<uint32_t>(bits);
  bool words = bits >> 32 == word, halves = words && word >> 16 == (word & 0xffff), all_bytes = halves && byte(0) == byte(1);
  if (all_bytes) return put(Form::VMoviByte, {to, bytes_16, static_cast<int64_t>(byte(0))});
  for (int n = 0; words && n < 4; n++) {
    int64_t here = static_cast<int64_t>(byte(n)), shift = 8 * n;
    if (word == byte(n) << shift) return put(Form::VMoviWord, {to, arrangement(2, 16), here, shift});
    bool others_are_ones = word == ~static_cast<uint32_t>((byte(n) ^ 0xff) << shift);
    if (others_are_ones) return put(Form::VMvniWord, {to, arrangement(2, 16), here ^ 0xff, shift});
  }
  for (int n = 0; halves && n < 2; n++) {
    if ((word & 0xffff) == byte(n) << (8 * n)) return put(Form::VMoviHalf, {to, arrangement(1, 16), static_cast<int64_t>(byte(n)), 8 * n});
  }
  if (words) {
    int f = float_immediate(std::bit_cast<float>(word));
    if (f >= 0) return put(Form::VFmovWord, {to, arrangement(2, 16), f});
  }
  if (int f = float_immediate(std::bit_cast<double>(bits)); f >= 0) return put(Form::VFmovDouble, {to, f});
  constant(x16, words ? word : bits);
  put(Form::VDup, {to, arrangement(words ? 2 : 3, 16), x16});
}

void Emitter::emit_const(const Inst& i) { vector_constant(phys(i.dst), static_cast<uint64_t>(i.imm), byte_width(i.type)); }

void Emitter::emit_data(const Inst& i) { load_constant(phys(i.dst), f_->data[static_cast<size_t>(i.imm)].bytes); }

// ---- loads and stores --------------------------------------------------------------------------------------------

void Emitter::emit_vector_load(const Inst& i) {
  int bytes = i.vtype().bytes();
  access(load_forms[size_of(bytes)], phys(i.dst), place(i, bytes), bytes);
}

void Emitter::emit_vector_store(const Inst& i) {
  int bytes = i.vtype().bytes();
  access(store_forms[size_of(bytes)], phys(i.a), place(i, bytes), bytes);
}

void Emitter::emit_load_broadcast(const Inst& i) {
  if (i.lanes == 1) return emit_vector_load(i);
  int64_t base = x16;
  if (i.base && !i.index && i.disp == 0) base = phys(i.base);
  else address(i, x16);
  put(Form::Ld1Repeat, {phys(i.dst), whole(i), base});
}

// Branches over the next `words` instructions if the lane of the mask is off; destroys x16.
void Emitter::skip_if_off(int64_t mask, int width, int lane, int words) {
  extract_lane(x16, mask, width, lane, false);
  put(Form::Cbz, {x16, 4 * (words + 1)});
}

void Emitter::emit_masked_load(const Inst& i) {
  int width = byte_width(i.type);
  address(i, x17);
  put(Form::VMoviMask, {v31, 0});
  for (int lane = 0; lane < i.lanes; lane++) {
    skip_if_off(phys(i.c), width, lane, 2);
    put(Form::AddImmediate, {x16, x17, lane * width, 0});
    put(lane_loads[size_of(width)], {v31, lane, x16});
  }
  vmove(phys(i.dst), v31);
}

void Emitter::emit_masked_store(const Inst& i) {
  int width = byte_width(i.type);
  address(i, x17);
  for (int lane = 0; lane < i.lanes; lane++) {
    skip_if_off(phys(i.c), width, lane, 2);
    put(Form::AddImmediate, {x16, x17, lane * width, 0});
    put(lane_stores[size_of(width)], {phys(i.a), lane, x16});
  }
}

void Emitter::emit_gather(const Inst& i) {
  int width = byte_width(i.type), index_width = byte_width(i.from);
  Inst base = i;
  base.index = {};
  address(base, x17);
  vmove(v31, phys(i.dst));
  for (int lane = 0; lane < i.lanes; lane++) {
    skip_if_off(phys(i.c), width, lane, 3);
    extract_lane(x16, phys(i.a), index_width, lane, true);
    put(Form::Add, {x16, x17, x16, size_of(i.scale)});
    put(lane_loads[size_of(width)], {v31, lane, x16});
  }
  vmove(phys(i.dst), v31);
}

}  // namespace hloc::aarch64
