// Building, printing, reading and checking machine IR. inst.h has the data itself.
//
// Builder methods append to the current block. A method that computes something returns the register it wrote; the last
// parameter `dst` names one to (re)write instead of a new one:
//
//   Function f;                              // for (i = 0; i < n; i += 8) y[i] += a * x[i], n a multiple of 8
//   Builder b(f, "axpy", 32);
//   Reg x = b.param(), y = b.param(), n = b.param();
//   Reg a = b.vload(f32x8, x);
//   b.counted_loop(n, 8, [&](Reg i) {
//     Reg acc = b.vload(f32x8, {y, i, 4});
//     b.fma_into(f32x8, acc, a, b.vload(f32x8, {x, i, 4}));
//     b.vstore(f32x8, {y, i, 4}, acc);
//   });
//   b.ret();
//
// Then `legalise`, `allocate` and `assemble` (x86/x86.h); loads that feed one instruction are folded there.
#pragma once

#include <bit>
#include <initializer_list>
#include <optional>
#include <utility>

#include "backends/cpu/machine/inst.h"

namespace hloc::machine {

class Builder {
 public:
  // Starts a function with an empty entry block as the current one. `vector_bytes`: 32 (x86-64-v3) or 64 (x86-64-v4).
  Builder(Function& f, std::string name, int vector_bytes);
  // Appends to `out` instead of a block: straight-line code for passes that rewrite instructions.
  Builder(Function& f, std::vector<Inst>& out) : f_(f), sink_(&out) {}

  Function& function() { return f_; }
  // The type with `element` that fills a vector register.
  VType full(ElementType element) const {
    return {element, static_cast<uint8_t>(f_.vector_bytes / byte_width(element))};
  }

  // ---- registers, blocks, control flow -------------------------------------------------------------------------
  Reg param();  // the next parameter; before anything else
  Reg general() { return fresh(RegClass::general); }
  Reg vector() { return fresh(RegClass::vector); }
  Reg mask(VType t);  // remembers the width of t's lanes

  BlockId block(std::string_view name = "b");  // made, not yet placed: text order is the order of `start` calls
  void start(BlockId b);                       // the current block from now on; the block before must be ended
  BlockId current() const { return current_; }
  bool ended() const;  // does the current block have its terminator

  void jump(BlockId b);
  void branch(Cond c, Reg a, Reg b, BlockId then_block, BlockId else_block);
  void branch(Cond c, Reg a, int64_t b, BlockId then_block, BlockId else_block);
  void ret(Reg a = {});

  // for (; counter < end; counter += step) body(); signed, tests before the first turn. `end`: a register or a number.
  // The second form counts from 0 and calls body(counter).
  template <class End, class Body>
  void counted_loop(Reg counter, End end, int64_t step, Body body);
  template <class End, class Body>
  void counted_loop(End end, int64_t step, Body body) {
    Reg i = mov(0);
    counted_loop(i, end, step, [&] { body(i); });
  }
  // if (a cond b) body()
  template <class B, class Body>
  void if_then(Cond c, Reg a, B b, Body body);
  template <class B, class Then, class Else>
  void if_else(Cond c, Reg a, B b, Then then_body, Else else_body);

  // ---- general registers: 64 bits, wrapping --------------------------------------------------------------------
  Reg mov(int64_t value, Reg dst = {});
  Reg mov(Reg a, Reg dst = {});
  Reg lea(Address at, Reg dst = {});
  Reg address_of(std::string_view symbol, Reg dst = {});  // of a function or NamedData

