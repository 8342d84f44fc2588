// Masks. AVX-512: k registers, bit l for lane l, unspecified bits above the lanes. AVX2: vector registers whose lanes are
// all ones or all zeros, as wide as the elements that they are for.
#include <array>
#include <cstring>

#include "backends/cpu/x86/emitter.h"

namespace hloc::x86 {

void Emitter::emit_mask_k(const Inst& i) {
  Opmask d = k(i.dst);
  if (i.op == Op::MConst) {
    if (i.imm == 0) return kxorq(d, d, d);
    kxnorq(d, d, d);
    if (i.lanes < 64) kshiftrq(d, d, static_cast<uint8_t>(64 - i.lanes));
    return;
  }
  Opmask a = k(i.a);
  if (i.op == Op::MMov) return d.getIdx() == a.getIdx() ? void() : kmovq(d, a);
  if (i.op == Op::MNot) return knotq(d, a);
  Opmask b = k(i.b);
  if (i.op == Op::MAnd) kandq(d, a, b);
  else if (i.op == Op::MOr) korq(d, a, b);
  else if (i.op == Op::MXor) kxorq(d, a, b);
  else kandnq(d, a, b);
}

void Emitter::emit_mask_vector(const Inst& i) {
  Xmm d = v(i.dst, i), low(d.getIdx());
  int bytes = i.vtype().bytes();
  if (i.op == Op::MConst) {
    if (i.imm == 0) return vxorps(low, low, low);
    if (bytes >= 16) return vpcmpeqd(d, d, d);
    std::array<std::byte, 16> exact{};
    std::memset(exact.data(), 0xff, static_cast<size_t>(bytes));
    return vmovaps(d, constant(exact, 0));
  }
  Xmm a = v(i.a, i);
  if (i.op == Op::MMov) return move(d, a);
  if (i.op == Op::MNot) return vpcmpeqd(d, d, d), vxorps(d, d, a);
  Xmm b = v(i.b, i);
  if (i.op == Op::MAnd) vandps(d, a, b);
  else if (i.op == Op::MOr) vorps(d, a, b);
  else if (i.op == Op::MXor) vxorps(d, a, b);
  else vandnps(d, a, b);
}

void Emitter::emit_mask_convert(const Inst& i) {
  if (v4_) {
    if (k(i.dst).getIdx() != k(i.a).getIdx()) kmovq(k(i.dst), k(i.a));
    return;
  }
  int to = byte_width(i.type), from = byte_width(i.from), bytes = from * i.lanes;
  if (to >= from) {
    Inst extend = i;
    extend.type = machine::signed_of(to), extend.from = machine::signed_of(from);
    return convert_integer(extend, v(i.dst, i), v(i.a, bytes));
  }
  // Packing keeps all-ones lanes; 64 to 32 bits takes every other word. The upper half comes first into dst.
  Xmm d(phys(i.dst)), low(phys(i.a)), high(phys(i.a));
  if (bytes == 32) {
    vextractf128(d, Ymm(phys(i.a)), 1);
    high = d;
  }
  if (from == 8) vshufps(d, low, high, 0x88);
  else if (from == 4) vpackssdw(d, low, high);
  else vpacksswb(d, low, high);
  for (from /= 2; from > to; from /= 2) from == 4 ? vpackssdw(d, d, d) : vpacksswb(d, d, d);
}

void Emitter::emit_mask_bits(const Inst& i) {
  Reg64 d = g(i.dst);
  if (v4_) {
    kmovq(d, k(i.a));
  } else {
    Xmm a = v(i.a, i);
    int width = byte_width(i.type);  // 2 was converted to 1 by `legalise`
    if (width == 1) vpmovmskb(d.cvt32(), a);
    else width == 4 ? vmovmskps(d.cvt32(), a) : vmovmskpd(d.cvt32(), a);
    if (i.vtype().bytes() >= 16) return;  // exact already
  }
  if (i.lanes == 32) mov(d.cvt32(), d.cvt32());
  else if (i.lanes < 32) and_(d.cvt32(), static_cast<uint32_t>(machine::low_mask(i.lanes)));
}

// AVX2: each lane picks its bit. Bytes first need the byte that holds it.
void Emitter::emit_mask_from_bits(const Inst& i) {
  Reg64 from = g(i.a);
  if (v4_) return kmovq(k(i.dst), from);
  Xmm d = v(i.dst, i), low(d.getIdx());
  int width = byte_width(i.type), bytes = std::max(16, i.vtype().bytes());
  std::array<std::byte, 32> bits{};
  for (int l = 0; l * width < bytes; l++) {
    uint64_t lane_bit = uint64_t{1} << (width == 1 ? l % 8 : l);
    std::memcpy(bits.data() + l * width, &lane_bit, static_cast<size_t>(width));
  }
  std::span<const std::byte> used(bits.data(), static_cast<size_t>(bytes));
  width == 8 ? vmovq(low, from) : vmovd(low, from.cvt32());
  if (width == 8) {
    vpbroadcastq(d, low), vandpd(d, d, constant(used, 0)), vpcmpeqq(d, d, constant(used, 0));
  } else if (width == 4) {
    vpbroadcastd(d, low), vandps(d, d, constant(used, 0)), vpcmpeqd(d, d, constant(used, 0));
  } else if (width == 2) {
    vpbroadcastw(d, low), vandps(d, d, constant(used, 0)), vpcmpeqw(d, d, constant(used, 0));
  } else {
    std::array<std::byte, 32> pick;
    for (size_t l = 0; l < 32; l++) pick[l] = static_cast<std::byte>(l / 8);
    vpbroadcastd(d, low);
    vpshufb(d, d, constant({pick.data(), static_cast<size_t>(bytes)}, 0));
    vandps(d, d, constant(used, 0)), vpcmpeqb(d, d, constant(used, 0));
  }
}

// AVX2 only: is the count greater than the lane's number? (AVX-512 goes by bits, see `legalise`.)
void Emitter::emit_mask_tail(const Inst& i) {
  Xmm d = v(i.dst, i), low(d.getIdx());
  Reg64 n = g(i.a);
  int width = byte_width(i.type), bytes = std::max(16, i.vtype().bytes());
  std::array<std::byte, 32> numbers{};
  for (int l = 0; l * width < bytes; l++) numbers[static_cast<size_t>(l * width)] = static_cast<std::byte>(l);
  std::span<const std::byte> used(numbers.data(), static_cast<size_t>(bytes));
  width == 8 ? vmovq(low, n) : vmovd(low, n.cvt32());
  if (width == 8) vpbroadcastq(d, low), vpcmpgtq(d, d, constant(used, 0));
  else if (width == 4) vpbroadcastd(d, low), vpcmpgtd(d, d, constant(used, 0));
  else if (width == 2) vpbroadcastw(d, low), vpcmpgtw(d, d, constant(used, 0));
  else vpbroadcastb(d, low), vpcmpgtb(d, d, constant(used, 0));
}

void Emitter::emit_mask_test(const Inst& i) {
  Reg64 d = g(i.dst);
  bool any = i.op == Op::MAny;
  int bits = i.lanes;
  if (v4_) {
    kmovq(d, k(i.a));
  } else {
    int width = byte_width(i.type);
    Xmm a = v(i.a, i);
    if (width == 4) vmovmskps(d.cvt32(), a);
    else if (width == 8) vmovmskpd(d.cvt32(), a);
    else vpmovmskb(d.cvt32(), a), bits *= width;  // two equal bits a 16-bit lane
  }
  // Bits above the lanes are shifted out; all are on if the complement has none.
  if (!any) not_(d);
  if (bits < 64) shl(d, 64 - bits);
  else test(d, d);
  any ? setne(d.cvt8()) : sete(d.cvt8());
  movzx(d.cvt32(), d.cvt8());
}

}  // namespace hloc::x86
