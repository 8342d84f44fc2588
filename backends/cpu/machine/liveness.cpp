// Where registers are live: backward dataflow over those that cross blocks, one backward walk over each block for all.
#include <algorithm>

#include "backends/cpu/machine/regalloc.h"

namespace hloc::machine {

GlobalRegs global_registers(const Function& f) {
  GlobalRegs out;
  out.number.assign(f.reg_count(), GlobalRegs::none);
  std::vector<BlockId> seen(f.reg_count(), no_block);
  auto mention = [&](Reg r, BlockId b) {
    if (!r) return;
    uint32_t at = f.flat(r);
    if (seen[at] == no_block) seen[at] = b;
    else if (seen[at] != b && out.number[at] == GlobalRegs::none) out.number[at] = out.count++;
  };
  for (Reg r : f.params) mention(r, 0);
  for (BlockId b : f.order) {
    for (const Inst& i : f.blocks[b].insts) {
      Use u = use(i);
      for (Reg r : u.reads) mention(r, b);
      for (Reg r : u.writes) mention(r, b);
    }
  }
  return out;
}

namespace {

using LiveSet = std::vector<uint64_t>;

struct BlockLiveness {
  LiveSet reads, writes;  // read before written in the block; written
  LiveSet in, out;
};

void set_bit(LiveSet& s, uint32_t n) { s[n / 64] |= uint64_t{1} << (n % 64); }
bool has_bit(const LiveSet& s, uint32_t n) { return s[n / 64] >> (n % 64) & 1; }

std::vector<BlockLiveness> solve_liveness(const Function& f, const GlobalRegs& globals) {
  size_t words = globals.count / 64 + 1;
  std::vector<BlockLiveness> blocks(f.blocks.size());
  for (BlockId b : f.order) {
    BlockLiveness& l = blocks[b];
    for (LiveSet* s : {&l.reads, &l.writes, &l.in, &l.out}) s->assign(words, 0);
    for (const Inst& i : f.blocks[b].insts) {
      Use u = use(i);
      for (Reg r : u.reads) {
        uint32_t n = r ? globals.number[f.flat(r)] : GlobalRegs::none;
        if (n != GlobalRegs::none && !has_bit(l.writes, n)) set_bit(l.reads, n);
      }
      for (Reg r : u.writes) {
        uint32_t n = r ? globals.number[f.flat(r)] : GlobalRegs::none;
        if (n != GlobalRegs::none) set_bit(l.writes, n);
      }
    }
    l.in = l.reads;
  }
  for (bool changed = true; changed;) {  // a handful of rounds: loop nesting bounds them in reverse layout order
    changed = false;
    for (size_t n = f.order.size(); n-- > 0;) {
      BlockLiveness& l = blocks[f.order[n]];
      for (BlockId to : successors(f.blocks[f.order[n]].insts.back())) {
        for (size_t w = 0; w < words; w++) l.out[w] |= blocks[to].in[w];
      }
      for (size_t w = 0; w < words; w++) {
        uint64_t in = l.reads[w] | (l.out[w] & ~l.writes[w]);
        changed |= in != l.in[w];
        l.in[w] = in;
      }
    }
  }
  return blocks;
}

// A jump to an earlier block in layout order closes a loop over all blocks between.
std::vector<uint8_t> loop_depths(const Function& f) {
  std::vector<size_t> place(f.blocks.size(), 0);
  for (size_t n = 0; n < f.order.size(); n++) place[f.order[n]] = n;
  std::vector<size_t> last(f.order.size(), 0);  // of a loop's head: its last block
  for (size_t n = 0; n < f.order.size(); n++) {
    for (BlockId to : successors(f.blocks[f.order[n]].insts.back())) {
      if (place[to] <= n) last[place[to]] = std::max(last[place[to]], n + 1);
    }
  }
  std::vector<int> change(f.order.size() + 1, 0);
  for (size_t n = 0; n < f.order.size(); n++) {
    if (last[n]) change[n]++, change[last[n]]--;
  }
  std::vector<uint8_t> depth(f.order.size());
  int now = 0;
  for (size_t n = 0; n < f.order.size(); n++) {
    now += change[n];
    depth[n] = static_cast<uint8_t>(std::min(now, 8));
  }
  return depth;
}

}  // namespace

Liveness liveness(const Function& f) {
  Liveness out;
  out.ranges.resize(f.reg_count());
  out.loop_depth = loop_depths(f);
  uint32_t number = 1;  // 0 stands for the entry, where parameters are written
  for (BlockId b : f.order) {
    out.block_start.push_back(number);
    number += static_cast<uint32_t>(f.blocks[b].insts.size());
  }
  GlobalRegs globals = global_registers(f);
  std::vector<BlockLiveness> blocks = solve_liveness(f, globals);
  std::vector<uint32_t> globals_flat(globals.count);
  for (uint32_t r = 0; r < f.reg_count(); r++) {
    if (globals.number[r] != GlobalRegs::none) globals_flat[globals.number[r]] = r;
  }

  // Backwards, so that ranges come in falling order; `until` is where the current range of a register ends.
  std::vector<uint32_t> until(f.reg_count(), 0);
  auto close = [&](uint32_t r, uint32_t begin) {
    std::vector<Range>& ranges = out.ranges[r];
    if (!ranges.empty() && ranges.back().begin <= until[r]) ranges.back().begin = begin;
    else ranges.push_back({begin, until[r]});
    until[r] = 0;
  };
  for (size_t n = f.order.size(); n-- > 0;) {
    BlockId b = f.order[n];
    const std::vector<Inst>& insts = f.blocks[b].insts;
    uint32_t first = out.block_start[n], end = first + static_cast<uint32_t>(insts.size());
    auto for_each_bit = [&](const LiveSet& set, auto fn) {
      for (size_t w = 0; w < set.size(); w++) {
        for (uint64_t bits = set[w]; bits; bits &= bits - 1) {
          fn(globals_flat[w * 64 + static_cast<size_t>(__builtin_ctzll(bits))]);
        }
      }
    };
    for_each_bit(blocks[b].out, [&](uint32_t r) { until[r] = 4 * end; });
    for (uint32_t i = end; i-- > first;) {
      Use u = use(insts[i - first]);
      for (Reg r : u.writes) {
        if (!r) continue;
        uint32_t at = f.flat(r);
        if (until[at] == 0) until[at] = 4 * i + 3;  // never read
        close(at, u.early ? 4 * i : 4 * i + 2);
      }
      for (Reg r : u.reads) {
        if (r && until[f.flat(r)] == 0) until[f.flat(r)] = 4 * i + 1;
      }
    }
    for_each_bit(blocks[b].in, [&](uint32_t r) {
      if (until[r]) close(r, 4 * first);
    });
  }
  for (Reg r : f.params) {
    uint32_t at = f.flat(r);
    if (until[at] == 0) until[at] = 3;
    close(at, 2);
  }
  for (std::vector<Range>& r : out.ranges) std::reverse(r.begin(), r.end());
  return out;
}

}  // namespace hloc::machine
