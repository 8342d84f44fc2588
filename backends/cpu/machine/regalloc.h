// Register allocation: liveness with holes, then linear scan with eviction and spilling.
//
// The allocator knows register classes, control flow and what the target says below as data. It never looks at what an
// instruction does, only at `use` and at the target's clobbers.
//
// Positions: instruction n has four, 4n to 4n + 3. Sources are read at 4n; calls destroy registers at 4n + 1; results
// are written at 4n + 2. An interval is the set of positions at which a register holds a value that is read later;
// parameters are written before the first instruction.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "backends/cpu/machine/inst.h"

namespace hloc::machine {

constexpr int max_reg_files = 4;
constexpr uint32_t max_spill_bytes = 3968;  // with saved registers and alignment a frame stays below 4 KiB

// A set of physical registers that some classes share.
struct RegFile {
  std::vector<uint8_t> order;  // allocatable registers, preferred first
  uint64_t callee_saved = 0;   // bit per register
};

struct Clobbers {
  std::array<uint64_t, max_reg_files> regs{};  // by file
  bool before_reads = false;                   // destroyed even before the sources are read
};

struct TargetRegs {
  std::vector<RegFile> files;
  std::array<uint8_t, reg_classes> file_of{};  // by class
  std::vector<uint8_t> arguments;              // general registers of the first integer arguments
  uint8_t result = 0;
  Clobbers (*clobbers)(const Inst&) = nullptr;
  // Lets `user` read `def`'s result (a load, constant or reload that writes `reg`) from memory instead of `reg`. False:
  // it can't.
  bool (*fold)(Inst& user, const Inst& def, Reg reg) = nullptr;
};

struct Allocation {
  std::vector<uint8_t> phys;                   // by Function::flat
  uint32_t spill_bytes = 0;                    // frame slots, from 0
  std::array<uint64_t, max_reg_files> used{};  // physical registers written anywhere
  uint32_t spilled = 0;                        // registers that went to the frame or were computed anew

  uint8_t of(const Function& f, Reg r) const { return phys[f.flat(r)]; }
};

// Registers that more than one block mentions, numbered densely; the others need no dataflow.
struct GlobalRegs {
  std::vector<uint32_t> number;  // by Function::flat; none for what is local
  uint32_t count = 0;
  static constexpr uint32_t none = ~uint32_t{0};
};
GlobalRegs global_registers(const Function& f);

// Where control goes from a block: at most two.
inline std::span<const BlockId> successors(const Inst& terminator) {
  if (terminator.op == Op::Ret) return {};
  return {terminator.targets.data(), terminator.op == Op::Branch ? size_t{2} : size_t{1}};
}

struct Range {
  uint32_t begin, end;  // half open
};

// Where each register is live, by Function::flat: sorted, disjoint ranges.
struct Liveness {
  std::vector<std::vector<Range>> ranges;
  std::vector<uint32_t> block_start;  // by position in Function::order: number of the first instruction
  std::vector<uint8_t> loop_depth;    // likewise
};
Liveness liveness(const Function& f);

// Gives every register of `f` a physical one; rewrites `f` where it spills. More than max_spill_bytes of slots are an error
// of kind `target`.
Result<Allocation> allocate(Function& f, const TargetRegs& target);

}  // namespace hloc::machine
