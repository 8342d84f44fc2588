// Conversions, comparisons, and moving lanes.
#include "backends/cpu/x86/emitter.h"

namespace hloc::x86 {

// ---- single lanes ------------------------------------------------------------------------------------------------

void Emitter::emit_splat(const Inst& i) {
  Xmm to = v(i.dst, i);
  Reg64 from = g(i.a);
  int width = byte_width(i.type);
  if (i.lanes == 1 || !v4_) {
    Xmm low(to.getIdx());
    width == 8 ? vmovq(low, from) : vmovd(low, from.cvt32());
    if (i.lanes == 1) return;
    if (width == 1) vpbroadcastb(to, low);
    else if (width == 2) vpbroadcastw(to, low);
    else if (width == 4) vpbroadcastd(to, low);
    else vpbroadcastq(to, low);
    return;
  }
  if (width == 1) vpbroadcastb(to, from.cvt8());
  else if (width == 2) vpbroadcastw(to, from.cvt16());
  else if (width == 4) vpbroadcastd(to, from.cvt32());
  else vpbroadcastq(to, from);
}

// `legalise` has brought the lane into the lowest 16 bytes.
void Emitter::emit_extract(const Inst& i) {
  Reg64 to = g(i.dst);
  Xmm from = v(i.a, 16);
  auto lane = static_cast<uint8_t>(i.imm);
  switch (byte_width(i.type)) {
    case 1:
      vpextrb(to.cvt32(), from, lane);
      if (is_signed_integer(i.type)) movsx(to, to.cvt8());
      return;
    case 2:
      vpextrw(to.cvt32(), from, lane);
      if (is_signed_integer(i.type)) movsx(to, to.cvt16());
      return;
    case 4:
      lane == 0 ? vmovd(to.cvt32(), from) : vpextrd(to.cvt32(), from, lane);
      if (is_signed_integer(i.type)) movsxd(to, to.cvt32());
      return;
    default: lane == 0 ? vmovq(to, from) : vpextrq(to, from, lane); return;
  }
}

void Emitter::emit_insert(const Inst& i) {
  Xmm to = v(i.dst, 16), a = v(i.a, 16);
  Reg64 from = g(i.b);
  auto lane = static_cast<uint8_t>(i.imm);
  switch (byte_width(i.type)) {
    case 1: vpinsrb(to, a, from.cvt32(), lane); return;
    case 2: vpinsrw(to, a, from.cvt32(), lane); return;
    case 4: vpinsrd(to, a, from.cvt32(), lane); return;
    default: vpinsrq(to, a, from, lane); return;
  }
}

// ---- conversions -------------------------------------------------------------------------------------------------

void Emitter::emit_convert(const Inst& i) {
  Xmm to = v(i.dst, i), from = v(i.a, byte_width(i.from) * i.lanes);
  if (is_float(i.type) || is_float(i.from)) convert_float(i, to, from);
  else convert_integer(i, to, from);
}

// Widening on both families, narrowing (by dropping upper halves) on AVX-512.
void Emitter::convert_integer(const Inst& i, const Xmm& to, const Xmm& from) {
  int wide = byte_width(i.type), narrow = byte_width(i.from);
  if (wide < narrow) {
    switch (narrow * 10 + wide) {
      case 21: vpmovwb(to, from); return;
      case 41: vpmovdb(to, from); return;
      case 42: vpmovdw(to, from); return;
      case 81: vpmovqb(to, from); return;
      case 82: vpmovqw(to, from); return;
      default: vpmovqd(to, from); return;
    }
  }
  bool sign = is_signed_integer(i.from);
  switch (narrow * 10 + wide) {
    case 12: sign ? vpmovsxbw(to, from) : vpmovzxbw(to, from); return;
    case 14: sign ? vpmovsxbd(to, from) : vpmovzxbd(to, from); return;
    case 18: sign ? vpmovsxbq(to, from) : vpmovzxbq(to, from); return;
    case 24: sign ? vpmovsxwd(to, from) : vpmovzxwd(to, from); return;
    case 28: sign ? vpmovsxwq(to, from) : vpmovzxwq(to, from); return;
    default: sign ? vpmovsxdq(to, from) : vpmovzxdq(to, from); return;
  }
}

void Emitter::convert_float(const Inst& i, const Xmm& to, const Xmm& from) {
  using ElementType::f16, ElementType::f32, ElementType::f64, ElementType::s32, ElementType::s64, ElementType::u32,
      ElementType::u64;
  auto pair = [](ElementType result, ElementType source) { return static_cast<int>(result) << 8 | static_cast<int>(source); };
  switch (pair(i.type, i.from)) {
    case pair(f64, f32): vcvtps2pd(to, from); return;
    case pair(f32, f64): vcvtpd2ps(to, from); return;
    case pair(f32, f16): vcvtph2ps(to, from); return;
    case pair(f16, f32): vcvtps2ph(to, from, 0); return;  // to nearest even
    case pair(f32, s32): vcvtdq2ps(to, from); return;
    case pair(f64, s32): vcvtdq2pd(to, from); return;
    case pair(s32, f32): vcvttps2dq(to, from); return;
    case pair(s32, f64): vcvttpd2dq(to, from); return;
    case pair(f32, u32): vcvtudq2ps(to, from); return;
    case pair(f64, u32): vcvtudq2pd(to, from); return;
    case pair(u32, f32): vcvttps2udq(to, from); return;
    case pair(u32, f64): vcvttpd2udq(to, from); return;
    case pair(f32, s64): vcvtqq2ps(to, from); return;
    case pair(f64, s64): vcvtqq2pd(to, from); return;
    case pair(s64, f32): vcvttps2qq(to, from); return;
    case pair(s64, f64): vcvttpd2qq(to, from); return;
    case pair(f32, u64): vcvtuqq2ps(to, from); return;
    case pair(f64, u64): vcvtuqq2pd(to, from); return;
    case pair(u64, f32): vcvttps2uqq(to, from); return;
    case pair(u64, f64): vcvttpd2uqq(to, from); return;
    default: HLOC_UNREACHABLE();
  }
}

// ---- comparison and choice ---------------------------------------------------------------------------------------

namespace {

// The quiet predicates of vcmpps.
uint8_t float_predicate(Cond c) {
  switch (c) {
    case Cond::eq: return 0x00;
    case Cond::lt: return 0x11;
    case Cond::le: return 0x12;
    case Cond::gt: return 0x1e;
    case Cond::ge: return 0x1d;
    case Cond::ne: return 0x04;
    case Cond::ord: return 0x07;
    case Cond::uno: return 0x03;
    case Cond::one: return 0x0c;
    case Cond::ueq: return 0x08;
    case Cond::nlt: return 0x15;
    case Cond::nle: return 0x16;
    case Cond::ngt: return 0x1a;
    case Cond::nge: return 0x19;
    case Cond::none: case Cond::ult: case Cond::ule: case Cond::ugt: case Cond::uge: break;
  }
  HLOC_UNREACHABLE();
}

uint8_t integer_predicate(Cond c) {
  constexpr uint8_t codes[] = {0, 0, 4, 1, 2, 6, 5};  // none eq ne lt le gt ge
  return codes[static_cast<size_t>(c)];
}

}  // namespace

void Emitter::emit_vector_compare(const Inst& i) {
  Xmm a = v(i.a, i);
  int size = __builtin_ctz(static_cast<unsigned>(byte_width(i.type)));
  if (is_float(i.type)) {
    uint8_t p = float_predicate(i.cond);
    const Operand& b = b_operand(i, 1);
    bool single = i.type == ElementType::f32, scalar = i.lanes == 1;
    if (v4_) {
      if (scalar) single ? vcmpss(k(i.dst), a, b, p) : vcmpsd(k(i.dst), a, b, p);
      else single ? vcmpps(k(i.dst), a, b, p) : vcmppd(k(i.dst), a, b, p);
    } else {
      Xmm d = v(i.dst, i);
      if (scalar) single ? vcmpss(d, a, b, p) : vcmpsd(d, a, b, p);
      else single ? vcmpps(d, a, b, p) : vcmppd(d, a, b, p);
    }
    return;
  }
  if (v4_) {
    using Compare = void (CodeGenerator::*)(const Opmask&, const Xmm&, const Operand&, uint8_t);
    static constexpr Compare methods[2][4] = {
        {&CodeGenerator::vpcmpub, &CodeGenerator::vpcmpuw, &CodeGenerator::vpcmpud, &CodeGenerator::vpcmpuq},
        {&CodeGenerator::vpcmpb, &CodeGenerator::vpcmpw, &CodeGenerator::vpcmpd, &CodeGenerator::vpcmpq}};
    (this->*methods[is_signed_integer(i.type)][size])(k(i.dst), a, b_operand(i, 1), integer_predicate(i.cond));
    return;
  }
  // AVX2 has equal and (signed) greater; `legalise` leaves eq, gt and lt.
  using Compare = void (CodeGenerator::*)(const Xmm&, const Xmm&, const Operand&);
  static constexpr Compare equal[] = {&CodeGenerator::vpcmpeqb, &CodeGenerator::vpcmpeqw,
                                      &CodeGenerator::vpcmpeqd, &CodeGenerator::vpcmpeqq};
  static constexpr Compare greater[] = {&CodeGenerator::vpcmpgtb, &CodeGenerator::vpcmpgtw,
                                        &CodeGenerator::vpcmpgtd, &CodeGenerator::vpcmpgtq};
  Xmm d = v(i.dst, i);
  if (i.cond == Cond::lt) (this->*greater[size])(d, v(i.b, i), a);
  else (this->*(i.cond == Cond::eq ? equal : greater)[size])(d, a, b_operand(i));
}

void Emitter::emit_vector_select(const Inst& i) {
  Xmm d = v(i.dst, i), yes = v(i.a, i), no = v(i.b, i);
  int width = byte_width(i.type);
  if (v4_) {
    Xmm masked = d | k(i.c);
    if (width == 1) vpblendmb(masked, no, yes);
    else if (width == 2) vpblendmw(masked, no, yes);
    else if (width == 4) vblendmps(masked, no, yes);
    else vblendmpd(masked, no, yes);
    return;
  }
  Xmm mask = v(i.c, i);
  if (width <= 2) vpblendvb(d, no, yes, mask);
  else if (width == 4) vblendvps(d, no, yes, mask);
  else vblendvpd(d, no, yes, mask);
}

// ---- moving lanes ------------------------------------------------------------------------------------------------

// Parts below 16 bytes lie in the lowest 16 bytes (`legalise`).
void Emitter::emit_part(const Inst& i) {
  int bytes = i.vtype().bytes();
  auto part = static_cast<uint8_t>(i.imm);
  if (part == 0) return move(v(i.dst, bytes), v(i.a, bytes));
  if (bytes < 16) return vpsrldq(v(i.dst, 16), v(i.a, 16), static_cast<uint8_t>(part * bytes));
  if (bytes == 32) return vextractf64x4(v(i.dst, 32), Zmm(phys(i.a)), part);
  if (!v4_) return vextractf128(v(i.dst, 16), Ymm(phys(i.a)), part);
  vextractf32x4(v(i.dst, 16), wide(i.a, part >= 2 ? 64 : 32), part);
}

void Emitter::emit_concat(const Inst& i) {
  int bytes = i.vtype().bytes();
  Xmm d = v(i.dst, 16), low = v(i.a, 16), high = v(i.b, 16);
  switch (bytes) {
    case 2: vpunpcklbw(d, low, high); return;
    case 4: vpunpcklwd(d, low, high); return;
    case 8: vunpcklps(d, low, high); return;
    case 16: vunpcklpd(d, low, high); return;
    case 32:
      if (v4_) vinsertf32x4(wide(i.dst, 32), wide(i.a, 32), high, 1);
      else vinsertf128(wide(i.dst, 32), wide(i.a, 32), high, 1);
      return;
    default: vinsertf64x4(Zmm(phys(i.dst)), Zmm(phys(i.a)), Ymm(phys(i.b)), 1); return;
  }
}

void Emitter::emit_permute(const Inst& i) {
  int bytes = i.vtype().bytes();
  Xmm d = v(i.dst, i), a = v(i.a, i), index = v(i.b, i);
  switch (byte_width(i.type)) {
    case 1: vpshufb(d, a, index); return;  // up to 16 bytes
    case 2: vpermw(d, index, a); return;
    case 4: bytes <= 16 ? vpermilps(d, a, index) : vpermps(wide(i.dst, bytes), wide(i.b, bytes), a); return;
    default: vpermpd(wide(i.dst, bytes), wide(i.b, bytes), a); return;
  }
}

void Emitter::emit_zip(const Inst& i) {
  bool low = i.op == Op::VZipLow;
  switch (byte_width(i.type)) {
    case 1: return low ? three(&Emitter::vpunpcklbw, i) : three(&Emitter::vpunpckhbw, i);
    case 2: return low ? three(&Emitter::vpunpcklwd, i) : three(&Emitter::vpunpckhwd, i);
    case 4: return low ? three(&Emitter::vunpcklps, i) : three(&Emitter::vunpckhps, i);
    default: return low ? three(&Emitter::vunpcklpd, i) : three(&Emitter::vunpckhpd, i);
  }
}

// One hexadecimal digit of `imm` a result block.
void Emitter::emit_blocks(const Inst& i) {
  auto digit = [&](int n) { return static_cast<int>(i.imm >> (4 * n) & 15); };
  if (i.vtype().bytes() == 64) {
    int imm = digit(0) | digit(1) << 2 | digit(2) << 4 | digit(3) << 6;
    vshuff32x4(Zmm(phys(i.dst)), Zmm(phys(i.a)), Zmm(phys(i.b)), static_cast<uint8_t>(imm));
  } else if (!v4_) {
    vperm2f128(Ymm(phys(i.dst)), Ymm(phys(i.a)), Ymm(phys(i.b)), static_cast<uint8_t>(digit(0) | digit(1) << 4));
  } else {
    // vshuff32x4 takes block 0 from its first and block 1 from its second source.
    Ymm first(phys(digit(0) < 2 ? i.a : i.b)), second(phys(digit(1) < 2 ? i.a : i.b));
    vshuff32x4(Ymm(phys(i.dst)), first, second, static_cast<uint8_t>((digit(0) & 1) | (digit(1) & 1) << 1));
  }
}

}  // namespace hloc::x86