  Reg add(Reg a, Reg b, Reg dst = {}) { return g2(Op::Add, a, b, dst); }
  Reg sub(Reg a, Reg b, Reg dst = {}) { return g2(Op::Sub, a, b, dst); }
  Reg mul(Reg a, Reg b, Reg dst = {}) { return g2(Op::Mul, a, b, dst); }
  Reg and_(Reg a, Reg b, Reg dst = {}) { return g2(Op::And, a, b, dst); }
  Reg or_(Reg a, Reg b, Reg dst = {}) { return g2(Op::Or, a, b, dst); }
  Reg xor_(Reg a, Reg b, Reg dst = {}) { return g2(Op::Xor, a, b, dst); }
  Reg shl(Reg a, Reg b, Reg dst = {}) { return g2(Op::Shl, a, b, dst); }  // amounts count modulo 64
  Reg shr(Reg a, Reg b, Reg dst = {}) { return g2(Op::Shr, a, b, dst); }
  Reg sar(Reg a, Reg b, Reg dst = {}) { return g2(Op::Sar, a, b, dst); }
  Reg add(Reg a, int64_t b, Reg dst = {}) { return g2(Op::Add, a, b, dst); }
  Reg sub(Reg a, int64_t b, Reg dst = {}) { return g2(Op::Sub, a, b, dst); }
  Reg mul(Reg a, int64_t b, Reg dst = {}) { return g2(Op::Mul, a, b, dst); }
  Reg and_(Reg a, int64_t b, Reg dst = {}) { return g2(Op::And, a, b, dst); }
  Reg or_(Reg a, int64_t b, Reg dst = {}) { return g2(Op::Or, a, b, dst); }
  Reg xor_(Reg a, int64_t b, Reg dst = {}) { return g2(Op::Xor, a, b, dst); }
  Reg shl(Reg a, int64_t b, Reg dst = {}) { return g2(Op::Shl, a, b, dst); }
  Reg shr(Reg a, int64_t b, Reg dst = {}) { return g2(Op::Shr, a, b, dst); }
  Reg sar(Reg a, int64_t b, Reg dst = {}) { return g2(Op::Sar, a, b, dst); }
  Reg neg(Reg a, Reg dst = {}) { return g1(Op::Neg, {}, a, dst); }
  Reg not_(Reg a, Reg dst = {}) { return g1(Op::Not, {}, a, dst); }

  // Types of these: s32, u32, s64, u64 (mul_high: s64, u64). The 32-bit forms use the low halves and extend the result.
  Reg mul_high(ElementType t, Reg a, Reg b, Reg dst = {});  // upper 64 bits of the product
  // Raw division: b is neither 0, nor -1 with the least a (those may trap).
  Reg div(ElementType t, Reg a, Reg b, Reg dst = {});
  Reg rem(ElementType t, Reg a, Reg b, Reg dst = {});
  // Division as HLO defines it: x / 0 = -1 (all ones), x % 0 = x, least / -1 = least, least % -1 = 0.
  Reg div_total(ElementType t, Reg a, Reg b, Reg dst = {});
  Reg rem_total(ElementType t, Reg a, Reg b, Reg dst = {});
  Reg min(Reg a, Reg b, Reg dst = {}) { return select(Cond::lt, a, b, a, b, dst); }
  Reg max(Reg a, Reg b, Reg dst = {}) { return select(Cond::gt, a, b, a, b, dst); }

  Reg extend(ElementType t, Reg a, Reg dst = {}) { return g1(Op::Extend, t, a, dst); }  // s8…u32: low bits to all 64
  Reg lzcnt(ElementType t, Reg a, Reg dst = {}) { return g1(Op::LeadingZeros, t, a, dst); }   // u32, u64; of 0: the width
  Reg tzcnt(ElementType t, Reg a, Reg dst = {}) { return g1(Op::TrailingZeros, t, a, dst); }
  Reg popcnt(ElementType t, Reg a, Reg dst = {}) { return g1(Op::PopCount, t, a, dst); }
  Reg low_bits(Reg a, Reg dst = {}) { return g1(Op::LowBits, {}, a, dst); }  // the low `a` bits set, 0 ≤ a ≤ 64

  Reg set(Cond c, Reg a, Reg b, Reg dst = {});  // (a cond b) ? 1 : 0
  Reg set(Cond c, Reg a, int64_t b, Reg dst = {});
  Reg select(Cond c, Reg a, Reg b, Reg x, Reg y, Reg dst = {});  // (a cond b) ? x : y
  Reg select(Cond c, Reg a, int64_t b, Reg x, Reg y, Reg dst = {});

  Reg load(ElementType t, Address at, Reg dst = {});  // pred, s8…u64: sign- or zero-extended to 64 bits
  void store(ElementType t, Address at, Reg a);
  void store(ElementType t, Address at, int64_t a);
  void prefetch(Address at, int level = 0);  // 0: nearest cache … 2: farthest, 3: non-temporal
  void store_fence() { emit({.op = Op::StoreFence}); }  // other threads see vstore_stream before what is stored later

