// Which instructions need a sequence; all rules but the remainder's are the ones that CPUs share.
#include "backends/cpu/machine/legalise.h"

#include "backends/cpu/aarch64/aarch64.h"

namespace hloc::aarch64 {

using machine::Cond;
using machine::Expansion;
using machine::Inst;
using machine::Op;
using machine::Reg;
using machine::RegClass;
using machine::VType;

namespace {

bool is_half_float(ElementType t) { return is_float(t) && byte_width(t) == 2; }

// a - a / b * b: also right for 0, where the quotient counts for nothing, and for the least number by -1.
void remainder(const Expansion& x) {
  VType t = x.type();
  x.b.vsub(t, x.i.a, x.b.vmul(t, x.b.vdiv(t, x.i.a, x.i.b), x.i.b), x.i.dst);
}

bool expand_conversion(const Expansion& x) {
  ElementType to = x.i.type, from = x.i.from;
  if (to == from) return x.b.vmov(x.type(), x.i.a, x.i.dst), true;
  if (to == ElementType::pred) {
    VType source = x.with(from);
    x.b.pred_from_mask(source, x.b.vcmp(source, Cond::ne, x.i.a, x.b.vzero(source)), x.i.dst);
    return true;
  }
  if (is_half_float(from) && to != ElementType::f32) return machine::by_way_of(x, ElementType::f32);
  if (is_half_float(from) || !is_half_float(to)) return false;
  if (is_float(from)) {
    if (to == ElementType::f16) return false;
    from == ElementType::f32 ? machine::f32_to_bf16(x) : machine::f64_to_half(x);
    return true;
  }
  if (byte_width(from) == 8) return machine::wide_to_narrow_float(x), true;
  if (byte_width(from) == 4) return machine::by_way_of(x, ElementType::f64);
  return to == ElementType::f16 && x.fits(ElementType::f32) ? false : machine::by_way_of(x, ElementType::f32);
}

bool expand(const Expansion& x) {
  switch (x.i.op) {
    case Op::VAdd: case Op::VSub: case Op::VMul: case Op::VDiv: case Op::VMin: case Op::VMax: case Op::VMinRaw: case Op::VMaxRaw:
    case Op::VSqrt: case Op::VRound:
      return is_half_float(x.i.type) ? machine::through_f32(x), true : false;
    case Op::VCompare: return is_half_float(x.i.type) ? machine::compare_through_f32(x), true : false;
    case Op::VRem: return remainder(x), true;
    case Op::VMajority: return machine::majority(x), true;
    case Op::VScale: return machine::scale_in_two_steps(x), true;
    case Op::VConvert: case Op::VConvertRaw: return expand_conversion(x);
    case Op::Mov: case Op::Lea: case Op::AddressOf: case Op::Add: case Op::Sub: case Op::Mul: case Op::MulHigh: case Op::Div:
    case Op::Rem: case Op::And: case Op::Or: case Op::Xor: case Op::Shl: case Op::Shr: case Op::Sar: case Op::Neg: case Op::Not:
    case Op::Extend: case Op::LeadingZeros: case Op::TrailingZeros: case Op::LowBits: case Op::PopCount: case Op::Set:
    case Op::Select: case Op::Load: case Op::Store: case Op::Prefetch: case Op::StoreFence: case Op::Call: case Op::CallReg:
    case Op::FpSave: case Op::FpDefault: case Op::FpRestore: case Op::Jump: case Op::Branch: case Op::Ret: case Op::VMov:
    case Op::VConst: case Op::VData: case Op::VLoad: case Op::VLoadBroadcast: case Op::VLoadMasked: case Op::VStore:
    case Op::VStoreMasked: case Op::VStoreStream: case Op::VGather: case Op::VBroadcast: case Op::VSplat: case Op::VExtract:
    case Op::VInsert: case Op::VMulLow: case Op::VFma: case Op::VFms: case Op::VFnma: case Op::VFnms: case Op::VNeg: case Op::VAbs:
    case Op::VAnd: case Op::VOr: case Op::VXor: case Op::VAndNot: case Op::VNot: case Op::VShl: case Op::VShr: case Op::VSar:
    case Op::VLeadingZeros: case Op::VPopCount: case Op::VSelect: case Op::VPart: case Op::VConcat: case Op::VPermute:
    case Op::VTable: case Op::VZipLow: case Op::VZipHigh: case Op::VBlocks: case Op::MMov: case Op::MConst: case Op::MTail:
    case Op::MAnd: case Op::MOr: case Op::MXor: case Op::MAndNot: case Op::MNot: case Op::MConvert: case Op::MBits:
    case Op::MFromBits: case Op::MAny: case Op::MAll: case Op::Spill: case Op::Reload:
      return false;
  }
  HLOC_UNREACHABLE();
}

// ---- registers ---------------------------------------------------------------------------------------------------

constexpr uint64_t caller_saved_general = 0xffff;  // x0 to x15

// Callees keep the lower halves of v8 to v15 only.
machine::Clobbers clobbers_of(const Inst& i) {
  machine::Clobbers c;
  if (machine::is_call(i.op)) c.regs = {caller_saved_general, 0xffffffff, 0, 0};
  return c;
}

machine::TargetRegs make_registers() {
  machine::TargetRegs t;
  t.files.resize(2);
  for (uint8_t r = 0; r <= 28; r++) {
    if (r < 16 || r > 18) t.files[0].order.push_back(r);  // x16, x17: the emitter's; x18: the platform's; x29, x30: frames
  }
  t.files[0].callee_saved = saved_by_callee_general;
  for (uint8_t r = 0; r < 8; r++) t.files[1].order.push_back(r);
  for (uint8_t r = 16; r < vector_registers; r++) t.files[1].order.push_back(r);
  for (uint8_t r = 8; r < 16; r++) t.files[1].order.push_back(r);  // saved by callees, so the last
  t.file_of[static_cast<size_t>(RegClass::vector)] = 1;
  t.file_of[static_cast<size_t>(RegClass::mask)] = 1;
  t.arguments = {0, 1, 2, 3, 4, 5};
  t.result = 0;
  t.clobbers = clobbers_of;
  return t;
}

}  // namespace

Result<void> legalise(machine::Function& f) {
  return machine::legalise(f, vector_bytes, [](const Inst&) { return true; }, expand);
}

const machine::TargetRegs& target_regs() {
  static const machine::TargetRegs regs = make_registers();
  return regs;
}

}  // namespace hloc::aarch64
