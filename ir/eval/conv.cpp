// convolution: input as [batch][spatial…][feature], kernel as panels of output features, result as
// [batch][spatial…][feature]. A sum runs over the window in row-major order, then over the input features of the group.
#include <fmt/format.h>

#include "ir/eval/contract.h"
#include "ir/eval/ops.h"
#include "ir/eval/window.h"

namespace hloc::ir::eval {
namespace {

struct ConvSizes {
  Window window;
  Ints window_sizes, input_spatial, output_spatial;
  int64_t groups;                    // feature groups or batch groups: at most one kind is more than 1
  int64_t input_batch, input_features;
  int64_t batch, group_inputs, group_outputs;
  bool by_batch;                     // groups divide the batch
};

Ints places(int64_t a, const Ints& spatial, int64_t b) {
  Ints out{a};
  out.insert(out.end(), spatial.begin(), spatial.end());
  out.push_back(b);
  return out;
}

ConvSizes conv_sizes(Type input, Type kernel, Type output, const ConvAttr& a, Window window) {
  ConvSizes s;
  const ConvDims& d = a.dims;
  for (int64_t dim : d.input_spatial) s.input_spatial.push_back(input.dim(dim));
  for (int64_t dim : d.output_spatial) s.output_spatial.push_back(output.dim(dim));
  s.window = window.empty() ? Window(s.input_spatial.size()) : std::move(window);
  for (size_t i = 0; i < s.window.size(); ++i) s.window[i].size = kernel.dim(d.kernel_spatial[i]);
  s.window_sizes = window_sizes_of(s.window);
  s.by_batch = a.batch_group_count > 1;
  s.groups = s.by_batch ? a.batch_group_count : a.feature_group_count;
  s.input_batch = input.dim(d.input_batch);
  s.input_features = input.dim(d.input_feature);
  s.batch = output.dim(d.output_batch);
  s.group_inputs = kernel.dim(d.kernel_input_feature);
  s.group_outputs = kernel.dim(d.kernel_output_feature) / s.groups;
  return s;
}

constexpr int conv_rows = 4;  // results along the last spatial dimension that are computed together

// Sums of up to conv_rows neighbours; row[r] is the input at the window position, null where there is none.
template <class A, int W>
void add_tap(A (*sums)[W], const A* const* rows, int count, const A* panel, int64_t depth) {
  bool all = count == conv_rows;
  for (int r = 0; r < count; ++r) all &= rows[r] != nullptr;
  if (all) return add_products<A, conv_rows, W>(sums, rows, panel, depth);
  for (int r = 0; r < count; ++r)
    if (rows[r]) add_products<A, 1, W>(sums + r, rows + r, panel, depth);
}

// One panel of output features [first, first + width) of group `group`, for all results.
template <class A, int W>
void conv_panel(const ConvSizes& s, int64_t group, int64_t first, int64_t width, const A* input, const A* panel,
                A* output) {
  int64_t all_outputs = s.group_outputs * s.groups;
  Ints input_strides = strides_of(s.input_spatial), walked = s.output_spatial;
  int64_t row_length = walked.empty() ? 1 : walked.back(), result = 0;
  if (!walked.empty()) walked.pop_back();
  int64_t input_size = product(s.input_spatial) * s.input_features;
  for (int64_t n = 0; n < s.batch; ++n) {
    int64_t entry = s.by_batch ? group * (s.input_batch / s.groups) + n : n;
    const A* image = input + entry * input_size + (s.by_batch ? 0 : group * s.group_inputs);
    for (Odometer at(walked); at.valid(); at.next()) {
      for (int64_t o = 0; o < row_length; o += conv_rows) {
        int count = static_cast<int>(std::min<int64_t>(conv_rows, row_length - o));
        A sums[conv_rows][W] = {};
        int64_t tap = 0;
        for (Odometer k(s.window_sizes); k.valid(); k.next(), ++tap) {
          int64_t base = 0;
          for (size_t d = 0; d + 1 < s.window.size() && base >= 0; ++d) {
            int64_t p = window_position(s.window[d], at[d], k[d], s.input_spatial[d]);
            base = p < 0 ? -1 : base + p * input_strides[d];
          }
          if (base < 0) continue;
          const A* rows[conv_rows] = {};
          for (int r = 0; r < count; ++r) {
            int64_t p = s.window.empty() ? 0 : window_position(s.window.back(), o + r, k[s.window.size() - 1], s.input_spatial.back());
            if (p >= 0) rows[r] = image + (base + p) * s.input_features;
          }
          add_tap<A, W>(sums, rows, count, panel + tap * s.group_inputs * W, s.group_inputs);
        }
        for (int r = 0; r < count; ++r, ++result)
          for (int64_t j = 0; j < width; ++j) output[result * all_outputs + group * s.group_outputs + first + j] = sums[r][j];
      }
    }
  }
}

template <class A, int W>
void conv_in_panels(const ConvSizes& s, const A* input, const A* kernel, A* output) {
  int64_t depth = product(s.window_sizes) * s.group_inputs, all_outputs = s.group_outputs * s.groups;
  auto panel = make_array<A>(depth * W);
  for (int64_t group = 0; group < s.groups; ++group)
    for (int64_t first = 0; first < s.group_outputs; first += W) {
      int64_t begin = group * s.group_outputs + first, end = (group + 1) * s.group_outputs;
      fill_panel<A, W>(panel.get(), kernel, depth, all_outputs, begin, end);
      conv_panel<A, W>(s, group, first, std::min<int64_t>(W, end - begin), input, panel.get(), output);
    }
}

template <class A>
void convolve(Call& c, const ConvSizes& s, const ConvDims& d, std::byte* out) {
  Reordered<A> input(c.in[0], places(d.input_batch, d.input_spatial, d.input_feature));
  Ints kernel_order = d.kernel_spatial;
  kernel_order.push_back(d.kernel_input_feature);
  kernel_order.push_back(d.kernel_output_feature);
  Reordered<A> kernel(c.in[1], kernel_order);
  Literal result = c.eval.allocate(c.type);  // in the order [batch][spatial][feature], whatever its type says
  Sums<A> sums(result);
  if (s.group_outputs >= 32) conv_in_panels<A, 64>(s, input.get(), kernel.get(), sums.get());
  else if (s.group_outputs >= 4) conv_in_panels<A, 8>(s, input.get(), kernel.get(), sums.get());
  else conv_in_panels<A, 1>(s, input.get(), kernel.get(), sums.get());
  sums.finish();
  Ints order = places(d.output_batch, d.output_spatial, d.output_feature), inverse(order.size()), sizes;
  for (size_t i = 0; i < order.size(); ++i) {
    inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    sizes.push_back(c.type.dim(order[i]));
  }
  copy_transposed(out, result.bytes().data(), sizes, inverse, byte_width(c.type.element()));
}

Result<Literal> convolution_with(Call& c, const Window& window) {
  const auto& attr = c.attr<ConvAttr>();
  if (!attr.dims.input_unknown.empty() || !attr.dims.kernel_unknown.empty() || !attr.dims.output_unknown.empty())
    return c.eval.fail("a convolution with unknown dimensions ('?' in dim_labels) can't be evaluated", ErrorKind::target);
  Literal out = c.eval.allocate(c.type);
  if (c.type.count() == 0) return out;
  ConvSizes s = conv_sizes(c.in[0].type(), c.in[1].type(), c.type, attr, window);
  visit_accumulator(c.type.element(), [&](auto zero) {
    convolve<decltype(zero)>(c, s, attr.dims, out.mutable_bytes().data());
  });
  return out;
}

}  // namespace

Result<Literal> eval_convolution(Call& c) { return convolution_with(c, c.attr<ConvAttr>().window); }

// The padding is a value: [low, high] for each spatial dimension.
Result<Literal> eval_dynamic_conv(Call& c) {
  Ints padding = integers_of(c.in[2]);
  Window window = c.attr<ConvAttr>().window;
  if (window.empty()) window.resize(c.attr<ConvAttr>().dims.input_spatial.size());
  for (size_t d = 0; d < window.size() && 2 * d + 1 < padding.size(); ++d) {
    window[d].pad_low = padding[2 * d];
    window[d].pad_high = padding[2 * d + 1];
  }
  return convolution_with(c, window);
}

}  // namespace hloc::ir::eval
