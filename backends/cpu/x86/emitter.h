// The emitter class, shared by the emit_*.cpp files only: it pulls in the whole of xbyak.
//
// emit.cpp          operands, frames, control flow
// emit_general.cpp  general registers
// emit_vector.cpp   memory, constants and arithmetic of vectors
// emit_lanes.cpp    conversions, comparisons, moving lanes
// emit_mask.cpp     masks: k registers, or vectors of all-ones lanes for AVX2
//
// Each `emit_x` gives the encoding of one kind of instruction for AVX2 and for AVX-512 (`v4_`). Everything that needs a
// register of its own was expanded by `legalise` before.
#pragma once

// xbyak reads off the compiler what it writes code for; it is 64-bit code on every host.
#define XBYAK64
#include <xbyak/xbyak.h>

#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/machine/assembly.h"
#include "backends/cpu/machine/element.h"
#include "backends/cpu/x86/x86.h"

namespace hloc::x86 {

using machine::Cond;
using machine::Function;
using machine::Inst;
using machine::MemKind;
using machine::Op;
using machine::Reg;
using machine::RegClass;
using machine::VType;

// The condition that holds when `c` does not; general registers' ones only.
Cond negated(Cond c);

class Emitter : public Xbyak::CodeGenerator {
 public:
  Emitter(void* buffer, size_t size, const Features& features, machine::ObjectCode& out)
      : CodeGenerator(size, buffer), v4_(features.v4), out_(out), pool_(out.rodata) {
    setDefaultJmpNEAR(true);
  }
  void function(const Function& f, const machine::Allocation& a, bool listing);

 private:
  using Xmm = Xbyak::Xmm;
  using Ymm = Xbyak::Ymm;
  using Zmm = Xbyak::Zmm;
  using Reg64 = Xbyak::Reg64;
  using Opmask = Xbyak::Opmask;
  using Address = Xbyak::Address;
  using Operand = Xbyak::Operand;

  // ---- operands ----
  uint8_t phys(Reg r) const { return a_->of(*f_, r); }
  Reg64 g(Reg r) const { return Reg64(phys(r)); }
  Opmask k(Reg r) const { return Opmask(phys(r)); }
  static Operand::Kind kind(int bytes) { return bytes <= 16 ? Operand::XMM : bytes == 32 ? Operand::YMM : Operand::ZMM; }
  Xmm v(Reg r, int bytes) const { return Xmm(kind(bytes), phys(r)); }
  Xmm v(Reg r, const Inst& i) const { return v(r, i.vtype().bytes()); }
  Ymm wide(Reg r, int bytes) const { return Ymm(phys(r), kind(bytes), bytes * 8); }
  // `immediate`: how many bytes follow the address in the instruction.
  Address memory(const Inst& i, int immediate = 0);
  Address constant(std::span<const std::byte> bytes, int immediate, bool broadcast = false);
  Address reference(machine::Relocation r, int immediate, bool broadcast);
  Address frame(int64_t offset) const { return ptr[rsp + static_cast<int>(offset)]; }
  // Operand b: a register or folded memory. Valid until the next call.
  const Operand& b_operand(const Inst& i, int immediate = 0);
  void resolve_references();

  // ---- emit.cpp ----
  void prologue();
  void epilogue();
  void parallel_moves(std::vector<machine::Move> moves);
  void emit(const Inst& i, size_t next_block);
  void emit_call(const Inst& i);
  void emit_branch(const Inst& i, size_t next_block);
  void emit_ret(const Inst& i);

  // ---- emit_general.cpp ----
  template <class WithReg, class WithImm>
  void two_operand(const Inst& i, bool commutative, WithReg with_reg, WithImm with_imm);
  void emit_mov(const Inst& i);
  void emit_address(const Inst& i);
  void emit_add(const Inst& i);
  void emit_sub(const Inst& i);
  void emit_mul(const Inst& i);
  void emit_logic(const Inst& i);
  void emit_negation(const Inst& i);
  void emit_shift(const Inst& i);
  void emit_division(const Inst& i);
  void emit_extend(const Inst& i);
  void emit_count(const Inst& i);
  void emit_compare(const Inst& i);
  void emit_set(const Inst& i);
  void emit_select(const Inst& i);
  void emit_load(const Inst& i);
  void emit_store(const Inst& i);
  void emit_prefetch(const Inst& i);
  void emit_fp_state(const Inst& i);
  void emit_spill(const Inst& i);
  void emit_reload(const Inst& i);

