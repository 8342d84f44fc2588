// Memory, constants and arithmetic of vectors. Vectors below 16 bytes are computed in xmm registers, whatever the unused
// lanes hold; only memory is touched in the exact size.
#include <algorithm>
#include <array>
#include <cstring>

#include "backends/cpu/x86/emitter.h"

namespace hloc::x86 {

// ---- moves and memory --------------------------------------------------------------------------------------------

void Emitter::move(const Xmm& to, const Xmm& from) {
  if (to.getIdx() != from.getIdx()) vmovaps(to, from);
}

void Emitter::load_bytes(const Xmm& to, const Address& from, int bytes) {
  switch (bytes) {
    case 1: vxorps(to, to, to), vpinsrb(to, to, from, 0); return;
    case 2: vxorps(to, to, to), vpinsrw(to, to, from, 0); return;
    case 4: vmovss(to, from); return;
    case 8: vmovsd(to, from); return;
    default: vmovups(to, from); return;
  }
}

void Emitter::store_bytes(const Address& to, const Xmm& from, int bytes) {
  switch (bytes) {
    case 1: vpextrb(to, from, 0); return;
    case 2: vpextrw(to, from, 0); return;
    case 4: vmovss(to, from); return;
    case 8: vmovsd(to, from); return;
    default: vmovups(to, from); return;
  }
}

void Emitter::emit_stream_store(const Inst& i) {
  if (i.vtype().bytes() >= 16) vmovntps(memory(i), v(i.a, i));
  else store_bytes(memory(i), v(i.a, i), i.vtype().bytes());
}

void Emitter::broadcast_load(const Xmm& to, const Address& from, int width, bool scalar) {
  if (scalar) return load_bytes(to, from, width);
  if (width == 1) vpbroadcastb(to, from);
  else if (width == 2) vpbroadcastw(to, from);
  else if (width == 4) vbroadcastss(to, from);
  else if (to.isXMM()) vmovddup(to, from);
  else vbroadcastsd(Ymm(to.getIdx(), to.getKind(), static_cast<int>(to.getBit())), from);
}

void Emitter::emit_broadcast(const Inst& i) {
  Xmm to = v(i.dst, i), from = v(i.a, 16);
  switch (byte_width(i.type)) {
    case 1: vpbroadcastb(to, from); return;
    case 2: vpbroadcastw(to, from); return;
    case 4: vbroadcastss(to, from); return;
    default: vpbroadcastq(to, from); return;
  }
}

void Emitter::emit_const(const Inst& i) {
  Xmm to = v(i.dst, i);
  int width = byte_width(i.type);
  auto bits = static_cast<uint64_t>(i.imm);
  if (bits == 0) {
    Xmm low(to.getIdx());  // writing xmm clears the rest
    vxorps(low, low, low);
  } else if (bits == machine::low_mask(width * 8)) {
    v4_ ? vpternlogd(to, to, to, 0xff) : vpcmpeqd(to, to, to);
  } else {
    std::array<std::byte, 8> element;
    std::memcpy(element.data(), &bits, 8);
    broadcast_load(to, constant({element.data(), static_cast<size_t>(width)}, width <= 2 && i.lanes == 1), width, i.lanes == 1);
  }
}

void Emitter::emit_data(const Inst& i) {
  int bytes = i.vtype().bytes();
  load_bytes(v(i.dst, i), constant(f_->data[static_cast<size_t>(i.imm)].bytes, bytes <= 2), bytes);
}

void Emitter::emit_masked_load(const Inst& i) {
  Xmm to = v(i.dst, i);
  Address at = memory(i);
  int width = byte_width(i.type);
  if (!v4_) {
    Xmm mask = v(i.c, i);
    width == 4 ? vmaskmovps(to, mask, at) : vmaskmovpd(to, mask, at);
    return;
  }
  Xmm masked = to | k(i.c) | T_z;
  if (width == 1) vmovdqu8(masked, at);
  else if (width == 2) vmovdqu16(masked, at);
  else if (width == 4) vmovups(masked, at);
  else vmovupd(masked, at);
}

void Emitter::emit_masked_store(const Inst& i) {
  Xmm from = v(i.a, i);
  Address at = memory(i);
  int width = byte_width(i.type);
  if (!v4_) {
    Xmm mask = v(i.c, i);
    width == 4 ? vmaskmovps(at, mask, from) : vmaskmovpd(at, mask, from);
    return;
  }
  Address masked = at | k(i.c);
  if (width == 1) vmovdqu8(masked, from);
  else if (width == 2) vmovdqu16(masked, from);
  else if (width == 4) vmovups(masked, from);
  else vmovupd(masked, from);
}

void Emitter::emit_gather(const Inst& i) {
  int width = byte_width(i.type), index_width = byte_width(i.from), index_bytes = index_width * i.lanes;
  Xmm to = v(i.dst, i), index = v(i.a, index_bytes);
  Address at = ptr[g(i.base) + index * i.scale + i.disp];
  if (v4_) {
    Xmm masked = to | k(i.c);
    if (index_width == 4) width == 4 ? vgatherdps(masked, at) : vgatherdpd(masked, at);
    else width == 4 ? vgatherqps(masked, at) : vgatherqpd(masked, at);
    return;
  }
  Xmm mask = v(i.c, i);
  if (index_width == 4) width == 4 ? vgatherdps(to, at, mask) : vgatherdpd(to, at, mask);
  else width == 4 ? vgatherqps(to, at, mask) : vgatherqpd(to, at, mask);
}

// ---- arithmetic --------------------------------------------------------------------------------------------------

void Emitter::emit_arithmetic(const Inst& i) {
  int width = byte_width(i.type);
  if (i.op == Op::VMulLow) return three(&Emitter::vpmuludq, i);
  if (is_float(i.type)) {
    if (i.op == Op::VAdd) three_float(i, &Emitter::vaddps, &Emitter::vaddpd, &Emitter::vaddss, &Emitter::vaddsd);
    else if (i.op == Op::VSub) three_float(i, &Emitter::vsubps, &Emitter::vsubpd, &Emitter::vsubss, &Emitter::vsubsd);
    else three_float(i, &Emitter::vmulps, &Emitter::vmulpd, &Emitter::vmulss, &Emitter::vmulsd);
    return;
  }
  using Packed = void (CodeGenerator::*)(const Xmm&, const Xmm&, const Operand&);
  static constexpr Packed methods[3][4] = {
      {&CodeGenerator::vpaddb, &CodeGenerator::vpaddw, &CodeGenerator::vpaddd, &CodeGenerator::vpaddq},
      {&CodeGenerator::vpsubb, &CodeGenerator::vpsubw, &CodeGenerator::vpsubd, &CodeGenerator::vpsubq},
      {nullptr, &CodeGenerator::vpmullw, &CodeGenerator::vpmulld, &CodeGenerator::vpmullq}};
  int row = i.op == Op::VAdd ? 0 : i.op == Op::VSub ? 1 : 2;
  three(methods[row][__builtin_ctz(static_cast<unsigned>(width))], i);
}

void Emitter::emit_min_max(const Inst& i) {
  bool max = i.op == Op::VMax || i.op == Op::VMaxRaw;
  if (!is_float(i.type)) return emit_integer_min_max(i, max);
  if (max) three_float(i, &Emitter::vmaxps, &Emitter::vmaxpd, &Emitter::vmaxss, &Emitter::vmaxsd);
  else three_float(i, &Emitter::vminps, &Emitter::vminpd, &Emitter::vminss, &Emitter::vminsd);
}

void Emitter::emit_integer_min_max(const Inst& i, bool max) {
  using Packed = void (CodeGenerator::*)(const Xmm&, const Xmm&, const Operand&);
  static constexpr Packed methods[2][2][4] = {
      {{&CodeGenerator::vpminub, &CodeGenerator::vpminuw, &CodeGenerator::vpminud, &CodeGenerator::vpminuq},
       {&CodeGenerator::vpmaxub, &CodeGenerator::vpmaxuw, &CodeGenerator::vpmaxud, &CodeGenerator::vpmaxuq}},
      {{&CodeGenerator::vpminsb, &CodeGenerator::vpminsw, &CodeGenerator::vpminsd, &CodeGenerator::vpminsq},
       {&CodeGenerator::vpmaxsb, &CodeGenerator::vpmaxsw, &CodeGenerator::vpmaxsd, &CodeGenerator::vpmaxsq}}};
  three(methods[is_signed_integer(i.type)][max][__builtin_ctz(static_cast<unsigned>(byte_width(i.type)))], i);
}

// The forms differ in which operand is overwritten: 213 (dst = b * dst + c), 231 (dst = a * b + dst), and in which one may be
// memory, the last.
void Emitter::emit_fma(const Inst& i) {
  using Packed = void (CodeGenerator::*)(const Xmm&, const Xmm&, const Operand&);
  struct Row {
    Packed form213[4], form231[4];  // ps pd ss sd
  };
#define HLOC_FMA_ROW(name)                                                                                                  \
  {{&CodeGenerator::name##213ps, &CodeGenerator::name##213pd, &CodeGenerator::name##213ss, &CodeGenerator::name##213sd},  \
   {&CodeGenerator::name##231ps, &CodeGenerator::name##231pd, &CodeGenerator::name##231ss, &CodeGenerator::name##231sd}}
  static constexpr Row rows[] = {HLOC_FMA_ROW(vfmadd), HLOC_FMA_ROW(vfmsub), HLOC_FMA_ROW(vfnmadd), HLOC_FMA_ROW(vfnmsub)};
#undef HLOC_FMA_ROW
  const Row& r = rows[static_cast<int>(i.op) - static_cast<int>(Op::VFma)];
  int form = (i.lanes == 1 ? 2 : 0) + (i.type == ElementType::f64);
  Xmm d = v(i.dst, i), a = v(i.a, i);
  bool b_is_dst = i.b && phys(i.b) == d.getIdx();
  if (!i.c) {
    if (!b_is_dst) move(d, a);
    return (this->*r.form213[form])(d, b_is_dst ? a : v(i.b, i), memory(i));
  }
  Xmm c = v(i.c, i);
  if (d.getIdx() != c.getIdx() && (d.getIdx() == a.getIdx() || b_is_dst)) {
    // A product's factor dies here: d = other * d + c. Folded memory can be the addend only, so it needs the 231 form.
    if (d.getIdx() == a.getIdx() && i.b) return (this->*r.form213[form])(d, v(i.b, i), c);
    if (b_is_dst) return (this->*r.form213[form])(d, a, c);
    static constexpr Packed form132[4][4] = {
        {&CodeGenerator::vfmadd132ps, &CodeGenerator::vfmadd132pd, &CodeGenerator::vfmadd132ss, &CodeGenerator::vfmadd132sd},
        {&CodeGenerator::vfmsub132ps, &CodeGenerator::vfmsub132pd, &CodeGenerator::vfmsub132ss, &CodeGenerator::vfmsub132sd},
        {&CodeGenerator::vfnmadd132ps, &CodeGenerator::vfnmadd132pd, &CodeGenerator::vfnmadd132ss, &CodeGenerator::vfnmadd132sd},
        {&CodeGenerator::vfnmsub132ps, &CodeGenerator::vfnmsub132pd, &CodeGenerator::vfnmsub132ss, &CodeGenerator::vfnmsub132sd}};
    return (this->*form132[static_cast<int>(i.op) - static_cast<int>(Op::VFma)][form])(d, c, b_operand(i));
  }
  move(d, c);
  (this->*r.form231[form])(d, a, b_operand(i));
}

// All three are alike, so the one that the result replaces comes first.
void Emitter::emit_majority(const Inst& i) {
  constexpr uint8_t two_or_three = 0xe8;
  Reg sources[] = {i.a, i.b, i.c};
  for (int s : {1, 2})
    if (phys(sources[s]) == phys(i.dst)) std::swap(sources[0], sources[s]);
  Xmm d = v(i.dst, i);
  move(d, v(sources[0], i));
  vpternlogd(d, v(sources[1], i), v(sources[2], i), two_or_three);
}

void Emitter::emit_sqrt(const Inst& i) {
  Xmm d = v(i.dst, i), a = v(i.a, i);
  bool single = i.type == ElementType::f32;
  if (i.lanes == 1) single ? vsqrtss(d, a, a) : vsqrtsd(d, a, a);
  else single ? vsqrtps(d, a) : vsqrtpd(d, a);
}

void Emitter::emit_abs(const Inst& i) {
  Xmm d = v(i.dst, i), a = v(i.a, i);
  switch (byte_width(i.type)) {
    case 1: vpabsb(d, a); return;
    case 2: vpabsw(d, a); return;
    case 4: vpabsd(d, a); return;
    default: vpabsq(d, a); return;
  }
}

void Emitter::emit_round(const Inst& i) {
  static constexpr uint8_t modes[] = {0, 1, 2, 3};  // nearest, floor, ceil, trunc
  auto imm = static_cast<uint8_t>(8 | modes[static_cast<int>(i.round)]);  // 8: no exception for inexact
  Xmm d = v(i.dst, i), a = v(i.a, i);
  bool single = i.type == ElementType::f32;
  if (v4_) {
    if (i.lanes == 1) single ? vrndscaless(d, a, a, imm) : vrndscalesd(d, a, a, imm);
    else single ? vrndscaleps(d, a, imm) : vrndscalepd(d, a, imm);
  } else {
    if (i.lanes == 1) single ? vroundss(d, a, a, imm) : vroundsd(d, a, a, imm);
    else single ? vroundps(d, a, imm) : vroundpd(d, a, imm);
  }
}

void Emitter::emit_vector_shift(const Inst& i) {
  if (i.b) return emit_variable_shift(i);
  Xmm d = v(i.dst, i), a = v(i.a, i);
  auto n = static_cast<uint8_t>(i.imm);
  switch (byte_width(i.type)) {
    case 2: return i.op == Op::VShl ? vpsllw(d, a, n) : i.op == Op::VShr ? vpsrlw(d, a, n) : vpsraw(d, a, n);
    case 4: return i.op == Op::VShl ? vpslld(d, a, n) : i.op == Op::VShr ? vpsrld(d, a, n) : vpsrad(d, a, n);
    default: return i.op == Op::VShl ? vpsllq(d, a, n) : i.op == Op::VShr ? vpsrlq(d, a, n) : vpsraq(d, a, n);
  }
}

void Emitter::emit_variable_shift(const Inst& i) {
  Xmm d = v(i.dst, i), a = v(i.a, i), b = v(i.b, i);
  switch (byte_width(i.type)) {
    case 2: return i.op == Op::VShl ? vpsllvw(d, a, b) : i.op == Op::VShr ? vpsrlvw(d, a, b) : vpsravw(d, a, b);
    case 4: return i.op == Op::VShl ? vpsllvd(d, a, b) : i.op == Op::VShr ? vpsrlvd(d, a, b) : vpsravd(d, a, b);
    default: return i.op == Op::VShl ? vpsllvq(d, a, b) : i.op == Op::VShr ? vpsrlvq(d, a, b) : vpsravq(d, a, b);
  }
}

void Emitter::emit_vector_count(const Inst& i) {
  Xmm d = v(i.dst, i), a = v(i.a, i);
  bool narrow = byte_width(i.type) == 4;
  if (i.op == Op::VLeadingZeros) narrow ? vplzcntd(d, a) : vplzcntq(d, a);
  else if (byte_width(i.type) >= 4) narrow ? vpopcntd(d, a) : vpopcntq(d, a);
  else byte_width(i.type) == 1 ? vpopcntb(d, a) : vpopcntw(d, a);
}

}  // namespace hloc::x86
