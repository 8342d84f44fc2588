// What every machine function must satisfy before a target takes it.
#include <bit>

#include <fmt/format.h>

#include "backends/cpu/machine/element.h"
#include "backends/cpu/machine/machine.h"
#include "backends/cpu/machine/operands.h"
#include "backends/cpu/machine/regalloc.h"

namespace hloc::machine {
namespace {

// Which element types an instruction admits.
enum class Admits : uint8_t { nothing, all, integers, floats, fma, words, loads, divisions, counts, extends, u64_only, bytes };

Admits admitted(Op op) {
  switch (op) {
    case Op::Mov: case Op::Lea: case Op::AddressOf: case Op::Add: case Op::Sub: case Op::Mul: case Op::And: case Op::Or:
    case Op::Xor: case Op::Shl: case Op::Shr: case Op::Sar: case Op::Neg: case Op::Not: case Op::LowBits: case Op::Set:
    case Op::Select: case Op::Prefetch: case Op::StoreFence: case Op::Call: case Op::CallReg: case Op::FpSave: case Op::FpDefault:
    case Op::FpRestore: case Op::Jump: case Op::Branch: case Op::Ret: case Op::Spill: case Op::Reload:
      return Admits::nothing;
    case Op::MulHigh: case Op::Div: case Op::Rem: return Admits::divisions;
    case Op::LeadingZeros: case Op::TrailingZeros: case Op::PopCount: return Admits::counts;
    case Op::Extend: return Admits::extends;
    case Op::Load: case Op::Store: return Admits::loads;
    case Op::VMov: case Op::VConst: case Op::VData: case Op::VLoad: case Op::VLoadBroadcast: case Op::VLoadMasked:
    case Op::VStore: case Op::VStoreMasked: case Op::VStoreStream: case Op::VBroadcast: case Op::VSplat:
    case Op::VExtract: case Op::VInsert: case Op::VAnd: case Op::VOr: case Op::VXor: case Op::VAndNot: case Op::VMajority: case Op::VNot:
    case Op::VConvert: case Op::VConvertRaw: case Op::VCompare: case Op::VSelect: case Op::VPart: case Op::VConcat:
    case Op::VPermute: case Op::VZipLow: case Op::VZipHigh: case Op::VBlocks: case Op::MMov: case Op::MConst:
    case Op::MTail: case Op::MAnd: case Op::MOr: case Op::MXor: case Op::MAndNot: case Op::MNot: case Op::MConvert:
    case Op::MBits: case Op::MFromBits: case Op::MAny: case Op::MAll: case Op::VAdd: case Op::VSub: case Op::VMul:
    case Op::VDiv: case Op::VMin: case Op::VMax: case Op::VMinRaw: case Op::VMaxRaw: case Op::VNeg: case Op::VAbs:
      return Admits::all;
    case Op::VGather: return Admits::words;
    case Op::VRem: case Op::VShl: case Op::VShr: case Op::VSar: case Op::VLeadingZeros: case Op::VPopCount:
      return Admits::integers;
    case Op::VMulLow: return Admits::u64_only;
    case Op::VTable: return Admits::bytes;
    case Op::VScale: case Op::VFma: case Op::VFms: case Op::VFnma: case Op::VFnms: return Admits::fma;
    case Op::VSqrt: case Op::VRound: return Admits::floats;
  }
  HLOC_UNREACHABLE();
}

bool admits(Admits what, ElementType t) {
  switch (what) {
    case Admits::nothing: return t == ElementType::invalid;
    case Admits::all: return is_machine_element(t);
    case Admits::integers: return is_integer(t) && bit_width(t) >= 8;
    case Admits::floats: return is_machine_float(t);
    case Admits::fma: return t == ElementType::f32 || t == ElementType::f64;
    case Admits::words: return is_machine_element(t) && byte_width(t) >= 4;
    case Admits::loads: return t == ElementType::pred || (is_integer(t) && bit_width(t) >= 8);
    case Admits::divisions: return is_integer(t) && bit_width(t) >= 32;
    case Admits::counts: return t == ElementType::u32 || t == ElementType::u64;
    case Admits::extends: return t == ElementType::pred || (is_integer(t) && bit_width(t) >= 8);
    case Admits::u64_only: return t == ElementType::u64;
    case Admits::bytes: return is_machine_element(t) && byte_width(t) == 1;
  }
  return false;
}

std::string_view describe(Admits what) {
  switch (what) {
    case Admits::nothing: return "no type";
    case Admits::all: return "pred, s8 to s64, u8 to u64, f16, bf16, f32 or f64";
    case Admits::integers: return "an integer type of 8 to 64 bits";
    case Admits::floats: return "f16, bf16, f32 or f64";
    case Admits::fma: return "f32 or f64";
    case Admits::words: return "a type of 32 or 64 bits";
    case Admits::loads: case Admits::extends: return "pred or an integer type of 8 to 64 bits";
    case Admits::divisions: return "s32, u32, s64 or u64";
    case Admits::counts: return "u32 or u64";
    case Admits::u64_only: return "u64";
    case Admits::bytes: return "s8, u8 or pred";
  }
  return "";
}

class Verifier {
 public:
  Verifier(const Function& f, const Places* places) : f_(f), places_(places) {}

