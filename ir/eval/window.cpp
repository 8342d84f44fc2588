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

// Calls f(flat index into the operand) for each window position of result element `at` that is an element.
template <class F>
Result<void> for_window(const Window& window, const Ints& window_sizes, const Ints& at, const Ints& sizes,
                        const Ints& strides, F f) {
  for (Odometer k(window_sizes); k.valid(); k.next()) {
    int64_t flat = 0;
    for (size_t d = 0; d < window.size() && flat >= 0; ++d) {
      int64_t position = window_position(window[d], at[d], k[d], sizes[d]);
      flat = position < 0 ? -1 : flat + position * strides[d];
    }
    if (flat < 0) continue;
    if (Result<void> ok = f(flat); !ok) return ok;
  }
  return {};
}

// A window attribute without dimensions means 1 in each.
Window full_window(const Window& window, size_t rank) { return window.empty() ? Window(rank) : window; }

}  // namespace

Result<Literal> eval_reduce_window(Call& c) {
  size_t count = c.in.size() / 2;
  auto made = Reducer::make(c, c.v->callee(0), count);
  if (!made) return made.error();
  Reducer& r = *made;
  Ints sizes = c.in[0].type().sizes(), strides = strides_of(sizes), out_sizes = r.result_type(0).sizes();
  Window window = full_window(c.attr<WindowAttr>().window, sizes.size());
  Ints window_sizes = window_sizes_of(window);
  // Where the window leaves the last dimension alone, whole rows are combined at once.
  int64_t row = !sizes.empty() && is_whole_row(window.back()) && sizes.back() == out_sizes.back() ? sizes.back() : 1;
  Ints walked = out_sizes;
  if (row > 1) walked.back() = 1;
  Ints out_strides = strides_of(out_sizes);
  std::vector<const std::byte*> in(2 * count);
  std::vector<std::byte*> acc(count);
  for (Odometer o(walked); o.valid(); o.next()) {
    int64_t to = o.dot(out_strides);
    for (size_t k = 0; k < count; ++k) in[k] = acc[k] = r.accumulators(k) + to * r.input(k).width();
    auto combine = [&](int64_t from) -> Result<void> {
      for (size_t k = 0; k < count; ++k) in[count + k] = r.input(k).at(from);
      if (row == 1 && r.is_fold()) return r.fold(acc[0], in[1], 1), Result<void>();
      return r.combine(in, acc, row);
    };
    if (auto ok = for_window(window, window_sizes, o.index(), sizes, strides, combine); !ok) return ok.error();
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
  Ints sizes = operand.type().sizes(), strides = strides_of(sizes), source_sizes = source.type().sizes();
  Window window = full_window(c.attr<WindowAttr>().window, sizes.size());
  Ints window_sizes = window_sizes_of(window);
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
    if (auto ok = for_window(window, window_sizes, o.index(), sizes, strides, consider); !ok) return ok.error();
    if (best < 0) continue;
    std::byte* to = out + best * width;
    const std::byte* pair[] = {to, source.bytes().data() + source_at * width};
    if (auto ok = scatter.run(pair, std::span(&to, 1), 1); !ok) return ok.error();
  }
  return result;
}

}  // namespace hloc::ir::eval
