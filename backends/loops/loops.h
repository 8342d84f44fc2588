// Loop IR: one kernel as loops over scalar statements, the form from which every target starts.
//
//   kernel scale(in x: f32[4096], in s: f32[1], out y: f32[4096]) {
//     %0 = load s[0]
//     for i0 in 4096 vector parallel 1024 {
//       %1 = load x[i0]
//       %2 = mul.f32 %0, %1
//       %3 = max.f32 %2, 0
//       store y[i0], %3
//     }
//   }
//
// Four kinds of names, each with a dense number and a table in the Kernel:
//   buffers       dense arrays of elements in memory, addressed by element
//   values        scalars, assigned once (`%3`); constants are values that no statement defines (`0` above)
//   indices       integers that addresses are made of (`i0`): loop variables, and what `index` statements derive
//   accumulators  scalars that live across the iterations of loops (`a0`); a pred one can end a loop early:
//                 `for i0 in 12 while a0 {`
// A block's names are visible after their statement, in that block and in the blocks inside it.
//
// An address is data, not an expression: base + Σ coefficient · index in elements, with guards. So vector width, strides,
// masks and aliasing are read off it.
//
// What it is not: no registers, no HLO, no layouts. Targets may rely on what `verify` checks, and after `legalise` on the
// ops and types marked basic or halves in ops.def.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "include/hloc/result.h"
#include "include/hloc/tensor.h"
#include "ir/support/source.h"

namespace hloc::loops {

using BufferId = uint32_t;
using ValueId = uint32_t;
using IndexId = uint32_t;
using AccId = uint32_t;
inline constexpr uint32_t no_id = UINT32_MAX;

// ---- Scalar operations -------------------------------------------------------------------------------------------

enum class ScalarOp : uint8_t {
#define HLOC_LOOP_OP(Name, text, operands, types, result, level) Name,
#include "backends/loops/ops.def"
#undef HLOC_LOOP_OP
};

enum class ResultRule : uint8_t { same, pred, other };
enum class Level : uint8_t { basic, halves, composite };

struct ScalarOpFacts {
  std::string_view name;   // the enumerator
  std::string_view text;
  uint8_t operands;
  std::string_view types;  // letters as in ops.def
  ResultRule result;
  Level level;
};
std::span<const ScalarOpFacts> all_scalar_ops();
inline const ScalarOpFacts& facts(ScalarOp op) { return all_scalar_ops()[static_cast<size_t>(op)]; }
const ScalarOp* find_scalar_op(std::string_view text);  // nullptr: none
// Whether operands of this type are allowed by ops.def (Select: of its second and third).
bool allows(ScalarOp op, ElementType type);

// On floats all but `ne` are false for NaN, and -0 equals +0. On pred: false < true.
enum class Predicate : uint8_t { eq, ne, lt, le, gt, ge };
std::string_view name_of(Predicate p);

// The types a value can have: pred, s8…s64, u8…u64, f16, bf16, f32, f64.
bool is_scalar_type(ElementType type);
constexpr bool is_half(ElementType t) { return t == ElementType::f16 || t == ElementType::bf16; }

// ---- Addresses ---------------------------------------------------------------------------------------------------

struct Term {
  IndexId index = 0;
  int64_t coefficient = 0;
  bool operator==(const Term&) const = default;
};

// base + Σ coefficient · index. Terms in increasing order of index, no coefficient 0: equal maps are equal values.
struct Affine {
  int64_t base = 0;
  std::vector<Term> terms;