  // At most 6 arguments (5 through a register). All vector and mask registers die in a call (the allocator spills).
  Reg call(std::string_view symbol, std::initializer_list<Reg> args, bool has_result = true);
  Reg call(Reg callee, std::initializer_list<Reg> args, bool has_result = true);

  // The floating-point control state (MXCSR, FPCR): read, set to round-to-nearest with subnormals, write back.
  Reg fp_save() { return g1(Op::FpSave, {}, {}, {}); }
  void fp_default() { emit({.op = Op::FpDefault}); }
  void fp_restore(Reg a) { emit({.op = Op::FpRestore, .a = a}); }

  // ---- vectors ---------------------------------------------------------------------------------------------------
  Reg vmov(VType t, Reg a, Reg dst = {}) { return v1(Op::VMov, t, a, dst); }  // also reinterprets bits
  Reg vconst(VType t, double value, Reg dst = {});          // every lane, rounded to the element type
  Reg vconst_bits(VType t, uint64_t bits, Reg dst = {});    // every lane, as bits
  Reg vzero(VType t, Reg dst = {}) { return vconst_bits(t, 0, dst); }
  Reg vdata(VType t, std::span<const std::byte> lanes, Reg dst = {});  // lane by lane
  Reg viota(VType t, int64_t start = 0, int64_t step = 1, Reg dst = {});  // start, start + step, …; any element type

  Reg vload(VType t, Address at, Reg dst = {}) { return vmem(Op::VLoad, t, at, {}, dst); }  // any alignment
  Reg vload_broadcast(VType t, Address at, Reg dst = {}) { return vmem(Op::VLoadBroadcast, t, at, {}, dst); }
  // Masked memory touches no byte of a lane that is off; loads put 0 there. 8- and 16-bit elements need AVX-512.
  Reg vload_masked(VType t, Address at, Reg mask, Reg dst = {}) { return vmem(Op::VLoadMasked, t, at, mask, dst); }
  void vstore(VType t, Address at, Reg a);
  void vstore_masked(VType t, Address at, Reg a, Reg mask);
  void vstore_stream(VType t, Address at, Reg a);  // non-temporal; at must be aligned to the vector
  // dst[l] = mask[l] ? *(T*)(base + indices[l] * scale + disp) : 0. Elements of 32 and 64 bits; `index` s32 or s64.
  Reg vgather(VType t, ElementType index, Reg base, Reg indices, int scale, int32_t disp, Reg mask);

  Reg vbroadcast(VType t, Reg a, Reg dst = {}) { return v1(Op::VBroadcast, t, a, dst); }  // lane 0 to all lanes
  Reg vsplat(VType t, Reg a, Reg dst = {}) { return v1(Op::VSplat, t, a, dst); }  // low bits of a general register
  Reg vextract(VType t, Reg a, int lane, Reg dst = {});  // to a general register: signed ones sign-, others zero-extended
  Reg vinsert(VType t, Reg a, Reg g, int lane, Reg dst = {});

