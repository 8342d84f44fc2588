// Elemental lowering: the value of a fused instruction at a point of its index space, as statements of a builder.
//
//   Point of the root     one affine expression for each dimension of an instruction's result
//     ↓ broadcast, transpose, slice, … change the expressions only
//   Point of a parameter  becomes a load
//
// A point may be guarded: a concatenate asks each operand for its part only. Where the guards fail, any value will do, or
// `otherwise` if it is given.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "backends/loops/builder.h"
#include "ir/graph.h"

namespace hloc::loops {

// An array among the results of an instruction: `leaf` counts the elements of a tuple-typed one (a reduce of many operands).
struct Producer {
  ir::Value instruction = nullptr;
  int64_t leaf = 0;

  ir::Type type() const { return instruction->type.is_tuple() ? instruction->type.element_type(static_cast<size_t>(leaf)) : instruction->type; }
};
// Looks through get-tuple-element of tuple and of opt-barrier.
Producer producer_of(ir::Value v);

struct Point {
  std::vector<Affine> index;
  uint32_t guards = 0;         // a list of guards by number; 0: none
  ValueId otherwise = no_id;
};

// Dimensions that loops run over are split where a reshape below cuts them: dimension (whose, number) → multiples of one at
// which a new loop begins. Lowering starts anew when it wants a further one.
using SplitKey = std::pair<ir::Value, int64_t>;
using Splits = std::map<SplitKey, std::set<int64_t>>;

// The type in which dot and convolution add up: f32, f64, or integers of 32 or 64 bits.
ElementType accumulate_type(ir::Value dot_or_conv);

// The ScalarOp of an elementwise op whose operands and result have `type`; nullopt: not a single one.
std::optional<ScalarOp> scalar_op_of(ir::Op op, ElementType type);

// The element of an array of this type that has this index, in elements from its first.
Affine row_major_offset(ir::Type type, const std::vector<Affine>& index);

class Elements {
 public:
  Elements(KernelBuilder& builder, Splits& splits) : b_(builder), splits_(splits) {}

  void bind(ir::Value parameter, BufferId buffer) { buffers_[parameter] = buffer; }

  // The value at a point; no_id after an error.
  ValueId value(Producer p, Point at);

  // An instruction that a contraction computes: `value` gives the result and notes where it was wanted.
  struct Hero {
    ir::Value instruction = nullptr;
    ValueId result = no_id;
    std::optional<std::vector<Affine>> at;
    bool is_usable = true;  // wanted at one unguarded point only
  };
  void set_hero(Hero* hero) { hero_ = hero; }

  // One index expression for each dimension, made of fresh loop variables (in order; none for dimensions of size 1).
  struct Variable {
    IndexId index;
    int64_t extent;
  };
  std::vector<Affine> variables(SplitKey first, std::span<const int64_t> sizes, std::vector<Variable>& out);

  // Dot and convolution: what the result element `at` sums over, and which elements are multiplied for the index `k` into
  // that. All indices must be open.
  static std::vector<int64_t> summed_sizes(ir::Value v);
  Point factor_point(ir::Value v, size_t operand, const Point& at, const std::vector<Affine>& k);
  // A factor, converted where a contraction would not do that by itself.
  ValueId factor(ir::Value operand, const Point& at, ElementType accumulate);

  // A computation on scalars (a reducer, what `map` applies) on given arguments; its results.
  std::vector<ValueId> inlined(const ir::Computation& body, std::span<const ValueId> args);
  // The operand's index that window position k of result index `at` sees; guards are added for where that is an element.
  Affine in_window(const ir::WindowDim& w, const Affine& at, const Affine& k, int64_t size, uint32_t& guards);
  ValueId holds(uint32_t guards) { return b_.test(guard_lists_[guards]); }
  // The start of a dynamic slice, clamped so that the slice fits.
  Affine clamped(ValueId start, int64_t most);

  KernelBuilder& builder() { return b_; }
  const std::optional<Diagnostic>& error() const { return error_; }
  bool wants_splits() const { return wants_splits_; }
  ValueId fail(ir::Value at, std::string_view why);

