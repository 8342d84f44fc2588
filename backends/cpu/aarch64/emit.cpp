// Frames, calls, branches, constants.
//
// A frame, from sp upwards: x29 and x30 (where the function calls), the other saved registers, then spill slots. Leaf code
// that needs neither has no frame at all.
#include <cstring>

#include "backends/cpu/aarch64/emitter.h"

namespace hloc::aarch64 {

using machine::Relocation;

namespace {

constexpr uint64_t saved_by_callee_vector = 0xff00;       // the lower halves of v8 to v15
// A function with more of the machine IR's instructions may be beyond the reach of b.cond, 1 MiB: the longest of them, masked
// accesses of bytes, take 280 bytes.
constexpr size_t near_instructions = (1 << 20) / 280;

int64_t condition_code(Cond c) {
  switch (c) {
    case Cond::eq: return 0;
    case Cond::ne: return 1;
    case Cond::uge: return 2;
    case Cond::ult: return 3;
    case Cond::ugt: return 8;
    case Cond::ule: return 9;
    case Cond::ge: return 10;
    case Cond::lt: return 11;
    case Cond::gt: return 12;
    case Cond::le: return 13;
    case Cond::none: case Cond::ord: case Cond::uno: case Cond::one: case Cond::ueq: case Cond::nlt: case Cond::nle:
    case Cond::ngt: case Cond::nge: break;
  }
  HLOC_UNREACHABLE();
}

}  // namespace

void Emitter::put_word(uint32_t word) {
  size_t n = out_.text.size();
  out_.text.resize(n + 4);
  std::memcpy(out_.text.data() + n, &word, 4);
}

void Emitter::relocation(Relocation::Target target, Relocation::Kind kind, uint32_t index, int64_t addend) {
  Relocation r;
  r.offset = at();
  r.target = target;
  r.kind = kind;
  r.index = index;
  r.addend = addend;
  out_.relocations.push_back(r);
}

// ---- frames ------------------------------------------------------------------------------------------------------

void Emitter::function(const Function& f, const machine::Allocation& a, bool listing) {
  f_ = &f, a_ = &a;
  while (at() % 32 != 0) put(Form::Nop, {});
  size_t begin = at(), insts = 0;
  for (const machine::Block& b : f.blocks) insts += b.insts.size();
  far_ = insts > near_instructions;
  block_at_.assign(f.blocks.size(), 0);
  jumps_.clear();
  if (listing) out_.listing.push_back({begin, "prologue"});
  prologue();
  for (size_t n = 0; n < f.order.size(); n++) {
    block_at_[f.order[n]] = at();
    for (const Inst& i : f.blocks[f.order[n]].insts) {
      if (listing) out_.listing.push_back({at(), machine::print(i, f)});
      emit(i, n + 1 < f.order.size() ? f.order[n + 1] : machine::no_block);
    }
  }
  settle_branches();
  out_.functions.push_back({f.name, begin, at() - begin});
}

// Pairs from the bottom of the frame.
void Emitter::saved_registers(Form general_pair, Form vector_pair) {
  int64_t offset = 0;
  if (calls_) put(general_pair, {frame_pointer, link, stack_pointer, 0}), offset = 16;
  for (size_t n = 0; n < saved_general_.size(); n += 2, offset += 16) {
    int64_t second = n + 1 < saved_general_.size() ? saved_general_[n + 1] : zero;
    put(general_pair, {saved_general_[n], second, stack_pointer, offset});
  }
  for (size_t n = 0; n < saved_vector_.size(); n += 2, offset += 16) {
    int64_t second = n + 1 < saved_vector_.size() ? int64_t{saved_vector_[n + 1]} : v31;
    put(vector_pair, {saved_vector_[n], second, stack_pointer, offset});
  }
}

void Emitter::prologue() {
  calls_ = false;
  for (machine::BlockId b : f_->order) {
    for (const Inst& i : f_->blocks[b].insts) calls_ |= machine::is_call(i.op);
  }
  uint64_t vectors = 0;  // allocated; what calls destroy does not count
  for (uint32_t r = f_->counts[1]; r < f_->reg_count(); r++) {
    if (a_->phys[r] < 32) vectors |= uint64_t{1} << a_->phys[r];
  }
  saved_general_.clear(), saved_vector_.clear();
  for (uint8_t r = 0; r < 32; r++) {
    if (a_->used[0] & saved_by_callee_general & (uint64_t{1} << r)) saved_general_.push_back(r);
    if (vectors & saved_by_callee_vector & (uint64_t{1} << r)) saved_vector_.push_back(r);
  }
  auto pairs = [](size_t n) { return static_cast<int64_t>((n + 1) / 2 * 16); };
  slots_at_ = (calls_ ? 16 : 0) + pairs(saved_general_.size()) + pairs(saved_vector_.size());
  frame_bytes_ = slots_at_ + (int64_t{a_->spill_bytes} + 15) / 16 * 16;
  if (frame_bytes_ != 0) add_constant(stack_pointer, stack_pointer, -frame_bytes_);
  saved_registers(Form::Stp, Form::VStp8);
  if (calls_) put(Form::AddImmediate, {frame_pointer, stack_pointer, 0, 0});
  std::vector<machine::Move> moves;
  for (size_t p = 0; p < f_->params.size(); p++) {
    int64_t to = phys(f_->params[p]);
    if (to < 32) moves.push_back({static_cast<uint8_t>(to), static_cast<uint8_t>(p)});
  }
  parallel_moves(std::move(moves));
}

void Emitter::epilogue() {
  saved_registers(Form::Ldp, Form::VLdp8);
  if (frame_bytes_ != 0) add_constant(stack_pointer, stack_pointer, frame_bytes_);
  put(Form::Ret, {});
}

void Emitter::parallel_moves(std::vector<machine::Move> moves) {
  machine::parallel_moves(std::move(moves), [&](uint8_t to, uint8_t from) { move(to, from); },
                          [&](uint8_t a, uint8_t b) { move(x16, a), move(a, b), move(b, x16); });
}

// ---- constants ---------------------------------------------------------------------------------------------------

void Emitter::move(int64_t to, int64_t from) {
  if (to != from) put(Form::Orr, {to, zero, from});
}

// Whichever of zeros and ones fills more of the four halves is what the others are put into.
void Emitter::constant(int64_t to, uint64_t value) {
  if (is_bit_mask(value) && value > 0xffff && ~value > 0xffff) return put(Form::OrrImmediate, {to, zero, static_cast<int64_t>(value)});
  int zeros = 0, ones = 0;
  for (int n = 0; n < 4; n++) {
    uint64_t half = value >> (16 * n) & 0xffff;
    zeros += half == 0, ones += half == 0xffff;
  }
  bool inverted = ones > zeros, first = true;
  uint64_t background = inverted ? 0xffff : 0;
  for (int n = 0; n < 4; n++) {
    uint64_t half = value >> (16 * n) & 0xffff;
    if (half == background) continue;
    if (!first) put(Form::Movk, {to, static_cast<int64_t>(half), 16 * n});
    else if (inverted) put(Form::Movn, {to, static_cast<int64_t>(half ^ 0xffff), 16 * n});
    else put(Form::Movz, {to, static_cast<int64_t>(half), 16 * n});
    first = false;
  }
  if (first) put(inverted ? Form::Movn : Form::Movz, {to, 0, 0});
}

void Emitter::add_constant(int64_t to, int64_t from, int64_t value) {
  uint64_t size = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  Form form = value < 0 ? Form::SubImmediate : Form::AddImmediate;
  if (size < 1 << 24) {
    auto low = static_cast<int64_t>(size & 0xfff), high = static_cast<int64_t>(size >> 12);
    if (high != 0) put(form, {to, from, high, 12}), from = to;
    if (low != 0 || high == 0) put(form, {to, from, low, 0});
    return;
  }
  constant(x17, static_cast<uint64_t>(value));
  put(Form::Add, {to, from, x17, 0});
}

// ---- control flow ------------------------------------------------------------------------------------------------

void Emitter::emit_ret(const Inst& i) {
  if (i.a) move(0, phys(i.a));
  epilogue();
}

void Emitter::emit_call(const Inst& i) {
  std::vector<machine::Move> moves;
  auto sources = i.sources();
  bool through_register = i.op == Op::CallReg;
  for (size_t s = through_register, p = 0; s < sources.size() && sources[s]; s++, p++) {
    moves.push_back({static_cast<uint8_t>(p), static_cast<uint8_t>(phys(sources[s]))});
  }
  if (through_register) moves.push_back({static_cast<uint8_t>(x17), static_cast<uint8_t>(phys(i.a))});
  parallel_moves(std::move(moves));
  if (through_register) {
    put(Form::Blr, {x17});
  } else {
    relocation(Relocation::Target::external, Relocation::Kind::call, i.symbol, 0);
    put(Form::Bl, {0});
  }
  if (i.dst) move(phys(i.dst), 0);
}

void Emitter::branch_to(Form form, int64_t operand, machine::BlockId block) {
  jumps_.push_back({at(), form, operand, block});
  put_word(0);
}

void Emitter::settle_branches() {
  for (const Jump& j : jumps_) {
    int64_t distance = static_cast<int64_t>(block_at_[j.block]) - static_cast<int64_t>(j.at);
    uint32_t word = j.form == Form::B ? encode(j.form, {distance}) : encode(j.form, {j.operand, distance});
    std::memcpy(out_.text.data() + j.at, &word, 4);
  }
}

void Emitter::emit_branch(const Inst& i, size_t next_block) {
  auto [yes, no] = i.targets;
  bool turned = yes == next_block;
  if (turned) std::swap(yes, no);
  Form form = Form::BCond;
  int64_t operand;
  bool with_zero = !i.b && i.imm == 0 && (i.cond == Cond::eq || i.cond == Cond::ne);
  if (with_zero) {
    form = (i.cond == Cond::eq) != turned ? Form::Cbz : Form::Cbnz;
    operand = phys(i.a);
  } else {
    compare(i);
    operand = condition_code(i.cond) ^ (turned ? 1 : 0);
  }
  if (!far_) {
    branch_to(form, operand, yes);
  } else {
    if (form == Form::BCond) put(form, {operand ^ 1, 8});
    else put(form == Form::Cbz ? Form::Cbnz : Form::Cbz, {operand, 8});
    branch_to(Form::B, 0, yes);
  }
  if (no != next_block) branch_to(Form::B, 0, no);
}

void Emitter::emit_set(const Inst& i) {
  compare(i);
  put(Form::Csinc, {phys(i.dst), zero, zero, condition_code(i.cond) ^ 1});
}

void Emitter::emit_select(const Inst& i) {
  compare(i);
  put(Form::Csel, {phys(i.dst), phys(i.c), phys(i.d), condition_code(i.cond)});
}

// ---- instructions ------------------------------------------------------------------------------------------------

void Emitter::emit(const Inst& i, size_t next_block) {
  switch (i.op) {
    case Op::Mov: return emit_mov(i);
    case Op::Lea: return address(i, phys(i.dst));
    case Op::AddressOf: return emit_address(i);
    case Op::Add: case Op::Sub: return emit_add(i);
    case Op::Mul: return emit_mul(i);
    case Op::MulHigh: case Op::Div: case Op::Rem: return emit_division(i);
    case Op::And: case Op::Or: case Op::Xor: return emit_logic(i);
    case Op::Shl: case Op::Shr: case Op::Sar: return emit_shift(i);
    case Op::Neg: return put(Form::Sub, {phys(i.dst), zero, phys(i.a), 0});
    case Op::Not: return put(Form::Orn, {phys(i.dst), zero, phys(i.a)});
    case Op::Extend: return emit_extend(i);
    case Op::LeadingZeros: case Op::TrailingZeros: case Op::PopCount: return emit_count(i);
    case Op::LowBits: return emit_low_bits(i);
    case Op::Set: return emit_set(i);
    case Op::Select: return emit_select(i);
    case Op::Load: return emit_load(i);
    case Op::Store: return emit_store(i);
    case Op::Prefetch: return emit_prefetch(i);
    case Op::Call: case Op::CallReg: return emit_call(i);
    case Op::FpSave: return put(Form::MrsFpcr, {phys(i.dst)});
    case Op::FpDefault: return put(Form::MsrFpcr, {zero});  // nearest even, subnormals, no traps
    case Op::FpRestore: return put(Form::MsrFpcr, {phys(i.a)});
    case Op::Jump: return i.targets[0] == next_block ? void() : branch_to(Form::B, 0, i.targets[0]);
    case Op::Branch: return emit_branch(i, next_block);
    case Op::Ret: return emit_ret(i);
    case Op::VMov: case Op::MMov: return vmove(phys(i.dst), phys(i.a));
    case Op::VConst: return emit_const(i);
    case Op::VData: return emit_data(i);
    case Op::VLoad: return emit_vector_load(i);
    case Op::VLoadBroadcast: return emit_load_broadcast(i);
    case Op::VLoadMasked: return emit_masked_load(i);
    case Op::VStore: case Op::VStoreStream: return emit_vector_store(i);
    case Op::StoreFence: return;  // VStoreStream is an ordinary store here: whatever hands the work over orders it
    case Op::VStoreMasked: return emit_masked_store(i);
    case Op::VGather: return emit_gather(i);
    case Op::VBroadcast: return put(Form::VDupLane, {phys(i.dst), whole(i), phys(i.a), 0});
    case Op::VSplat: return put(Form::VDup, {phys(i.dst), whole(i), phys(i.a)});
    case Op::VExtract: return emit_extract(i);
    case Op::VInsert: return emit_insert(i);
    case Op::VAdd: case Op::VSub: case Op::VMul: case Op::VDiv: return emit_arithmetic(i);
    case Op::VMulLow: return emit_multiply_low(i);
    case Op::VMin: case Op::VMax: case Op::VMinRaw: case Op::VMaxRaw: return emit_min_max(i);
    case Op::VFma: case Op::VFms: case Op::VFnma: case Op::VFnms: return emit_fma(i);
    case Op::VSqrt: case Op::VRound: return emit_unary(i);
    case Op::VNeg: case Op::VAbs: return emit_sign(i);
    case Op::VAnd: case Op::VOr: case Op::VXor: case Op::VAndNot: return emit_bits(i);
    case Op::VNot: case Op::MNot: return put(Form::VNot, {phys(i.dst), bytes_16, phys(i.a)});
    case Op::VShl: case Op::VShr: case Op::VSar: return emit_vector_shift(i);
    case Op::VLeadingZeros: case Op::VPopCount: return emit_vector_count(i);
    case Op::VConvert: case Op::VConvertRaw: return emit_convert(i);
    case Op::VCompare: return emit_vector_compare(i);
    case Op::VSelect: return choose(phys(i.dst), phys(i.c), phys(i.a), phys(i.b));
    case Op::VPart: return emit_part(i);
    case Op::VConcat: return emit_concat(i);
    case Op::VPermute: return emit_permute(i);
    case Op::VTable: return put(Form::VTbl, {phys(i.dst), bytes_16, phys(i.a), phys(i.b)});
    case Op::VZipLow: return put(Form::VZip1, {phys(i.dst), whole(i), phys(i.a), phys(i.b)});
    case Op::VZipHigh: return put(Form::VZip2, {phys(i.dst), whole(i), phys(i.a), phys(i.b)});
    case Op::MConst: return emit_mask_const(i);
    case Op::MTail: return emit_mask_tail(i);
    case Op::MAnd: case Op::MOr: case Op::MXor: case Op::MAndNot: return emit_mask_logic(i);
    case Op::MConvert: return emit_mask_convert(i);
    case Op::MBits: return emit_mask_bits(i);
    case Op::MFromBits: return emit_mask_from_bits(i);
    case Op::MAny: case Op::MAll: return emit_mask_test(i);
    case Op::Spill: return emit_spill(i);
    case Op::Reload: return emit_reload(i);
    case Op::VRem: case Op::VScale: case Op::VMajority: case Op::VBlocks: break;  // `legalise` leaves none; the last needs 32 bytes
  }
  HLOC_UNREACHABLE();
}

}  // namespace hloc::aarch64
