// reduce-window and select-and-scatter.
#include <algorithm>

#include <fmt/format.h>

#include "ir/eval/copy.h"
#include "ir/eval/ops.h"
#include "ir/eval/reduce.h"
#include "ir/eval/window.h"

namespace hloc::ir::eval {
namespace {

bool is_whole_row(const WindowDim& w) {
  return w.size == 1 && w.stride == 1 && w.pad_low == 0 && w.pad_high == 0 && w.lhs_dilate == 1;
}

// The elements of one dimension that the window of result element `o` holds, in the window's order. Walks the window or
// the dimension, whichever is shorter: padding may make either enormous.
Ints positions_in_window(const WindowDim& w, int64_t o, int64_t size) {
  Ints out;
  if (w.size <= size) {
    for (int64_t k = 0; k < w.size; ++k)
      if (int64_t at = window_position(w, o, k, size); at >= 0) out.push_back(at);
    return out;
  }
  for (int64_t at = 0; at < size; ++at) {
    int64_t from_start = at * w.lhs_dilate + w.pad_low - o * w.stride;
    if (from_start >= 0 && from_start % w.rhs_dilate == 0 && from_start / w.rhs_dilate < w.size) out.push_back(at);
  }
  if (w.reversal) std::ranges::reverse(out);
  return out;
}

// Walks the windows of an operand: move() to a result element, then each() calls f(flat index) for its elements.
class WindowWalk {
 public:
  WindowWalk(const Window& window, Ints sizes)
      : window_(window), sizes_(std::move(sizes)), strides_(strides_of(sizes_)), at_(sizes_.size(), -1),
        positions_(sizes_.size()), counts_(sizes_.size()) {}

  void move(const Ints& result_index) {
    for (size_t d = 0; d < at_.size(); ++d) {
      if (at_[d] == result_index[d]) continue;
      at_[d] = result_index[d];
      positions_[d] = positions_in_window(window_[d], at_[d], sizes_[d]);
      counts_[d] = static_cast<int64_t>(positions_[d].size());
    }
  }
  template <class F>
  Result<void> each(F f) const {
    for (Odometer k(counts_); k.valid(); k.next()) {
      int64_t flat = 0;
      for (size_t d = 0; d < at_.size(); ++d) flat += positions_[d][static_cast<size_t>(k[d])] * strides_[d];
      if (Result<void> ok = f(flat); !ok) return ok;
    }
    return {};
  }

 private:
  const Window& window_;
  Ints sizes_, strides_, at_;
  std::vector<Ints> positions_;
  Ints counts_;
};

// A window attribute without dimensions means 1 in each.
Window full_window(const Window& window, size_t rank) { return window.empty() ? Window(rank) : window; }

}  // namespace

Result<Literal> eval_reduce_window(Call& c) {
  size_t count = c.in.size() / 2;
  auto made = Reducer::make(c, c.v->callee(0), count, false);
  if (!made) return made.error();
  Reducer& r = *made;
  Ints sizes = c.in[0].type().sizes(), out_sizes = r.result_type(0).sizes();
  Window window = full_window(c.attr<WindowAttr>().window, sizes.size());
  // Where the window leaves the last dimension alone, whole rows are combined at once.
  int64_t row = !sizes.empty() && is_whole_row(window.back()) && sizes.back() == out_sizes.back() ? sizes.back() : 1;
  Ints walked = out_sizes;
  if (row > 1) walked.back() = 1;
  Ints out_strides = strides_of(out_sizes);
  std::vector<const std::byte*> in(2 * count);
  std::vector<std::byte*> acc(count);
  WindowWalk walk(window, sizes);
  for (Odometer o(walked); o.valid(); o.next()) {
    int64_t to = o.dot(out_strides);
    walk.move(o.index());
    for (size_t k = 0; k < count; ++k) in[k] = acc[k] = r.accumulators(k) + to * r.input(k).width();
    auto combine = [&](int64_t from) -> Result<void> {
      for (size_t k = 0; k < count; ++k) in[count + k] = r.input(k).at(from);
      if (row == 1 && r.is_fold()) return r.fold(acc[0], in[1], 1), Result<void>();
      return r.combine(in, acc, row);
    };
    if (auto ok = walk.each(combine); !ok) return ok.error();
  }
  return r.result(c);
}

// Each source element goes to the operand position that `select` keeps in its window, combined there by `scatter`.
Result<Literal> eval_select_and_scatter(Call& c) {
  const Literal &operand = c.in[0], &source = c.in[1], &init = c.in[2];
  Body &select = c.eval.body(c.v->callee(0)), &scatter = c.eval.body(c.v->callee(1));
  int width = byte_width(c.type.element());
  Literal result = c.eval.allocate(c.type);
  std::byte* out = result.mutable_bytes().data();
  fill_elements(out, c.type.count(), init.bytes().data(), width);
  Ints sizes = operand.type().sizes(), source_sizes = source.type().sizes();
  Window window = full_window(c.attr<WindowAttr>().window, sizes.size());
  WindowWalk walk(window, sizes);
  int64_t source_at = 0;
  for (Odometer o(source_sizes); o.valid(); o.next(), ++source_at) {
    int64_t best = -1;
    auto consider = [&](int64_t at) -> Result<void> {
      bool keep = best >= 0;
      if (keep) {
        const std::byte* pair[] = {operand.bytes().data() + best * width, operand.bytes().data() + at * width};
        auto* to = reinterpret_cast<std::byte*>(&keep);
        if (auto ok = select.run(pair, std::span(&to, 1), 1); !ok) return ok;
      }
      if (!keep) best = at;
      return {};
    };
    walk.move(o.index());
    if (auto ok = walk.each(consider); !ok) return ok.error();
    if (best < 0) continue;
    std::byte* to = out + best * width;
    const std::byte* pair[] = {to, source.bytes().data() + source_at * width};
    if (auto ok = scatter.run(pair, std::span(&to, 1), 1); !ok) return ok.error();
  }
  return result;
}

}  // namespace hloc::ir::eval
