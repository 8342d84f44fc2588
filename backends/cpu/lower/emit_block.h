// Statements of loop IR to machine IR, one iteration or one vector of iterations at a time.
//
// The emitter keeps, for the point where code is being appended, what every name of the kernel is:
//   buffers       a general register plus a constant: the address of element 0
//   indices       a general register plus a constant; derived indices that differ between lanes are made lane by lane
//   values        a vector register with `lanes` elements, or for pred a mask; values from outside of a vector loop are
//                 scalars (1 lane) there, repeated to all lanes once before the loop
//   accumulators  a vector register; in a vector loop one partial result per lane and copy of the unrolled body
//
// `Lanes` says what one emission of a block stands for: one iteration (count 1), or `count` consecutive values of one
// index, of which only the first `active` may exist (the masked tail of a loop).
//
// Addresses are built outside-in: the part that outer loops determine is computed where those loops are entered and kept
// while they last, so an inner loop adds only its own term.
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "backends/cpu/kernel.h"
#include "backends/cpu/lower/memory_traffic.h"
#include "backends/cpu/machine/machine.h"
#include "backends/loops/loops.h"

namespace hloc::cpu {

using machine::Reg;
using machine::VType;

struct Lanes {
  int count = 1;
  loops::IndexId index = loops::no_id;  // whose consecutive values the lanes are; no_id: count is 1
  Reg active;                           // general: how many of the lanes exist; none: all
};

class BlockEmitter {
 public:
  BlockEmitter(const loops::Kernel& kernel, machine::Builder& builder, const Machine& machine);

  const loops::Kernel& kernel() const { return kernel_; }
  machine::Builder& builder() { return b_; }
  const Machine& machine() const { return machine_; }

  // Element 0 of the buffer is at `address` + `offset` bytes.
  void bind_buffer(loops::BufferId buffer, Reg address, int32_t offset = 0) { buffers_[buffer] = {address, offset}; }
  // The index is `reg` + `offset` from here on. Loops that are entered later are deeper.
  void bind_index(loops::IndexId index, Reg reg, int64_t offset = 0);
  void unbind_index(loops::IndexId index);
  // The value is in `reg`, with the current number of lanes (not for pred).
  void bind_value(loops::ValueId value, Reg reg);

  // For the statements of this kernel; must stay alive. None: nothing special.
  void set_traffic(const MemoryTraffic* traffic) { traffic_ = traffic; }

  // How a vector loop splits a reduction, which is the order of its sums: `copies` partial results of `lanes` lanes each, from its
  // first iteration on; the last iterations as a masked vector or one by one.
  struct Partials {
    int lanes = 0, copies = 0;
    bool maskable = false;
  };
  Partials partials_of(const loops::Loop& loop);
  // Vector loops that reduce split like this from here on, which has no more lanes and masks than they can do; no lanes: as each
  // of them does best.
  void set_partials(Partials partials) { partials_ = partials; }

  // Everything emitted until the next call stands for these lanes. `varying` says what differs between them; it must stay
  // alive. Returns what was set before.
  Lanes set_lanes(Lanes lanes, const loops::Varying* varying);
  const Lanes& lanes() const { return lanes_; }
  const loops::Varying* varying() const { return varying_; }

  // What was computed on the way (addresses, repeated scalars, masks) within a scope is forgotten at its end: around
  // every loop body and branch.
  void open_scope();
  void close_scope();

  void emit(const loops::Block& block);
  void emit_statement(const loops::Statement& statement);
  void emit_loop(const loops::Loop& loop);
  // Iterations [begin, end) of a loop of the kernel's own block; registers.
  void emit_loop_range(const loops::Loop& loop, Reg begin, Reg end);

  // The value as a vector of the current lanes.
  Reg vector_of(loops::ValueId value);
  // A pred as a mask for lanes of this type.
  Reg mask_of(loops::ValueId value, VType type);
  VType logic_type(const loops::Compute& c) const;
  VType type_of(ElementType element) const { return {element, static_cast<uint8_t>(lanes_.count)}; }
  // The mask of the lanes that exist, for lanes of this type. All lanes when all exist.
  Reg active_mask(VType type);

