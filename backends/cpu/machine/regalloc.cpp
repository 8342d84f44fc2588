// Linear scan over live ranges with holes.
//
// Registers are taken in the order in which they start to live. One that finds no free physical register either evicts
// cheaper ones or goes to the frame itself; cost is uses weighted by loop depth over length. What is spilled gets a tiny
// register at each use, and the scan starts again: two or three rounds in practice. Constants are never stored: they are
// computed anew at each use.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "backends/cpu/machine/regalloc.h"

namespace hloc::machine {
namespace {

constexpr uint32_t fixed_reg = ~uint32_t{0};  // stands for what the target destroys
constexpr uint8_t unassigned = 255;
constexpr int max_rounds = 64;

struct TakenRange {
  uint32_t begin, end, reg;
};

// The ranges that occupy one physical register.
class PhysicalRegister {
 public:
  void add(const std::vector<Range>& ranges, uint32_t reg) {
    for (Range r : ranges) taken_.insert(first_after(r.begin), {r.begin, r.end, reg});
  }
  void add_fixed(Range r) { taken_.push_back({r.begin, r.end, fixed_reg}); }
  void remove(const std::vector<Range>& ranges) {
    for (Range r : ranges) taken_.erase(std::prev(first_after(r.begin)));
  }
  // Calls fn(register) for each taken range that overlaps, until it returns false.
  template <class F>
  bool for_each_overlap(const std::vector<Range>& ranges, F fn) const {
    for (Range r : ranges) {
      auto it = const_cast<PhysicalRegister*>(this)->first_after(r.begin);
      if (it != taken_.begin() && std::prev(it)->end > r.begin) --it;
      for (; it != taken_.end() && it->begin < r.end; ++it) {
        if (!fn(it->reg)) return false;
      }
    }
    return true;
  }
  bool is_free(const std::vector<Range>& ranges) const {
    return for_each_overlap(ranges, [](uint32_t) { return false; });
  }

 private:
  std::vector<TakenRange>::iterator first_after(uint32_t begin) {
    return std::upper_bound(taken_.begin(), taken_.end(), begin, [](uint32_t b, const TakenRange& t) { return b < t.begin; });
  }
  std::vector<TakenRange> taken_;  // sorted, disjoint
};

bool is_constant(const Inst& i) {
  return (i.op == Op::Mov && !i.a) || i.op == Op::VConst || i.op == Op::VData || i.op == Op::MConst || i.op == Op::AddressOf;
}

class LinearScan {
 public:
  LinearScan(Function& f, const TargetRegs& target) : f_(f), target_(target) {}

  Result<Allocation> run() {
    for (int round = 0; round < max_rounds; round++) {
      scan();
      if (spilled_.empty()) return finish();
      assign_slots();
      if (slots_end_ > max_spill_bytes) {
        return error(ErrorKind::target, fmt::format("machine function {} needs {} bytes of frame for spilled registers; "
                                                    "at most {} are allowed", f_.name, slots_end_, max_spill_bytes));
      }
      rewrite();
    }
    HLOC_UNREACHABLE();
  }

 private:
  struct Hint {
    uint32_t reg;  // another register, by flat number, or fixed_reg with `phys`
    uint8_t phys;
  };

  uint8_t file_of(Reg r) const { return target_.file_of[static_cast<size_t>(r.reg_class())]; }
  uint32_t slot_bytes(Reg r) const {
    return file_of(r) == target_.file_of[static_cast<size_t>(RegClass::vector)] ? f_.vector_bytes : 8;
  }
  char& unspillable(Reg r) {
    std::vector<char>& v = unspillable_[static_cast<size_t>(r.reg_class())];
    if (v.size() <= r.index()) v.resize(f_.counts[static_cast<size_t>(r.reg_class())] + 64, 0);
    return v[r.index()];
  }

  void scan();
  void gather_facts();
  double frequency_of(size_t block) const {  // by place in the order
    double frequency = 1;
    for (int d = 0; d < live_.loop_depth[block]; d++) frequency *= 10;
    return frequency;
  }
  void weigh_constants();
  void add_hint(Reg a, Reg b);
  void take_clobbers();
  void place(Reg r, uint32_t at);
  bool try_hints(uint32_t at, uint8_t file);
  bool evict(Reg r, uint32_t at, uint8_t file);
  void assign_slots();
  void rewrite();
  void rewrite_inst(Inst i, std::vector<Inst>& out);
  int64_t slot_of(Reg r) const;
  uint32_t old_flat(Reg r) const;
  Reg tiny(Reg old);
  Result<Allocation> finish();

