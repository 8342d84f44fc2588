// sort and topk.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "ir/eval/copy.h"
#include "ir/eval/ops.h"

namespace hloc::ir::eval {
namespace {

constexpr int64_t insertion_run = 8;

// A stable sort that asks `less` only as less(right, left): any answers, even contradictory ones, give some permutation.
// Which one is part of what sort means here, since native code has to give the same: runs of 8 by insertion, then merges.
template <class Less>
void merge_sort(std::vector<int64_t>& order, Less less) {
  auto n = static_cast<int64_t>(order.size());
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = i; k % insertion_run != 0; --k) {
      int64_t &left = order[static_cast<size_t>(k - 1)], &right = order[static_cast<size_t>(k)];
      if (!less(right, left)) break;
      std::swap(left, right);
    }
  std::vector<int64_t> merged_order(order.size());
  for (int64_t width = insertion_run; width < n; width *= 2) {
    for (int64_t begin = 0; begin < n; begin += 2 * width) {
      int64_t middle = std::min(begin + width, n), end = std::min(begin + 2 * width, n);
      int64_t left = begin, right = middle;
      for (int64_t out = begin; out < end; ++out) {
        bool from_right = left >= middle ||
                          (right < end && less(order[static_cast<size_t>(right)], order[static_cast<size_t>(left)]));
        merged_order[static_cast<size_t>(out)] = order[static_cast<size_t>(from_right ? right++ : left++)];
      }
    }
    std::swap(order, merged_order);
  }
}

// Greater first (or smaller first), in the total order of floats: NaN is the largest.
template <class T>
bool comes_first(const std::byte* bytes, int64_t a, int64_t b, bool largest) {
  auto x = widen(load<T>(bytes, largest ? a : b)), y = widen(load<T>(bytes, largest ? b : a));
  if constexpr (std::is_same_v<decltype(x), double>) {
    auto key = [](double v) {
      auto bits = std::bit_cast<int64_t>(v);
      return bits < 0 ? bits ^ INT64_MAX : bits;
    };
    return key(x) > key(y);
  } else if constexpr (std::is_same_v<decltype(x), Complex>) {
    return x.real() > y.real() || (x.real() == y.real() && x.imag() > y.imag());
  } else {
    return x > y;
  }
}

}  // namespace

Result<Literal> eval_sort(Call& c) {
  Body& less_body = c.eval.body(c.v->callee(0));
  auto dim = static_cast<size_t>(c.attr<SortAttr>().dim);
  std::vector<Literal> outputs;
  std::vector<std::byte*> out;
  std::vector<int> widths;
  for (const Literal& in : c.in) {
    outputs.push_back(c.eval.allocate(in.type()));
    out.push_back(outputs.back().mutable_bytes().data());
    widths.push_back(byte_width(in.type().element()));
  }
  Ints sizes = c.in[0].type().sizes(), strides = strides_of(sizes);
  int64_t n = sizes.empty() ? 1 : sizes[dim], stride = sizes.empty() ? 1 : strides[dim];
  if (!sizes.empty()) sizes[dim] = std::min<int64_t>(n, 1);
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::vector<const std::byte*> pair(2 * c.in.size());
  Result<void> state;
  for (Odometer line(sizes); line.valid(); line.next()) {
    int64_t base = line.dot(strides);
    std::iota(order.begin(), order.end(), int64_t{0});
    auto less = [&](int64_t a, int64_t b) {
      for (size_t k = 0; k < c.in.size(); ++k) {
        const std::byte* bytes = c.in[k].bytes().data();
        pair[2 * k] = bytes + (base + a * stride) * widths[k];
        pair[2 * k + 1] = bytes + (base + b * stride) * widths[k];
      }
      bool answer = false;
      auto* to = reinterpret_cast<std::byte*>(&answer);
      if (state.ok()) state = less_body.run(pair, std::span(&to, 1), 1);
      return answer;
    };
    merge_sort(order, less);
    if (!state) return state.error();
    for (size_t k = 0; k < c.in.size(); ++k)
      for (int64_t i = 0; i < n; ++i)
        std::memcpy(out[k] + (base + i * stride) * widths[k],
                    c.in[k].bytes().data() + (base + order[static_cast<size_t>(i)] * stride) * widths[k],
                    static_cast<size_t>(widths[k]));
  }
  return c.type.is_tuple() ? Literal::tuple(c.type, std::move(outputs)) : std::move(outputs[0]);
}

Result<Literal> eval_topk(Call& c) {
  const auto& attr = c.attr<TopKAttr>();
  const Literal& in = c.in[0];
  Type value_type = c.type.element_type(0), index_type = c.type.element_type(1);
  Literal values = c.eval.allocate(value_type), indices = c.eval.allocate(index_type);
  int width = byte_width(value_type.element());
  int64_t n = in.type().dim(in.type().rank() - 1), k = value_type.dim(value_type.rank() - 1);
  int64_t lines = n == 0 ? 0 : in.type().count() / n;
  if (k > n) return c.eval.fail(fmt::format("the {} largest of {} elements are asked for", k, n));
  std::vector<int64_t> order(static_cast<size_t>(n));
  Kernel to_index = converter(ElementType::s64, index_type.element());
  for (int64_t line = 0; line < lines; ++line) {
    const std::byte* bytes = in.bytes().data() + line * n * width;
    std::iota(order.begin(), order.end(), int64_t{0});
    visit_element(in.type().element(), [&](auto tag) {
      merge_sort(order, [&](int64_t a, int64_t b) { return comes_first<decltype(tag)>(bytes, a, b, attr.largest); });
    });
    for (int64_t i = 0; i < k; ++i)
      std::memcpy(values.mutable_bytes().data() + (line * k + i) * width,
                  bytes + order[static_cast<size_t>(i)] * width, static_cast<size_t>(width));
    const auto* from = reinterpret_cast<const std::byte*>(order.data());
    to_index.run(to_index, &from, indices.mutable_bytes().data() + line * k * to_index.width, k);
  }
  return Literal::tuple(c.type, {std::move(values), std::move(indices)});
}

}  // namespace hloc::ir::eval