  // Can the whole block run with a mask for the lanes that exist?
  bool can_mask(const loops::Block& body) const;

  // Element 0 of the access for lane `lane`; guards are the caller's.
  machine::Address address_of(const loops::Access& access, int lane = 0);
  // The affine's value for lane `lane`.
  Reg affine_reg(const loops::Affine& affine, int lane = 0);

  // Computes before a loop what its body needs and the loop does not change: parts of addresses, and (for a vector loop
  // of `wide` lanes) scalars repeated to all lanes.
  void hoist(const loops::Loop& loop, int wide);
  void hoist_constants(const loops::Loop& loop, int wide);

  std::optional<Diagnostic> failure;  // the first thing that can't be lowered

 private:
  struct Held {
    Reg reg;
    int lanes = 0;          // 0: not defined
    bool is_mask = false;   // pred as a mask for `mask_type`; else pred is bytes
    VType mask_type;
  };
  struct BoundIndex {
    Reg reg;
    int64_t offset = 0;
    int depth = -1;  // -1: unknown
    bool by_lane = false;  // derived, different per lane
  };
  struct HeldAccumulator {
    Reg reg;
    int lanes = 1;
    std::vector<Reg> partials;       // in a vector loop: one vector per copy of the body
    int partial_lanes = 0;
    machine::Op op = machine::Op::VAdd;
  };
  using PointerKey = std::pair<loops::BufferId, std::vector<std::pair<loops::IndexId, int64_t>>>;
  using LaneIndices = std::map<std::pair<loops::IndexId, int>, Reg>;
  // What lanes of one body have in common, as far as it has been needed.
  struct LaneParts {
    std::map<std::tuple<uint32_t, uint32_t, int64_t>, Reg> sums;  // pointer + bytes * register, by their numbers
    std::map<loops::IndexId, Reg> clamped;                        // indices from values: the vector of all lanes
  };
  struct Scope {
    std::vector<PointerKey> pointers;
    std::vector<loops::ValueId> wide;
    LaneIndices lane_indices;           // as they were at its beginning
    std::map<int, Reg> active_masks;
    LaneParts lane_parts;
  };

  void emit_compute(const loops::Compute& c);
  void emit_float_or_integer(const loops::Compute& c);
  bool emit_constant_shift(const loops::Compute& c, VType t);
  void emit_pred_logic(const loops::Compute& c);
  void emit_compare(const loops::Compute& c);
  void emit_select(const loops::Compute& c);
  void emit_convert(const loops::Compute& c);
  void emit_load(const loops::Load& load);
  void emit_store(const loops::Store& store);
  void emit_index_value(const loops::IndexValue& v);
  void emit_test(const loops::Test& t);
  void emit_derive(const loops::Derive& d);
  void emit_declare(const loops::Declare& d);
  void emit_accumulate(const loops::Accumulate& a);
  void emit_serial_loop(const loops::Loop& loop, Reg begin, std::variant<Reg, int64_t> end);
  void emit_while_loop(const loops::Loop& loop);
  void emit_set(const loops::Set& s);
  void emit_vector_loop(const loops::Loop& loop, Reg begin, std::variant<Reg, int64_t> end);
  struct VectorLoop;
  VectorLoop plan_vector_loop(const loops::Loop& loop);
  int64_t iterations_to_alignment(const VectorLoop& plan) const;
  std::vector<loops::AccId> declare_shared_partials(const loops::Loop& rows);
  void emit_vectors(const VectorLoop& plan, Reg begin, std::variant<Reg, int64_t> end);
  void emit_masked_vector(const VectorLoop& plan, Reg i, Reg limit);
  std::vector<const loops::Store*> streamed_stores(const VectorLoop& plan) const;
  void emit_streaming_vectors(const VectorLoop& plan, const std::vector<const loops::Store*>& stores, Reg begin, Reg end);
  void fetch_end_of_next_row(const VectorLoop& plan, const std::vector<const loops::Store*>& stores, Reg begin);
  void emit_body(const loops::Loop& loop);
  void emit_interleaved(const loops::Loop& loop, Reg i, int copies);
  std::vector<loops::AccId> declare_partials(const loops::Block& body, const std::vector<loops::AccId>& accumulators, int lanes, size_t copies);
  void combine_partials(const std::vector<loops::AccId>& accumulators);

