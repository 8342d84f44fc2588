// sort and topk: runs of eight by insertion, then passes that merge neighbouring runs, from one buffer to another.
//
//   input ──insert──▶ runs of 8 ──merge──▶ runs of 16 ──merge──▶ … ──merge──▶ results
//
// It is the evaluator's algorithm step for step (ir/eval/order.cpp): stable, and whatever the comparator answers, the same
// permutation. All lengths are known, so every loop has a constant extent and a pass over full pairs of runs is a loop of
// independent iterations: several merges run on the lanes of one vector. A merge chooses by `select`, not by branches, and
// finds its elements through indices that are clamped to the run, so no answer of the comparator leads out of the buffers.
//
// topk sorts elements with their positions and keeps the first k: no run needs more of them, so each merge stops there.
#include "backends/loops/lower_sort.h"

#include <algorithm>
#include <functional>

namespace hloc::loops {
namespace {

constexpr int64_t run_length = 8;  // the evaluator's

// Where the lines of one operand are at some stage: element k of the current line is buffer[base + stride * k].
struct Line {
  BufferId buffer = no_id;
  Affine base;
  int64_t stride = 1;

  Affine at(const Affine& k) const { return base + k * stride; }
};

using Lines = std::vector<Line>;       // by operand
using Elems = std::vector<ValueId>;    // of one position, by operand

// What is sorted how.
struct SortTask {
  ir::Type type;                    // of what comes in
  size_t dim = 0;
  int64_t keep = 0;                 // how many of a line come out
  std::vector<ElementType> types;   // of the operands
  std::function<Elems(const std::vector<Affine>& at)> inputs;
  std::function<ValueId(const Elems& right, const Elems& left)> goes_before;
};

class SortLowering {
 public:
  SortLowering(Elements& e, SortTask task, const std::vector<Output>& outputs)
      : e_(e), b_(e.builder()), task_(std::move(task)), outputs_(outputs), dim_(task_.dim),
        n_(task_.type.dim(static_cast<int64_t>(dim_))), keep_(task_.keep),
        counter_(n_ < INT32_MAX / 2 ? ElementType::s32 : ElementType::s64) {}

  void run(SplitKey key) {
    std::vector<int64_t> sizes = task_.type.sizes();
    sizes[dim_] = 1;
    int64_t passes = 0;
    for (int64_t width = run_length; width < n_; width *= 2) ++passes;
    make_buffers(passes);
    std::vector<Elements::Variable> loops;
    index_ = e_.variables(key, sizes, loops);
    for (const auto& l : loops) b_.begin_loop(l.index, l.extent);
    Lines from = stage(passes);
    make_runs(from);
    int64_t width = run_length;
    for (int64_t left = passes; left-- > 0 && !e_.error(); width *= 2) {
      Lines to = stage(left);
      merge_pass(from, to, width);
      from = std::move(to);
    }
    for (size_t i = 0; i < loops.size(); ++i) b_.end_loop();
  }

 private:
  // A line in memory for the stages between the runs and the results. Where a line of a result is whole and contiguous it
  // serves for every other stage itself.
  void make_buffers(int64_t passes) {
    stride_ = 1;
    for (size_t d = dim_ + 1; d < static_cast<size_t>(task_.type.rank()); ++d) stride_ *= task_.type.dim(static_cast<int64_t>(d));
    output_serves_ = stride_ == 1 && keep_ == n_;
    size_t wanted = passes == 0 ? 0 : passes == 1 || output_serves_ ? 1 : 2;
    for (ElementType type : task_.types)
      for (size_t k = 0; k < wanted; ++k) scratch_[k].push_back(b_.buffer("line", BufferRole::local, type, n_));
  }

  // The lines that stand `passes_left` passes before the results.
  Lines stage(int64_t passes_left) {
    Lines lines;
    const std::vector<BufferId>& scratch = scratch_[passes_left % 2 == 1 || output_serves_ ? 0 : 1];
    bool is_output = passes_left == 0 || (passes_left % 2 == 0 && output_serves_);
    for (size_t i = 0; i < task_.types.size(); ++i) {
      if (is_output) lines.push_back({outputs_[i].buffer, row_major_offset(outputs_[i].producer.type(), index_), stride_});
      else lines.push_back({scratch[i], {}, 1});
    }
    return lines;
  }

