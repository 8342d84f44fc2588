// Makes kernels. A builder appends to a stack of open blocks; whoever opens a loop closes it:
//
//   KernelBuilder b("scale");
//   BufferId x = b.buffer("x", BufferRole::input, ElementType::f32, 64), y = b.buffer("y", BufferRole::output, …);
//   IndexId i = b.begin_loop(64, LoopKind::vector);
//     b.store(y, Affine::of(i), b.make(ScalarOp::Mul, {b.load(x, Affine::of(i)), b.constant(ElementType::f32, 2.0)}));
//   b.end_loop();
//   Kernel k = b.finish();
//
// Pure statements are made once and as far out as what they are made from allows: asking twice for x * 2 gives one value,
// and one that does not depend on a loop's variable stands before the loop. Loads count as pure where their buffer is an
// input. Everything else goes to the innermost open block.
#pragma once

#include <initializer_list>
#include <unordered_map>

#include "backends/loops/loops.h"

namespace hloc::loops {

class KernelBuilder {
 public:
  explicit KernelBuilder(std::string_view name);
  // For passes that rebuild a kernel: the buffers, indices and accumulators of `like` keep their numbers; values are new.
  explicit KernelBuilder(const Kernel& like);

  BufferId buffer(std::string_view name, BufferRole role, ElementType element, int64_t count);

  // One value for equal type and bits.
  ValueId constant_of_bits(ElementType type, uint64_t bits);
  ValueId constant(ElementType type, double value) { return constant_of_bits(type, constant_bits(type, value)); }
  ValueId constant(ElementType type, int64_t value) { return constant_of_bits(type, constant_bits(type, value)); }
  ValueId constant(ElementType type, int value) { return constant(type, static_cast<int64_t>(value)); }

  ValueId make(ScalarOp op, std::initializer_list<ValueId> args) { return make(op, {args.begin(), args.size()}); }
  ValueId make(ScalarOp op, std::span<const ValueId> args);  // not Convert, Bitcast, Compare
  ValueId compare(Predicate predicate, ValueId a, ValueId b);
  ValueId convert(ElementType to, ValueId value);  // the value itself when it has the type
  ValueId bitcast(ElementType to, ValueId value);  // likewise
  ValueId load(BufferId buffer, Affine offset, std::vector<Guard> guards = {}, ValueId otherwise = no_id);
  void store(BufferId buffer, Affine offset, ValueId value, std::vector<Guard> guards = {});
  ValueId index_value(ElementType type, Affine affine);
  ValueId test(std::vector<Guard> guards);  // a constant where ranges decide

  // Indices made from others. The result is an affine expression, without a derived index where ranges allow that.
  Affine floor_div(const Affine& of, int64_t divisor);
  Affine mod(const Affine& of, int64_t divisor);
  Affine index_of(ValueId value, Range clamp_to);  // of an integer value
  // Places an index of the tables, whose operands are open now; of `from_value` made from `value`.
  void derive(IndexId index, ValueId value = no_id);

  AccId declare(ElementType type, ValueId init);
  void declare(AccId acc, ValueId init);
  void accumulate(AccId acc, ScalarOp op, ValueId value);
  void set(AccId acc, ValueId value);
  ValueId get(AccId acc);

  IndexId begin_loop(int64_t extent, LoopKind kind = LoopKind::serial, int64_t grain = 0);
  void begin_loop(IndexId index, int64_t extent, LoopKind kind = LoopKind::serial, int64_t grain = 0, AccId go_on = no_id);
  void end_loop();

  // The blocks of a Contract: a new block whose statements may use `indices`, until `end_block` returns it.
  IndexId loop_index(int64_t extent);
  void begin_block(std::span<const IndexId> indices);
  Block end_block();
  ValueId block_value(ElementType type);  // a value that the surroundings of the innermost block define
  void append(Statement statement) { blocks_.back().statements.push_back(std::move(statement)); }

  // How many blocks are open at the outermost one that knows what the expression is made of (1: the kernel's own).
  size_t level_of(const Affine& affine) const;
  size_t level_of(ValueId v) const { return kernel_.is_constant(v) ? 1 : value_places_[v].level; }
  size_t level() const { return blocks_.size(); }
  // Whether loops and accumulators may stand in the innermost open block and what they make may be used by all that does
  // not stand further out: it is the body of a loop, of a contraction's operands or epilogue no part.
  bool may_loop() const;
  // Whether the value may be used in the innermost open block.
  bool is_visible(ValueId v) const { return kernel_.is_constant(v) || is_open(value_places_[v]); }

  // Names the open block at a level, to ask later whether it is that one that is open there still.
  struct Mark {
    size_t level = 1;
    uint32_t serial = 0;
  };
  Mark mark(size_t level) const { return {level, blocks_[level - 1].serial}; }
  bool is_open(Mark m) const { return m.level <= blocks_.size() && blocks_[m.level - 1].serial == m.serial; }

  // Whether plain statements alone make the value or index (see Loop): a parallel loop may use it from outside.
  bool is_plain(ValueId v) const { return kernel_.is_constant(v) || value_places_[v].plain; }
  bool is_plain(const Affine& affine) const { return place_of(affine).plain; }

  // Puts the blocks above `level` aside until `resume`: loops made meanwhile stand at the end of that level's block.
  void suspend(size_t level);
  void resume();

  Range range(const Affine& affine) const { return range_of(kernel_, affine); }
  ElementType type(ValueId v) const { return kernel_.values[v].type; }
  const Kernel& kernel() const { return kernel_; }  // the tables; the body is filled by `finish`
  Kernel finish();

 private:
  struct OpenBlock {
    uint32_t serial = 0;
    Block statements;
    Loop loop;  // what it becomes the body of
  };
  struct Place {  // the open block in which a name was made; serial tells it from later blocks at the same level
    uint32_t level = 0, serial = 0;
    bool plain = true;  // no accumulator had a part in it
  };
  using Key = std::vector<int64_t>;
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };

  Place here() const { return {static_cast<uint32_t>(blocks_.size()), blocks_.back().serial, true}; }
  Place top() const { return {1, blocks_.front().serial, true}; }
  bool is_open(Place p) const { return p.level <= blocks_.size() && blocks_[p.level - 1].serial == p.serial; }
  Place place_of(const Affine& affine) const;
  static Place deepest(Place a, Place b) {
    Place deeper = a.level < b.level ? b : a;
    deeper.plain = a.plain && b.plain;
    return deeper;
  }
  ValueId new_value(ElementType type, Place place);
  template <class S>
  ValueId pure(const Key& key, ElementType type, Place place, S statement);
  ValueId compute(ScalarOp op, ElementType result, std::span<const ValueId> args, Predicate predicate = Predicate::eq);
  ValueId lesser_or_greater(ElementType result, std::span<const ValueId> args);
  ValueId folded(const Compute& c, ElementType result, std::span<const ValueId> args);
  Affine derived(Index index);
  void open_block();

  Kernel kernel_;
  std::vector<OpenBlock> blocks_;
  std::vector<std::vector<OpenBlock>> suspended_;
  uint32_t next_serial_ = 0;
  std::vector<Place> value_places_, index_places_;
  std::unordered_map<Key, uint32_t, KeyHash> known_;  // constants, pure values, derived indices
  std::unordered_map<ValueId, Compute> orders_;       // comparisons by < and >
};

}  // namespace hloc::loops