  // How an access moves over the lanes.
  enum class Pattern : uint8_t { uniform, contiguous, strided, by_lane };
  Pattern pattern_of(const loops::Access& access, int64_t* stride = nullptr) const;
  bool varies(const loops::Affine& affine) const;
  void fetch_ahead(const loops::Load& load);
  void prefetch(const loops::Access& access, int64_t ahead, int level);
  Reg load_vector(const loops::Access& access, ElementType element, Reg mask);
  Reg load_lanes(const loops::Access& access, ElementType element, loops::ValueId otherwise);
  void store_lanes(const loops::Access& access, ElementType element, Reg value);
  // All guards as one mask for lanes of this type; none when no guard varies over the lanes.
  Reg guard_mask(const std::vector<loops::Guard>& guards, VType type, bool only_varying);
  // Runs `body` where all guards that are the same for all lanes hold, else `otherwise`.
  template <class Then, class Else>
  void where_uniform_guards_hold(const std::vector<loops::Guard>& guards, int lane, bool all, Then then, Else otherwise);

  Reg index_reg(loops::IndexId index, int lane, int64_t& offset);
  Reg derived_reg(loops::IndexId index, int lane);
  Reg clamped_reg(loops::IndexId index, int lane);
  Reg divide(Reg x, int64_t divisor, loops::Range range);
  Reg pointer_for(const PointerKey& key);
  PointerKey known_part(const loops::Access& access) const;
  Reg widened(const Held& held, ElementType element);
  void define(loops::ValueId value, Reg reg);
  void define_mask(loops::ValueId value, Reg mask, VType type);
  void unsupported(std::string what);

  const loops::Kernel& kernel_;
  machine::Builder& b_;
  const Machine& machine_;
  std::vector<BufferAddress> buffers_;
  std::vector<BoundIndex> indices_;
  std::vector<Held> values_, wide_;  // wide_: outer scalars repeated to the lanes of the vector loop around
  std::vector<HeldAccumulator> accumulators_;
  std::map<PointerKey, Reg> pointers_;
  std::vector<Scope> scopes_;
  LaneIndices lane_indices_;  // derived indices by lane, of the current body
  LaneParts lane_parts_;
  int depth_ = 0;
  Reg running_;  // in a loop that ends early, over lanes: as pred bytes, the lanes that have not left it; none: all
  Lanes lanes_;
  const loops::Varying* varying_ = nullptr;
  size_t copy_ = 0;  // which copy of an unrolled body: its partial results
  std::map<int, Reg> active_masks_;  // by element bytes, of the current body
  const MemoryTraffic* traffic_ = nullptr;
  Partials partials_;
  bool streaming_ = false;  // the streamed stores of the vector loop around are aligned
};

// A kernel inside other code: its buffers where they are, its local ones in scratch.
void bind_inline_buffers(BlockEmitter& emitter, const loops::Kernel& kernel, std::span<const BufferAddress> buffers, Reg scratch);

// Bytes of the widest element that the block computes, loads, stores or accumulates: what limits lanes. Guards count as 32-bit
// integers; where `lanes` is the index of the lanes and `varying` what changes with it, only those that change do.
int widest_element(const loops::Kernel& kernel, const loops::Block& block, const loops::Varying* varying = nullptr, loops::IndexId lanes = loops::no_id);

// The machine op of an accumulating or elementwise op; for the reduction of lanes.
machine::Op vector_op(loops::ScalarOp op);

}  // namespace hloc::cpu
