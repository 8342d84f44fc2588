#include "backends/cpu/machine/legalise.h"

#include <fmt/format.h>

#include "backends/cpu/machine/element.h"
#include "ir/support/source.h"

namespace hloc::machine {

namespace {
using enum ElementType;
}  // namespace

// ---- halves ------------------------------------------------------------------------------------------------------

void split(const Expansion& x) {
  const Inst& i = x.i;
  HLOC_CHECK(i.lanes > 1 && i.mem == MemKind::none, "a vector of one lane cannot be split");
  auto lanes = static_cast<uint8_t>(i.lanes / 2);
  ElementType source = i.from != ElementType::invalid ? i.from : i.type;
  Inst low = i, high = i;
  low.lanes = high.lanes = lanes;
  auto upper = [&](Reg r, ElementType e) { return r && r.reg_class() == RegClass::vector ? x.b.vpart({e, lanes}, r, 1) : r; };
  high.a = upper(i.a, source);
  high.b = i.b == i.a ? high.a : upper(i.b, source);
  if (i.dst.reg_class() != RegClass::mask) {
    low.dst = x.b.vector(), high.dst = x.b.vector();
    x.b.emit(low), x.b.emit(high);
    x.b.vconcat(x.type(), low.dst, high.dst, i.dst);
    return;
  }
  // Masks have no halves: go by vectors of all ones and zeros.
  VType half = x.half();
  low.dst = x.b.mask(half), high.dst = x.b.mask(half);
  x.b.emit(low), x.b.emit(high);
  VType bits{signed_of(x.width()), lanes}, all_bits{bits.element, i.lanes};
  Reg ones = x.b.vconst_bits(bits, ~uint64_t{0}), zero = x.b.vzero(bits);
  Reg whole = x.b.vconcat(all_bits, x.b.vselect(bits, low.dst, ones, zero), x.b.vselect(bits, high.dst, ones, zero));
  x.b.vcmp(all_bits, Cond::ne, whole, x.b.vzero(all_bits), i.dst);
}

// ---- floats of 16 bits ---------------------------------------------------------------------------------------------

// f16 and bf16 compute in f32 and round once more, which is the same as rounding once: f32 has more than twice the
// digits of both, plus two.
void through_f32(const Expansion& x) {
  if (!x.fits(ElementType::f32)) return split(x);
  Inst wide = x.i;
  wide.type = ElementType::f32;
  wide.dst = x.b.vector();
  VType f32 = x.with(ElementType::f32);
  wide.a = x.b.vconvert(f32, x.i.type, x.i.a);
  if (x.i.b) wide.b = x.i.b == x.i.a ? wide.a : x.b.vconvert(f32, x.i.type, x.i.b);
  x.b.emit(wide);
  x.b.vconvert(x.type(), ElementType::f32, wide.dst, x.i.dst);
}

void compare_through_f32(const Expansion& x) {
  const Inst& i = x.i;
  if (!x.fits(ElementType::f32)) return split(x);
  VType t = x.with(ElementType::f32);
  Reg a = x.b.vconvert(t, i.type, i.a), c = i.b == i.a ? a : x.b.vconvert(t, i.type, i.b);
  Reg wide = x.b.vcmp(t, i.cond, a, c);
  x.b.mconvert(x.type(), ElementType::f32, wide, i.dst);
}

// ---- arithmetic ------------------------------------------------------------------------------------------------------

// Where a and b differ, c decides.
void majority(const Expansion& x) {
  Builder& b = x.b;
  VType t = x.type();
  Reg differ = b.vxor(t, x.i.a, x.i.b);
  b.vxor(t, x.i.a, b.vand(t, differ, b.vxor(t, x.i.a, x.i.c)), x.i.dst);
}

// a * 2^floor(n/2) * 2^ceil(n/2): only the second product rounds, so subnormal and almost infinite results come out right.
// Adding 1.5 * 2^(mantissa bits) puts the integer n into the low bits; those, shifted, are the exponent fields: one place short
// of its field n is halved, and what stands below is cut off.
void scale_in_two_steps(const Expansion& x) {
  Builder& b = x.b;
  bool single = x.i.type == f32;
  int mantissa = single ? 23 : 52;
  VType t = x.type(), word = x.with(single ? u32 : u64);
  Reg n = b.vadd(t, x.i.b, b.vconst(t, single ? 0x1.8p23 : 0x1.8p52));
  Reg half = b.vand(word, b.vshl(word, n, mantissa - 1), b.vconst_bits(word, ~uint64_t{0} << mantissa));
  Reg rest = b.vsub(word, b.vshl(word, n, mantissa), half), one = b.vconst(t, 1);
  b.vmul(t, b.vmul(t, x.i.a, b.vadd(word, half, one)), b.vadd(word, rest, one), x.i.dst);
}

// ---- conversions -----------------------------------------------------------------------------------------------------

// `to` from `through` from the source.
bool by_way_of(const Expansion& x, ElementType through) {
  if (!x.fits(through)) return split(x), true;
  Reg middle = x.b.vconvert(x.with(through), x.i.from, x.i.a);
  if (x.i.op == Op::VConvertRaw) x.b.vconvert_raw(x.type(), through, middle, x.i.dst);
  else x.b.vconvert(x.type(), through, middle, x.i.dst);
  return true;
}

// To nearest even by adding half a unit less one, and one more if the kept part is odd. NaNs stay NaNs.
void f32_to_bf16(const Expansion& x) {
  Builder& b = x.b;
  VType word = x.with(u32), f = x.with(f32);
  Reg upper = b.vshr(word, x.i.a, 16);
  Reg odd = b.vand(word, upper, b.vconst_bits(word, 1));
  Reg rounded = b.vshr(word, b.vadd(word, b.vadd(word, x.i.a, b.vconst_bits(word, 0x7fff)), odd), 16);
  Reg quiet = b.vor(word, upper, b.vconst_bits(word, 0x40));
  Reg result = b.vselect(word, b.vcmp(f, Cond::uno, x.i.a, x.i.a), quiet, rounded);
  b.vconvert(x.with(u16), u32, result, x.i.dst);
}

// f64 to f16 and bf16 without rounding twice: first to f32 towards zero with the lowest bit on if anything was lost.
void f64_to_half(const Expansion& x) {
  Builder& b = x.b;
  VType d = x.with(f64), word = x.with(u32);
  Reg near = b.vconvert(x.with(f32), f64, x.i.a), back = b.vconvert(d, f32, near);
  Reg lossy = b.mconvert(word, f64, b.vcmp(d, Cond::one, back, x.i.a));
  Reg beyond = b.mconvert(word, f64, b.vcmp(d, Cond::gt, b.vabs(d, back), b.vabs(d, x.i.a)));
  Reg one = b.vconst_bits(word, 1), zero = b.vzero(word);
  Reg towards_zero = b.vsub(word, near, b.vselect(word, beyond, one, zero));
  Reg odd = b.vor(word, towards_zero, b.vselect(word, lossy, one, zero));
  b.vconvert(x.type(), f32, odd, x.i.dst);
}

// Where a 64-bit integer has more than 53 digits, its lowest 11 become one that says whether any was on: then going
// through f64 to a narrower float rounds only once.
static Reg with_sticky_bits(const Expansion& x) {
  Builder& b = x.b;
  VType t = x.with(u64);
  Reg low = b.vconst_bits(t, 0x7ff);
  Reg sticky = b.vor(t, b.vadd(t, b.vand(t, x.i.a, low), low), x.i.a);
  sticky = b.vand(t, sticky, b.vconst_bits(t, ~uint64_t{0x7ff}));
  Reg large = is_signed_integer(x.i.from)
                  ? b.vcmp(t, Cond::gt, b.vadd(t, x.i.a, b.vconst_bits(t, uint64_t{1} << 53)), b.vconst_bits(t, uint64_t{1} << 54))
                  : b.vcmp(t, Cond::ge, x.i.a, b.vconst_bits(t, uint64_t{1} << 53));
  return b.vselect(t, large, sticky, x.i.a);
}

void wide_to_narrow_float(const Expansion& x) {
  Reg exact = x.b.vconvert(x.with(f64), x.i.from, with_sticky_bits(x));
  x.b.vconvert(x.type(), f64, exact, x.i.dst);
}

// ---- the driver --------------------------------------------------------------------------------------------------

Result<void> legalise(Function& f, int vector_bytes, const std::function<bool(const Inst&)>& supports,
                      const std::function<bool(const Expansion&)>& expand) {
  if (f.vector_bytes > vector_bytes) {
    return error(ErrorKind::target, fmt::format("machine function {} has vectors of {} bytes, the target {}", f.name,
                                                f.vector_bytes, vector_bytes));
  }
  std::vector<Inst> out, sequence, pending;
  for (BlockId b : f.order) {
    out.clear();
    for (const Inst& original : f.blocks[b].insts) {
      if (!supports(original)) {
        return error(ErrorKind::target, fmt::format("the target has no form of '{}'", print(original, f)));
      }
      // A stack: a rule's sequence goes on top, first instruction uppermost.
      pending.assign(1, original);
      while (!pending.empty()) {
        Inst i = pending.back();
        pending.pop_back();
        sequence.clear();
        Builder builder(f, sequence);
        if (expand({builder, i, f.vector_bytes})) {
          pending.insert(pending.end(), sequence.rbegin(), sequence.rend());
          HLOC_CHECK(pending.size() < 100000, "legalise does not end");
        } else {
          out.push_back(i);
        }
      }
    }
    f.blocks[b].insts = out;
  }
  return {};
}

}  // namespace hloc::machine
