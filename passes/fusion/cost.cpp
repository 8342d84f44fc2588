#include "passes/fusion/cost.h"

#include <algorithm>

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

double operand_bytes(Value v) {
  double sum = 0;
  for (Value operand : v->operands()) sum += array_bytes(operand->type);
  return sum;
}

double dot_flops(Value v) {
  double depth = 1;
  for (int64_t d : v->as<ir::DotAttr>().lhs_contracting) depth *= static_cast<double>(v->operand(0)->type.dim(d));
  return 2 * depth * array_count(v->type);
}

double flops_of(Value v) {
  if (v->op == Op::Dot) return dot_flops(v);
  if (v->op == Op::Reduce) {
    double sum = 0;
    for (size_t i = 0; i < v->operands().size() / 2; ++i) sum += array_count(v->operand(i)->type);
    return sum;
  }
  if (v->op == Op::Convolution) {
    const auto& dims = v->as<ir::ConvAttr>().dims;
    double out_features = static_cast<double>(std::max<int64_t>(v->operand(1)->type.dim(dims.kernel_output_feature), 1));
    return 2 * array_count(v->type) * array_count(v->operand(1)->type) / out_features;
  }
  return ir::is_elementwise(v->op) ? flops_per_element(v) * array_count(v->type) : 0;
}

}  // namespace

Cost& Cost::operator+=(const Cost& other) {
  bytes += other.bytes;
  flops += other.flops;
  launches += other.launches;
  return *this;
}

double Cost::in_bytes(const ir::Target& target) const {
  return bytes + flops / flops_per_byte(target) + launches * target.launch_cost_bytes;
}

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

Cost cost_of(Value v) {
  Cost cost{operand_bytes(v) + array_bytes(v->type), 0, 1};
  if (v->op != Op::Fusion) {
    cost.flops = flops_of(v);
    return cost;
  }
  for (Value inner : v->callee(0).instructions()) cost.flops += flops_of(inner);
  return cost;
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
