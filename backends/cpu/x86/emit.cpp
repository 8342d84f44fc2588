// Frames, control flow and general registers.
//
// A frame, from rsp upwards: spill slots, 8 bytes for MXCSR, the caller's rsp (only where vector slots made the frame
// realign), then the saved registers. Leaf code without spills has no frame at all.
#include <algorithm>
#include <array>
#include <cstring>

#include "backends/cpu/x86/emitter.h"

namespace hloc::x86 {

namespace {

constexpr uint8_t rax_number = 0, rdx_number = 2, rsp_number = 4;
constexpr uint64_t callee_saved_general = 0xf028;  // rbx rbp r12 r13 r14 r15
constexpr std::array<uint8_t, 6> argument_registers{7, 6, 2, 1, 8, 9};

bool touches_wide_vectors(const Function& f) {
  for (machine::BlockId b : f.order) {
    for (const Inst& i : f.blocks[b].insts) {
      if (i.lanes && (i.vtype().bytes() > 16 || (i.from != ElementType::invalid && byte_width(i.from) * i.lanes > 16))) return true;
      if (i.op == Op::VPart && i.vtype().bytes() * (i.imm + 1) > 16) return true;
      if ((i.op == Op::Reload && i.dst.reg_class() != RegClass::general) || (i.op == Op::Spill && i.a.reg_class() != RegClass::general)) return true;
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
    for (machine::BlockId to : machine::successors(f.blocks[f.order[n]].insts.back())) is_head[place[to]] = is_head[place[to]] || place[to] <= n;
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

uint32_t ConstantPool::add(std::span<const std::byte> constant) {
  std::string key(reinterpret_cast<const char*>(constant.data()), constant.size());
  auto [it, fresh] = offsets_.try_emplace(std::move(key), 0);
  if (fresh) {
    size_t alignment = constant.size();  // a power of two up to 64
    bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
    it->second = static_cast<uint32_t>(bytes_.size());
    bytes_.insert(bytes_.end(), constant.begin(), constant.end());
  }
  return it->second;
}

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
  std::vector<Move> moves;
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

// All at once: first what nobody reads any more, then cycles by exchange.
void Emitter::parallel_moves(std::vector<Move> moves) {
  std::erase_if(moves, [](const Move& m) { return m.first == m.second; });
  while (!moves.empty()) {
    auto free = std::find_if(moves.begin(), moves.end(), [&](const Move& m) {
      return std::none_of(moves.begin(), moves.end(), [&](const Move& other) { return other.second == m.first; });
    });
    if (free != moves.end()) {
      mov(Reg64(free->first), Reg64(free->second));
      moves.erase(free);
      continue;
    }
    Move m = moves.back();
    moves.pop_back();
    xchg(Reg64(m.first), Reg64(m.second));
    for (Move& other : moves) {
      if (other.second == m.first) other.second = m.second;
      else if (other.second == m.second) other.second = m.first;
    }
    std::erase_if(moves, [](const Move& left) { return left.first == left.second; });
  }
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

void Emitter::emit_ret(const Inst& i) {
  if (i.a && phys(i.a) != rax_number) mov(rax, g(i.a));
  epilogue();
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
    if (phys(i.dst) != rdx_number) mov(g(i.dst), rdx);
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

namespace {

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

}  // namespace

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

void Emitter::emit_call(const Inst& i) {
  std::vector<Move> moves;
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