  // ---- Runs ----

  void make_runs(const Lines& to) {
    int64_t full = n_ / run_length;
    if (full > 0) {
      IndexId r = b_.begin_loop(full);
      make_run(Affine::of(r, run_length), run_length, to);
      b_.end_loop();
    }
    if (n_ % run_length != 0) make_run(full * run_length, n_ % run_length, to);
  }

  // Insertion without branches: an element goes on down while it goes before its neighbour.
  void make_run(const Affine& begin, int64_t length, const Lines& to) {
    std::vector<Elems> run;
    for (int64_t k = 0; k < length && !e_.error(); ++k) run.push_back(inputs(begin + Affine(k)));
    if (e_.error()) return;
    for (size_t i = 1; i < run.size(); ++i) {
      ValueId goes = no_id;
      for (size_t k = i; k > 0; --k) {
        ValueId before = task_.goes_before(run[k], run[k - 1]);
        goes = goes == no_id ? before : b_.make(ScalarOp::And, {goes, before});
        exchange(run[k - 1], run[k], goes);
      }
    }
    for (int64_t k = 0; k < std::min(length, keep_); ++k)
      for (size_t i = 0; i < to.size(); ++i)
        b_.store(to[i].buffer, to[i].at(begin + Affine(k)), run[static_cast<size_t>(k)][i]);
  }

  Elems inputs(const Affine& k) {
    std::vector<Affine> at = index_;
    at[dim_] = k;
    return task_.inputs(at);
  }

  void exchange(Elems& a, Elems& b, ValueId when) {
    for (size_t i = 0; i < a.size(); ++i) {
      ValueId first = b_.make(ScalarOp::Select, {when, b[i], a[i]});
      b[i] = b_.make(ScalarOp::Select, {when, a[i], b[i]});
      a[i] = first;
    }
  }

  // ---- Merges ----

  void merge_pass(const Lines& from, const Lines& to, int64_t width) {
    int64_t pairs = n_ / (2 * width), begin = pairs * 2 * width, rest = n_ - begin;
    if (pairs > 0) {
      IndexId pair = b_.begin_loop(pairs);
      merge(from, to, Affine::of(pair, 2 * width), width, width);
      b_.end_loop();
    }
    if (rest > width) merge(from, to, begin, width, rest - width);
    else if (rest > 0) copy(from, to, begin, rest);
  }

  void copy(const Lines& from, const Lines& to, const Affine& begin, int64_t length) {
    IndexId k = b_.begin_loop(std::min(length, keep_));
    Affine at = begin + Affine::of(k);
    for (size_t i = 0; i < from.size(); ++i) b_.store(to[i].buffer, to[i].at(at), b_.load(from[i].buffer, from[i].at(at)));
    b_.end_loop();
  }

  // The runs of `left` and `right` elements from `begin` on. What is taken from the left so far is counted, the rest of the
  // k elements written came from the right.
  void merge(const Lines& from, const Lines& to, const Affine& begin, int64_t left, int64_t right) {
    AccId taken = b_.declare(counter_, b_.constant(counter_, 0));
    IndexId k = b_.begin_loop(std::min(left + right, keep_));
    ValueId i = b_.get(taken), j = b_.make(ScalarOp::Sub, {b_.index_value(counter_, Affine::of(k)), i});
    Affine in_left = begin + b_.index_of(i, {0, left - 1}), in_right = begin + Affine(left) + b_.index_of(j, {0, right - 1});
    Elems x, y;
    for (const Line& line : from) x.push_back(b_.load(line.buffer, line.at(in_left)));
    for (const Line& line : from) y.push_back(b_.load(line.buffer, line.at(in_right)));
    ValueId left_is_empty = b_.compare(Predicate::ge, i, b_.constant(counter_, left));
    ValueId right_is_open = b_.compare(Predicate::lt, j, b_.constant(counter_, right));
    ValueId take_right = b_.make(ScalarOp::Or, {left_is_empty, b_.make(ScalarOp::And, {right_is_open, task_.goes_before(y, x)})});
    for (size_t o = 0; o < to.size(); ++o)
      b_.store(to[o].buffer, to[o].at(begin + Affine::of(k)), b_.make(ScalarOp::Select, {take_right, y[o], x[o]}));
    ValueId one_more = b_.make(ScalarOp::Add, {i, b_.constant(counter_, 1)});
    b_.set(taken, b_.make(ScalarOp::Select, {take_right, i, one_more}));
    b_.end_loop();
  }

