#include "passes/fusion/cost.h"

#include <algorithm>
#include <cmath>

namespace hloc::passes {
namespace {

using ir::Op;
using ir::Type;
using ir::Value;

// Additions that go by while one byte moves: vectors of `vector_bytes` twice a cycle against 8 bytes a cycle of memory
// that is not in the nearest cache, for 4-byte elements.
double flops_per_byte(const ir::Target& target) { return static_cast<double>(target.vector_bytes) / 16; }

double array_bytes(Type type) {
  double sum = 0;
  for (Type leaf : ir::leaves(type))
    if (leaf.is_array()) sum += static_cast<double>(leaf.count()) * byte_width(leaf.element());
  return sum;
}

// Of a reduction with several results, which have one shape: the elements of one.
double array_count(Type type) {
  if (type.is_tuple() && type.tuple_size() > 0) type = type.element_type(0);
  return type.is_array() ? static_cast<double>(type.count()) : 0;
}

double operand_count(Value v) {
  double sum = 0;
  for (Value operand : v->operands()) sum += array_count(operand->type);
  return sum;
}
double last_dimension(Type type) { return type.rank() > 0 ? static_cast<double>(type.dim(type.rank() - 1)) : 1; }

double dot_flops(Value v) {
  double depth = 1;
  for (int64_t d : v->as<ir::DotAttr>().lhs_contracting) depth *= static_cast<double>(v->operand(0)->type.dim(d));
  return 2 * depth * array_count(v->type);
}

double convolution_flops(Value v) {
  const auto& dims = v->as<ir::ConvAttr>().dims;
  double out_features = static_cast<double>(std::max<int64_t>(v->operand(1)->type.dim(dims.kernel_output_feature), 1));
  return 2 * array_count(v->type) * array_count(v->operand(1)->type) / out_features;
}
double reduce_flops(Value v) {
  double sum = 0;
  for (size_t i = 0; i < v->operands().size() / 2; ++i) sum += array_count(v->operand(i)->type);
  return sum;
}
double window_flops(Value v) {
  double places = 1;
  for (const ir::WindowDim& d : v->as<ir::WindowAttr>().window) places *= static_cast<double>(d.size);
  double results = 0;
  for (Type leaf : ir::leaves(v->type)) results += array_count(leaf);
  return places * results;
}
double order_flops(Value v) { return operand_count(v) * std::log2(2 + operand_count(v)); }
double cholesky_flops(Value v) { return operand_count(v) * last_dimension(v->operand(0)->type) / 3; }
double solve_flops(Value v) { return array_count(v->type) * last_dimension(v->operand(0)->type); }
double fft_flops(Value v) { return 5 * order_flops(v); }
double fusion_flops(Value v) {
  double sum = 0;
  for (Value inner : v->callee(0).instructions()) sum += flops_of(inner);
  return sum;
}

// What is neither elementwise nor only moves elements.
struct WorkModel {
  Op op;
  double (*flops)(Value);
};
constexpr WorkModel work_models[] = {
    {Op::Dot, dot_flops},           {Op::Convolution, convolution_flops}, {Op::Reduce, reduce_flops},
    {Op::Scatter, operand_count},   {Op::SelectAndScatter, operand_count}, {Op::ReduceWindow, window_flops},
    {Op::Sort, order_flops},        {Op::TopK, order_flops},              {Op::Fft, fft_flops},
    {Op::Cholesky, cholesky_flops}, {Op::TriangularSolve, solve_flops},   {Op::Fusion, fusion_flops},
};

}  // namespace

double flops_per_element(Value v) {
  struct Weight { Op op; double flops; };
  // Instructions of the usual vector code, relative to an addition's throughput.
  static constexpr Weight weights[] = {
      {Op::Divide, 8},  {Op::Remainder, 16}, {Op::Sqrt, 8},    {Op::Rsqrt, 10},   {Op::Cbrt, 20},  {Op::Exp, 16},
      {Op::Expm1, 24},  {Op::Log, 20},       {Op::Log1p, 24},  {Op::Logistic, 24}, {Op::Tanh, 24}, {Op::Sin, 30},
      {Op::Cos, 30},    {Op::Tan, 40},       {Op::Erf, 30},    {Op::Power, 50},   {Op::Atan2, 40}, {Op::Sinh, 30},
      {Op::Cosh, 30},   {Op::Asin, 30},      {Op::Acos, 30},   {Op::Asinh, 40},   {Op::Acosh, 40}, {Op::Atanh, 40},
      {Op::MulHi, 4},   {Op::Popcnt, 6},     {Op::CountLeadingZeros, 6},
      {Op::ChloErfc, 40}, {Op::ChloErfInv, 40}, {Op::ChloLgamma, 60}, {Op::ChloDigamma, 60}, {Op::ChloBesselI1e, 50},
      {Op::ChloPolygamma, 100}, {Op::ChloZeta, 100}, {Op::ChloNextAfter, 8}, {Op::Map, 16}, {Op::StochasticConvert, 8},
  };
  for (const Weight& w : weights)
    if (w.op == v->op) return w.flops;
  if (v->op == Op::Reduce) {
    double results = array_count(v->type);
    return results > 0 ? array_count(v->operand(0)->type) / results : 0;
  }
  return ir::is_elementwise(v->op) ? 1 : 0;
}

double flops_of(Value v) {
  if (ir::is_elementwise(v->op)) return flops_per_element(v) * array_count(v->type);
  auto model = std::ranges::find(work_models, v->op, &WorkModel::op);
  return model == std::end(work_models) ? 0 : model->flops(v);
}

JoinCost join_cost(Value v, double evaluations, const ir::Target& target) {
  JoinCost join;
  join.saved_bytes = 2 * array_bytes(v->type) + target.launch_cost_bytes;
  join.repeated_flops = std::max(0.0, evaluations - array_count(v->type)) * flops_per_element(v);
  join.repeated_bytes = join.repeated_flops / flops_per_byte(target);
  constexpr double store_and_load = 3;  // in additions
  join.kept_bytes = store_and_load * array_count(v->type) / flops_per_byte(target);
  return join;
}

bool fits_row(double bytes, const ir::Target& target) { return bytes <= static_cast<double>(target.l1_bytes) / 2; }

double shared_read_bytes(Type type, const ir::Target& target) { return array_bytes(type) + target.launch_cost_bytes; }

}  // namespace hloc::passes
