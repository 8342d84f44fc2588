// Batch normalisation, computed in double and rounded once.
#include <fmt/format.h>

#include "ir/eval/copy.h"
#include "ir/eval/ops.h"

namespace hloc::ir::eval {
namespace {

std::vector<double> doubles_of(const Literal& in) {
  std::vector<double> out(static_cast<size_t>(in.type().count()));
  Kernel k = converter(in.type().element(), ElementType::f64);
  const std::byte* from = in.bytes().data();
  k.run(k, &from, reinterpret_cast<std::byte*>(out.data()), in.type().count());
  return out;
}

Literal rounded_literal(Call& c, Type type, const std::vector<double>& values) {
  Literal out = c.eval.allocate(type);
  Kernel k = converter(ElementType::f64, type.element());
  const auto* from = reinterpret_cast<const std::byte*>(values.data());
  k.run(k, &from, out.mutable_bytes().data(), static_cast<int64_t>(values.size()));
  return out;
}

// Which feature each element of the operand belongs to, and how many elements a feature has.
struct Features {
  int64_t count, inner, total;
  Features(Type operand, int64_t dim) : count(operand.dim(dim)), inner(1), total(operand.count()) {
    for (int64_t d = dim + 1; d < operand.rank(); ++d) inner *= operand.dim(d);
  }
  size_t of(size_t i) const { return static_cast<size_t>(static_cast<int64_t>(i) / inner % count); }
  double each() const { return static_cast<double>(total) / static_cast<double>(count); }
  // sum over the elements i of each feature of f(i)
  template <class F>
  std::vector<double> sums(F f) const {
    std::vector<double> out(static_cast<size_t>(count));
    for (size_t i = 0; i < static_cast<size_t>(total); ++i) out[of(i)] += f(i);
    return out;
  }
};

}  // namespace

Result<Literal> eval_batch_norm_training(Call& c) {
  const auto& attr = c.attr<BatchNormAttr>();
  Features f(c.in[0].type(), attr.feature_index);
  auto x = doubles_of(c.in[0]), scale = doubles_of(c.in[1]), offset = doubles_of(c.in[2]);
  auto mean = f.sums([&](size_t i) { return x[i]; });
  for (double& m : mean) m /= f.each();
  auto variance = f.sums([&](size_t i) { return (x[i] - mean[f.of(i)]) * (x[i] - mean[f.of(i)]); });
  for (double& v : variance) v /= f.each();
  for (size_t i = 0; i < x.size(); ++i) {
    size_t k = f.of(i);
    x[i] = (x[i] - mean[k]) / std::sqrt(variance[k] + attr.epsilon) * scale[k] + offset[k];
  }
  std::vector<Literal> parts;
  parts.push_back(rounded_literal(c, c.type.element_type(0), x));
  parts.push_back(rounded_literal(c, c.type.element_type(1), mean));
  parts.push_back(rounded_literal(c, c.type.element_type(2), variance));
  return Literal::tuple(c.type, std::move(parts));
}

Result<Literal> eval_batch_norm_inference(Call& c) {
  const auto& attr = c.attr<BatchNormAttr>();
  Features f(c.in[0].type(), attr.feature_index);
  auto x = doubles_of(c.in[0]), scale = doubles_of(c.in[1]), offset = doubles_of(c.in[2]);
  auto mean = doubles_of(c.in[3]), variance = doubles_of(c.in[4]);
  for (size_t i = 0; i < x.size(); ++i) {
    size_t k = f.of(i);
    x[i] = (x[i] - mean[k]) / std::sqrt(variance[k] + attr.epsilon) * scale[k] + offset[k];
  }
  return rounded_literal(c, c.type, x);
}

// Operands: operand, scale, mean, variance, grad_output. Results: grad_operand, grad_scale, grad_offset.
Result<Literal> eval_batch_norm_grad(Call& c) {
  const auto& attr = c.attr<BatchNormAttr>();
  Features f(c.in[0].type(), attr.feature_index);
  auto x = doubles_of(c.in[0]), scale = doubles_of(c.in[1]), mean = doubles_of(c.in[2]);
  auto variance = doubles_of(c.in[3]), grad = doubles_of(c.in[4]);
  auto centred = [&](size_t i) { return x[i] - mean[f.of(i)]; };
  auto grad_offset = f.sums([&](size_t i) { return grad[i]; });
  auto products = f.sums([&](size_t i) { return grad[i] * centred(i); });
  std::vector<double> grad_operand(x.size()), grad_scale(products.size());
  for (size_t k = 0; k < products.size(); ++k) grad_scale[k] = products[k] / std::sqrt(variance[k] + attr.epsilon);
  for (size_t i = 0; i < x.size(); ++i) {
    size_t k = f.of(i);
    double spread = variance[k] + attr.epsilon, n = f.each();
    double inner = n * grad[i] - grad_offset[k] - centred(i) * products[k] / spread;
    grad_operand[i] = scale[k] / std::sqrt(spread) / n * inner;
  }
  std::vector<Literal> parts;
  parts.push_back(rounded_literal(c, c.type.element_type(0), grad_operand));
  parts.push_back(rounded_literal(c, c.type.element_type(1), grad_scale));
  parts.push_back(rounded_literal(c, c.type.element_type(2), grad_offset));
  return Literal::tuple(c.type, std::move(parts));
}

}  // namespace hloc::ir::eval