  Result<void> run() {
    check_function();
    for (BlockId b : f_.order) {
      if (error_) break;
      check_block(b);
    }
    if (!error_) check_defined();
    if (error_) return *std::move(error_);
    return {};
  }

 private:
  void fail(std::string message) {
    if (error_) return;
    if (places_ && places_->source) {
      bool inside = block_ < places_->insts.size() && inst_ < places_->insts[block_].size();
      error_ = error_at(*places_->source, inside ? places_->insts[block_][inst_] : places_->function, std::move(message));
    } else {
      std::string where = block_ < f_.blocks.size() && inst_ < f_.blocks[block_].insts.size()
                              ? fmt::format(" in '{}'", print(f_.blocks[block_].insts[inst_], f_)) : std::string();
      error_ = error(ErrorKind::bug, fmt::format("machine function {}: {}{}", f_.name, message, where));
    }
  }

  void check_function();
  void check_block(BlockId b);
  void check_inst(const Inst& i);
  void check_operand(const Inst& i, OperandSpec spec);
  void check_memory(const Inst& i, bool folded);
  void check_registers(const Inst& i);
  void check_vector_type(const Inst& i);
  void check_rules(const Inst& i);
  void check_condition(const Inst& i);
  void check_mask(Reg k, ElementType t);
  void check_defined();
  void check_reads(BlockId b, const GlobalRegs& globals, std::vector<uint64_t>& now, bool report);