  // ---- emit_vector.cpp ----
  void move(const Xmm& to, const Xmm& from);
  void load_bytes(const Xmm& to, const Address& from, int bytes);
  void store_bytes(const Address& to, const Xmm& from, int bytes);
  void broadcast_load(const Xmm& to, const Address& from, int width, bool scalar);
  void emit_broadcast(const Inst& i);
  void emit_const(const Inst& i);
  void emit_data(const Inst& i);
  void emit_masked_load(const Inst& i);
  void emit_masked_store(const Inst& i);
  void emit_stream_store(const Inst& i);
  void emit_gather(const Inst& i);
  void emit_arithmetic(const Inst& i);
  void emit_min_max(const Inst& i);
  void emit_majority(const Inst& i);
  void emit_integer_min_max(const Inst& i, bool max);
  void emit_fma(const Inst& i);
  void emit_sqrt(const Inst& i);
  void emit_abs(const Inst& i);
  void emit_round(const Inst& i);
  void emit_vector_shift(const Inst& i);
  void emit_variable_shift(const Inst& i);
  void emit_vector_count(const Inst& i);
  template <class M>
  void three(M method, const Inst& i) {
    (this->*method)(v(i.dst, i), v(i.a, i), b_operand(i));
  }
  template <class Ps, class Pd, class Ss, class Sd>
  void three_float(const Inst& i, Ps ps, Pd pd, Ss ss, Sd sd) {
    bool single = i.type == ElementType::f32;
    if (i.lanes == 1) single ? three(ss, i) : three(sd, i);
    else single ? three(ps, i) : three(pd, i);
  }

  // The double form where memory is one element that is repeated.
  template <class Ps, class Pd>
  void emit_bits(const Inst& i, Ps ps, Pd pd) {
    byte_width(i.type) == 8 ? three(pd, i) : three(ps, i);
  }

  // ---- emit_lanes.cpp ----
  void emit_splat(const Inst& i);
  void emit_extract(const Inst& i);
  void emit_insert(const Inst& i);
  void emit_convert(const Inst& i);
  void convert_integer(const Inst& i, const Xmm& to, const Xmm& from);
  void convert_float(const Inst& i, const Xmm& to, const Xmm& from);
  void emit_vector_compare(const Inst& i);
  void emit_vector_select(const Inst& i);
  void emit_part(const Inst& i);
  void emit_concat(const Inst& i);
  void emit_permute(const Inst& i);
  void emit_zip(const Inst& i);
  void emit_blocks(const Inst& i);

  // ---- emit_mask.cpp ----
  void emit_mask_k(const Inst& i);
  void emit_mask_vector(const Inst& i);
  void emit_mask_convert(const Inst& i);
  void emit_mask_bits(const Inst& i);
  void emit_mask_from_bits(const Inst& i);
  void emit_mask_tail(const Inst& i);
  void emit_mask_test(const Inst& i);

  struct Reference {
    size_t at;  // where the instruction that holds it begins
    uint32_t mark;
    machine::Relocation relocation;
  };

  bool v4_;
  machine::ObjectCode& out_;
  machine::ConstantPool pool_;
  const Function* f_ = nullptr;
  const machine::Allocation* a_ = nullptr;
  std::vector<Xbyak::Label> labels_;  // by block
  std::vector<Reference> references_;  // of the instruction in work
  uint32_t next_mark_ = 0;
  Xmm register_operand_;
  Address memory_operand_ = ptr[rsp];
  bool wide_ = false;  // does the function touch the upper halves of vector registers
  std::vector<uint8_t> saved_;
  uint32_t frame_bytes_ = 0, fp_slot_ = 0, rsp_slot_ = 0;
  bool realigned_ = false;
};

}  // namespace hloc::x86