  // Arithmetic. Integers wrap. Floats round to nearest even in their own type. Integer div and rem are total as HLO's.
  // min, max on floats: NaN if either is, -0 below +0 (IEEE 754 minimum/maximum). The raw forms: a < b ? a : b and
  // a > b ? a : b (b if unordered or equal), one instruction on x86.
  Reg vadd(VType t, Reg a, Reg b, Reg dst = {}) { return v2(Op::VAdd, t, a, b, dst); }
  Reg vsub(VType t, Reg a, Reg b, Reg dst = {}) { return v2(Op::VSub, t, a, b, dst); }
  Reg vmul(VType t, Reg a, Reg b, Reg dst = {}) { return v2(Op::VMul, t, a, b, dst); }
  Reg vmul_low(VType t, Reg a, Reg b, Reg dst = {}) { return v2(Op::VMulLow, t, a, b, dst); }  // u64: lower halves' product
  Reg vdiv(VType t, Reg a, Reg b, Reg dst = {}) { return v2(Op::VDiv, t, a, b, dst); }
  Reg vrem(VType t, Reg a, Reg b, Reg dst = {}) { return v2(Op::VRem, t, a, b, dst); }  // integers
  Reg vmin(VType t, Reg a, Reg b, Reg dst = {}) { return v2(Op::VMin, t, a, b, dst); }
  Reg vmax(VType t, Reg a, Reg b, Reg dst = {}) { return v2(Op::VMax, t, a, b, dst); }
  Reg vmin_raw(VType t, Reg a, Reg b, Reg dst = {}) { return v2(Op::VMinRaw, t, a, b, dst); }
  Reg vmax_raw(VType t, Reg a, Reg b, Reg dst = {}) { return v2(Op::VMaxRaw, t, a, b, dst); }
  Reg vsqrt(VType t, Reg a, Reg dst = {}) { return v1(Op::VSqrt, t, a, dst); }
  Reg vneg(VType t, Reg a, Reg dst = {}) { return v1(Op::VNeg, t, a, dst); }
  Reg vabs(VType t, Reg a, Reg dst = {}) { return v1(Op::VAbs, t, a, dst); }
  Reg vround(VType t, Round r, Reg a, Reg dst = {});
  // f32, f64: a * 2^b, rounded once, for a whole b within twice the type's exponents and an a whose own is near 0 (or a NaN).
  Reg vscale(VType t, Reg a, Reg b, Reg dst = {}) { return v2(Op::VScale, t, a, b, dst); }
  // f32, f64, one rounding: fma a*b+c, fms a*b-c, fnma -(a*b)+c, fnms -(a*b)-c.
  Reg vfma(VType t, Reg a, Reg b, Reg c, Reg dst = {}) { return v3(Op::VFma, t, a, b, c, dst); }
  Reg vfms(VType t, Reg a, Reg b, Reg c, Reg dst = {}) { return v3(Op::VFms, t, a, b, c, dst); }
  Reg vfnma(VType t, Reg a, Reg b, Reg c, Reg dst = {}) { return v3(Op::VFnma, t, a, b, c, dst); }
  Reg vfnms(VType t, Reg a, Reg b, Reg c, Reg dst = {}) { return v3(Op::VFnms, t, a, b, c, dst); }
  void fma_into(VType t, Reg acc, Reg a, Reg b) { v3(Op::VFma, t, a, b, acc, acc); }  // acc += a * b

  // Bits: any element type. and_not is ~a & b. Shifts: integers; amounts are unsigned and per lane; from the element's
  // width on the result is 0 (sar: the sign).
  Reg vand(VType t, Reg a, Reg b, Reg dst = {}) { return v2(Op::VAnd, t, a, b, dst); }
  Reg vor(VType t, Reg a, Reg b, Reg dst = {}) { return v2(Op::VOr, t, a, b, dst); }
  Reg vxor(VType t, Reg a, Reg b, Reg dst = {}) { return v2(Op::VXor, t, a, b, dst); }
  Reg vmajority(VType t, Reg a, Reg b, Reg c, Reg dst = {}) { return v3(Op::VMajority, t, a, b, c, dst); }  // bits on in two or three
  Reg vnot(VType t, Reg a, Reg dst = {}) { return v1(Op::VNot, t, a, dst); }
  Reg vshl(VType t, Reg a, Reg b, Reg dst = {}) { return v2(Op::VShl, t, a, b, dst); }
  Reg vshr(VType t, Reg a, Reg b, Reg dst = {}) { return v2(Op::VShr, t, a, b, dst); }
  Reg vsar(VType t, Reg a, Reg b, Reg dst = {}) { return v2(Op::VSar, t, a, b, dst); }
  Reg vshl(VType t, Reg a, int amount, Reg dst = {}) { return v2i(Op::VShl, t, a, amount, dst); }
  Reg vshr(VType t, Reg a, int amount, Reg dst = {}) { return v2i(Op::VShr, t, a, amount, dst); }
  Reg vsar(VType t, Reg a, int amount, Reg dst = {}) { return v2i(Op::VSar, t, a, amount, dst); }
  Reg vlzcnt(VType t, Reg a, Reg dst = {}) { return v1(Op::VLeadingZeros, t, a, dst); }
  Reg vpopcnt(VType t, Reg a, Reg dst = {}) { return v1(Op::VPopCount, t, a, dst); }