 private:
  struct Request {
    Producer producer;
    Point at;
  };
  using Key = std::vector<int64_t>;
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  using Values = std::vector<ValueId>;

  // A row buffer that stands filled in an open block.
  struct RowBuffer {
    BufferId buffer = 0;
    KernelBuilder::Mark mark;
  };

  static Key key_of(const Request& r);
  std::optional<ValueId> known(const Request& r) const;
  ValueId need(ir::Value operand, Point at);
  ValueId need(Producer p, Point at);
  bool pending() const { return !missing_->empty() || error_; }
  ValueId visit(const Request& r);
  ValueId load(BufferId buffer, Affine offset, const Point& at);
  std::optional<ir::Ints> row_dims(const Request& r);
  ValueId from_row(const Request& r, const ir::Ints& row_dims);
  std::optional<BufferId> fill_row(ir::Value v, const Point& row, const ir::Ints& row_dims);

  // Elementwise
  ValueId elementwise(ir::Value v, const Point& at);
  ValueId scalar(ir::Value v, std::span<const ValueId> args);  // one elementwise op on values
  ValueId compare(ir::Value v, ValueId a, ValueId b);
  ValueId reduce_precision(ir::Value v, ValueId x);
  ValueId or_otherwise(ValueId v, const Point& at);
  ValueId constant(ir::Value v);
  ValueId iota(ir::Value v, const Point& at);

  // Data movement
  std::optional<Point> moved(ir::Value v, const Point& at);
  std::vector<Affine> reshaped(std::span<const ir::Dim> from, std::span<const ir::Dim> to, const std::vector<Affine>& at);
  ValueId pad(ir::Value v, const Point& at);
  ValueId concatenate(ir::Value v, const Point& at);
  ValueId dynamic_slice(ir::Value v, const Point& at);
  ValueId dynamic_update_slice(ir::Value v, const Point& at);
  ValueId gather(ir::Value v, const Point& at);
  ValueId guarded(ir::Value operand, const Point& at, Point inner, ValueId outside);

  // Loops
  ValueId reduce(const Request& r);
  ValueId reduce_window(const Request& r);
  ValueId sum_of_products(ir::Value v, const Point& at);
  std::optional<ScalarOp> single_op(const ir::Computation& reducer) const;
  struct Accumulation;
  Accumulation begin_accumulation(const ir::Computation& reducer, const Values& inits);
  void accumulate(Accumulation& a, const Values& inputs, uint32_t guards);
  Values end_accumulation(const Accumulation& a);
  Point dot_point(ir::Value v, size_t operand, const Point& at, const std::vector<Affine>& k);
  Point conv_point(ir::Value v, size_t operand, const Point& at, const std::vector<Affine>& k);

  // Indices
  Affine divided(const Affine& a, int64_t divisor);
  Affine remainder(const Affine& a, int64_t divisor);
  void want_split(const Affine& rest, int64_t divisor);
  uint32_t with_guard(uint32_t guards, Guard g);
  bool never(uint32_t guards);
  bool is_inside(const Point& at, ir::Type type) const;
  size_t level_of(const Point& at) const;
  std::optional<Affine> start(ir::Value operand, uint32_t guards, int64_t most);

  struct Origin {  // which dimension a loop variable is a part of
    SplitKey key;
    int64_t multiple = 1;
  };

  KernelBuilder& b_;
  Splits& splits_;
  ir::Value filling_ = nullptr;  // whose row buffer is being filled: it is computed, not loaded
  bool wants_splits_ = false;
  std::unordered_map<ir::Value, BufferId> buffers_;
  std::unordered_map<Key, ValueId, KeyHash> memo_;
  std::unordered_map<IndexId, Origin> origins_;
  std::unordered_map<Key, RowBuffer, KeyHash> row_buffers_;  // by value and row number
  std::vector<std::vector<Guard>> guard_lists_{{}};
  std::unordered_map<Key, uint32_t, KeyHash> guard_numbers_;
  std::vector<Request>* missing_ = nullptr;
  Hero* hero_ = nullptr;
  int depth_ = 0;  // of reductions inside reductions
  std::optional<Diagnostic> error_;
};

}  // namespace hloc::loops