  Affine() = default;
  Affine(int64_t constant) : base(constant) {}
  static Affine of(IndexId index, int64_t coefficient = 1);
  bool is_constant() const { return terms.empty(); }
  int64_t coefficient(IndexId index) const;  // 0 when absent
  Affine& operator+=(const Affine& other);
  Affine& operator*=(int64_t factor);
  friend Affine operator+(Affine a, const Affine& b) { return a += b; }
  friend Affine operator*(Affine a, int64_t factor) { return a *= factor; }
  bool operator==(const Affine&) const = default;
};

// Both ends inclusive.
struct Range {
  int64_t lo = 0, hi = 0;
  bool operator==(const Range&) const = default;
};

// lo <= affine < hi
struct Guard {
  Affine affine;
  int64_t lo = 0, hi = 0;
  bool operator==(const Guard&) const = default;
};

// Element `offset` of `buffer`; touched only where all guards hold. Guards are independent of each other and pure.
struct Access {
  BufferId buffer = 0;
  Affine offset;
  std::vector<Guard> guards;
  bool operator==(const Access&) const = default;
};

// ---- Tables ------------------------------------------------------------------------------------------------------

enum class BufferRole : uint8_t {
  input,   // read only
  output,  // written; may be read back, by the iteration of a parallel loop that wrote it or by later loops
  local,   // scratch of the kernel, private to one iteration of the parallel loop around its uses
};

struct Buffer {
  std::string name;
  BufferRole role = BufferRole::input;
  ElementType element = ElementType::invalid;
  int64_t count = 0;  // elements
  bool operator==(const Buffer&) const = default;
};

struct Value {
  ElementType type = ElementType::invalid;
  bool is_constant = false;
  uint64_t bits = 0;  // constants: the element's bytes, low end first, upper ones zero; pred 0 or 1
  bool operator==(const Value&) const = default;
};

enum class IndexKind : uint8_t {
  loop,        // variable of a Loop or Contract: 0 … extent-1
  floor_div,   // floor(of / divisor)
  mod,         // of - divisor * floor(of / divisor)
  from_value,  // the integer `value`, clamped to `range`: gathered, dynamic-slice starts
};

struct Index {
  IndexKind kind = IndexKind::loop;
  Range range;           // values it can take, tight enough for bounds
  Affine of;             // floor_div, mod
  int64_t divisor = 1;   // > 0
  ValueId value = no_id; // from_value
  bool operator==(const Index&) const = default;
};

struct Accumulator {
  ElementType type = ElementType::invalid;
  bool operator==(const Accumulator&) const = default;
};

// ---- Statements --------------------------------------------------------------------------------------------------

struct Statement;
using Block = std::vector<Statement>;

struct Compute {
  ValueId result = no_id;
  ScalarOp op = ScalarOp::Add;
  Predicate predicate = Predicate::eq;  // Compare only
  std::array<ValueId, 3> args{no_id, no_id, no_id};
};

// result = access, or `otherwise` where a guard fails (no_id: there are no guards).
struct Load {
  ValueId result = no_id;
  Access access;
  ValueId otherwise = no_id;
};

// access = value; nothing where a guard fails.
struct Store {
  Access access;
  ValueId value = no_id;
};

// The integer `affine` as a value of an integer type (wrapped to it).
struct IndexValue {
  ValueId result = no_id;
  Affine affine;
};

// result (a pred) = all guards hold.
struct Test {
  ValueId result = no_id;
  std::vector<Guard> guards;
};

// Makes kernel.indices[index] (not a loop's) known from here on.
struct Derive {
  IndexId index = no_id;
};

// A loop-carried scalar. `Accumulate` combines by an associative and commutative op: a vector loop may keep one partial
// result per lane (starting from the op's neutral element) and combine them at its end. `Set` replaces; a loop with `Set`
// or `Get` of an accumulator declared outside it runs in order.
struct Declare {
  AccId acc = no_id;
  ValueId init = no_id;
};
struct Accumulate {
  AccId acc = no_id;
  ScalarOp op = ScalarOp::Add;  // Add Mul Min Max And Or Xor
  ValueId value = no_id;
};
struct Set {
  AccId acc = no_id;
  ValueId value = no_id;
};
struct Get {
  ValueId result = no_id;
  AccId acc = no_id;
};

enum class LoopKind : uint8_t {
  serial,    // one iteration after the other
  vector,    // iterations are independent but for `Accumulate`: run several at once
  unrolled,  // serial; the extent is small and the target shall unroll it
};

struct Loop {
  IndexId index = no_id;
  int64_t extent = 0;
  LoopKind kind = LoopKind::serial;
  // 0: not parallel. Else iterations are independent of each other and may be dealt out to threads in runs
  // [begin, end) whose ends are multiples of `grain` (or the extent). Only loops of the kernel's own block; several
  // parallel loops follow one another, each seeing all stores of those before. Only values that plain statements of
  // that block make from each other (no loops, no accumulators) are used inside: each thread computes them anew, and likewise
  // runs loops of that block that are not parallel and store to local buffers only, which are each thread's own.
  // A loop may be parallel and vector at once.
  int64_t grain = 0;
  Block body;
  // Not no_id: the loop ends before the first iteration at whose beginning this accumulator, a pred from outside the loop,
  // is false; `extent` bounds it all the same. Such a loop is serial. Inside a vector loop each of that loop's iterations
  // ends by itself; then the body neither stores nor accumulates, it computes and sets.
  AccId go_on = no_id;
};

enum class DimRole : uint8_t { batch, m, n, k };
struct ContractDim {
  DimRole role = DimRole::m;
  IndexId index = no_id;
  int64_t extent = 0;
};

// For all batch, m and n: result = Σ over k of lhs · rhs, in `accumulate` type, then the epilogue.
//   lhs and rhs are blocks of pure statements (loads, computes, derived indices) that make one value from the indices:
//   lhs from batch, m, k, rhs from batch, n, k. Most often one load: see `plain_load`. Their values are converted to
//   `accumulate` first (exact conversions only). The sum's order and contraction into fma are the target's; it starts
//   from 0. `result` has type `accumulate`. The epilogue sees it and the batch, m and n indices and stores; it runs once
//   per element, in any order, possibly on several threads and lanes.
// Any number of dimensions of each role, also none.
struct Contract {
  std::vector<ContractDim> dims;
  Block lhs, rhs;
  ValueId lhs_value = no_id, rhs_value = no_id;
  ElementType accumulate = ElementType::f32;
  ValueId result = no_id;
  Block epilogue;
};

struct Statement {
  std::variant<Compute, Load, Store, IndexValue, Test, Derive, Declare, Accumulate, Set, Get, Loop, Contract> what;

