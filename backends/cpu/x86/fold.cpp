// Memory operands: a load, constant or reload with one reader becomes part of the reader.
#include <vector>

#include "backends/cpu/machine/operands.h"
#include "backends/cpu/x86/legalise.h"

namespace hloc::x86 {

using machine::Cond;
using machine::Function;
using machine::Inst;
using machine::MemKind;
using machine::Op;
using machine::Reg;
using machine::RegClass;

namespace {

bool takes_memory(Op op) {
  bool found = false;
  machine::for_each_operand(op, [&](machine::OperandSpec s) { found |= s.takes('m'); });
  return found;
}

// May operands a and b change places?
bool commutes(const Inst& i) {
  if (i.op == Op::VAdd || i.op == Op::VMul || i.op == Op::VAnd || i.op == Op::VOr || i.op == Op::VXor || i.op == Op::VMulLow ||
      i.op == Op::VFma || i.op == Op::VFms || i.op == Op::VFnma || i.op == Op::VFnms) {
    return true;
  }
  if (i.op == Op::VCompare) return i.cond == Cond::eq || i.cond == Cond::ne;
  bool min_max = i.op == Op::VMin || i.op == Op::VMax || i.op == Op::VMinRaw || i.op == Op::VMaxRaw;
  return min_max && !is_float(i.type);
}

// Puts the source of `def` into `user`'s address fields; false if the instruction would read too much or has no such form.
bool take_source(Inst& user, const Inst& def, bool v4) {
  int bytes = user.vtype().bytes(), width = byte_width(user.type);
  bool float_op = is_float(user.type) && user.op != Op::VAnd && user.op != Op::VOr && user.op != Op::VXor &&
                  user.op != Op::VAndNot;
  bool scalar = user.lanes == 1 && float_op && width >= 4;  // reads just one element
  bool exact = bytes >= 16 || scalar;
  bool broadcasts = v4 && width >= 4 && user.op != Op::VTable && user.op != Op::VZipLow && user.op != Op::VZipHigh;
  if (v4 && width == 4 && (user.op == Op::VZipLow || user.op == Op::VZipHigh)) broadcasts = true;
  if (v4 && width == 8 && (user.op == Op::VZipLow || user.op == Op::VZipHigh)) broadcasts = true;
  if (def.op == Op::VLoad || (def.op == Op::VLoadBroadcast && user.lanes == 1)) {
    if (!exact || def.vtype().bytes() != bytes) return false;
    user.mem = MemKind::memory;
  } else if (def.op == Op::VLoadBroadcast) {
    if (!broadcasts || byte_width(def.type) != width) return false;
    user.mem = MemKind::broadcast;
  } else if (def.op == Op::VConst) {
    bool cheap = def.imm == 0 || static_cast<uint64_t>(def.imm) == machine::low_mask(bit_width(def.type));
    if (cheap || byte_width(def.type) != width || !(exact || broadcasts)) return false;
    user.mem = MemKind::splat;
    user.imm = def.imm;
    return true;
  } else if (def.op == Op::VData) {
    if (bytes < 16 || def.vtype().bytes() != bytes) return false;
    user.mem = MemKind::data;
    user.disp = static_cast<int32_t>(def.imm);
    return true;
  } else if (def.op == Op::Reload) {
    user.mem = MemKind::slot;  // slots hold whole registers
    user.disp = static_cast<int32_t>(def.imm);
    return true;
  } else {
    return false;
  }
  user.base = def.base, user.index = def.index, user.scale = def.scale, user.disp = def.disp;
  return true;
}

bool fold_operand(Inst& user, const Inst& def, Reg reg, bool v4) {
  if (reg.reg_class() != RegClass::vector || user.mem != MemKind::none || !takes_memory(user.op)) return false;
  if (user.op == Op::VCompare && !v4 && !is_float(user.type) && user.cond == Cond::lt) return false;  // emitted swapped
  if ((user.a == reg) + (user.b == reg) + (user.c == reg) != 1) return false;
  Inst changed = user;
  if (user.c == reg) {
    changed.c = {};
  } else {
    if (user.a == reg && !commutes(user)) return false;
    if (user.a == reg) changed.a = user.b;
    changed.b = {};
  }
  if (!changed.a || !take_source(changed, def, v4)) return false;
  user = changed;
  return true;
}

bool fold_v3(Inst& user, const Inst& def, Reg reg) { return fold_operand(user, def, reg, false); }
bool fold_v4(Inst& user, const Inst& def, Reg reg) { return fold_operand(user, def, reg, true); }

// ---- the pass ----------------------------------------------------------------------------------------------------

struct UseCounts {
  std::vector<uint32_t> reads, writes;  // by Function::flat
};

UseCounts count_uses(const Function& f) {
  UseCounts n{std::vector<uint32_t>(f.reg_count()), std::vector<uint32_t>(f.reg_count())};
  for (machine::BlockId b : f.order) {
    for (const Inst& i : f.blocks[b].insts) {
      machine::Use u = use(i);
      for (Reg r : u.reads) {
        if (r) n.reads[f.flat(r)]++;
      }
      for (Reg r : u.writes) {
        if (r) n.writes[f.flat(r)]++;
      }
    }
  }
  return n;
}

bool is_memory_load(const Inst& i) { return i.op == Op::VLoad || i.op == Op::VLoadBroadcast; }
bool is_candidate(const Inst& i) { return is_memory_load(i) || i.op == Op::VConst || i.op == Op::VData; }
bool writes_memory(Op op) {
  return op == Op::Store || op == Op::VStore || op == Op::VStoreMasked || op == Op::VStoreStream || machine::is_call(op);
}

// One forward walk: candidates stay so long as neither memory nor their address may have changed.
class BlockFolder {
 public:
  BlockFolder(const Function& f, const UseCounts& counts, bool v4) : f_(f), counts_(counts), v4_(v4), def_(f.reg_count(), none) {}