  Elements& e_;
  KernelBuilder& b_;
  SortTask task_;
  const std::vector<Output>& outputs_;
  size_t dim_;
  int64_t n_, keep_, stride_ = 1;
  bool output_serves_ = false;
  ElementType counter_;
  std::vector<Affine> index_;  // of the line; 0 for the sorted dimension
  std::vector<BufferId> scratch_[2];
};

SortTask task_of_sort(Elements& e, ir::Value v) {
  auto dim = v->as<ir::SortAttr>().dim;
  SortTask t{v->operand(0)->type, static_cast<size_t>(dim), v->operand(0)->type.dim(dim), {}, {}, {}};
  for (ir::Value operand : v->operands()) t.types.push_back(operand->type.element());
  t.inputs = [&e, v](const std::vector<Affine>& at) {
    Elems values;
    for (ir::Value operand : v->operands())
      if (!e.error()) values.push_back(e.value(producer_of(operand), {at}));
    return values;
  };
  t.goes_before = [&e, v](const Elems& right, const Elems& left) {
    std::vector<ValueId> args;
    for (size_t i = 0; i < right.size(); ++i) {
      args.push_back(right[i]);
      args.push_back(left[i]);
    }
    std::vector<ValueId> result = e.inlined(v->callee(0), args);
    return result.empty() ? e.builder().constant(ElementType::pred, 0) : result[0];
  };
  return t;
}

// By value, floats in their total order; the positions only go along.
SortTask task_of_topk(Elements& e, ir::Value v) {
  const auto& attr = v->as<ir::TopKAttr>();
  auto last = static_cast<size_t>(v->operand(0)->type.rank() - 1);
  ElementType position = v->type.element_type(1).element();
  SortTask t{v->operand(0)->type, last, v->type.element_type(0).dim(static_cast<int64_t>(last)), {}, {}, {}};
  t.types = {v->operand(0)->type.element(), position};
  t.inputs = [&e, v, last, position](const std::vector<Affine>& at) {
    return Elems{e.value(producer_of(v->operand(0)), {at}), e.builder().index_value(position, at[last])};
  };
  t.goes_before = [&e, largest = attr.largest](const Elems& right, const Elems& left) {
    KernelBuilder& b = e.builder();
    ValueId x = right[0], y = left[0];
    if (is_float(b.type(x))) x = b.make(ScalarOp::TotalOrder, {x}), y = b.make(ScalarOp::TotalOrder, {y});
    return b.compare(largest ? Predicate::gt : Predicate::lt, x, y);
  };
  return t;
}

}  // namespace

void lower_sort(Elements& e, ir::Value v, const std::vector<Output>& outputs, SplitKey key) {
  std::vector<Output> sorted = outputs;
  std::sort(sorted.begin(), sorted.end(), [](const Output& a, const Output& b) { return a.producer.leaf < b.producer.leaf; });
  SortTask task = v->op == ir::Op::TopK ? task_of_topk(e, v) : task_of_sort(e, v);
  bool each_once = sorted.size() == task.types.size();
  for (size_t i = 0; i < sorted.size(); ++i) each_once &= sorted[i].producer.leaf == static_cast<int64_t>(i);
  if (!each_once) {
    e.fail(v, "each of its results is wanted once");
    return;
  }
  if (sorted[0].producer.type().count() != 0) SortLowering(e, std::move(task), sorted).run(key);
}

}  // namespace hloc::loops
