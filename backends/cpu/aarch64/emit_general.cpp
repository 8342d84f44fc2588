// General registers, addresses, loads and stores.
#include "backends/cpu/aarch64/emitter.h"

namespace hloc::aarch64 {

using machine::Relocation;

// ---- addresses ---------------------------------------------------------------------------------------------------

// What has no form of its own is computed in `computed`.
Emitter::Place Emitter::place(const Inst& i, int bytes, int64_t computed) {
  HLOC_CHECK(i.mem == MemKind::memory, "this target folds no other operands");
  Place p;
  p.disp = i.disp;
  if (!i.index) {
    if (i.base) return p.base = phys(i.base), p;
    constant(computed, static_cast<uint64_t>(static_cast<int64_t>(i.disp)));
    return p.base = computed, p.disp = 0, p;
  }
  int shift = size_of(i.scale);
  if (i.base && i.disp == 0 && (shift == 0 || i.scale == bytes)) {
    return p.base = phys(i.base), p.index = phys(i.index), p.shift = shift, p;
  }
  put(Form::Add, {computed, i.base ? phys(i.base) : zero, phys(i.index), shift});
  return p.base = computed, p;
}

void Emitter::address(const Inst& i, int64_t to) {
  int64_t base = i.base ? phys(i.base) : zero;
  if (!i.base && !i.index) return constant(to, static_cast<uint64_t>(static_cast<int64_t>(i.disp)));
  if (i.index) {
    int64_t sum = i.disp == 0 ? to : x16;
    put(Form::Add, {sum, base, phys(i.index), size_of(i.scale)});
    if (i.disp != 0) add_constant(to, x16, i.disp);
  } else if (i.disp == 0) {
    move(to, base);
  } else {
    add_constant(to, base, i.disp);
  }
}

// `form` is the one with a scaled offset; the others follow it in the table.
void Emitter::access(Form form, int64_t reg, Place p, int bytes) {
  auto other = [&](int n) { return static_cast<Form>(static_cast<int>(form) + n); };
  if (p.index >= 0) {
    if (bytes == 1) return put(other(2), {reg, p.base, p.index});
    return put(other(2), {reg, p.base, p.index, p.shift});
  }
  auto near = [](int64_t d) { return d >= -256 && d <= 255; };
  auto scaled = [&](int64_t d) { return d >= 0 && d % bytes == 0 && d / bytes < 4096; };
  if (!near(p.disp) && !scaled(p.disp)) {
    add_constant(x16, p.base, p.disp);
    p = {.base = x16};
  }
  put(scaled(p.disp) ? form : other(1), {reg, p.base, p.disp});
}

int64_t Emitter::operand_b(const Inst& i, int64_t computed) {
  if (i.b) return phys(i.b);
  if (i.imm == 0) return zero;
  constant(computed, static_cast<uint64_t>(i.imm));
  return computed;
}

void Emitter::emit_address(const Inst& i) {
  int64_t to = phys(i.dst);
  relocation(Relocation::Target::external, Relocation::Kind::page, i.symbol, 0);  // `assemble` puts in what the symbol is
  put(Form::Adrp, {to, 0});
  relocation(Relocation::Target::external, Relocation::Kind::low12, i.symbol, 0);
  put(Form::AddImmediate, {to, to, 0, 0});
}

// ---- arithmetic --------------------------------------------------------------------------------------------------

void Emitter::emit_mov(const Inst& i) {
  if (i.a) move(phys(i.dst), phys(i.a));
  else constant(phys(i.dst), static_cast<uint64_t>(i.imm));
}

void Emitter::emit_add(const Inst& i) {
  bool sub = i.op == Op::Sub;
  if (i.b) return put(sub ? Form::Sub : Form::Add, {phys(i.dst), phys(i.a), phys(i.b), 0});
  add_constant(phys(i.dst), phys(i.a), sub ? static_cast<int64_t>(0 - static_cast<uint64_t>(i.imm)) : i.imm);
}

void Emitter::emit_mul(const Inst& i) {
  if (!i.b && i.imm > 0 && (i.imm & (i.imm - 1)) == 0) {
    int n = __builtin_ctzll(static_cast<uint64_t>(i.imm));
    return put(Form::Ubfm, {phys(i.dst), phys(i.a), (64 - n) % 64, 63 - n});
  }
  put(Form::Madd, {phys(i.dst), phys(i.a), operand_b(i), zero});
}

void Emitter::emit_logic(const Inst& i) {
  if (!i.b && is_bit_mask(static_cast<uint64_t>(i.imm))) {
    Form form = i.op == Op::And ? Form::AndImmediate : i.op == Op::Or ? Form::OrrImmediate : Form::EorImmediate;
    return put(form, {phys(i.dst), phys(i.a), i.imm});
  }
  put(i.op == Op::And ? Form::And : i.op == Op::Or ? Form::Orr : Form::Eor, {phys(i.dst), phys(i.a), operand_b(i)});
}

void Emitter::emit_shift(const Inst& i) {
  int64_t d = phys(i.dst), a = phys(i.a), n = i.imm & 63;
  if (i.b) {
    put(i.op == Op::Shl ? Form::Lslv : i.op == Op::Shr ? Form::Lsrv : Form::Asrv, {d, a, phys(i.b)});
  } else if (i.op == Op::Shl) {
    put(Form::Ubfm, {d, a, (64 - n) % 64, 63 - n});
  } else {
    put(i.op == Op::Shr ? Form::Ubfm : Form::Sbfm, {d, a, n, 63});
  }
}

void Emitter::emit_division(const Inst& i) {
  int64_t d = phys(i.dst), a = phys(i.a), b = phys(i.b);
  bool is_signed = is_signed_integer(i.type), word = byte_width(i.type) == 4;
  if (i.op == Op::MulHigh) return put(is_signed ? Form::Smulh : Form::Umulh, {d, a, b});
  Form divide = word ? (is_signed ? Form::SdivWord : Form::UdivWord) : is_signed ? Form::Sdiv : Form::Udiv;
  if (i.op == Op::Div) {
    put(divide, {d, a, b});
  } else {
    put(divide, {x16, a, b});
    put(word ? Form::MsubWord : Form::Msub, {d, x16, b, a});
  }
  if (word && is_signed) put(Form::Sbfm, {d, d, 0, 31});
}

void Emitter::emit_extend(const Inst& i) {
  int bits = 8 * byte_width(i.type);
  put(is_signed_integer(i.type) ? Form::Sbfm : Form::Ubfm, {phys(i.dst), phys(i.a), 0, bits - 1});
}

void Emitter::emit_count(const Inst& i) {
  int64_t d = phys(i.dst), a = phys(i.a);
  bool word = byte_width(i.type) == 4;
  if (i.op == Op::PopCount) {
    put(word ? Form::FmovFromWord : Form::FmovFromDouble, {v31, a});
    put(Form::VCnt, {v31, bytes_8, v31});
    put(Form::VAddv, {v31, v31, arrangement(0, 8)});
    return put(Form::FmovToWord, {d, v31});
  }
  if (i.op == Op::TrailingZeros) put(word ? Form::RbitWord : Form::Rbit, {d, a}), a = d;
  put(word ? Form::ClzWord : Form::Clz, {d, a});
}

// ~(~0 << a), but all ones for 64.
void Emitter::emit_low_bits(const Inst& i) {
  int64_t a = phys(i.a);
  put(Form::Movn, {x16, 0, 0});
  put(Form::Lslv, {x16, x16, a});
  put(Form::Orn, {x16, zero, x16});
  put(Form::SubsImmediate, {zero, a, 64, 0});
  constexpr int64_t not_equal = 1;
  put(Form::Csinv, {phys(i.dst), x16, zero, not_equal});
}

void Emitter::compare(const Inst& i) {
  int64_t a = phys(i.a);
  if (!i.b && i.imm >= 0 && i.imm < 4096) return put(Form::SubsImmediate, {zero, a, i.imm, 0});
  if (!i.b && i.imm < 0 && i.imm > -4096) return put(Form::AddsImmediate, {zero, a, -i.imm, 0});
  put(Form::Subs, {zero, a, operand_b(i), 0});
}

// ---- memory ------------------------------------------------------------------------------------------------------

void Emitter::emit_load(const Inst& i) {
  int bytes = byte_width(i.type);
  static constexpr Form plain[] = {Form::LdrByte, Form::LdrHalf, Form::LdrWord, Form::Ldr};
  static constexpr Form with_sign[] = {Form::LdrSignedByte, Form::LdrSignedHalf, Form::LdrSignedWord, Form::Ldr};
  access((is_signed_integer(i.type) ? with_sign : plain)[size_of(bytes)], phys(i.dst), place(i, bytes), bytes);
}

void Emitter::emit_store(const Inst& i) {
  int bytes = byte_width(i.type);
  static constexpr Form forms[] = {Form::StrByte, Form::StrHalf, Form::StrWord, Form::Str};
  Place p = place(i, bytes);
  int64_t value = zero;
  if (i.a) {
    value = phys(i.a);
  } else if (i.imm != 0) {
    // A far place needs both registers; then the address comes first, as a whole.
    if (p.index < 0 && (p.disp < -256 || p.disp > 4095)) add_constant(x16, p.base, p.disp), p = {.base = x16};
    value = x17;
    constant(x17, static_cast<uint64_t>(i.imm));
  }
  access(forms[size_of(bytes)], value, p, bytes);
}

void Emitter::emit_prefetch(const Inst& i) {
  constexpr int64_t hints[] = {0, 2, 4, 1};  // to cache 1, 2, 3; for one use
  bool direct = i.base && !i.index && i.disp >= 0 && i.disp <= 32760 && i.disp % 8 == 0;
  if (direct) return put(Form::Prfm, {hints[i.imm], phys(i.base), i.disp});
  address(i, x16);
  put(Form::Prfm, {hints[i.imm], x16, 0});
}

void Emitter::emit_spill(const Inst& i) {
  Place p{.base = stack_pointer, .disp = slots_at_ + i.imm};
  if (i.a.reg_class() == machine::RegClass::general) access(Form::Str, phys(i.a), p, 8);
  else access(Form::VStr16, phys(i.a), p, 16);
}

void Emitter::emit_reload(const Inst& i) {
  Place p{.base = stack_pointer, .disp = slots_at_ + i.imm};
  if (i.dst.reg_class() == machine::RegClass::general) access(Form::Ldr, phys(i.dst), p, 8);
  else access(Form::VLdr16, phys(i.dst), p, 16);
}

}  // namespace hloc::aarch64