  const Function& f_;
  const Places* places_;
  BlockId block_ = no_block;
  size_t inst_ = 0;
  std::vector<bool> written_;  // local registers, by Function::flat
  std::optional<Diagnostic> error_;
};

void Verifier::check_function() {
  if (f_.vector_bytes != 16 && f_.vector_bytes != 32 && f_.vector_bytes != 64) fail("the vector width is 16, 32 or 64 bytes");
  if (f_.params.size() > 6) fail("a function has at most 6 parameters");
  for (Reg r : f_.params) {
    if (r.reg_class() != RegClass::general) fail("parameters are general registers");
  }
  if (f_.order.empty() || f_.order[0] != 0) return fail("a function starts with its entry block");
  std::vector<bool> placed(f_.blocks.size());
  for (BlockId b : f_.order) {
    if (b >= f_.blocks.size() || placed[b]) return fail("each block is placed once");
    placed[b] = true;
  }
  for (BlockId b : f_.order) {
    const std::vector<Inst>& insts = f_.blocks[b].insts;
    block_ = b, inst_ = insts.empty() ? 0 : insts.size() - 1;
    if (insts.empty() || !is_terminator(insts.back().op)) {
      return fail(fmt::format("the block '{}' must end with jump, branch or ret", f_.blocks[b].name));
    }
    for (BlockId to : successors(insts.back())) {
      if (to >= f_.blocks.size() || !placed[to]) return fail("the target is no block of this function");
      if (to == 0) return fail("nothing may jump to the entry block");
    }
  }
  block_ = no_block;
}

void Verifier::check_block(BlockId b) {
  const std::vector<Inst>& insts = f_.blocks[b].insts;
  block_ = b;
  for (inst_ = 0; inst_ < insts.size() && !error_; inst_++) {
    if (is_terminator(insts[inst_].op) && inst_ + 1 != insts.size()) {
      return fail("jump, branch and ret stand only at the end of a block");
    }
    check_inst(insts[inst_]);
  }
}

void Verifier::check_inst(const Inst& i) {
  check_registers(i);
  if (error_) return;
  Admits types = admitted(i.op);
  if (types != Admits::nothing && !admits(types, i.type)) {
    return fail(fmt::format("'{}' takes {}, not {}", row(i.op).text, describe(types), name_of(i.type)));
  }
  if (has_suffix(i.op, 'v')) check_vector_type(i);
  if (has_suffix(i.op, 'c')) check_condition(i);
  for_each_operand(i.op, [&](OperandSpec spec) { check_operand(i, spec); });
  if (!error_) check_rules(i);
}

void Verifier::check_registers(const Inst& i) {
  Use u = use(i);
  for (Reg r : u.reads) {
    if (r && r.index() >= f_.counts[static_cast<size_t>(r.reg_class())]) fail("a register is not of this function");
  }
  for (Reg r : u.writes) {
    if (r && r.index() >= f_.counts[static_cast<size_t>(r.reg_class())]) fail("a register is not of this function");
  }
}

void Verifier::check_vector_type(const Inst& i) {
  if (!std::has_single_bit(static_cast<unsigned>(i.lanes)) || i.vtype().bytes() > f_.vector_bytes) {
    fail(fmt::format("{}x{} is no vector of this function: lanes are a power of two and fit into {} bytes",
                     name_of(i.type), i.lanes, f_.vector_bytes));
  }
}

void Verifier::check_condition(const Inst& i) {
  bool ok = i.cond >= Cond::eq && i.cond <= Cond::ge;
  if (i.op != Op::VCompare) ok |= i.cond >= Cond::ult && i.cond <= Cond::uge;
  else if (is_float(i.type)) ok |= i.cond >= Cond::ord;
  if (!ok) fail(fmt::format("the condition '{}' does not fit here", cond_names[static_cast<size_t>(i.cond)]));
}

void Verifier::check_operand(const Inst& i, OperandSpec spec) {
  if (spec.field == 'M') return check_memory(i, false);
  if (spec.field == 'P') {
    auto sources = i.sources();
    for (size_t n = i.op == Op::CallReg; n < sources.size(); n++) {
      if (sources[n] && sources[n].reg_class() != RegClass::general) fail("arguments are general registers");
    }
    return;
  }
  if (spec.field == 'S' && i.symbol >= f_.symbols.size()) return fail("the symbol is not of this function");
  if (spec.field == 'N' && (i.imm < 0 || static_cast<size_t>(i.imm) >= f_.data.size())) {
    return fail("there is no data constant of this number");
  }
  if (spec.field < 'A' || (spec.field > 'D' && spec.field != 'O')) return;
  Reg r = register_field(i, spec.field);
  if (!r) {
    if (spec.field == 'C' && !i.b) return fail("one operand can be memory, not two");
    if (spec.takes('m')) return check_memory(i, true);
    if (!spec.takes('i') && !spec.takes('?')) fail("an operand is missing");
    return;
  }
  if (!spec.takes(kind_of(r.reg_class())) && !spec.takes('*')) {
    fail(fmt::format("{}{} is of the wrong class: '{}' takes a {} register here", letter_of(r.reg_class()), r.index(),
                     row(i.op).text, spec.takes('v') ? "vector" : spec.takes('k') ? "mask" : "general"));
  }
}

void Verifier::check_memory(const Inst& i, bool folded) {
  bool constant = i.mem == MemKind::data || i.mem == MemKind::splat || i.mem == MemKind::slot ||
                  i.mem == MemKind::broadcast;
  if (i.mem == MemKind::none || (constant && !folded)) return fail("an address is missing");
  if (i.mem == MemKind::data && (i.disp < 0 || static_cast<size_t>(i.disp) >= f_.data.size())) {
    return fail("there is no data constant of this number");
  }
  for (Reg r : {i.base, i.index}) {
    if (r && r.reg_class() != RegClass::general) fail("addresses are made of general registers");
  }
  if (i.scale != 1 && i.scale != 2 && i.scale != 4 && i.scale != 8) fail("the scale of an index is 1, 2, 4 or 8");
}

void Verifier::check_mask(Reg k, ElementType t) {
  int width = f_.mask_bytes[k.index()];
  if (width != byte_width(t)) {
    fail(fmt::format("k{} is a mask for {}-bit lanes, not for {}; use mcvt", k.index(), width * 8, name_of(t)));
  }
}

void Verifier::check_rules(const Inst& i) {
  int bytes = i.vtype().bytes();
  if (i.op == Op::Spill || i.op == Op::Reload || i.mem == MemKind::slot) {
    return fail("frame slots belong to the register allocator");
  }
  if (i.dst.reg_class() == RegClass::mask) check_mask(i.dst, i.type);
  if (i.c.reg_class() == RegClass::mask) check_mask(i.c, i.type);
  if (i.b.reg_class() == RegClass::mask) check_mask(i.b, i.type);
  if (i.a.reg_class() == RegClass::mask) check_mask(i.a, i.op == Op::MConvert ? i.from : i.type);
  if (has_suffix(i.op, 'f')) {
    if (!is_machine_element(i.from)) fail(fmt::format("'{}' is no element type of the machine", name_of(i.from)));
    else if (byte_width(i.from) * i.lanes > f_.vector_bytes) fail("the source does not fit into a vector");
  }
  if (i.op == Op::VGather && i.from != ElementType::s32 && i.from != ElementType::s64) fail("indices are s32 or s64");
  if ((i.op == Op::VExtract || i.op == Op::VInsert) && (i.imm < 0 || i.imm >= i.lanes)) fail("there is no such lane");
  if (i.op == Op::VPart && (i.imm < 0 || (i.imm + 1) * bytes > f_.vector_bytes)) fail("there is no such part");
  if (i.op == Op::VConcat && i.lanes < 2) fail("'vconcat' makes at least two lanes");
  if ((i.op == Op::VZipLow || i.op == Op::VZipHigh) && bytes < 16) fail("zips take at least 16 bytes");
  if (i.op == Op::VBlocks && bytes < 32) fail("'vblocks' takes at least 32 bytes");
  if ((i.op == Op::VShl || i.op == Op::VShr || i.op == Op::VSar) && !i.b && i.imm < 0) fail("shift amounts are positive");
  if (i.op == Op::MConst && i.imm != 0 && i.imm != 1) fail("'mconst' takes 0 or 1");
  if (i.op == Op::Prefetch && (i.imm < 0 || i.imm > 3)) fail("prefetch levels are 0 to 3");
  if (i.op == Op::MulHigh && byte_width(i.type) != 8) fail("'mulhigh' takes s64 or u64");
  if (i.op == Op::VData && f_.data[static_cast<size_t>(i.imm)].bytes.size() != static_cast<size_t>(bytes)) {
    fail("the data constant has another size");
  }
}

// Walks block b with `now`, the global registers that are written on every way to it, and leaves in `now` those that
// are at its end. A local register must be written earlier in its block.
void Verifier::check_reads(BlockId b, const GlobalRegs& globals, std::vector<uint64_t>& now, bool report) {
  block_ = b;
  const std::vector<Inst>& insts = f_.blocks[b].insts;
  for (inst_ = 0; inst_ < insts.size(); inst_++) {
    Use u = use(insts[inst_]);
    for (Reg r : u.reads) {
      if (!r || !report) continue;
      uint32_t at = f_.flat(r), global = globals.number[at];
      bool written = global == GlobalRegs::none ? written_[at] : now[global / 64] >> (global % 64) & 1;
      if (!written) fail(fmt::format("{}{} may be read before it is written", letter_of(r.reg_class()), r.index()));
    }
    for (Reg r : u.writes) {
      if (!r) continue;
      uint32_t at = f_.flat(r), global = globals.number[at];
      if (global == GlobalRegs::none) written_[at] = true;
      else now[global / 64] |= uint64_t{1} << (global % 64);
    }
  }
}

// Forward dataflow over the registers that cross blocks.
void Verifier::check_defined() {
  GlobalRegs globals = global_registers(f_);
  size_t words = globals.count / 64 + 1;
  written_.assign(f_.reg_count(), false);
  std::vector<std::vector<uint64_t>> in(f_.blocks.size());  // empty: not reached yet, everything counts as written
  in[0].assign(words, 0);
  for (Reg r : f_.params) {
    uint32_t at = f_.flat(r), global = globals.number[at];
    if (global == GlobalRegs::none) written_[at] = true;
    else in[0][global / 64] |= uint64_t{1} << (global % 64);
  }
  std::vector<BlockId> work{0};
  std::vector<uint64_t> now;
  while (!work.empty()) {
    BlockId b = work.back();
    work.pop_back();
    now = in[b];
    check_reads(b, globals, now, false);
    for (BlockId to : successors(f_.blocks[b].insts.back())) {
      bool changed = in[to].empty();
      if (changed) in[to].assign(words, ~uint64_t{0});
      for (size_t w = 0; w < words; w++) {
        changed |= (in[to][w] & ~now[w]) != 0;
        in[to][w] &= now[w];
      }
      if (changed) work.push_back(to);
    }
  }
  written_.assign(f_.reg_count(), false);
  for (Reg r : f_.params) written_[f_.flat(r)] = true;
  for (BlockId b : f_.order) {
    if (error_ || in[b].empty()) continue;
    now = in[b];
    check_reads(b, globals, now, true);
  }
}

}  // namespace

Result<void> verify(const Function& f, const Places* places) { return Verifier(f, places).run(); }

}  // namespace hloc::machine
