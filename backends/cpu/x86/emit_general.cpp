// General registers: 64-bit arithmetic in forms that leave their sources alone, loads and stores.
#include <algorithm>

#include "backends/cpu/x86/emitter.h"

namespace hloc::x86 {

Cond negated(Cond c) {
  switch (c) {
    case Cond::eq: return Cond::ne;
    case Cond::ne: return Cond::eq;
    case Cond::lt: return Cond::ge;
    case Cond::ge: return Cond::lt;
    case Cond::gt: return Cond::le;
    case Cond::le: return Cond::gt;
    case Cond::ult: return Cond::uge;
    case Cond::uge: return Cond::ult;
    case Cond::ugt: return Cond::ule;
    case Cond::ule: return Cond::ugt;
    default: HLOC_UNREACHABLE();
  }
}

void Emitter::emit_mov(const Inst& i) {
  Reg64 d = g(i.dst);
  if (i.a) {
    if (d.getIdx() != g(i.a).getIdx()) mov(d, g(i.a));
  } else if (i.imm == 0) {
    xor_(d.cvt32(), d.cvt32());  // flags are never live between instructions
  } else {
    mov(d, static_cast<uint64_t>(i.imm));
  }
}

void Emitter::emit_address(const Inst& i) {
  machine::Relocation r;
  r.target = machine::Relocation::Target::external;  // `assemble` puts in what the symbol is
  r.index = i.symbol;
  lea(g(i.dst), reference(r, 0, false));
}

void Emitter::emit_logic(const Inst& i) {
  two_operand(
      i, true,
      [&](const Reg64& d, const Reg64& b) { i.op == Op::And ? and_(d, b) : i.op == Op::Or ? or_(d, b) : xor_(d, b); },
      [&](const Reg64& d, int64_t imm) {
        auto value = static_cast<uint32_t>(imm);
        i.op == Op::And ? and_(d, value) : i.op == Op::Or ? or_(d, value) : xor_(d, value);
      });
}

void Emitter::emit_negation(const Inst& i) {
  if (phys(i.dst) != phys(i.a)) mov(g(i.dst), g(i.a));
  i.op == Op::Neg ? neg(g(i.dst)) : not_(g(i.dst));
}

void Emitter::emit_prefetch(const Inst& i) {
  Address at = memory(i);
  if (i.imm == 0) prefetcht0(at);
  else if (i.imm == 1) prefetcht1(at);
  else if (i.imm == 2) prefetcht2(at);
  else prefetchnta(at);
}

// dst = a op b with instructions that overwrite their first operand.
template <class WithReg, class WithImm>
void Emitter::two_operand(const Inst& i, bool commutative, WithReg with_reg, WithImm with_imm) {
  Reg64 d = g(i.dst), a = g(i.a);
  if (!i.b) {
    if (d.getIdx() != a.getIdx()) mov(d, a);
    return with_imm(d, i.imm);
  }
  Reg64 b = g(i.b);
  if (d.getIdx() == b.getIdx() && d.getIdx() != a.getIdx()) {
    HLOC_CHECK(commutative, "operands cannot change places");
    std::swap(a, b);
  }
  if (d.getIdx() != a.getIdx()) mov(d, a);
  with_reg(d, b);
}

void Emitter::emit_add(const Inst& i) {
  Reg64 d = g(i.dst), a = g(i.a);
  if (!i.b) {
    if (d.getIdx() != a.getIdx()) lea(d, ptr[a + static_cast<int>(i.imm)]);
    else add(d, static_cast<uint32_t>(i.imm));
    return;
  }
  Reg64 b = g(i.b);
  if (d.getIdx() == a.getIdx()) add(d, b);
  else if (d.getIdx() == b.getIdx()) add(d, a);
  else lea(d, ptr[a + b]);
}

void Emitter::emit_sub(const Inst& i) {
  Reg64 d = g(i.dst), a = g(i.a);
  if (!i.b) {
    if (d.getIdx() != a.getIdx() && i.imm != INT32_MIN) lea(d, ptr[a - static_cast<int>(i.imm)]);
    else {
      if (d.getIdx() != a.getIdx()) mov(d, a);
      sub(d, static_cast<uint32_t>(i.imm));
    }
    return;
  }
  Reg64 b = g(i.b);
  if (d.getIdx() == b.getIdx() && d.getIdx() != a.getIdx()) {
    neg(d);
    add(d, a);
    return;
  }
  if (d.getIdx() != a.getIdx()) mov(d, a);
  sub(d, b);
}

void Emitter::emit_mul(const Inst& i) {
  if (!i.b) return imul(g(i.dst), g(i.a), static_cast<int>(i.imm));
  two_operand(i, true, [&](const Reg64& d, const Reg64& b) { imul(d, b); }, [](const Reg64&, int64_t) {});
}

void Emitter::emit_shift(const Inst& i) {
  Reg64 d = g(i.dst), a = g(i.a);
  if (!i.b) {
    if (d.getIdx() != a.getIdx()) mov(d, a);
    int amount = static_cast<int>(i.imm & 63);
    if (i.op == Op::Shl) shl(d, amount);
    else if (i.op == Op::Shr) shr(d, amount);
    else sar(d, amount);
    return;
  }
  if (i.op == Op::Shl) shlx(d, a, g(i.b));
  else if (i.op == Op::Shr) shrx(d, a, g(i.b));
  else sarx(d, a, g(i.b));
}

// In rax and rdx, which `clobbers` keeps free of operands. (A result may be given either of them.)
void Emitter::emit_division(const Inst& i) {
  bool is_signed = is_signed_integer(i.type), narrow = byte_width(i.type) == 4;
  Reg64 b = g(i.b);
  mov(rax, g(i.a));
  if (i.op == Op::MulHigh) {
    is_signed ? imul(b) : mul(b);
    if (phys(i.dst) != rdx.getIdx()) mov(g(i.dst), rdx);
    return;
  }
  if (narrow) {
    if (is_signed) cdq(), idiv(b.cvt32());
    else xor_(edx, edx), div(b.cvt32());
  } else {
    if (is_signed) cqo(), idiv(b);
    else xor_(edx, edx), div(b);
  }
  Reg64 result = i.op == Op::Div ? rax : rdx;
  if (narrow && is_signed) movsxd(g(i.dst), result.cvt32());
  else if (result.getIdx() != g(i.dst).getIdx()) mov(g(i.dst), result);
}

void Emitter::emit_extend(const Inst& i) {
  Reg64 d = g(i.dst), a = g(i.a);
  switch (i.type) {
    case ElementType::s8: movsx(d, a.cvt8()); return;
    case ElementType::s16: movsx(d, a.cvt16()); return;
    case ElementType::s32: movsxd(d, a.cvt32()); return;
    case ElementType::pred:
    case ElementType::u8: movzx(d.cvt32(), a.cvt8()); return;
    case ElementType::u16: movzx(d.cvt32(), a.cvt16()); return;
    case ElementType::u32: mov(d.cvt32(), a.cvt32()); return;
    default:
      if (d.getIdx() != a.getIdx()) mov(d, a);
      return;
  }
}

void Emitter::emit_count(const Inst& i) {
  bool narrow = byte_width(i.type) == 4;
  Xbyak::Reg32e d = narrow ? Xbyak::Reg32e(g(i.dst).cvt32()) : Xbyak::Reg32e(g(i.dst));
  Xbyak::Reg32e a = narrow ? Xbyak::Reg32e(g(i.a).cvt32()) : Xbyak::Reg32e(g(i.a));
  if (i.op == Op::LeadingZeros) lzcnt(d, a);
  else if (i.op == Op::TrailingZeros) tzcnt(d, a);
  else popcnt(d, a);
}

void Emitter::emit_compare(const Inst& i) {
  if (i.b) cmp(g(i.a), g(i.b));
  else if (i.imm == 0) test(g(i.a), g(i.a));
  else cmp(g(i.a), static_cast<uint32_t>(i.imm));
}

void Emitter::emit_set(const Inst& i) {
  emit_compare(i);
  Xbyak::Reg8 d = g(i.dst).cvt8();
  switch (i.cond) {
    case Cond::eq: sete(d); break;
    case Cond::ne: setne(d); break;
    case Cond::lt: setl(d); break;
    case Cond::le: setle(d); break;
    case Cond::gt: setg(d); break;
    case Cond::ge: setge(d); break;
    case Cond::ult: setb(d); break;
    case Cond::ule: setbe(d); break;
    case Cond::ugt: seta(d); break;
    case Cond::uge: setae(d); break;
    default: HLOC_UNREACHABLE();
  }
  movzx(g(i.dst).cvt32(), d);
}

void Emitter::emit_select(const Inst& i) {
  emit_compare(i);
  Reg64 d = g(i.dst), yes = g(i.c), no = g(i.d);
  Cond c = i.cond;
  if (d.getIdx() == yes.getIdx()) {
    std::swap(yes, no);
    c = negated(c);
  }
  if (d.getIdx() != no.getIdx()) mov(d, no);  // mov leaves the flags alone
  switch (c) {
    case Cond::eq: cmove(d, yes); break;
    case Cond::ne: cmovne(d, yes); break;
    case Cond::lt: cmovl(d, yes); break;
    case Cond::le: cmovle(d, yes); break;
    case Cond::gt: cmovg(d, yes); break;
    case Cond::ge: cmovge(d, yes); break;
    case Cond::ult: cmovb(d, yes); break;
    case Cond::ule: cmovbe(d, yes); break;
    case Cond::ugt: cmova(d, yes); break;
    case Cond::uge: cmovae(d, yes); break;
    default: HLOC_UNREACHABLE();
  }
}

void Emitter::emit_load(const Inst& i) {
  Address at = memory(i);
  Reg64 d = g(i.dst);
  switch (i.type) {
    case ElementType::s8: at.setBit(8), movsx(d, at); return;
    case ElementType::s16: at.setBit(16), movsx(d, at); return;
    case ElementType::s32: at.setBit(32), movsxd(d, at); return;
    case ElementType::pred:
    case ElementType::u8: at.setBit(8), movzx(d.cvt32(), at); return;
    case ElementType::u16: at.setBit(16), movzx(d.cvt32(), at); return;
    case ElementType::u32: mov(d.cvt32(), at); return;
    default: mov(d, at); return;
  }
}

void Emitter::emit_store(const Inst& i) {
  int bytes = byte_width(i.type);
  Address at = memory(i, i.a ? 0 : std::min(bytes, 4));
  if (!i.a) {
    at.setBit(bytes * 8);
    uint64_t value = static_cast<uint64_t>(i.imm) & machine::low_mask(bytes * 8);
    mov(at, bytes == 8 ? static_cast<size_t>(i.imm) : static_cast<size_t>(value));
    return;
  }
  Reg64 a = g(i.a);
  if (bytes == 1) mov(at, a.cvt8());
  else if (bytes == 2) mov(at, a.cvt16());
  else if (bytes == 4) mov(at, a.cvt32());
  else mov(at, a);
}

void Emitter::emit_fp_state(const Inst& i) {
  constexpr uint32_t all_masked_round_to_nearest = 0x1f80;  // no flush to zero, no denormals are zero
  Address slot = frame(fp_slot_);
  if (i.op == Op::FpSave) {
    stmxcsr(slot);
    mov(g(i.dst).cvt32(), slot);
    return;
  }
  if (i.op == Op::FpRestore) mov(slot, g(i.a).cvt32());
  else mov(dword[rsp + static_cast<int>(fp_slot_)], all_masked_round_to_nearest);
  ldmxcsr(slot);
}

void Emitter::emit_spill(const Inst& i) {
  if (i.a.reg_class() == RegClass::general) mov(frame(i.imm), g(i.a));
  else if (i.a.reg_class() == RegClass::mask && v4_) kmovq(frame(i.imm), k(i.a));
  else vmovups(frame(i.imm), v(i.a, f_->vector_bytes));
}

void Emitter::emit_reload(const Inst& i) {
  if (i.dst.reg_class() == RegClass::general) mov(g(i.dst), frame(i.imm));
  else if (i.dst.reg_class() == RegClass::mask && v4_) kmovq(k(i.dst), frame(i.imm));
  else vmovups(v(i.dst, f_->vector_bytes), frame(i.imm));
}

}  // namespace hloc::x86
