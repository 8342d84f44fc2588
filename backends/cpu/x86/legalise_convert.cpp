// Conversions: the pairs that the target lacks, and HLO's clamping of floats to integers.
#include <array>

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

namespace {

using enum ElementType;

constexpr uint64_t two_52 = 0x4330000000000000;  // the double 2^52: its lowest bit counts ones

bool is_half(ElementType t) { return t == f16 || t == bf16; }

// ---- integers ----------------------------------------------------------------------------------------------------

// AVX2 has no truncation: pick bytes within 16, halves beyond.
bool narrow_integer(const Expansion& x) {
  int from = byte_width(x.i.from), to = x.width();
  if (from * x.i.lanes > 16) return split(x), true;
  std::array<std::byte, 16> pick;
  pick.fill(std::byte{0x80});
  for (int l = 0; l < x.i.lanes; l++) {
    for (int n = 0; n < to; n++) pick[static_cast<size_t>(l * to + n)] = static_cast<std::byte>(l * from + n);
  }
  VType bytes{u8, 16};
  x.b.vtable(bytes, x.i.a, x.b.vdata(bytes, pick), x.i.dst);
  return true;
}

bool integer_to_integer(const Expansion& x) {
  int from = byte_width(x.i.from), to = x.width();
  if (from == to) return x.b.vmov(x.type(), x.i.a, x.i.dst), true;
  return to > from || x.features.v4 ? false : narrow_integer(x);
}

// ---- between floats ----------------------------------------------------------------------------------------------

bool float_to_float(const Expansion& x) {
  ElementType to = x.i.type, from = x.i.from;
  if (from == bf16 && to == f32) {
    VType word = x.with(u32);
    x.b.vshl(word, x.b.vconvert(word, u16, x.i.a), 16, x.i.dst);
    return true;
  }
  if (from == f32 && to == bf16) return machine::f32_to_bf16(x), true;
  if (from == f64 && is_half(to)) return machine::f64_to_half(x), true;
  if (is_half(from) && to != f32) return machine::by_way_of(x, f32);
  return false;
}

// ---- integers to floats ------------------------------------------------------------------------------------------

// AVX2: the lower 32 bits as the double 2^52 + lo, the upper ones as 2^84 + hi * 2^32 (with 2^63 more if signed);
// subtracting what was too much is exact, and the one addition rounds.
void wide_to_f64(const Expansion& x) {
  Builder& b = x.b;
  VType t = x.with(u64), d = x.with(f64);
  bool is_signed = is_signed_integer(x.i.from);
  Reg low = b.vor(t, b.vand(t, x.i.a, b.vconst_bits(t, 0xffffffff)), b.vconst_bits(t, two_52));
  Reg high = b.vxor(t, b.vshr(t, x.i.a, 32), b.vconst_bits(t, is_signed ? 0x4530000080000000 : 0x4530000000000000));
  Reg offset = b.vconst_bits(t, is_signed ? 0x4530000080100000 : 0x4530000000100000);
  b.vadd(d, b.vsub(d, high, offset), low, x.i.dst);
}

// The same for u32 to f32 with halves of 16 bits.
void u32_to_f32(const Expansion& x) {
  Builder& b = x.b;
  VType t = x.with(u32), f = x.with(f32);
  Reg low = b.vor(t, b.vand(t, x.i.a, b.vconst_bits(t, 0xffff)), b.vconst_bits(t, 0x4b000000));
  Reg high = b.vor(t, b.vshr(t, x.i.a, 16), b.vconst_bits(t, 0x53000000));
  b.vadd(f, b.vsub(f, high, b.vconst_bits(t, 0x53000080)), low, x.i.dst);
}

void u32_to_f64(const Expansion& x) {
  Builder& b = x.b;
  VType t = x.with(u64), d = x.with(f64);
  Reg magic = b.vconst_bits(t, two_52);
  b.vsub(d, b.vor(t, b.vconvert(t, u32, x.i.a), magic), magic, x.i.dst);
}

bool integer_to_float(const Expansion& x) {
  ElementType to = x.i.type, from = x.i.from;
  int width = byte_width(from);
  if (is_half(to)) {
    if (width == 8) return machine::wide_to_narrow_float(x), true;
    return machine::by_way_of(x, width == 4 ? f64 : f32);
  }
  if (width <= 2) return machine::by_way_of(x, s32);
  if (x.features.v4 || from == s32) return false;
  if (from == u32) return to == f32 ? u32_to_f32(x) : u32_to_f64(x), true;
  return to == f32 ? machine::wide_to_narrow_float(x) : wide_to_f64(x), true;
}

// ---- floats to integers ------------------------------------------------------------------------------------------

double power_of_two(int n) { return n == 64 ? 18446744073709551616.0 : static_cast<double>(uint64_t{1} << n); }

// dst = x is NaN ? 0 : x >= limit ? most : x < low ? least : result
void clamp_result(const Expansion& x, Reg result, double limit, uint64_t most, std::optional<double> low, uint64_t least) {
  Builder& b = x.b;
  VType f = x.with(x.i.from), t = x.type();
  auto choose = [&](Reg condition, uint64_t value, Reg otherwise, Reg dst = {}) {
    return b.vselect(t, b.mconvert(t, x.i.from, condition), b.vconst_bits(t, value), otherwise, dst);
  };
  result = choose(b.vcmp(f, Cond::ge, x.i.a, b.vconst(f, limit)), most, result);
  if (low) result = choose(b.vcmp(f, Cond::lt, x.i.a, b.vconst(f, *low)), least, result);
  choose(b.vcmp(f, Cond::uno, x.i.a, x.i.a), 0, result, x.i.dst);
}

// Not a number becomes 0, then between the two bounds, which the float type represents.
Reg clamped_source(const Expansion& x, double low, double high) {
  Builder& b = x.b;
  VType f = x.with(x.i.from);
  Reg number = x.i.a;
  if (low != 0) number = b.vselect(f, b.vcmp(f, Cond::uno, x.i.a, x.i.a), b.vzero(f), x.i.a);
  return b.vmin_raw(f, b.vmax_raw(f, number, b.vconst(f, low)), b.vconst(f, high));  // max_raw takes 0 for NaN
}

void float_to_narrow_integer(const Expansion& x, bool raw) {
  int bits = 8 * x.width();
  bool is_signed = is_signed_integer(x.i.type);
  double low = is_signed ? -power_of_two(bits - 1) : 0, high = power_of_two(is_signed ? bits - 1 : bits) - 1;
  Reg source = raw ? x.i.a : clamped_source(x, low, high);
  Reg word = x.b.vconvert_raw(x.with(s32), x.i.from, source);
  x.b.vconvert(x.type(), s32, word, x.i.dst);
}

// AVX2, [0, 2^32): the upper half of the range less 2^31, whose bit comes back after.
Reg f32_to_u32_raw(const Expansion& x, Reg source) {
  Builder& b = x.b;
  VType f = x.with(f32), t = x.with(u32);
  Reg large = b.vcmp(f, Cond::ge, source, b.vconst(f, power_of_two(31)));
  Reg reduced = b.vsub(f, source, b.vselect(f, large, b.vconst(f, power_of_two(31)), b.vzero(f)));
  Reg low = b.vconvert_raw(x.with(s32), f32, reduced);
  return b.vxor(t, low, b.vselect(t, large, b.vconst_bits(t, 0x80000000), b.vzero(t)));
}

void float_to_u32_v3(const Expansion& x, bool raw) {
  Builder& b = x.b;
  if (x.i.from == f64) {
    VType d = x.with(f64);
    Reg source = raw ? x.i.a : clamped_source(x, 0, power_of_two(32) - 1);
    Reg whole = b.vround(d, machine::Round::trunc, source);
    b.vconvert(x.type(), u64, b.vadd(d, whole, b.vconst_bits(d, two_52)), x.i.dst);
    return;
  }
  if (raw) return void(b.vmov(x.type(), f32_to_u32_raw(x, x.i.a), x.i.dst));
  VType f = x.with(f32), t = x.with(u32);
  Reg positive = b.vmax_raw(f, x.i.a, b.vzero(f));
  Reg all = b.vconst_bits(t, ~uint64_t{0});
  b.vselect(t, b.vcmp(f, Cond::ge, positive, b.vconst(f, power_of_two(32))), all, f32_to_u32_raw(x, positive), x.i.dst);
}

// AVX2: x = hi * 2^32 + lo with 0 <= lo < 2^32; both parts are read off the bits of sums with a large power of two.
Reg f64_to_wide_raw(const Expansion& x) {
  Builder& b = x.b;
  VType d = x.with(f64), t = x.with(u64);
  Reg whole = b.vround(d, machine::Round::trunc, x.i.a);
  Reg high = b.vround(d, machine::Round::floor, b.vmul(d, whole, b.vconst(d, 1 / power_of_two(32))));
  Reg low = b.vfnma(d, high, b.vconst(d, power_of_two(32)), whole);
  Reg magic = b.vconst_bits(d, two_52);
  Reg low_bits = b.vxor(t, b.vadd(d, low, magic), magic);
  Reg high_bits = b.vadd(d, high, b.vconst_bits(d, 0x4338000000000000));  // 1.5 * 2^52: also right for negative ones
  return b.vor(t, b.vshl(t, high_bits, 32), low_bits);
}

void float_to_wide(const Expansion& x, bool raw) {
  bool is_signed = is_signed_integer(x.i.type);
  Reg result = x.features.v4 ? x.b.vconvert_raw(x.type(), x.i.from, x.i.a) : f64_to_wide_raw(x);
  if (raw) return void(x.b.vmov(x.type(), result, x.i.dst));
  if (is_signed) clamp_result(x, result, power_of_two(63), machine::low_mask(63), -power_of_two(63), uint64_t{1} << 63);
  else clamp_result(x, result, power_of_two(64), ~uint64_t{0}, 0.0, 0);
}

bool float_to_integer(const Expansion& x) {
  ElementType to = x.i.type, from = x.i.from;
  bool raw = x.i.op == Op::VConvertRaw;
  if (is_half(from)) return machine::by_way_of(x, f32);
  if (x.width() <= 2) return float_to_narrow_integer(x, raw), true;
  if (x.width() == 8) {
    if (!x.features.v4 && from == f32) return machine::by_way_of(x, f64);
    if (x.features.v4 && raw) return false;
    return float_to_wide(x, raw), true;
  }
  if (to == s32) {
    if (raw) return false;
    if (from == f64) {
      x.b.vconvert_raw(x.type(), f64, clamped_source(x, -power_of_two(31), power_of_two(31) - 1), x.i.dst);
      return true;
    }
    Reg result = x.b.vconvert_raw(x.type(), from, x.i.a);  // below the range x86 gives the least value by itself
    clamp_result(x, result, power_of_two(31), machine::low_mask(31), std::nullopt, 0);
    return true;
  }
  if (!x.features.v4) return float_to_u32_v3(x, raw), true;
  if (raw) return false;
  VType f = x.with(from);  // above the range AVX-512 gives all ones by itself
  x.b.vconvert_raw(x.type(), from, x.b.vmax_raw(f, x.i.a, x.b.vzero(f)), x.i.dst);
  return true;
}

}  // namespace

bool expand_convert(const Expansion& x) {
  ElementType to = x.i.type, from = x.i.from;
  if (to == from) return x.b.vmov(x.type(), x.i.a, x.i.dst), true;
  if (from == pred) {
    Inst bytes = x.i;
    bytes.from = u8;
    x.b.emit(bytes);
    return true;
  }
  if (to == pred) {
    VType source = x.with(from);
    x.b.pred_from_mask(source, x.b.vcmp(source, Cond::ne, x.i.a, x.b.vzero(source)), x.i.dst);
    return true;
  }
  if (is_float(to)) return is_float(from) ? float_to_float(x) : integer_to_float(x);
  return is_float(from) ? float_to_integer(x) : integer_to_integer(x);
}

}  // namespace hloc::x86
