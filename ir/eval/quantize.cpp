// Quantised tensors: value = (stored - zero point) * scale, in double. Ops that compute take their operands dequantised
// and quantise their result; ops that move data work on what is stored.
#include "ir/eval/quantize.h"

#include <algorithm>

#include "ir/eval/copy.h"
#include "ir/eval/ops.h"

namespace hloc::ir::eval {
namespace {

// The scale and zero point of each element.
class Scales {
 public:
  explicit Scales(Type t) : params_(*t->quant) {
    if (params_.axis < 0) return;
    for (int64_t d = params_.axis + 1; d < t.rank(); ++d) inner_ *= t.dim(d);
    size_ = std::max<int64_t>(1, t.dim(params_.axis));
  }
  double scale(int64_t i) const { return params_.scales[of(i)]; }
  double zero_point(int64_t i) const {
    return params_.zero_points.empty() ? 0 : static_cast<double>(params_.zero_points[of(i)]);
  }

 private:
  size_t of(int64_t i) const { return params_.axis < 0 ? 0 : static_cast<size_t>(i / inner_ % size_); }
  const QuantParams& params_;
  int64_t inner_ = 1, size_ = 1;
};

std::vector<double> doubles_from(const Literal& in) {
  std::vector<double> out(static_cast<size_t>(in.type().count()));
  Kernel k = converter(in.type().element(), ElementType::f64);
  const std::byte* from = in.bytes().data();
  k.run(k, &from, reinterpret_cast<std::byte*>(out.data()), in.type().count());
  return out;
}

Literal literal_from(Evaluator& eval, Type type, const std::vector<double>& values) {
  Literal out = eval.allocate(type);
  Kernel k = converter(ElementType::f64, type.element());
  const auto* from = reinterpret_cast<const std::byte*>(values.data());
  k.run(k, &from, out.mutable_bytes().data(), type.count());
  return out;
}

}  // namespace

Literal dequantized(Evaluator& eval, const Literal& in) {
  const QuantParams* params = in.type()->quant;
  if (params == nullptr) return in;
  Scales scales(in.type());
  std::vector<double> values = doubles_from(in);
  for (size_t i = 0; i < values.size(); ++i) {
    auto at = static_cast<int64_t>(i);
    values[i] = (values[i] - scales.zero_point(at)) * scales.scale(at);
  }
  return literal_from(eval, eval.scratch_type(in.type(), params->expressed), values);
}

Literal quantized(Evaluator& eval, const Literal& in, Type type) {
  if (type->quant == nullptr) return in;
  Scales scales(type);
  std::vector<double> values = doubles_from(in);
  auto low = static_cast<double>(type->quant->storage_min), high = static_cast<double>(type->quant->storage_max);
  for (size_t i = 0; i < values.size(); ++i) {
    auto at = static_cast<int64_t>(i);
    values[i] = std::clamp(std::nearbyint(values[i] / scales.scale(at)) + scales.zero_point(at), low, high);
  }
  return literal_from(eval, type, values);
}

bool has_quantized_type(const Call& c) {
  if (c.type.is_array() && c.type->quant) return true;
  return std::ranges::any_of(c.in, [](const Literal& in) { return in.type().is_array() && in.type()->quant; });
}

Result<Literal> apply_dequantized(Call& c, OpFunction function) {
  for (Literal& in : c.in)
    if (in.type().is_array()) in = dequantized(c.eval, in);
  bool quantizes = c.type.is_array() && c.type->quant;
  Type type = quantizes ? c.eval.scratch_type(c.type, c.type->quant->expressed) : c.type;
  Call plain{c.v, type, c.in, c.eval};
  auto result = function(plain);
  if (!result || !quantizes) return result;
  return quantized(c.eval, *result, c.type);
}

Result<Literal> eval_uniform_quantize(Call& c) { return quantized(c.eval, dequantized(c.eval, c.in[0]), c.type); }

Result<Literal> eval_uniform_dequantize(Call& c) { return dequantized(c.eval, c.in[0]); }

}  // namespace hloc::ir::eval