  void run(std::vector<Inst>& insts) {
    open_.clear();
    dropped_.assign(insts.size(), false);
    for (size_t n = 0; n < insts.size(); n++) {
      Inst& i = insts[n];
      // The later operand first: what stays in a register should be the one that was computed.
      for (Reg r : {i.b, i.a, i.c}) try_fold(insts, i, r);
      if (writes_memory(i.op)) std::erase_if(open_, [&](Reg r) { return is_memory_load(insts[def_[f_.flat(r)]]); });
      machine::Use u = use(i);
      for (Reg w : u.writes) {
        if (w) std::erase_if(open_, [&](Reg r) { return insts[def_[f_.flat(r)]].base == w || insts[def_[f_.flat(r)]].index == w; });
      }
      uint32_t at = is_candidate(i) ? f_.flat(i.dst) : 0;
      if (is_candidate(i) && counts_.reads[at] == 1 && counts_.writes[at] == 1) {
        def_[at] = static_cast<uint32_t>(n);
        open_.push_back(i.dst);
        if (open_.size() > max_open) open_.erase(open_.begin());
      }
    }
    size_t kept = 0;
    for (size_t n = 0; n < insts.size(); n++) {
      if (!dropped_[n]) insts[kept++] = insts[n];
    }
    insts.resize(kept);
  }

 private:
  static constexpr uint32_t none = ~uint32_t{0};
  static constexpr size_t max_open = 64;  // bounds the work per instruction

  void try_fold(std::vector<Inst>& insts, Inst& user, Reg r) {
    if (!r || r.reg_class() != RegClass::vector) return;
    auto it = std::find(open_.begin(), open_.end(), r);
    if (it == open_.end()) return;
    uint32_t at = def_[f_.flat(r)];
    if (!fold_operand(user, insts[at], r, v4_)) return;
    dropped_[at] = true;
    open_.erase(it);
  }

  const Function& f_;
  const UseCounts& counts_;
  bool v4_;
  std::vector<uint32_t> def_;  // by Function::flat: where it is written
  std::vector<Reg> open_;
  std::vector<bool> dropped_;
};

// ---- registers ---------------------------------------------------------------------------------------------------

constexpr uint64_t rax_rdx = 1 | 1 << 2;
constexpr uint64_t caller_saved_general = 0x0fc7;  // rax rcx rdx rsi rdi r8 … r11

machine::Clobbers clobbers_of(const Inst& i) {
  machine::Clobbers c;
  if (i.op == Op::Div || i.op == Op::Rem || i.op == Op::MulHigh) {
    c.regs[0] = rax_rdx;
    c.before_reads = true;
  } else if (machine::is_call(i.op)) {
    c.regs = {caller_saved_general, 0xffffffff, 0xff, 0};
  }
  return c;
}

machine::TargetRegs make_target(bool v4) {
  machine::TargetRegs t;
  t.files.resize(3);
  t.files[0].order = {0, 1, 2, 6, 7, 8, 9, 10, 11, 3, 5, 12, 13, 14, 15};  // all but rsp; caller-saved ones first
  t.files[0].callee_saved = 0xf028;
  for (uint8_t r = 0; r < (v4 ? 32 : 16); r++) t.files[1].order.push_back(r);
  t.files[2].order = {1, 2, 3, 4, 5, 6, 7};  // k0 cannot be a write mask
  t.file_of[static_cast<size_t>(RegClass::vector)] = 1;
  t.file_of[static_cast<size_t>(RegClass::mask)] = v4 ? 2 : 1;
  t.arguments = {7, 6, 2, 1, 8, 9};
  t.result = 0;
  t.clobbers = clobbers_of;
  t.fold = v4 ? fold_v4 : fold_v3;
  return t;
}

}  // namespace

void fold_operands(Function& f, const Features& features) {
  UseCounts counts = count_uses(f);
  BlockFolder folder(f, counts, features.v4);
  for (machine::BlockId b : f.order) folder.run(f.blocks[b].insts);
}

const machine::TargetRegs& target_regs(const Features& features) {
  static const machine::TargetRegs v3 = make_target(false), v4 = make_target(true);
  return features.v4 ? v4 : v3;
}

}  // namespace hloc::x86
