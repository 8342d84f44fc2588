// The emitter class, shared by the emit_*.cpp files only.
//
// emit.cpp            frames, calls, branches, constants of general registers
// emit_general.cpp    general registers, addresses, loads and stores of theirs
// emit_memory.cpp     vectors: memory and constants
// emit_vector.cpp     vectors: arithmetic, shifts
// emit_convert.cpp    conversions
// emit_lanes.cpp      comparisons, selects, moving lanes, masks
//
// x16, x17 and v29 to v31 are never allocated: sequences keep what they need for themselves there.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "backends/cpu/aarch64/aarch64.h"
#include "backends/cpu/aarch64/encode.h"
#include "backends/cpu/machine/element.h"

namespace hloc::aarch64 {

using machine::Cond;
using machine::Function;
using machine::Inst;
using machine::MemKind;
using machine::Op;
using machine::Reg;
using machine::VType;

class Emitter {
 public:
  explicit Emitter(machine::ObjectCode& out) : out_(out), pool_(out.rodata) {}
  void function(const Function& f, const machine::Allocation& a, bool listing);

 private:
  static constexpr int64_t x16 = 16, x17 = 17, frame_pointer = 29, link = 30, zero = 31, stack_pointer = 31;
  static constexpr int64_t v29 = 29, v30 = 30, v31 = 31;

  void put(Form form, std::initializer_list<int64_t> operands) { put_word(encode(form, operands)); }
  void put_word(uint32_t word);
  int64_t phys(Reg r) const { return a_->of(*f_, r); }
  size_t at() const { return out_.text.size(); }

  // ---- emit.cpp ----
  void prologue();
  void epilogue();
  void saved_registers(Form general_pair, Form vector_pair);
  void parallel_moves(std::vector<machine::Move> moves);
  void emit(const Inst& i, size_t next_block);
  void emit_call(const Inst& i);
  void emit_branch(const Inst& i, size_t next_block);
  void branch_to(Form form, int64_t operand, machine::BlockId block);
  void settle_branches();
  void emit_ret(const Inst& i);
  void move(int64_t to, int64_t from);
  void constant(int64_t to, uint64_t value);
  void add_constant(int64_t to, int64_t from, int64_t value);  // `to` may be x16, not x17
  void relocation(machine::Relocation::Target target, machine::Relocation::Kind kind, uint32_t index, int64_t addend);

  // ---- emit_general.cpp ----
  // A place in memory that an instruction can name: base + disp, or base + (index << shift).
  struct Place {
    int64_t base = 0, index = -1;
    int shift = 0;
    int64_t disp = 0;
  };
  Place place(const Inst& i, int bytes, int64_t computed = x16);
  void address(const Inst& i, int64_t to);  // the whole address in one register
  void access(Form form, int64_t reg, Place p, int bytes);
  int64_t operand_b(const Inst& i, int64_t computed = x16);  // register b, or the immediate in `computed`
  void compare(const Inst& i);
  void emit_mov(const Inst& i);
  void emit_address(const Inst& i);
  void emit_add(const Inst& i);
  void emit_mul(const Inst& i);
  void emit_logic(const Inst& i);
  void emit_shift(const Inst& i);
  void emit_division(const Inst& i);
  void emit_extend(const Inst& i);
  void emit_count(const Inst& i);
  void emit_low_bits(const Inst& i);
  void emit_set(const Inst& i);
  void emit_select(const Inst& i);
  void emit_load(const Inst& i);
  void emit_store(const Inst& i);
  void emit_prefetch(const Inst& i);
  void emit_spill(const Inst& i);
  void emit_reload(const Inst& i);

  // ---- emit_memory.cpp ----
  void vmove(int64_t to, int64_t from);
  void load_constant(int64_t to, std::span<const std::byte> bytes);
  void vector_constant(int64_t to, uint64_t bits, int width);
  void emit_const(const Inst& i);
  void emit_data(const Inst& i);
  void emit_vector_load(const Inst& i);
  void emit_vector_store(const Inst& i);
  void emit_load_broadcast(const Inst& i);
  void emit_masked_load(const Inst& i);
  void emit_masked_store(const Inst& i);
  void emit_gather(const Inst& i);
  void skip_if_off(int64_t mask, int width, int lane, int words);

  // ---- emit_vector.cpp ----
  void emit_arithmetic(const Inst& i);
  void emit_multiply_64(const Inst& i);
  void emit_multiply_low(const Inst& i);
  void emit_integer_division(const Inst& i);
  void emit_min_max(const Inst& i);
  void emit_fma(const Inst& i);
  void emit_unary(const Inst& i);
  void emit_sign(const Inst& i);
  void emit_bits(const Inst& i);
  void emit_vector_shift(const Inst& i);
  void emit_variable_shift(const Inst& i);
  void emit_vector_count(const Inst& i);

  // ---- emit_convert.cpp ----
  void widen(int64_t to, int64_t from, int from_width, int to_width, bool is_signed);
  void narrow(int64_t to, int64_t from, int from_width, int to_width, Form form);
  void emit_convert(const Inst& i);
  void convert_float(const Inst& i);
  void integer_to_float(const Inst& i);
  void float_to_integer(const Inst& i);
  void wide_to_f32(const Inst& i);
  void emit_mask_convert(const Inst& i);

  // ---- emit_lanes.cpp ----
  void extract_lane(int64_t to, int64_t from, int width, int lane, bool is_signed);
  void insert_lane(int64_t to, int64_t from, int width, int lane);
  void emit_extract(const Inst& i);
  void emit_insert(const Inst& i);
  void emit_part(const Inst& i);
  void emit_concat(const Inst& i);
  void emit_permute(const Inst& i);
  void emit_vector_compare(const Inst& i);
  void float_compare(int64_t to, const Inst& i);
  void choose(int64_t to, int64_t mask, int64_t yes, int64_t no);
  void emit_mask_const(const Inst& i);
  void emit_mask_logic(const Inst& i);
  void emit_mask_tail(const Inst& i);
  void emit_mask_bits(const Inst& i);
  void emit_mask_from_bits(const Inst& i);
  void emit_mask_test(const Inst& i);
  void lane_numbers(int64_t to, int width, int lanes, bool as_bits);

  struct Jump {
    size_t at;  // of its word
    Form form;
    int64_t operand;  // the condition or register; unused for B
    machine::BlockId block;
  };

  machine::ObjectCode& out_;
  machine::ConstantPool pool_;
  const Function* f_ = nullptr;
  const machine::Allocation* a_ = nullptr;
  std::vector<size_t> block_at_;
  std::vector<Jump> jumps_;
  std::vector<uint8_t> saved_general_, saved_vector_;
  bool calls_ = false, far_ = false;
  int64_t slots_at_ = 0, frame_bytes_ = 0;
};

// log2 of an element's bytes.
constexpr int size_of(int width) { return __builtin_ctz(static_cast<unsigned>(width)); }
// The arrangement that covers an instruction's vector.
constexpr int64_t whole(int width, int bytes) { return arrangement(size_of(width), width == 8 ? 16 : bytes); }
constexpr int64_t whole(const Inst& i) { return whole(byte_width(i.type), i.vtype().bytes()); }

}  // namespace hloc::aarch64