  // Lane by lane from `from` elements to t. Between floats: nearest even. Float to integer: towards zero, clamped, NaN
  // to 0. Integer to integer: truncates or extends. To pred: is it not 0. `raw`: like it where the (truncated) value is
  // known to fit into the result; anything else gives any value.
  Reg vconvert(VType t, ElementType from, Reg a, Reg dst = {}) { return cvt(Op::VConvert, t, from, a, dst); }
  Reg vconvert_raw(VType t, ElementType from, Reg a, Reg dst = {}) { return cvt(Op::VConvertRaw, t, from, a, dst); }

  Reg vcmp(VType t, Cond c, Reg a, Reg b, Reg dst = {});                             // a mask for t's lanes
  Reg vselect(VType t, Reg mask, Reg a, Reg b, Reg dst = {});                        // mask ? a : b
  // Lanes [part * t.lanes, …) of a wider vector: vpart(f32x4, a, 1) is the upper half of an f32x8.
  Reg vpart(VType t, Reg a, int part, Reg dst = {});
  Reg vconcat(VType t, Reg low, Reg high, Reg dst = {}) { return v2(Op::VConcat, t, low, high, dst); }  // two halves
  Reg vpermute(VType t, Reg a, Reg indices, Reg dst = {}) { return v2(Op::VPermute, t, a, indices, dst); }
                                                     // dst[l] = a[indices[l]]; indices as wide as t's elements, < lanes
  // Bytes within each 16-byte block: dst[l] = b[l] < 16 ? a[b[l]] : 0; b[l] is below 16 or has its top bit set.
  Reg vtable(VType t, Reg a, Reg b, Reg dst = {}) { return v2(Op::VTable, t, a, b, dst); }
  Reg vreverse(VType t, Reg a, Reg dst = {});        // lanes from last to first
  // Within each 16-byte block: a0 b0 a1 b1 … from the lower (zip_low) or upper half of the block.
  Reg vzip_low(VType t, Reg a, Reg b, Reg dst = {}) { return v2(Op::VZipLow, t, a, b, dst); }
  Reg vzip_high(VType t, Reg a, Reg b, Reg dst = {}) { return v2(Op::VZipHigh, t, a, b, dst); }
  // 16-byte blocks. 32-byte vectors: each result block is any of a0 a1 b0 b1 (selectors 0…3). 64-byte vectors: result
  // blocks 0, 1 are any of a, 2, 3 any of b (selectors 0…3 each).
  Reg vblocks(VType t, Reg a, Reg b, std::initializer_list<int> selectors, Reg dst = {});
  // Transposes a square of t.lanes registers in place (32- and 64-bit elements; full vectors, or 16 bytes).
  void transpose(VType t, std::span<Reg> rows);

  // All lanes combined to lane 0 of the result (a scalar) in a fixed tree: upper half with lower half, and so on.
  // `op` is VAdd, VMul, VMin, VMax, VMinRaw, VMaxRaw, VAnd, VOr or VXor; or any function of (VType, Reg, Reg) → Reg.
  Reg reduce(Op op, VType t, Reg a);
  template <class F>
  Reg reduce_with(VType t, Reg a, F combine);

  // ---- masks -------------------------------------------------------------------------------------------------------
  Reg mmov(VType t, Reg a, Reg dst = {}) { return m1(Op::MMov, t, a, dst); }
  Reg mconst(VType t, bool on, Reg dst = {});                                     // all lanes on or off
  Reg mtail(VType t, Reg n, Reg dst = {}) { return m1(Op::MTail, t, n, dst); }    // lanes below n on; 0 ≤ n < 2^31
  Reg mand(VType t, Reg a, Reg b, Reg dst = {}) { return m2(Op::MAnd, t, a, b, dst); }
  Reg mor(VType t, Reg a, Reg b, Reg dst = {}) { return m2(Op::MOr, t, a, b, dst); }
  Reg mxor(VType t, Reg a, Reg b, Reg dst = {}) { return m2(Op::MXor, t, a, b, dst); }
  Reg mand_not(VType t, Reg a, Reg b, Reg dst = {}) { return m2(Op::MAndNot, t, a, b, dst); }  // ~a & b
  Reg mnot(VType t, Reg a, Reg dst = {}) { return m1(Op::MNot, t, a, dst); }
  // The same lanes for elements of another width: needed before a mask from an f32 compare selects s8, f64, …. Free on
  // AVX-512, and when the widths are equal (returns `a`).
  Reg mconvert(VType t, ElementType from, Reg a, Reg dst = {});
  Reg mbits(VType t, Reg a, Reg dst = {});      // a general register: bit l is lane l, 0 above
  Reg mfrom_bits(VType t, Reg g, Reg dst = {}) { return m1(Op::MFromBits, t, g, dst); }
  Reg many(VType t, Reg a, Reg dst = {});       // 1 if any lane is on, else 0
  Reg mall(VType t, Reg a, Reg dst = {});
  // pred bytes (0 or 1) ↔ masks. `t` has pred's lanes and any element type: the mask is for t's width.
  Reg mask_from_pred(VType t, Reg a, Reg dst = {});
  Reg pred_from_mask(VType t, Reg a, Reg dst = {});

