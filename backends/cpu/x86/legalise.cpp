// Which instructions need a sequence, and the driver that expands until none does.
#include "backends/cpu/x86/legalise.h"

namespace hloc::x86 {

using machine::Builder;
using machine::Cond;
using machine::Function;
using machine::Inst;
using machine::MemKind;
using machine::Op;
using machine::Reg;
using machine::RegClass;
using machine::VType;

// ---- general registers -------------------------------------------------------------------------------------------

namespace {

// Those whose operand b may be an immediate of up to 32 bits.
bool for_immediates(Op op) {
  return op == Op::Add || op == Op::Sub || op == Op::Mul || op == Op::And || op == Op::Or || op == Op::Xor || op == Op::Set ||
         op == Op::Select || op == Op::Branch;
}

bool fits_int32(int64_t value) { return value >= INT32_MIN && value <= INT32_MAX; }

// `dst op src` of an instruction that writes dst before it reads: the source moves out of the way first.
bool expand_early_overlap(const Expansion& x) {
  machine::Use u = use(x.i);
  if (!u.early || !x.i.dst || (x.i.a != x.i.dst && x.i.b != x.i.dst)) return false;
  Inst copy = x.i;
  Reg source = x.i.dst;
  VType t = x.i.op == Op::MConvert ? VType{x.i.from, x.i.lanes} : x.type();
  Reg away = source.reg_class() == RegClass::mask ? x.b.mmov(t, source) : x.b.mov(source);
  if (copy.a == source) copy.a = away;
  if (copy.b == source) copy.b = away;
  x.b.emit(copy);
  return true;
}

}  // namespace

bool expand_general(const Expansion& x) {
  const Inst& i = x.i;
  bool stores = i.op == Op::Store;
  bool has_immediate = stores ? !i.a : !i.b && for_immediates(i.op);
  if (i.op == Op::Mul && has_immediate && i.imm > 0 && (i.imm & (i.imm - 1)) == 0) {
    x.b.shl(i.a, __builtin_ctzll(static_cast<uint64_t>(i.imm)), i.dst);
    return true;
  }
  bool encodable = fits_int32(i.imm) || (stores && byte_width(i.type) < 8);
  if (!has_immediate || encodable) return expand_early_overlap(x);
  Inst with_register = i;
  (stores ? with_register.a : with_register.b) = x.b.mov(i.imm);
  with_register.imm = 0;
  x.b.emit(with_register);
  return true;
}

// ---- the driver --------------------------------------------------------------------------------------------------

namespace {

bool expand(const Expansion& x) {
  switch (x.i.op) {
    case Op::VMin: case Op::VMax: case Op::VMinRaw: case Op::VMaxRaw: case Op::VNeg: case Op::VAbs: case Op::VAdd:
    case Op::VSub: case Op::VMul: case Op::VDiv: case Op::VSqrt: case Op::VRound: case Op::VNot:
      return is_float(x.i.type) ? expand_float(x) : expand_integer(x);
    case Op::VMajority: return !x.features.v4 && (machine::majority(x), true);
    case Op::VScale: return !x.features.v4 && (machine::scale_in_two_steps(x), true);
    case Op::VRem: case Op::VLeadingZeros: case Op::VPopCount: return expand_integer(x);
    case Op::VShl: case Op::VShr: case Op::VSar: return expand_shift(x);
    case Op::VCompare: return expand_compare(x);
    case Op::VExtract: case Op::VInsert: case Op::VPart: case Op::VPermute: case Op::VBroadcast: return expand_lanes(x);
    case Op::VLoadMasked: case Op::VStoreMasked: case Op::VGather: case Op::MTail: case Op::MBits:
      return expand_masks(x) || expand_general(x);
    case Op::VConvert: case Op::VConvertRaw: return expand_convert(x);
    case Op::Mov: case Op::Lea: case Op::AddressOf: case Op::Add: case Op::Sub: case Op::Mul: case Op::MulHigh:
    case Op::Div: case Op::Rem: case Op::And: case Op::Or: case Op::Xor: case Op::Shl: case Op::Shr: case Op::Sar:
    case Op::Neg: case Op::Not: case Op::Extend: case Op::LeadingZeros: case Op::TrailingZeros: case Op::LowBits:
    case Op::PopCount: case Op::Set: case Op::Select: case Op::Load: case Op::Store: case Op::Branch:
    case Op::MConvert: case Op::MFromBits: case Op::MNot:
      return expand_general(x);
    case Op::Prefetch: case Op::StoreFence: case Op::Call: case Op::CallReg: case Op::FpSave: case Op::FpDefault: case Op::FpRestore:
    case Op::Jump: case Op::Ret: case Op::VMov: case Op::VConst: case Op::VData: case Op::VLoad: case Op::VLoadBroadcast:
    case Op::VStore: case Op::VStoreStream: case Op::VSplat: case Op::VMulLow: case Op::VFma: case Op::VFms:
    case Op::VFnma: case Op::VFnms: case Op::VAnd: case Op::VOr: case Op::VXor: case Op::VAndNot: case Op::VSelect:
    case Op::VConcat: case Op::VTable: case Op::VZipLow: case Op::VZipHigh: case Op::VBlocks: case Op::MMov:
    case Op::MConst: case Op::MAnd: case Op::MOr: case Op::MXor: case Op::MAndNot: case Op::MAny: case Op::MAll:
    case Op::Spill: case Op::Reload:
      return false;
  }
  HLOC_UNREACHABLE();
}

}  // namespace

bool supports(const Inst& i, const Features& features) {
  if (i.lanes && i.vtype().bytes() > features.vector_bytes()) return false;
  if (i.op == Op::VLoadMasked || i.op == Op::VStoreMasked) return features.v4 || byte_width(i.type) >= 4;
  return true;
}

Result<void> legalise(Function& f, const Features& features) {
  return machine::legalise(
      f, features.vector_bytes(), [&](const Inst& i) { return supports(i, features); },
      [&](const machine::Expansion& x) { return expand({x, features}); });
}

}  // namespace hloc::x86
