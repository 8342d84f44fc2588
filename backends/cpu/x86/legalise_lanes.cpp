// Sequences for moving lanes and for masks.
#include <array>

#include "backends/cpu/x86/legalise.h"

namespace hloc::x86 {

using machine::Builder;
using machine::Cond;
using machine::Inst;
using machine::Op;
using machine::Reg;
using machine::unsigned_of;
using machine::VType;

namespace {

// The type of one 16-byte block of x's vector.
VType block_type(const Expansion& x) { return {x.i.type, static_cast<uint8_t>(16 / x.width())}; }

bool extract_from_upper(const Expansion& x) {
  VType block = block_type(x);
  if (x.i.imm < block.lanes) return false;
  Reg part = x.b.vpart(block, x.i.a, static_cast<int>(x.i.imm / block.lanes));
  x.b.vextract(block, part, static_cast<int>(x.i.imm % block.lanes), x.i.dst);
  return true;
}

bool insert_into_half(const Expansion& x) {
  if (x.type().bytes() <= 16) return false;
  VType half = x.half();
  Reg low = x.i.a, high = x.b.vpart(half, x.i.a, 1);
  if (x.i.imm < half.lanes) low = x.b.vinsert(half, low, x.i.b, static_cast<int>(x.i.imm));
  else high = x.b.vinsert(half, high, x.i.b, static_cast<int>(x.i.imm) - half.lanes);
  x.b.vconcat(x.type(), low, high, x.i.dst);
  return true;
}

bool part_of_upper(const Expansion& x) {
  int bytes = x.type().bytes();
  int64_t at = x.i.imm * bytes;
  if (bytes >= 16 || at < 16) return false;
  Reg block = x.b.vpart(block_type(x), x.i.a, static_cast<int>(at / 16));
  x.b.vpart(x.type(), block, static_cast<int>(at % 16 / bytes), x.i.dst);
  return true;
}

// Indices of wide lanes become indices of their halves: i to 2i, 2i + 1 in the two halves of each.
void permute_by_halves(const Expansion& x) {
  Builder& b = x.b;
  int width = x.width();
  VType index{unsigned_of(width), x.i.lanes}, halves{unsigned_of(width / 2), static_cast<uint8_t>(x.i.lanes * 2)};
  Reg doubled = b.vshl(index, x.i.b, 1);
  Reg both = b.vor(index, doubled, b.vshl(index, doubled, 4 * width));
  Reg indices = b.vor(index, both, b.vconst_bits(index, uint64_t{1} << (4 * width)));
  b.vpermute(halves, x.i.a, indices, x.i.dst);
}

// Bytes across blocks: look each block's table up with indices that are out of its range for the other blocks.
void permute_bytes(const Expansion& x) {
  Builder& b = x.b;
  VType t{ElementType::u8, x.i.lanes};
  Reg result;
  for (int block = 0; block * 16 < x.i.lanes; block++) {
    Reg table = x.i.lanes == 32 ? b.vblocks(t, x.i.a, x.i.a, {block, block})
                                : b.vblocks(t, x.i.a, x.i.a, {block, block, block, block});
    // i ^ (block * 16) is below 16 just for this block; adding 0x70 turns everything else's top bit on.
    Reg inside = block == 0 ? x.i.b : b.vxor(t, x.i.b, b.vconst_bits(t, static_cast<uint64_t>(block * 16)));
    Reg found = b.vtable(t, table, b.vadd(t, inside, b.vconst_bits(t, 0x70)));
    result = block == 0 ? found : b.vor(t, result, found);
  }
  b.vmov(t, result, x.i.dst);
}

bool expand_permute(const Expansion& x) {
  int bytes = x.type().bytes();
  if (x.i.lanes == 1) return x.b.vmov(x.type(), x.i.a, x.i.dst), true;
  switch (x.width()) {
    case 1: return bytes <= 16 ? false : (permute_bytes(x), true);
    case 2: return x.features.v4 ? false : (permute_by_halves(x), true);
    case 4: return false;
    default: return x.features.v4 && bytes >= 32 ? false : (permute_by_halves(x), true);
  }
}

}  // namespace

bool expand_lanes(const Expansion& x) {
  if (x.i.op == Op::VExtract) return extract_from_upper(x);
  if (x.i.op == Op::VInsert) return insert_into_half(x);
  if (x.i.op == Op::VPart) return part_of_upper(x);
  if (x.i.op == Op::VPermute) return expand_permute(x);
  if (x.i.op == Op::VBroadcast && x.i.lanes == 1) return x.b.vmov(x.type(), x.i.a, x.i.dst), true;
  return false;
}

// ---- masks -------------------------------------------------------------------------------------------------------

namespace {

// These instructions have no use for `imm`; 1 says that a rule has been here.
constexpr int64_t done = 1;

// Below 16 bytes the instruction covers more lanes than the vector has; those must be off for sure.
bool mask_off_unused_lanes(const Expansion& x) {
  if (x.type().bytes() >= 16 || x.i.imm == done) return false;
  Inst exact = x.i;
  exact.c = x.b.mand(x.type(), x.i.c, x.b.mconst(x.type(), true));
  exact.imm = done;
  x.b.emit(exact);
  return true;
}

bool expand_tail(const Expansion& x) {
  Builder& b = x.b;
  if (x.features.v4) {
    Reg most = b.mov(64);
    b.mfrom_bits(x.type(), b.low_bits(b.select(Cond::ult, x.i.a, most, x.i.a, most)), x.i.dst);
    return true;
  }
  if (x.width() >= 4 || x.i.imm == done) return false;
  Reg lanes = b.mov(x.i.lanes);  // counts must fit into a lane
  Inst exact = x.i;
  exact.a = b.select(Cond::ult, x.i.a, lanes, x.i.a, lanes);
  exact.imm = done;
  b.emit(exact);
  return true;
}

}  // namespace

bool expand_masks(const Expansion& x) {
  if (x.i.op == Op::MTail) return expand_tail(x);
  if (x.i.op == Op::MBits) {
    if (x.features.v4 || x.width() != 2) return false;
    VType bytes = x.with(ElementType::u8);
    x.b.mbits(bytes, x.b.mconvert(bytes, x.i.type, x.i.a), x.i.dst);
    return true;
  }
  return mask_off_unused_lanes(x);
}

}  // namespace hloc::x86
