// Sequences for arithmetic, shifts and comparisons.
#include <array>
#include <cstring>

#include "backends/cpu/x86/legalise.h"

namespace hloc::x86 {

using machine::Builder;
using machine::Cond;
using machine::Inst;
using machine::Op;
using machine::Reg;
using machine::signed_of;
using machine::unsigned_of;
using machine::VType;

// ---- floats ------------------------------------------------------------------------------------------------------

namespace {

uint64_t sign_bit(int width) { return uint64_t{1} << (8 * width - 1); }

// min = minps(a, b) | minps(b, a): the two differ only for zeros of both signs (one is -0: so is the result) and for NaN
// (all exponent bits stay on). max needs the signs' `and`: the majority of each bit and a constant with all but the sign on
// or, where that takes more instructions, (m | d) - d for d = m ^ n.
void ieee_min_max(const Expansion& x) {
  VType t = x.type();
  Builder& b = x.b;
  if (x.i.op == Op::VMin) {
    b.vor(t, b.vmin_raw(t, x.i.a, x.i.b), b.vmin_raw(t, x.i.b, x.i.a), x.i.dst);
    return;
  }
  Reg m = b.vmax_raw(t, x.i.a, x.i.b), n = b.vmax_raw(t, x.i.b, x.i.a);
  if (x.features.v4) {
    b.vmajority(t, m, n, b.vconst_bits(t, sign_bit(x.width()) - 1), x.i.dst);
    return;
  }
  Reg difference = b.vxor(t, m, n);
  b.vsub(t, b.vor(t, m, difference), difference, x.i.dst);
}

// Ties away from zero: truncate after adding the largest value below one half with x's sign.
void round_away(const Expansion& x) {
  VType t = x.type();
  Builder& b = x.b;
  uint64_t below_half = x.i.type == ElementType::f32 ? 0x3effffff : 0x3fdfffffffffffff;
  Reg sign = b.vand(t, x.i.a, b.vconst_bits(t, sign_bit(x.width())));
  Reg offset = b.vor(t, sign, b.vconst_bits(t, below_half));
  b.vround(t, machine::Round::trunc, b.vadd(t, x.i.a, offset), x.i.dst);
}

}  // namespace

bool expand_float(const Expansion& x) {
  const Inst& i = x.i;
  VType t = x.type();
  if (i.op == Op::VNeg) x.b.vxor(t, i.a, x.b.vconst_bits(t, sign_bit(x.width())), i.dst);
  else if (i.op == Op::VAbs) x.b.vand(t, i.a, x.b.vconst_bits(t, sign_bit(x.width()) - 1), i.dst);
  else if (i.op == Op::VNot) x.b.vxor(t, i.a, x.b.vconst_bits(t, ~uint64_t{0}), i.dst);
  else if (x.width() == 2) machine::through_f32(x);
  else if (i.op == Op::VMin || i.op == Op::VMax) ieee_min_max(x);
  else if (i.op == Op::VRound && i.round == machine::Round::away) round_away(x);
  else return false;
  return true;
}

// ---- integers ----------------------------------------------------------------------------------------------------

namespace {

// 64-bit products from 32-bit halves: lo * lo + ((lo * hi + hi * lo) << 32).
void multiply_64(const Expansion& x) {
  VType t{ElementType::u64, x.i.lanes};
  Builder& b = x.b;
  Reg cross = b.vadd(t, b.vmul_low(t, b.vshr(t, x.i.a, 32), x.i.b), b.vmul_low(t, x.i.a, b.vshr(t, x.i.b, 32)));
  b.vadd(t, b.vmul_low(t, x.i.a, x.i.b), b.vshl(t, cross, 32), x.i.dst);
}

// Bytes in the even and the odd half of 16-bit lanes.
void multiply_8(const Expansion& x) {
  VType t{ElementType::u16, static_cast<uint8_t>(std::max(1, x.i.lanes / 2))};
  Builder& b = x.b;
  Reg even = b.vand(t, b.vmul(t, x.i.a, x.i.b), b.vconst_bits(t, 0x00ff));
  Reg odd = b.vmul(t, b.vshr(t, x.i.a, 8), b.vand(t, x.i.b, b.vconst_bits(t, 0xff00)));
  b.vor(t, even, odd, x.i.dst);  // odd: (a >> 8) * (b & 0xff00) has the product in its upper byte
}

// Quotients of up to 32 bits are exact after truncating a correctly rounded quotient in a float with at least twice the
// digits; total as HLO's: x / 0 is all ones, least / -1 wraps.
void divide_through_floats(const Expansion& x) {
  ElementType wide = x.width() <= 2 ? ElementType::f32 : ElementType::f64;
  if (!x.fits(wide)) return split(x);
  VType t = x.type(), f = x.with(wide);
  Builder& b = x.b;
  Reg zero = b.vzero(t);
  Reg none = b.vcmp(t, Cond::eq, x.i.b, zero);
  Reg safe = b.vselect(t, none, b.vconst_bits(t, 1), x.i.b);
  Reg quotient = b.vdiv(f, b.vconvert(f, x.i.type, x.i.a), b.vconvert(f, x.i.type, safe));
  // least / -1 is one beyond the type: narrow ones drop bits of an s32; for s32 x86's conversion gives the least itself.
  Reg whole = x.width() <= 2 ? b.vconvert(t, ElementType::s32, b.vconvert_raw(x.with(ElementType::s32), wide, quotient))
                             : b.vconvert_raw(t, wide, quotient);
  b.vselect(t, none, b.vconst_bits(t, ~uint64_t{0}), whole, x.i.dst);
}

// Lane by lane through general registers.
void divide_lanes(const Expansion& x) {
  VType t = x.type();
  Builder& b = x.b;
  Reg result = x.i.a;
  for (int lane = 0; lane < x.i.lanes; lane++) {
    Reg q = b.div_total(x.i.type, b.vextract(t, x.i.a, lane), b.vextract(t, x.i.b, lane));
    result = b.vinsert(t, result, q, lane);
  }
  b.vmov(t, result, x.i.dst);
}

void divide(const Expansion& x) {
  VType t = x.type();
  if (x.i.op == Op::VRem) {
    Reg q = x.b.vdiv(t, x.i.a, x.i.b);
    x.b.vsub(t, x.i.a, x.b.vmul(t, q, x.i.b), x.i.dst);  // also right for 0 (q * 0 is 0) and for least / -1
  } else if (x.width() == 8) {
    divide_lanes(x);
  } else {
    divide_through_floats(x);
  }
}

// Population counts of nibbles by table, then sums of neighbouring fields.
void count_ones(const Expansion& x) {
  Builder& b = x.b;
  int width = x.width();
  VType t{unsigned_of(width), x.i.lanes}, bytes{ElementType::u8, static_cast<uint8_t>(x.i.lanes * width)};
  std::array<std::byte, 64> table;
  for (size_t n = 0; n < 64; n++) table[n] = static_cast<std::byte>(__builtin_popcount(n & 15));
  VType whole{ElementType::u8, static_cast<uint8_t>(std::max(16, x.type().bytes()))};
  Reg counts = b.vdata(whole, {table.data(), whole.lanes});
  Reg nibble = b.vconst_bits(bytes, 15);
  Reg low = b.vtable(bytes, counts, b.vand(bytes, x.i.a, nibble));
  Reg high = b.vtable(bytes, counts, b.vand(bytes, b.vshr(bytes, x.i.a, 4), nibble));
  Reg sum = b.vadd(bytes, low, high);
  for (int field = 8; field < 8 * width; field *= 2) sum = b.vadd(t, sum, b.vshr(t, sum, field));
  b.vand(t, sum, b.vconst_bits(t, machine::low_mask(width == 1 ? 8 : 7)), x.i.dst);
}

// Every bit below the highest one on, then the zeros are what is left.
void count_leading_zeros(const Expansion& x) {
  Builder& b = x.b;
  int width = x.width();
  VType t{unsigned_of(width), x.i.lanes};
  if (x.features.v4 && x.fits(ElementType::u32) && width < 4) {
    VType words = x.with(ElementType::u32);
    Reg zeros = b.vlzcnt(words, b.vconvert(words, t.element, x.i.a));
    b.vconvert(t, ElementType::u32, b.vsub(words, zeros, b.vconst_bits(words, static_cast<uint64_t>(32 - 8 * width))), x.i.dst);
    return;
  }
  Reg smeared = x.i.a;
  for (int n = 1; n < 8 * width; n *= 2) smeared = b.vor(t, smeared, b.vshr(t, smeared, n));
  b.vpopcnt(t, b.vnot(t, smeared), x.i.dst);
}

bool has_vector_popcount(const Expansion& x) {
  return x.width() >= 4 ? x.features.avx512_vpopcntdq : x.features.avx512_bitalg;
}

void integer_abs(const Expansion& x) {
  VType t = x.type();
  if (!is_signed_integer(x.i.type)) return void(x.b.vmov(t, x.i.a, x.i.dst));
  Reg zero = x.b.vzero(t);
  x.b.vselect(t, x.b.vcmp(t, Cond::gt, zero, x.i.a), x.b.vsub(t, zero, x.i.a), x.i.a, x.i.dst);
}

}  // namespace

bool expand_integer(const Expansion& x) {
  const Inst& i = x.i;
  VType t = x.type();
  bool wide_without_v4 = x.width() == 8 && !x.features.v4;
  bool min = i.op == Op::VMin || i.op == Op::VMinRaw, max = i.op == Op::VMax || i.op == Op::VMaxRaw;
  if (i.op == Op::VNeg) x.b.vsub(t, x.b.vzero(t), i.a, i.dst);
  else if (i.op == Op::VNot) x.b.vxor(t, i.a, x.b.vconst_bits(t, ~uint64_t{0}), i.dst);
  else if (i.op == Op::VAbs && (wide_without_v4 || !is_signed_integer(i.type))) integer_abs(x);
  else if (i.op == Op::VMul && x.width() == 1) multiply_8(x);
  else if (i.op == Op::VMul && wide_without_v4) multiply_64(x);
  else if (max && wide_without_v4) x.b.vselect(t, x.b.vcmp(t, Cond::gt, i.a, i.b), i.a, i.b, i.dst);
  else if (min && wide_without_v4) x.b.vselect(t, x.b.vcmp(t, Cond::gt, i.a, i.b), i.b, i.a, i.dst);
  else if (i.op == Op::VDiv || i.op == Op::VRem) divide(x);
  else if (i.op == Op::VPopCount && !has_vector_popcount(x)) count_ones(x);
  else if (i.op == Op::VLeadingZeros && !(x.features.v4 && x.width() >= 4)) count_leading_zeros(x);
  else return false;
  return true;
}

// ---- shifts ------------------------------------------------------------------------------------------------------

namespace {

// Bytes by 16-bit shifts, without what came over from the neighbour. Signs: (x >> n ^ m) - m with m the shifted sign bit.
void shift_bytes(const Expansion& x) {
  VType bytes = x.type(), words{ElementType::u16, static_cast<uint8_t>(std::max(1, x.i.lanes / 2))};
  Builder& b = x.b;
  auto n = static_cast<int>(x.i.imm);
  if (x.i.op == Op::VShl) {
    b.vand(bytes, b.vshl(words, x.i.a, n), b.vconst_bits(bytes, 0xffu << n), x.i.dst);
    return;
  }
  Reg shifted = b.vshr(words, x.i.a, n), kept = b.vconst_bits(bytes, 0xffu >> n);
  if (x.i.op == Op::VShr) return void(b.vand(bytes, shifted, kept, x.i.dst));
  Reg sign = b.vconst_bits(bytes, 0x80u >> n);
  b.vsub(bytes, b.vxor(bytes, b.vand(bytes, shifted, kept), sign), sign, x.i.dst);
}

void shift_right_64(const Expansion& x) {
  VType t = x.type();
  Reg sign = x.b.vconst_bits(t, sign_bit(8) >> x.i.imm);
  x.b.vsub(t, x.b.vxor(t, x.b.vshr(t, x.i.a, static_cast<int>(x.i.imm)), sign), sign, x.i.dst);
}

// ((x ^ s) >> n) ^ s for s = x < 0 ? all ones : 0.
void shift_right_64_variable(const Expansion& x) {
  VType t{ElementType::s64, x.i.lanes};
  Builder& b = x.b;
  Reg zero = b.vzero(t);
  Reg sign = b.vselect(t, b.vcmp(t, Cond::gt, zero, x.i.a), b.vconst_bits(t, ~uint64_t{0}), zero);
  b.vxor(t, b.vshr(t, b.vxor(t, x.i.a, sign), x.i.b), sign, x.i.dst);
}

// Narrow lanes with an amount each: in wider lanes, where larger amounts give 0 or the sign as they should.
void shift_narrow_variable(const Expansion& x) {
  int wide = x.features.v4 ? 2 : 4;
  ElementType amounts = unsigned_of(wide);
  if (!x.fits(amounts)) return split(x);
  ElementType values = x.i.op == Op::VSar ? signed_of(wide) : amounts;
  ElementType narrow_value = x.i.op == Op::VSar ? signed_of(x.width()) : unsigned_of(x.width());
  VType t = x.with(values);
  Inst shift = x.i;
  shift.type = values;
  shift.a = x.b.vconvert(t, narrow_value, x.i.a);
  shift.b = x.b.vconvert(x.with(amounts), unsigned_of(x.width()), x.i.b);
  shift.dst = x.b.vector();
  x.b.emit(shift);
  x.b.vconvert(x.type(), values, shift.dst, x.i.dst);
}

}  // namespace

bool expand_shift(const Expansion& x) {
  const Inst& i = x.i;
  int bits = 8 * x.width();
  if (i.b) {
    if (x.width() == 1 || (x.width() == 2 && !x.features.v4)) return shift_narrow_variable(x), true;
    if (x.width() == 8 && i.op == Op::VSar && !x.features.v4) return shift_right_64_variable(x), true;
    return false;
  }
  if (i.imm == 0) return x.b.vmov(x.type(), i.a, i.dst), true;
  if (i.imm >= bits) {
    if (i.op == Op::VSar) x.b.vsar(x.type(), i.a, bits - 1, i.dst);
    else x.b.vzero(x.type(), i.dst);
    return true;
  }
  if (x.width() == 1) return shift_bytes(x), true;
  if (x.width() == 8 && i.op == Op::VSar && !x.features.v4) return shift_right_64(x), true;
  return false;
}

// ---- comparisons -------------------------------------------------------------------------------------------------

namespace {

// AVX2 knows equal and signed greater: unsigned lanes move their sign bit, the rest is swapped or negated.
bool expand_compare_v3(const Expansion& x) {
  const Inst& i = x.i;
  VType t = x.type();
  Builder& b = x.b;
  if (i.cond == Cond::eq) return false;
  if (i.cond == Cond::ne || i.cond == Cond::le || i.cond == Cond::ge) {
    Cond opposite = i.cond == Cond::ne ? Cond::eq : i.cond == Cond::le ? Cond::gt : Cond::lt;
    b.mnot(t, b.vcmp(t, opposite, i.a, i.b), i.dst);
    return true;
  }
  if (is_signed_integer(i.type)) return false;
  VType flipped{signed_of(x.width()), i.lanes};
  Reg sign = b.vconst_bits(flipped, sign_bit(x.width()));
  Reg right = b.vxor(flipped, i.b, sign), left = b.vxor(flipped, i.a, sign);  // one by one: arguments have no order
  b.vcmp(flipped, i.cond, left, right, i.dst);
  return true;
}

}  // namespace

bool expand_compare(const Expansion& x) {
  const Inst& i = x.i;
  if (is_float(i.type)) {
    if (x.width() > 2) return false;
    return machine::compare_through_f32(x), true;
  }
  return x.features.v4 ? false : expand_compare_v3(x);
}

}  // namespace hloc::x86