  // Appends an instruction as it is.
  void emit(const Inst& i);

 private:
  Reg fresh(RegClass c);
  Reg or_fresh(Reg dst, RegClass c) { return dst ? dst : fresh(c); }
  Reg g1(Op op, ElementType t, Reg a, Reg dst);
  Reg g2(Op op, Reg a, Reg b, Reg dst);
  Reg g2(Op op, Reg a, int64_t b, Reg dst);
  Reg v1(Op op, VType t, Reg a, Reg dst);
  Reg v2(Op op, VType t, Reg a, Reg b, Reg dst);
  Reg v2i(Op op, VType t, Reg a, int b, Reg dst);
  Reg v3(Op op, VType t, Reg a, Reg b, Reg c, Reg dst);
  Reg m1(Op op, VType t, Reg a, Reg dst);
  Reg m2(Op op, VType t, Reg a, Reg b, Reg dst);
  Reg cvt(Op op, VType t, ElementType from, Reg a, Reg dst);
  Reg vmem(Op op, VType t, Address at, Reg mask, Reg dst);

  Function& f_;
  BlockId current_ = 0;
  std::vector<Inst>* sink_ = nullptr;
};

// The number of data constant `bytes` in f, which is added unless it is there.
uint32_t data_constant(Function& f, VType t, std::span<const std::byte> bytes);

// ---- text ------------------------------------------------------------------------------------------------------------
// One function is `func @name(r0, r1) width 32 { … }`; printing, reading and printing again gives the same text.
std::string print(const Function& f);
std::string print(const Inst& i, const Function& f);

// Where a parsed function stands in its source, by block and instruction.
struct Places {
  const Source* source = nullptr;
  Loc function;
  std::vector<std::vector<Loc>> insts;
};

// Reads any number of functions and verifies them.
Result<std::vector<Function>> parse(const Source& source);

// Are classes, types and blocks as the table says, and is everything defined before use on all paths? `places` gives
// errors their place; without it (a function that was built) they are of kind `bug`.
Result<void> verify(const Function& f, const Places* places = nullptr);

// ---- templates -------------------------------------------------------------------------------------------------------
template <class End, class Body>
void Builder::counted_loop(Reg counter, End end, int64_t step, Body body) {
  BlockId turn = block("loop"), done = block("done");
  branch(Cond::lt, counter, end, turn, done);
  start(turn);
  body();
  add(counter, step, counter);
  branch(Cond::lt, counter, end, turn, done);
  start(done);
}

template <class B, class Body>
void Builder::if_then(Cond c, Reg a, B b, Body body) {
  BlockId yes = block("then"), done = block("endif");
  branch(c, a, b, yes, done);
  start(yes);
  body();
  if (!ended()) jump(done);
  start(done);
}

template <class B, class Then, class Else>
void Builder::if_else(Cond c, Reg a, B b, Then then_body, Else else_body) {
  BlockId yes = block("then"), no = block("else"), done = block("endif");
  branch(c, a, b, yes, no);
  start(yes);
  then_body();
  if (!ended()) jump(done);
  start(no);
  else_body();
  if (!ended()) jump(done);
  start(done);
}

template <class F>
Reg Builder::reduce_with(VType t, Reg a, F combine) {
  while (t.lanes > 1) {
    t.lanes /= 2;
    a = combine(t, vpart(t, a, 1), a);
  }
  return a;
}

}  // namespace hloc::machine
