// The machine IR: functions of basic blocks over virtual registers, below loop IR and above the encodings of a CPU.
//
// Virtual registers belong to a class (general, vector, mask, tile) and may be written more than once: counters and
// accumulators are plain registers. What a vector holds is a tag on each instruction (`VType`: element type and lanes),
// not a property of the register; a new element type is a new emit rule, never a new instruction. Only mask registers
// remember the width of the lanes they are for, because AVX2 keeps a mask in a vector register of that width.
//
// A vector may be narrower than the machine's registers: lanes times element size is 1, 2, 4, … `vector_bytes` bytes
// (f32x8 and s8x8 go together in one loop). `lanes` 1 is a scalar. What a register holds above its lanes is unspecified.
//
// `use` is the only place that knows which registers an instruction reads and writes.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "include/hloc/result.h"
#include "include/hloc/tensor.h"
#include "ir/support/check.h"
#include "ir/support/source.h"

namespace hloc::machine {

enum class RegClass : uint8_t { none, general, vector, mask, tile };
constexpr int reg_classes = 5;

// A virtual register: a class and a number that is dense within it. `Reg{}` is no register.
struct Reg {
  uint32_t bits = 0;

  constexpr Reg() = default;
  constexpr Reg(RegClass c, uint32_t index) : bits(static_cast<uint32_t>(c) << 28 | index) {}
  constexpr RegClass reg_class() const { return static_cast<RegClass>(bits >> 28); }
  constexpr uint32_t index() const { return bits & 0x0fffffff; }
  constexpr explicit operator bool() const { return bits != 0; }
  constexpr bool operator==(const Reg&) const = default;
};

enum class Op : uint8_t {
#define HLOC_MOP(name, text, suffix, operands) name,
#include "backends/cpu/machine/ops.def"
#undef HLOC_MOP
};

struct OpRow {
  std::string_view text, suffix, operands;
};
inline constexpr OpRow op_table[] = {
#define HLOC_MOP(name, text, suffix, operands) {text, suffix, operands},
#include "backends/cpu/machine/ops.def"
#undef HLOC_MOP
};
constexpr int op_count = static_cast<int>(std::size(op_table));
constexpr const OpRow& row(Op op) { return op_table[static_cast<size_t>(op)]; }

// What a vector instruction works on. Elements: pred (a byte, 0 or 1), s8…s64, u8…u64, f16, bf16, f32, f64.
struct VType {
  ElementType element = ElementType::invalid;
  uint8_t lanes = 0;

  constexpr int bytes() const { return byte_width(element) * lanes; }
  constexpr bool operator==(const VType&) const = default;
};

// Conditions. General registers know eq…ge (signed) and ult…uge; vectors take the sign from the element type. On floats
// eq lt le gt ge one ord are false if an operand is NaN; ne uno ueq nlt nle ngt nge are true then (as HLO's NE is).
enum class Cond : uint8_t { none, eq, ne, lt, le, gt, ge, ult, ule, ugt, uge, ord, uno, one, ueq, nlt, nle, ngt, nge };
inline constexpr std::string_view cond_names[] = {"",    "eq",  "ne",  "lt",  "le",  "gt",  "ge",  "ult", "ule", "ugt",
                                                  "uge", "ord", "uno", "one", "ueq", "nlt", "nle", "ngt", "nge"};

// nearest: ties to even; away: ties away from zero.
enum class Round : uint8_t { nearest, floor, ceil, trunc, away };
inline constexpr std::string_view round_names[] = {"nearest", "floor", "ceil", "trunc", "away"};

// What the address fields of an instruction mean.
enum class MemKind : uint8_t {
  none,
  memory,     // base + index * scale + disp
  broadcast,  // one element there, repeated to all lanes
  data,       // the function's data constant number `disp`
  splat,      // the element `imm`, repeated to all lanes, from the constant pool
  slot,       // the frame slot at byte `disp`
};

using BlockId = uint32_t;
constexpr BlockId no_block = ~BlockId{0};

// base + index * scale + disp, in bytes; scale 1, 2, 4 or 8.
struct Address {
  Reg base{}, index{};
  uint8_t scale = 1;
  int32_t disp = 0;

  constexpr Address() = default;
  constexpr Address(Reg base, int32_t disp = 0) : base(base), disp(disp) {}
  constexpr Address(Reg base, Reg index, uint8_t scale, int32_t disp = 0)
      : base(base), index(index), scale(scale), disp(disp) {}
};

// One instruction; the row of `op` says which fields it has. A call's arguments are the sources in the order of
// `sources()` (CallReg: after the callee in `a`).
struct Inst {
  Op op = Op::Ret;
  ElementType type = ElementType::invalid;
  ElementType from = ElementType::invalid;  // converts: source element; gathers: type of the indices (s32 or s64)
  uint8_t lanes = 0;
  Cond cond = Cond::none;
  Round round = Round::nearest;
  MemKind mem = MemKind::none;
  uint8_t scale = 1;
  Reg dst{}, a{}, b{}, c{}, d{}, base{}, index{};
  int32_t disp = 0;
  int64_t imm = 0;
  uint32_t symbol = 0;  // number in Function::symbols
  std::array<BlockId, 2> targets{no_block, no_block};  // of a jump; of a branch if the condition holds, and if not

