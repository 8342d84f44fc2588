// Fourier transforms, factorisations, batch normalisation, random numbers.
#include <algorithm>

#include "ir/infer/rules.h"

namespace hloc::ir::shapes {
namespace {

std::string_view fft_name(FftType type) {
  switch (type) {
    case FftType::FFT: return "FFT";
    case FftType::IFFT: return "IFFT";
    case FftType::RFFT: return "RFFT";
    case FftType::IRFFT: return "IRFFT";
  }
  HLOC_UNREACHABLE();
}

// A real signal of length n has n / 2 + 1 independent frequencies.
int64_t half_spectrum(int64_t n) { return n == 0 ? 0 : n / 2 + 1; }

// The last dimensions of the operand are those that fft_length says.
Problem check_fft_length(const Site& s, const FftAttr& a) {
  Type x = s.operands[0];
  if (a.length.empty() || a.length.size() > 3)
    return reject(s, "fft_length={} must have 1, 2 or 3 entries", list_text(a.length));
  if (Problem p = check_rank_at_least(s, 0, static_cast<int64_t>(a.length.size()))) return p;
  size_t first = x.dims().size() - a.length.size();
  for (size_t i = 0; i < a.length.size(); ++i) {
    if (a.length[i] < 0) return reject(s, "fft_length={} has a negative entry", list_text(a.length));
    bool last = i + 1 == a.length.size();
    int64_t expected = last && a.type == FftType::IRFFT ? half_spectrum(a.length[i]) : a.length[i];
    if (!fits(x.dims()[first + i], Dim::of(expected)))
      return reject(s, "{} with fft_length={} needs {} as dimension {} of the operand, but it is {}", fft_name(a.type),
                    list_text(a.length), expected, first + i, shape_text(x));
  }
  return {};
}

}  // namespace

Result<Type> infer_fft(const Site& s) {
  const FftAttr& a = s.as<FftAttr>();
  if (Problem p = check_array(s, 0)) return *p;
  Type x = s.operands[0];
  ElementType t = x.element();
  bool real = a.type == FftType::RFFT;
  bool good = real ? t == ElementType::f32 || t == ElementType::f64 : is_complex(t);
  if (!good || x->quant)
    return reject(s, "{} needs {} elements, but the operand is {}", fft_name(a.type), real ? "f32 or f64" : "complex",
                  shape_text(x));
  if (Problem p = check_fft_length(s, a)) return *p;
  if (a.type == FftType::FFT || a.type == FftType::IFFT) return plain(s, x);
  std::vector<Dim> dims = dims_of(x);
  dims.back() = Dim::of(real ? half_spectrum(a.length.back()) : a.length.back());
  if (real) return s.context.array(t == ElementType::f32 ? ElementType::c64 : ElementType::c128, std::move(dims));
  return s.context.array(t == ElementType::c64 ? ElementType::f32 : ElementType::f64, std::move(dims));
}

namespace {

Problem check_square(const Site& s, size_t operand) {
  if (Problem p = check_class(s, operand, class_float | class_complex)) return p;
  if (Problem p = check_rank_at_least(s, operand, 2)) return p;
  auto dims = s.operands[operand].dims();
  if (fits(dims[dims.size() - 2], dims.back())) return {};
  return reject(s, "the last two dimensions of operand {} must be equal, but it is {}", operand,
                shape_text(s.operands[operand]));
}

}  // namespace

Result<Type> infer_cholesky(const Site& s) {
  if (Problem p = check_square(s, 0)) return *p;
  return plain(s, s.operands[0]);
}

// op(a) x = b (left side) or x op(a) = b
Result<Type> infer_triangular_solve(const Site& s) {
  if (Problem p = check_square(s, 0)) return *p;
  if (Problem p = check_array(s, 1)) return *p;
  if (Problem p = check_same_element(s, 0, 1)) return *p;
  Type a = s.operands[0], b = s.operands[1];
  if (a.rank() != b.rank())
    return reject(s, "the operands must have the same number of dimensions, but they are {} and {}", shape_text(a),
                  shape_text(b));
  size_t batch = a.dims().size() - 2;
  for (size_t i = 0; i < batch; ++i)
    if (!fits(a.dims()[i], b.dims()[i]))
      return reject(s, "batch dimension {} differs: the operands are {} and {}", i, shape_text(a), shape_text(b));
  bool left = s.as<TriangularSolveAttr>().left_side;
  if (!fits(a.dims().back(), b.dims()[left ? batch : batch + 1]))
    return reject(s, "with left_side={} the {} of {} must match {}", left, left ? "rows" : "columns", shape_text(b),
                  shape_text(a));
  return plain(s, b);
}

namespace {

// scale, offset, mean, variance: one number for each feature.
Problem check_feature_vector(const Site& s, size_t operand, Dim features) {
  if (Problem p = check_class(s, operand, class_float)) return p;
  Type t = s.operands[operand];
  if (t.rank() == 1 && fits(t.dims()[0], features)) return {};
  return reject(s, "operand {} must have one dimension of {} features, but it is {}", operand, dim_text(features),
                shape_text(t));
}

}  // namespace

// training(x, scale, offset) -> (y, mean, variance); inference(x, scale, offset, mean, variance) -> y;
// grad(x, scale, mean, variance, grad_y) -> (grad_x, grad_scale, grad_offset)
Result<Type> infer_batch_norm(const Site& s) {
  if (Problem p = check_class(s, 0, class_float)) return *p;
  Type x = s.operands[0];
  int64_t index = s.as<BatchNormAttr>().feature_index;
  if (Problem p = check_dim(s, "feature_index", index, x.rank())) return *p;
  Dim features = x.dims()[static_cast<size_t>(index)];
  bool grad = s.op == Op::BatchNormGrad;
  size_t vectors = s.operands.size() - (grad ? 1 : 0);
  for (size_t i = 1; i < vectors; ++i)
    if (Problem p = check_feature_vector(s, i, features)) return *p;
  if (grad) {
    if (Problem p = check_class(s, 4, class_float)) return *p;
    if (Problem p = check_same_dims(s, 0, 4)) return *p;
    if (Problem p = check_same_element(s, 0, 4)) return *p;
  }
  if (s.op == Op::BatchNormInference) return plain(s, x);
  Type vector = make_array(s, s.operands[1], {features});
  Type parts[] = {plain(s, x), vector, vector};
  return s.context.tuple(parts);
}

Result<Type> infer_rng(const Site& s) {
  bool normal = s.as<RngAttr>().distribution == RngDistribution::normal;
  for (size_t i : {0, 1})
    if (Problem p = check_scalar(s, i, normal ? unsigned{class_float} : class_pred | class_integer | class_float)) return *p;
  if (Problem p = check_same_element(s, 0, 1)) return *p;
  if (s.operands.size() == 3) {
    if (Problem p = check_class(s, 2, class_integer)) return *p;
    if (s.operands[2].rank() != 1)
      return reject(s, "operand 2, the shape, must have one dimension, but it is {}", shape_text(s.operands[2]));
  }
  if (Problem p = check_declared_array(s)) return *p;
  if (s.declared && !fits_element(s.declared, s.operands[0]))
    return reject(s, "the result is declared {}, but the bounds are {}", shape_text(s.declared), shape_text(s.operands[0]));
  return Type();
}

// (new state, bits), or only the bits
Result<Type> infer_rng_bit_generator(const Site& s) {
  if (Problem p = check_array(s, 0)) return *p;
  if (!s.declared || s.declared.is_array()) return Type();
  bool pair = s.declared.is_tuple() && s.declared.tuple_size() == 2 && s.declared.element_type(1).is_array();
  if (!pair)
    return reject(s, "the result must be a tuple of the new state and an array, but it is declared {}",
                  shape_text(s.declared));
  if (!fits(s.declared.element_type(0), s.operands[0]))
    return reject(s, "the new state is declared {}, but the state is {}", shape_text(s.declared.element_type(0)),
                  shape_text(s.operands[0]));
  return Type();
}

Result<Type> infer_rng_state(const Site& s) {
  if (s.as<RngStateAttr>().delta < 0) return reject(s, "delta={} is negative", s.as<RngStateAttr>().delta);
  if (Problem p = check_declared_array(s)) return *p;
  if (s.declared && !(class_of(s.declared) & class_unsigned))
    return reject(s, "the result must have unsigned integer elements, but it is declared {}", shape_text(s.declared));
  return Type();
}

}  // namespace hloc::ir::shapes
