// Operands, frames and control flow.
//
// A frame, from rsp upwards: spill slots, 8 bytes for MXCSR, the caller's rsp (only where vector slots made the frame
// realign), then the saved registers. Leaf code without spills has no frame at all.
#include <algorithm>
#include <array>
#include <cstring>

#include "backends/cpu/x86/emitter.h"

namespace hloc::x86 {

namespace {

constexpr uint8_t rax_number = 0;
constexpr uint64_t callee_saved_general = 0xf028;  // rbx rbp r12 r13 r14 r15
constexpr std::array<uint8_t, 6> argument_registers{7, 6, 2, 1, 8, 9};

bool touches_wide_vectors(const Function& f) {
  for (machine::BlockId b : f.order) {
    for (const Inst& i : f.blocks[b].insts) {
      if (i.lanes && (i.vtype().bytes() > 16 || (i.from != ElementType::invalid && byte_width(i.from) * i.lanes > 16))) return true;
      if (i.op == Op::VPart && i.vtype().bytes() * (i.imm + 1) > 16) return true;
      Reg spilled = i.op == Op::Spill ? i.a : i.op == Op::Reload ? i.dst : Reg{};
      if (spilled && spilled.reg_class() != RegClass::general) return true;
    }
  }
  return false;
}

// By place in the layout: blocks that a later one jumps back to, with no other such block between.
std::vector<bool> innermost_loop_heads(const Function& f) {
  std::vector<size_t> place(f.blocks.size());
  for (size_t n = 0; n < f.order.size(); n++) place[f.order[n]] = n;
  std::vector<bool> is_head(f.order.size()), innermost(f.order.size());
  size_t last_head = f.order.size();  // of the heads so far in layout order, the last
  for (size_t n = 0; n < f.order.size(); n++) {
    for (machine::BlockId to : machine::successors(f.blocks[f.order[n]].insts.back())) {
      if (place[to] <= n) is_head[place[to]] = true;
    }
  }
  for (size_t n = 0; n < f.order.size(); n++) {
    if (is_head[n]) last_head = n;
    for (machine::BlockId to : machine::successors(f.blocks[f.order[n]].insts.back())) {
      if (place[to] <= n && place[to] == last_head) innermost[last_head] = true;
    }
  }
  return innermost;
}

}  // namespace

// ---- operands ----------------------------------------------------------------------------------------------------

// Distances to other sections are not known yet. The displacement gets a mark, which `resolve_references` finds among
// the bytes that follow to learn where the field is.
Emitter::Address Emitter::reference(machine::Relocation r, int immediate, bool broadcast) {
  constexpr uint32_t marks = 0x5d000000;
  r.addend -= 4 + immediate;
  uint32_t mark = marks + (next_mark_++ & 0xffffff);
  references_.push_back({getSize(), mark, r});
  return broadcast ? ptr_b[rip + static_cast<int>(mark)] : ptr[rip + static_cast<int>(mark)];
}

void Emitter::resolve_references() {
  for (Reference& r : references_) {
    size_t at = r.at + 1, end = std::min(r.at + 32, getSize());
    uint32_t field = 0;
    for (; at + 4 <= end; at++) {
      std::memcpy(&field, getCode() + at, 4);
      if (field == r.mark) break;
    }
    HLOC_CHECK(at + 4 <= end, "a displacement was not found");
    rewrite(at, 0, 4);
    r.relocation.offset = at;
    out_.relocations.push_back(r.relocation);
  }
  references_.clear();
}

Emitter::Address Emitter::constant(std::span<const std::byte> bytes, int immediate, bool broadcast) {
  machine::Relocation r;
  r.target = machine::Relocation::Target::rodata;
  r.addend = pool_.add(bytes);
  return reference(r, immediate, broadcast);
}

Emitter::Address Emitter::memory(const Inst& i, int immediate) {
  if (i.mem == MemKind::slot) return frame(i.disp);
  if (i.mem == MemKind::data) return constant(f_->data[static_cast<size_t>(i.disp)].bytes, immediate);
  if (i.mem == MemKind::splat) {
    auto width = static_cast<size_t>(byte_width(i.type));
    const auto* element = reinterpret_cast<const std::byte*>(&i.imm);
    if (i.lanes == 1) return constant({element, width}, immediate);
    if (v4_ && width >= 4) return constant({element, width}, immediate, true);
    std::array<std::byte, 64> all;
    auto size = std::max<size_t>(16, static_cast<size_t>(i.vtype().bytes()));
    for (size_t at = 0; at < size; at += width) std::memcpy(all.data() + at, element, width);
    return constant({all.data(), size}, immediate);
  }
  Xbyak::RegExp e;
  if (i.base && i.index && i.scale == 1) e = g(i.base) + g(i.index);
  else if (i.base && i.index) e = g(i.base) + g(i.index) * i.scale;
  else if (i.base) e = Xbyak::RegExp(g(i.base));
  else if (i.index) e = g(i.index) * i.scale;
  e = e + static_cast<size_t>(static_cast<int64_t>(i.disp));
  return i.mem == MemKind::broadcast ? ptr_b[e] : ptr[e];
}

const Emitter::Operand& Emitter::b_operand(const Inst& i, int immediate) {
  if (i.b) {
    register_operand_ = v(i.b, i);
    return register_operand_;
  }
  memory_operand_ = memory(i, immediate);
  return memory_operand_;
}

// ---- frames ------------------------------------------------------------------------------------------------------

void Emitter::function(const Function& f, const machine::Allocation& a, bool listing) {
  f_ = &f, a_ = &a;
  wide_ = touches_wide_vectors(f);
  labels_.clear();  // the labels are told off before their numbers are used again
  labels_.resize(f.blocks.size());
  align(32);
  size_t begin = getSize();
  if (listing) out_.listing.push_back({begin, "prologue"});
  prologue();
  std::vector<bool> heads = innermost_loop_heads(f);
  for (size_t n = 0; n < f.order.size(); n++) {
    const machine::Block& block = f.blocks[f.order[n]];
    if (heads[n]) align(32);  // the decoded-instruction cache works on 32-byte windows
    L(labels_[f.order[n]]);
    for (const Inst& i : block.insts) {
      if (listing) out_.listing.push_back({getSize(), machine::print(i, f)});
      emit(i, n + 1 < f.order.size() ? f.order[n + 1] : machine::no_block);
      if (!references_.empty()) resolve_references();
    }
  }
  out_.functions.push_back({f.name, begin, getSize() - begin});
}

void Emitter::prologue() {
  bool calls = false, fp_state = false;
  for (machine::BlockId b : f_->order) {
    for (const Inst& i : f_->blocks[b].insts) {
      calls |= machine::is_call(i.op);
      fp_state |= i.op == Op::FpSave || i.op == Op::FpDefault || i.op == Op::FpRestore;
    }
  }
  saved_.clear();
  for (uint8_t r = 0; r < 16; r++) {
    if (a_->used[0] & callee_saved_general & (uint64_t{1} << r)) saved_.push_back(r);
  }
  uint32_t bytes = (a_->spill_bytes + 7) / 8 * 8;
  fp_slot_ = bytes;
  if (fp_state) bytes += 8;
  rsp_slot_ = bytes;
  realigned_ = a_->spill_bytes >= 16;  // smaller ones hold no vector
  if (realigned_) bytes += 8;
  for (uint8_t r : saved_) push(Reg64(r));
  if (realigned_) {
    mov(rax, rsp);
    sub(rsp, static_cast<int>(bytes));
    and_(rsp, -64);
    mov(frame(rsp_slot_), rax);
  } else {
    // At a call rsp must be a multiple of 16; it is 8 beyond one here, before the pushes.
    if (calls && (bytes + 8 * saved_.size() + 8) % 16) bytes += 8;
    if (bytes) sub(rsp, static_cast<int>(bytes));
  }
  frame_bytes_ = bytes;
  std::vector<machine::Move> moves;
  for (size_t p = 0; p < f_->params.size(); p++) {
    uint8_t to = phys(f_->params[p]);
    if (to != 255) moves.push_back({to, argument_registers[p]});
  }
  parallel_moves(std::move(moves));
}

void Emitter::epilogue() {
  if (wide_) vzeroupper();
  if (realigned_) mov(rsp, frame(rsp_slot_));
  else if (frame_bytes_) add(rsp, static_cast<int>(frame_bytes_));
  for (size_t n = saved_.size(); n-- > 0;) pop(Reg64(saved_[n]));
  ret();
}

void Emitter::parallel_moves(std::vector<machine::Move> moves) {
  machine::parallel_moves(std::move(moves), [&](uint8_t to, uint8_t from) { mov(Reg64(to), Reg64(from)); },
                          [&](uint8_t a, uint8_t b) { xchg(Reg64(a), Reg64(b)); });
}

// ---- instructions ------------------------------------------------------------------------------------------------

void Emitter::emit(const Inst& i, size_t next_block) {
  switch (i.op) {
    case Op::Mov: return emit_mov(i);
    case Op::Lea: return lea(g(i.dst), memory(i));
    case Op::AddressOf: return emit_address(i);
    case Op::Add: return emit_add(i);
    case Op::Sub: return emit_sub(i);
    case Op::Mul: return emit_mul(i);
    case Op::MulHigh: case Op::Div: case Op::Rem: return emit_division(i);
    case Op::And: case Op::Or: case Op::Xor: return emit_logic(i);
    case Op::Shl: case Op::Shr: case Op::Sar: return emit_shift(i);
    case Op::Neg: case Op::Not: return emit_negation(i);
    case Op::Extend: return emit_extend(i);
    case Op::LeadingZeros: case Op::TrailingZeros: case Op::PopCount: return emit_count(i);
    case Op::LowBits: return mov(g(i.dst), ~uint64_t{0}), bzhi(g(i.dst), g(i.dst), g(i.a));
    case Op::Set: return emit_set(i);
    case Op::Select: return emit_select(i);
    case Op::Load: return emit_load(i);
    case Op::Store: return emit_store(i);
    case Op::Prefetch: return emit_prefetch(i);
    case Op::StoreFence: return sfence();
    case Op::Call: case Op::CallReg: return emit_call(i);
    case Op::FpSave: case Op::FpDefault: case Op::FpRestore: return emit_fp_state(i);
    case Op::Jump: return i.targets[0] == next_block ? void() : jmp(labels_[i.targets[0]]);
    case Op::Branch: return emit_branch(i, next_block);
    case Op::Ret: return emit_ret(i);
    case Op::VMov: return move(v(i.dst, i), v(i.a, i));
    case Op::VConst: return emit_const(i);
    case Op::VData: return emit_data(i);
    case Op::VLoad: return load_bytes(v(i.dst, i), memory(i), i.vtype().bytes());
    case Op::VLoadBroadcast: return broadcast_load(v(i.dst, i), memory(i), byte_width(i.type), i.lanes == 1);
    case Op::VLoadMasked: return emit_masked_load(i);
    case Op::VStore: return store_bytes(memory(i), v(i.a, i), i.vtype().bytes());
    case Op::VStoreMasked: return emit_masked_store(i);
    case Op::VStoreStream: return emit_stream_store(i);
    case Op::VGather: return emit_gather(i);
    case Op::VBroadcast: return emit_broadcast(i);
    case Op::VSplat: return emit_splat(i);
    case Op::VExtract: return emit_extract(i);
    case Op::VInsert: return emit_insert(i);
    case Op::VAdd: case Op::VSub: case Op::VMul: case Op::VMulLow: return emit_arithmetic(i);
    case Op::VDiv: return three_float(i, &Emitter::vdivps, &Emitter::vdivpd, &Emitter::vdivss, &Emitter::vdivsd);
    case Op::VMin: case Op::VMax: case Op::VMinRaw: case Op::VMaxRaw: return emit_min_max(i);
    case Op::VFma: case Op::VFms: case Op::VFnma: case Op::VFnms: return emit_fma(i);
    case Op::VScale: return three_float(i, &Emitter::vscalefps, &Emitter::vscalefpd, &Emitter::vscalefss, &Emitter::vscalefsd);
    case Op::VMajority: return emit_majority(i);
    case Op::VSqrt: return emit_sqrt(i);
    case Op::VAbs: return emit_abs(i);
    case Op::VRound: return emit_round(i);
    case Op::VAnd: return emit_bits(i, &Emitter::vandps, &Emitter::vandpd);
    case Op::VOr: return emit_bits(i, &Emitter::vorps, &Emitter::vorpd);
    case Op::VXor: return emit_bits(i, &Emitter::vxorps, &Emitter::vxorpd);
    case Op::VAndNot: return emit_bits(i, &Emitter::vandnps, &Emitter::vandnpd);
    case Op::VShl: case Op::VShr: case Op::VSar: return emit_vector_shift(i);
    case Op::VLeadingZeros: case Op::VPopCount: return emit_vector_count(i);
    case Op::VConvert: case Op::VConvertRaw: return emit_convert(i);
    case Op::VCompare: return emit_vector_compare(i);
    case Op::VSelect: return emit_vector_select(i);
    case Op::VPart: return emit_part(i);
    case Op::VConcat: return emit_concat(i);
    case Op::VPermute: return emit_permute(i);
    case Op::VTable: return three(&Emitter::vpshufb, i);
    case Op::VZipLow: case Op::VZipHigh: return emit_zip(i);
    case Op::VBlocks: return emit_blocks(i);
    case Op::MMov: case Op::MConst: case Op::MAnd: case Op::MOr: case Op::MXor: case Op::MAndNot: case Op::MNot:
      return v4_ ? emit_mask_k(i) : emit_mask_vector(i);
    case Op::MTail: return emit_mask_tail(i);
    case Op::MConvert: return emit_mask_convert(i);
    case Op::MBits: return emit_mask_bits(i);
    case Op::MFromBits: return emit_mask_from_bits(i);
    case Op::MAny: case Op::MAll: return emit_mask_test(i);
    case Op::Spill: return emit_spill(i);
    case Op::Reload: return emit_reload(i);
    case Op::VNeg: case Op::VNot: case Op::VRem: break;  // `legalise` leaves none of these
  }
  HLOC_UNREACHABLE();
}

void Emitter::emit_ret(const Inst& i) {
  if (i.a && phys(i.a) != rax_number) mov(rax, g(i.a));
  epilogue();
}

void Emitter::emit_call(const Inst& i) {
  std::vector<machine::Move> moves;
  auto sources = i.sources();
  bool through_register = i.op == Op::CallReg;
  for (size_t s = through_register, p = 0; s < sources.size() && sources[s]; s++, p++) {
    moves.push_back({argument_registers[p], phys(sources[s])});
  }
  if (through_register) moves.push_back({rax_number, phys(i.a)});
  parallel_moves(std::move(moves));
  if (wide_) vzeroupper();
  if (through_register) {
    call(rax);
  } else {
    db(0xe8);
    machine::Relocation r;
    r.offset = getSize();
    r.target = machine::Relocation::Target::external;
    r.kind = machine::Relocation::Kind::call;
    r.index = i.symbol;
    r.addend = -4;
    out_.relocations.push_back(r);
    dd(0);
  }
  if (i.dst && phys(i.dst) != rax_number) mov(g(i.dst), rax);
}

void Emitter::emit_branch(const Inst& i, size_t next_block) {
  emit_compare(i);
  Cond c = i.cond;
  auto [yes, no] = i.targets;
  if (yes == next_block) {
    std::swap(yes, no);
    c = negated(c);
  }
  const Xbyak::Label& to = labels_[yes];
  switch (c) {
    case Cond::eq: je(to); break;
    case Cond::ne: jne(to); break;
    case Cond::lt: jl(to); break;
    case Cond::le: jle(to); break;
    case Cond::gt: jg(to); break;
    case Cond::ge: jge(to); break;
    case Cond::ult: jb(to); break;
    case Cond::ule: jbe(to); break;
    case Cond::ugt: ja(to); break;
    case Cond::uge: jae(to); break;
    default: HLOC_UNREACHABLE();
  }
  if (no != next_block) jmp(labels_[no]);
}

}  // namespace hloc::x86