  Function& f_;
  const TargetRegs& target_;
  Liveness live_;
  std::vector<std::array<PhysicalRegister, 64>> files_;
  std::vector<Reg> reg_at_;             // by flat number
  std::vector<double> weight_;          // by flat number
  std::vector<uint32_t> writes_;        // number of writes
  std::vector<const Inst*> constant_;   // the only write, if it is a constant
  std::vector<std::vector<Hint>> hints_;
  std::vector<uint8_t> phys_;
  std::vector<uint32_t> spilled_;       // of this round, by flat number
  // While rewriting, by flat number from before:
  std::array<uint32_t, reg_classes> old_counts_{};
  std::vector<int64_t> slot_;  // -1 not spilled, -2 computed anew
  std::vector<Inst> anew_;
  std::array<std::vector<char>, reg_classes> unspillable_;
  uint32_t slots_end_ = 0, spill_count_ = 0;
};

void LinearScan::scan() {
  live_ = liveness(f_);
  files_.assign(target_.files.size(), {});
  phys_.assign(f_.reg_count(), unassigned);
  spilled_.clear();
  gather_facts();
  take_clobbers();
  std::vector<uint32_t> queue;
  for (uint32_t r = 0; r < f_.reg_count(); r++) {
    if (!live_.ranges[r].empty()) queue.push_back(r);
  }
  std::stable_sort(queue.begin(), queue.end(), [&](uint32_t a, uint32_t b) {
    return live_.ranges[a].front().begin < live_.ranges[b].front().begin;
  });
  for (uint32_t at : queue) place(reg_at_[at], at);
}

void LinearScan::add_hint(Reg a, Reg b) {
  hints_[f_.flat(a)].push_back({f_.flat(b), 0});
  hints_[f_.flat(b)].push_back({f_.flat(a), 0});
}

void LinearScan::gather_facts() {
  uint32_t n = f_.reg_count();
  reg_at_.resize(n);
  for (int c = 1; c < reg_classes; c++) {
    for (uint32_t i = 0; i < f_.counts[static_cast<size_t>(c)]; i++) {
      Reg r(static_cast<RegClass>(c), i);
      reg_at_[f_.flat(r)] = r;
    }
  }
  weight_.assign(n, 0);
  writes_.assign(n, 0);
  constant_.assign(n, nullptr);
  hints_.assign(n, {});
  for (size_t p = 0; p < f_.params.size(); p++) {
    hints_[f_.flat(f_.params[p])].push_back({fixed_reg, target_.arguments[p]});
    writes_[f_.flat(f_.params[p])]++;
  }
  for (size_t b = 0; b < f_.order.size(); b++) {
    double frequency = frequency_of(b);
    for (const Inst& i : f_.blocks[f_.order[b]].insts) {
      Use u = use(i);
      for (Reg r : u.reads) {
        if (r) weight_[f_.flat(r)] += frequency;
      }
      for (Reg r : u.writes) {
        if (!r) continue;
        weight_[f_.flat(r)] += frequency;
        writes_[f_.flat(r)]++;
        if (is_constant(i)) constant_[f_.flat(r)] = &i;
      }
      // A result would like to stay where a source was.
      for (Reg r : u.reads) {
        if (r && u.writes[0] && !u.early && r.reg_class() == u.writes[0].reg_class() && !is_call(i.op)) add_hint(u.writes[0], r);
      }
      if (is_call(i.op)) {
        auto sources = i.sources();
        for (size_t s = i.op == Op::CallReg, p = 0; s < sources.size(); s++, p++) {
          if (sources[s]) hints_[f_.flat(sources[s])].push_back({fixed_reg, target_.arguments[p]});
        }
        if (i.dst) hints_[f_.flat(i.dst)].push_back({fixed_reg, target_.result});
      }
      if (i.op == Op::Ret && i.a) hints_[f_.flat(i.a)].push_back({fixed_reg, target_.result});
    }
  }
  for (uint32_t r = 0; r < n; r++) {
    if (writes_[r] != 1) constant_[r] = nullptr;
  }
  weigh_constants();
  for (uint32_t r = 0; r < n; r++) {
    uint32_t length = 1;
    for (Range range : live_.ranges[r]) length += range.end - range.begin;
    weight_[r] /= length;
    if (unspillable(reg_at_[r])) weight_[r] = std::numeric_limits<double>::infinity();
  }
}

// Making a constant anew is cheaper than reading a slot, and nothing where it becomes an operand in memory.
void LinearScan::weigh_constants() {
  for (size_t b = 0; b < f_.order.size(); b++) {
    double frequency = frequency_of(b);
    for (const Inst& i : f_.blocks[f_.order[b]].insts) {
      for (Reg r : use(i).reads) {
        if (!r || !constant_[f_.flat(r)]) continue;
        Inst reader = i;
        bool folds = target_.fold && target_.fold(reader, *constant_[f_.flat(r)], r);
        weight_[f_.flat(r)] -= frequency * (folds ? 0.75 : 0.5);
      }
    }
  }
}

void LinearScan::take_clobbers() {
  uint32_t number = 1;
  for (BlockId b : f_.order) {
    for (const Inst& i : f_.blocks[b].insts) {
      Clobbers c = target_.clobbers(i);
      Range range{c.before_reads ? 4 * number : 4 * number + 1, 4 * number + 2};
      for (size_t file = 0; file < files_.size(); file++) {
        for (uint64_t regs = c.regs[file]; regs; regs &= regs - 1) {
          files_[file][static_cast<size_t>(__builtin_ctzll(regs))].add_fixed(range);
        }
      }
      number++;
    }
  }
}

void LinearScan::place(Reg r, uint32_t at) {
  uint8_t file = file_of(r);
  if (try_hints(at, file)) return;
  const std::vector<Range>& ranges = live_.ranges[at];
  for (uint8_t p : target_.files[file].order) {
    if (!files_[file][p].is_free(ranges)) continue;
    files_[file][p].add(ranges, at);
    phys_[at] = p;
    return;
  }
  if (evict(r, at, file)) return;
  spilled_.push_back(at);
}

bool LinearScan::try_hints(uint32_t at, uint8_t file) {
  const std::vector<uint8_t>& order = target_.files[file].order;
  for (Hint h : hints_[at]) {
    uint8_t p = h.reg == fixed_reg ? h.phys : phys_[h.reg];
    if (p == unassigned || std::find(order.begin(), order.end(), p) == order.end()) continue;
    if (!files_[file][p].is_free(live_.ranges[at])) continue;
    files_[file][p].add(live_.ranges[at], at);
    phys_[at] = p;
    return true;
  }
  return false;
}

// Takes the physical register whose holders are cheapest, if they are cheaper than r.
bool LinearScan::evict(Reg r, uint32_t at, uint8_t file) {
  const std::vector<Range>& ranges = live_.ranges[at];
  double best = weight_[at];
  int best_phys = -1;
  for (uint8_t p : target_.files[file].order) {
    double cost = 0;
    bool possible = files_[file][p].for_each_overlap(ranges, [&](uint32_t other) {
      if (other == fixed_reg) return false;
      cost = std::max(cost, weight_[other]);
      return cost < best;
    });
    if (possible && cost < best) best = cost, best_phys = p;
  }
  if (best_phys < 0) {
    HLOC_CHECK(!unspillable(r), "more registers are needed at once than the target has");
    return false;
  }
  PhysicalRegister& taken = files_[file][static_cast<size_t>(best_phys)];
  std::vector<uint32_t> out;
  taken.for_each_overlap(ranges, [&](uint32_t other) {
    if (std::find(out.begin(), out.end(), other) == out.end()) out.push_back(other);
    return true;
  });
  for (uint32_t other : out) {
    taken.remove(live_.ranges[other]);
    phys_[other] = unassigned;
    spilled_.push_back(other);
  }
  taken.add(ranges, at);
  phys_[at] = static_cast<uint8_t>(best_phys);
  return true;
}

// Slots are shared by registers of one round that never live together.
void LinearScan::assign_slots() {
  slot_.assign(f_.reg_count(), -1);
  anew_.assign(f_.reg_count(), {});
  std::vector<std::pair<PhysicalRegister, int64_t>> narrow, wide;
  for (uint32_t at : spilled_) {
    spill_count_++;
    if (constant_[at]) {
      slot_[at] = -2;
      anew_[at] = *constant_[at];
      continue;
    }
    uint32_t bytes = slot_bytes(reg_at_[at]);
    auto& slots = bytes == 8 ? narrow : wide;
    auto free = std::find_if(slots.begin(), slots.end(), [&](auto& s) { return s.first.is_free(live_.ranges[at]); });
    if (free == slots.end()) {
      slots_end_ = (slots_end_ + bytes - 1) / bytes * bytes;
      slots.push_back({{}, slots_end_});
      slots_end_ += bytes;
      free = std::prev(slots.end());
    }
    free->first.add(live_.ranges[at], at);
    slot_[at] = free->second;
  }
}

// Slot of a register that this round spilled; -1 for others (also those that rewriting has made), -2 if computed anew.
int64_t LinearScan::slot_of(Reg r) const {
  if (!r || r.index() >= old_counts_[static_cast<size_t>(r.reg_class())]) return -1;
  return slot_[old_flat(r)];
}

// Numbers over all classes shift while registers are made: side tables go by those from before.
uint32_t LinearScan::old_flat(Reg r) const {
  uint32_t at = r.index();
  for (int c = 1; c < static_cast<int>(r.reg_class()); c++) at += old_counts_[static_cast<size_t>(c)];
  return at;
}

// A register that lives for one instruction in place of `old`.
Reg LinearScan::tiny(Reg old) {
  Reg r(old.reg_class(), f_.counts[static_cast<size_t>(old.reg_class())]++);
  if (old.reg_class() == RegClass::mask) f_.mask_bytes.push_back(f_.mask_bytes[old.index()]);
  unspillable(r) = true;
  return r;
}

void LinearScan::rewrite() {
  old_counts_ = f_.counts;
  std::vector<Inst> out;
  for (Reg& p : f_.params) {
    int64_t slot = slot_of(p);
    if (slot < 0) continue;
    p = tiny(p);
    out.push_back({.op = Op::Spill, .a = p, .imm = slot});
  }
  for (BlockId b : f_.order) {
    for (const Inst& i : f_.blocks[b].insts) rewrite_inst(i, out);
    f_.blocks[b].insts = std::move(out);
    out.clear();
  }
}

void LinearScan::rewrite_inst(Inst i, std::vector<Inst>& out) {
  auto replace = [&](Reg from, Reg to) {
    for (Reg* r : {&i.dst, &i.a, &i.b, &i.c, &i.d, &i.base, &i.index}) {
      if (*r == from) *r = to;
    }
  };
  std::vector<Inst> after;
  const Use before = use(i);
  auto written = [&](Reg r) { return r == before.writes[0] || r == before.writes[1]; };
  for (Reg r : before.reads) {
    int64_t slot = slot_of(r);
    if (slot == -1) continue;
    Use now = use(i);
    if (std::find(now.reads.begin(), now.reads.end(), r) == now.reads.end()) continue;  // done where it was read first
    Inst load = slot >= 0 ? Inst{.op = Op::Reload, .dst = r, .imm = slot} : anew_[old_flat(r)];
    if (!written(r) && target_.fold && target_.fold(i, load, r)) continue;
    load.dst = tiny(r);
    out.push_back(load);
    replace(r, load.dst);
    if (written(r)) after.push_back({.op = Op::Spill, .a = load.dst, .imm = slot});
  }
  for (Reg r : use(i).writes) {
    int64_t slot = slot_of(r);
    if (slot == -2) return;  // a constant's own instruction
    if (slot == -1) continue;
    Reg t = tiny(r);
    replace(r, t);
    after.push_back({.op = Op::Spill, .a = t, .imm = slot});
  }
  out.push_back(i);
  out.insert(out.end(), after.begin(), after.end());
}

Result<Allocation> LinearScan::finish() {
  Allocation a;
  a.phys = std::move(phys_);
  a.spill_bytes = slots_end_;
  a.spilled = spill_count_;
  for (uint32_t r = 0; r < f_.reg_count(); r++) {
    if (a.phys[r] != unassigned) a.used[file_of(reg_at_[r])] |= uint64_t{1} << a.phys[r];
  }
  for (BlockId b : f_.order) {
    for (const Inst& i : f_.blocks[b].insts) {
      Clobbers c = target_.clobbers(i);
      for (size_t file = 0; file < c.regs.size(); file++) a.used[file] |= c.regs[file];
    }
  }
  return a;
}

}  // namespace

Result<Allocation> allocate(Function& f, const TargetRegs& target) { return LinearScan(f, target).run(); }

}  // namespace hloc::machine