  template <class T>
  const T* as() const { return std::get_if<T>(&what); }
  template <class T>
  T* as() { return std::get_if<T>(&what); }
};

struct Kernel {
  std::string name;
  std::vector<Buffer> buffers;  // inputs by parameter number, then outputs by result leaf, then locals
  std::vector<Value> values;
  std::vector<Index> indices;
  std::vector<Accumulator> accumulators;
  Block body;

  ElementType type(ValueId v) const { return values[v].type; }
  bool is_constant(ValueId v) const { return values[v].is_constant; }
};

// ---- Text, checks, meaning ---------------------------------------------------------------------------------------

// Names are numbered in order of appearance, so print(read(print(k))) == print(k).
std::string print(const Kernel& kernel);

// Reads one kernel; `//` starts a comment. The result is verified.
Result<Kernel> read_kernel(SourceRef source);

// Types, visibility, single assignment, ranges, and that every access stays in its buffer, proved by interval arithmetic
// over index ranges and guards. An error names the statement by its text.
Result<void> verify(const Kernel& kernel);

// Runs a kernel, one iteration after the other in plain order: what each statement means. `memory[b]` holds
// buffers[b].count elements for inputs and outputs (locals are the interpreter's own); an output may be the same memory as
// an input. Composite ops give the evaluator's results.
Result<void> interpret(const Kernel& kernel, std::span<const std::span<std::byte>> memory);

// ---- Questions ---------------------------------------------------------------------------------------------------

// Values the expression can take; saturates at the ends of int64_t.
Range range_of(const Kernel& kernel, const Affine& affine);

// The same map with `c * (a mod d) + c d * (a div d)` written as `c * a` wherever it occurs.
Affine recombined(const Kernel& kernel, const Affine& affine);

// How an address moves from one iteration of a loop to the next.
enum class Step : uint8_t {
  uniform,   // stays
  strided,   // by a constant, `stride`
  varying,   // through derived indices that change: gather, lane by lane
};
struct LaneStep {
  Step step = Step::uniform;
  int64_t stride = 0;
};

// Which values and derived indices change with `loop`'s variable: made from it, or loaded by it. The variables of loops
// inside it count as fixed (they are the same in all lanes).
struct Varying {
  std::vector<bool> values, indices;

  LaneStep step(const Affine& affine, IndexId loop) const;
};
Varying varying_in(const Kernel& kernel, const Loop& loop);
// The same for several indices at once and the statements of `block` (the epilogue of a Contract by its n index, …).
Varying varying_by(const Kernel& kernel, std::span<const IndexId> roots, const Block& block);

// The block's only load, when the block does nothing else than an unguarded load of its value by affine maps over loop
// variables; nullptr otherwise.
const Load* plain_load(const Block& block, ValueId value);

// Statements in the block and all blocks within, for size limits and tests.
int64_t statement_count(const Block& block);

// The neutral element's bits of an accumulating op: 0, 1, +inf or highest, -inf or lowest, all ones.
uint64_t neutral_bits(ScalarOp op, ElementType type);

// Bits of a number as a constant of `type` (rounded or wrapped to it).
uint64_t constant_bits(ElementType type, double value);
uint64_t constant_bits(ElementType type, int64_t value);

}  // namespace hloc::loops