  constexpr VType vtype() const { return {type, lanes}; }
  constexpr std::array<Reg, 6> sources() const { return {a, b, c, d, base, index}; }
  bool operator==(const Inst&) const = default;
};

// What an instruction reads and writes. `early`: dst is written before all sources are read, so they may not share a
// register. Gathers leave their mask unspecified, so they write it too.
struct Use {
  std::array<Reg, 6> reads{};
  std::array<Reg, 2> writes{};
  bool early = false;
};
constexpr Use use(const Inst& i);

constexpr bool is_terminator(Op op) { return op == Op::Jump || op == Op::Branch || op == Op::Ret; }
constexpr bool is_call(Op op) { return op == Op::Call || op == Op::CallReg; }

struct Block {
  std::string name;  // unique in its function
  std::vector<Inst> insts;  // the last one, and only it, is a terminator
};

// Bytes for VData and for folded constants; `type` is how the text shows them.
struct DataConstant {
  VType type;
  std::vector<std::byte> bytes;
};

// A function. Parameters and result are general registers (64-bit integers and pointers, at most 6). Block 0 is the
// entry; nothing jumps to it. The code is laid out in `order`, which starts with 0 and has each block once.
struct Function {
  std::string name;
  uint8_t vector_bytes = 32;  // width of a full vector: 16, 32 or 64
  std::vector<Reg> params;
  std::vector<Block> blocks;
  std::vector<BlockId> order;
  std::array<uint32_t, reg_classes> counts{};  // registers of each class
  std::vector<uint8_t> mask_bytes;             // of each mask register: bytes of the lanes it is for
  std::vector<DataConstant> data;
  std::vector<std::string> symbols;  // functions and constants outside of this function

  uint32_t reg_count() const { return counts[1] + counts[2] + counts[3] + counts[4]; }
  // A number for `r` that is dense over all classes, for side tables.
  uint32_t flat(Reg r) const {
    uint32_t at = r.index();
    for (int c = 1; c < static_cast<int>(r.reg_class()); c++) at += counts[c];
    return at;
  }
};

// Named bytes that functions refer to by AddressOf (weights, tables).
struct NamedData {
  std::string name;
  uint32_t alignment = 64;
  std::span<const std::byte> bytes;  // owned by the caller
};

constexpr Use use(const Inst& i) {
  // Whatever has address fields reads their registers.
  Reg base = i.mem == MemKind::none ? Reg{} : i.base, index = i.mem == MemKind::none ? Reg{} : i.index;
  switch (i.op) {
    case Op::Mov: case Op::Neg: case Op::Not: case Op::Extend: case Op::VMov: case Op::VSqrt: case Op::VBroadcast:
    case Op::VRound: case Op::VPart: case Op::MMov: case Op::VSplat: case Op::VExtract:
    case Op::LeadingZeros: case Op::TrailingZeros: case Op::PopCount: case Op::MBits:
    case Op::VConvertRaw: case Op::VConvert: case Op::VLeadingZeros: case Op::VPopCount: case Op::VNeg: case Op::VAbs:
    case Op::VNot:
      return {.reads = {i.a}, .writes = {i.dst}};
    case Op::MAny: case Op::MAll: return {.reads = {i.a}, .writes = {i.dst}};
    case Op::LowBits: case Op::MTail: case Op::MNot: case Op::MConvert: case Op::MFromBits:
      return {.reads = {i.a}, .writes = {i.dst}, .early = true};
    case Op::AddressOf: case Op::VConst: case Op::VData: case Op::MConst: case Op::Reload: case Op::FpSave:
      return {.writes = {i.dst}};
    case Op::Lea: case Op::Load: case Op::VLoad: case Op::VLoadBroadcast:
      return {.reads = {base, index}, .writes = {i.dst}};
    case Op::Add: case Op::Sub: case Op::Mul: case Op::MulHigh: case Op::And: case Op::Or: case Op::Xor: case Op::Shl:
    case Op::Shr: case Op::Sar: case Op::VPermute: case Op::MAnd: case Op::MOr: case Op::MXor: case Op::MAndNot:
    case Op::Div: case Op::Rem: case Op::VShl: case Op::VShr: case Op::VSar: case Op::VBlocks: case Op::VConcat:
    case Op::VRem: case Op::VInsert: case Op::Set:
      return {.reads = {i.a, i.b}, .writes = {i.dst}};
    case Op::Select: return {.reads = {i.a, i.b, i.c, i.d}, .writes = {i.dst}};
    case Op::VAdd: case Op::VSub: case Op::VMul: case Op::VDiv: case Op::VMin: case Op::VMax: case Op::VMinRaw:
    case Op::VMaxRaw: case Op::VAnd: case Op::VOr: case Op::VXor: case Op::VAndNot: case Op::VZipLow:
    case Op::VZipHigh: case Op::VTable: case Op::VMulLow: case Op::VScale:
    case Op::VCompare:
      return {.reads = {i.a, i.b, base, index}, .writes = {i.dst}};
    case Op::VFma: case Op::VFms: case Op::VFnma: case Op::VFnms: case Op::VMajority:
      return {.reads = {i.a, i.b, i.c, base, index}, .writes = {i.dst}};
    case Op::VSelect: return {.reads = {i.a, i.b, i.c}, .writes = {i.dst}};
    case Op::VLoadMasked: return {.reads = {i.c, base, index}, .writes = {i.dst}};
    case Op::Store: case Op::VStore: case Op::VStoreStream: return {.reads = {i.a, base, index}};
    case Op::VStoreMasked: return {.reads = {i.a, i.c, base, index}};
    case Op::VGather: return {.reads = {i.a, i.c, base, i.dst}, .writes = {i.dst, i.c}};
    case Op::Prefetch: return {.reads = {base, index}};
    case Op::Call: case Op::CallReg: return {.reads = {i.a, i.b, i.c, i.d, i.base, i.index}, .writes = {i.dst}};
    case Op::FpDefault: case Op::StoreFence: return {};
    case Op::FpRestore: case Op::Ret: case Op::Spill: return {.reads = {i.a}};
    case Op::Jump: return {};
    case Op::Branch: return {.reads = {i.a, i.b}};
  }
  HLOC_UNREACHABLE();
}

}  // namespace hloc::machine
