// Convolution: every dimension of input, kernel and output is batch, feature or spatial.
#include <algorithm>
#include <array>

#include "ir/infer/rules.h"

namespace hloc::ir::shapes {
namespace {

constexpr int64_t unlabelled = -1;

// Each position of the labels exactly once; `?` dimensions take part but mean nothing.
Problem check_labels(const Site& s, std::string_view side, int64_t first, int64_t second, const Ints& spatial,
                     const Ints& unknown, std::optional<int64_t> rank, size_t spatial_count) {
  Ints all = spatial;
  for (int64_t d : {first, second})
    if (d != unlabelled) all.push_back(d);
  all.insert(all.end(), unknown.begin(), unknown.end());
  if (spatial.size() != spatial_count)
    return reject(s, "dim_labels gives the {} {} spatial dimensions, but the input {}", side, spatial.size(), spatial_count);
  if (rank && static_cast<int64_t>(all.size()) != *rank)
    return reject(s, "dim_labels names {} dimensions of the {}, but it has {}", all.size(), side, *rank);
  std::vector<bool> seen(all.size());
  for (int64_t d : all) {
    bool good = d >= 0 && static_cast<uint64_t>(d) < all.size() && !seen[static_cast<size_t>(d)];
    if (!good) return reject(s, "dim_labels of the {} are no permutation of its {} dimensions", side, all.size());
    seen[static_cast<size_t>(d)] = true;
  }
  return {};
}

Problem check_all_labels(const Site& s, const ConvAttr& a) {
  const ConvDims& d = a.dims;
  size_t n = d.input_spatial.size();
  std::optional<int64_t> output_rank;
  if (s.declared) output_rank = s.declared.rank();
  if (Problem p = check_labels(s, "input", d.input_batch, d.input_feature, d.input_spatial, d.input_unknown,
                               s.operands[0].rank(), n))
    return p;
  if (Problem p = check_labels(s, "kernel", d.kernel_input_feature, d.kernel_output_feature, d.kernel_spatial,
                               d.kernel_unknown, s.operands[1].rank(), n))
    return p;
  if (Problem p = check_labels(s, "output", d.output_batch, d.output_feature, d.output_spatial, d.output_unknown,
                               output_rank, n))
    return p;
  if (a.window.size() != n)
    return reject(s, "window has {} dimension{}, but dim_labels names {} spatial one{}", a.window.size(),
                  a.window.size() == 1 ? "" : "s", n, n == 1 ? "" : "s");
  return {};
}

bool has_unlabelled(const ConvDims& d) {
  return std::ranges::count(std::array{d.input_batch, d.input_feature, d.kernel_input_feature, d.kernel_output_feature,
                                       d.output_batch, d.output_feature},
                            unlabelled) != 0;
}

bool divides(int64_t divisor, Dim dim) { return dim.kind == Dim::unknown || dim.size % divisor == 0; }

// feature_group_count cuts input and output features into independent parts, batch_group_count the batch.
Problem check_groups(const Site& s, const ConvAttr& a) {
  int64_t features = a.feature_group_count, batches = a.batch_group_count;
  if (features < 1) return reject(s, "feature_group_count={} must be at least 1", features);
  if (batches < 1) return reject(s, "batch_group_count={} must be at least 1", batches);
  if (features > 1 && batches > 1)
    return reject(s, "feature_group_count={} and batch_group_count={} cannot both be above 1", features, batches);
  Type x = s.operands[0], k = s.operands[1];
  Dim in_batch = x.dims()[static_cast<size_t>(a.dims.input_batch)];
  Dim in = x.dims()[static_cast<size_t>(a.dims.input_feature)];
  Dim kernel_in = k.dims()[static_cast<size_t>(a.dims.kernel_input_feature)];
  Dim kernel_out = k.dims()[static_cast<size_t>(a.dims.kernel_output_feature)];
  if (!divides(features, in))
    return reject(s, "feature_group_count={} must divide the {} input features of {}", features, in.size, shape_text(x));
  if (!divides(features, kernel_out))
    return reject(s, "feature_group_count={} must divide the {} output features of the kernel {}", features,
                  kernel_out.size, shape_text(k));
  if (!divides(batches, in_batch))
    return reject(s, "batch_group_count={} must divide the batch {} of {}", batches, in_batch.size, shape_text(x));
  if (!divides(batches, kernel_out))
    return reject(s, "batch_group_count={} must divide the {} output features of the kernel {}", batches,
                  kernel_out.size, shape_text(k));
  // A sparse operand stores fewer features than it stands for.
  if (in.kind == Dim::unknown || kernel_in.kind == Dim::unknown || !a.sparsity.empty()) return {};
  if (in.size / features != kernel_in.size)
    return reject(s, "input {} has {} features in each of {} group{}, but the kernel {} takes {}", shape_text(x),
                  in.size / features, features, features == 1 ? "" : "s", shape_text(k), kernel_in.size);
  return {};
}

Problem check_conv_elements(const Site& s) {
  Type x = s.operands[0], k = s.operands[1];
  if (k->quant) return {};  // a quantised or hybrid convolution; the result is declared
  bool both_integer = (class_of(x) & class_integer) && (class_of(k) & class_integer) && !x->quant;
  if (fits_element(x, k, Elements::any_float) || both_integer) return {};
  return reject(s, "input and kernel have element types that do not multiply: {} and {}; convert one of them",
                shape_text(x), shape_text(k));
}

Result<std::vector<Dim>> conv_result_dims(const Site& s, const ConvAttr& a) {
  const ConvDims& d = a.dims;
  Type x = s.operands[0], k = s.operands[1];
  std::vector<Dim> out(d.output_spatial.size() + 2);
  Dim& batch = out[static_cast<size_t>(d.output_batch)];
  batch = x.dims()[static_cast<size_t>(d.input_batch)];
  if (batch.kind != Dim::unknown) batch.size /= a.batch_group_count;
  out[static_cast<size_t>(d.output_feature)] = k.dims()[static_cast<size_t>(d.kernel_output_feature)];
  for (size_t i = 0; i < a.window.size(); ++i) {
    Dim kernel = k.dims()[static_cast<size_t>(d.kernel_spatial[i])];
    if (!fits(kernel, Dim::of(a.window[i].size)))
      return reject(s, "window size {} of spatial dimension {} is not that of the kernel {}", a.window[i].size, i,
                    shape_text(k));
    auto size = window_result(s, i, x.dims()[static_cast<size_t>(d.input_spatial[i])], a.window[i]);
    if (!size) return size.error();
    out[static_cast<size_t>(d.output_spatial[i])] = s.op == Op::DynamicConv ? Dim::any() : *size;
  }
  return out;
}

}  // namespace

Result<Type> infer_convolution(const Site& s) {
  for (size_t i : {0, 1})
    if (Problem p = check_array(s, i)) return *p;
  if (Problem p = check_declared_array(s)) return *p;
  const ConvAttr& a = s.as<ConvAttr>();
  if (Problem p = check_conv_elements(s)) return *p;
  if (Problem p = check_all_labels(s, a)) return *p;
  bool labelled = !has_unlabelled(a.dims);
  if (labelled)
    if (Problem p = check_groups(s, a)) return *p;
  if (!a.precision.empty() && a.precision.size() != 2 && a.precision.size() != s.operands.size())
    return reject(s, "operand_precision has {} entries; it needs one for each of the two operands", a.precision.size());
  if (s.op == Op::DynamicConv)
    if (Problem p = check_class(s, 2, class_integer)) return *p;
  const ConvDims& d = a.dims;
  if (!labelled || !d.input_unknown.empty() || !d.kernel_unknown.empty() || !d.output_unknown.empty()) return Type();
  auto dims = conv_result_dims(s, a);
  if (!dims) return dims.error();
  Type x = s.operands[0], k = s.operands[1];
  if (x->quant || k->quant) return make_array(s, x, *std::move(dims));
  return s.context.array(wider_element(x.element(), k.element()), *std::move(dims));
}

}  // namespace hloc::ir::shapes
