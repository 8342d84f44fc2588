// Left sides for rules whose patterns say little: graphs that chance would hardly make.
#include <algorithm>

#include "passes/rewrite/engine.h"
#include "passes/rewrite/sample.h"
#include "passes/rewrite/sample_parts.h"

namespace hloc::passes::rules {

using ir::Ints;
using ir::Op;
using ir::Type;
using ir::Value;

Op random_elementwise_op(Sampler& s) {
  for (;;) {
    Op op = static_cast<Op>(s.below(static_cast<int64_t>(ir::all_ops().size())));
    const ir::OpFacts& facts = ir::facts(op);
    if (ir::is_elementwise(op) && op != Op::Map && facts.attr != "RawAttr" && facts.max_operands > 0) return op;
  }
}

// A computation of two scalars whose root is one op on them, in either order.
const ir::Computation* sample_reducer(Sampler& s, Type scalar) {
  constexpr Op ops[] = {Op::Add, Op::Multiply, Op::Maximum, Op::Minimum, Op::And, Op::Or, Op::Xor};
  ir::ComputationBuilder builder(s.builder().context(), "reducer");
  Value left = builder.parameter(0, scalar), right = builder.parameter(1, scalar);
  if (s.chance(2)) std::swap(left, right);
  return s.keep(builder.finish(builder.make(ops[s.below(7)], scalar, {left, right})));
}

// The neutral element of some ops often enough.
Value sample_initial(Sampler& s, Type scalar) {
  constexpr Special specials[] = {Special::number, Special::minus_zero, Special::lowest, Special::highest, Special::ones};
  if (s.chance(3)) return s.parameter(scalar);
  std::optional<ir::Literal> value = scalar_literal(s.context(), scalar.element(), specials[s.below(5)], s.below(2));
  return value ? s.builder().constant(*std::move(value)) : s.parameter(scalar);
}

Value sample_reduce(Sampler& s, Value x, const Ints& dims, Value initial, const ir::Computation* reducer) {
  Ints sizes;
  for (int64_t d = 0; d < x->type.rank(); ++d)
    if (std::ranges::find(dims, d) == dims.end()) sizes.push_back(x->type.dim(d));
  Value operands[] = {x, initial};
  return s.builder().make(Op::Reduce, s.array(x->type.element(), sizes), operands, ir::DimsAttr{dims}, std::span(&reducer, 1));
}
Value sample_reduce_of(Sampler& s, Value x) {
  if (!x) return nullptr;
  Type scalar = s.context().scalar(x->type.element());
  return sample_reduce(s, x, s.subset(x->type.rank()), sample_initial(s, scalar), sample_reducer(s, scalar));
}

std::vector<Value> sample_starts(Sampler& s, Type of) {
  std::vector<Value> out;
  for (int64_t d = 0; d < of.rank(); ++d) {
    Type index = s.context().scalar(ElementType::s32);
    out.push_back(s.chance(3) ? s.constant(index, true) : s.parameter(index));
  }
  return out;
}
Ints sample_window(Sampler& s, Type of) {
  Ints sizes = of.sizes();
  for (int64_t& size : sizes)
    if (s.chance(2)) size = s.below(size + 1);
  return sizes;
}
Value sample_dynamic_slice(Sampler& s, Value x, const Ints& sizes, const std::vector<Value>& starts) {
  std::vector<Value> operands{x};
  operands.insert(operands.end(), starts.begin(), starts.end());
  return s.make(Op::DynamicSlice, operands, ir::DynamicSliceAttr{sizes});
}
Value sample_dynamic_update(Sampler& s, Value x, Value update, const std::vector<Value>& starts) {
  std::vector<Value> operands{x, update};
  operands.insert(operands.end(), starts.begin(), starts.end());
  return s.make(Op::DynamicUpdateSlice, operands, ir::NoAttr{});
}

// An elementwise op over parameters and constants of one shape.
Value sample_elementwise(Sampler& s) {
  Op op = random_elementwise_op(s);
  Ints sizes = s.shape();
  std::vector<Value> operands;
  for (int16_t k = 0; k < ir::facts(op).min_operands; ++k) {
    ElementType element = op == Op::Select && k == 0 ? ElementType::pred : s.element();
    bool scalar = (op == Op::Clamp && k != 1) || (op == Op::Select && k == 0);
    Type type = scalar && s.chance(4) ? s.context().scalar(element) : s.array(element, sizes);
    operands.push_back(s.chance(5) ? s.constant(type, s.chance(2)) : s.parameter(type));
  }
  return s.random_op(op, operands);
}


Value sample_nested_concatenate(Sampler& s) {
  Value inner = s.random_op(Op::Concatenate, {});
  if (!inner) return nullptr;
  const ir::DimsAttr dims = inner->as<ir::DimsAttr>();
  Ints sizes = inner->type.sizes();
  std::vector<Value> operands{inner};
  for (int64_t i = s.below(3); i-- > 0;) {
    sizes[static_cast<size_t>(dims.dims[0])] = s.below(3);
    operands.insert(operands.begin() + s.below(2), s.parameter(s.array(inner->type.element(), sizes)));
  }
  return s.make(Op::Concatenate, operands, dims);
}

Value sample_constant_dynamic_slice(Sampler& s) {
  Value x = s.parameter(s.array(s.any_element(), s.shape()));
  constexpr ElementType indices[] = {ElementType::s32, ElementType::u64, ElementType::s8, ElementType::u8};
  ElementType index = indices[s.below(4)];
  std::vector<Value> operands{x};
  Ints sizes;
  for (const ir::Dim& d : x->type.dims()) {
    operands.push_back(s.constant(s.context().scalar(index), true));
    sizes.push_back(s.below(d.size + 1));
  }
  return s.make(Op::DynamicSlice, operands, ir::DynamicSliceAttr{sizes});
}

Value sample_elementwise_of_broadcasts(Sampler& s) {
  Op op = random_elementwise_op(s);
  Value x = s.parameter(s.array(op == Op::Select ? ElementType::pred : s.element(), s.shape(2)));
  Value wide = s.random_op(Op::Broadcast, {x});
  std::vector<Value> operands{wide};
  auto arity = static_cast<size_t>(ir::facts(op).min_operands);
  while (operands.size() < arity) {
    ElementType element = op == Op::Select ? s.element() : x->type.element();
    if (s.chance(3)) {
      operands.push_back(s.constant(s.array(element, wide->type.sizes()), true));
      continue;
    }
    Value y = s.parameter(s.array(element, x->type.sizes()));
    operands.push_back(s.builder().make(Op::Broadcast, s.array(element, wide->type.sizes()), {y}, *wide->attr));
  }
  return s.random_op(op, operands);
}

Value sample_elementwise_of_reshapes(Sampler& s) {
  Op op = random_elementwise_op(s);
  Ints sizes = s.shape(2), wide = sizes;
  for (int64_t i = 1 + s.below(2); i-- > 0;) wide.insert(wide.begin() + s.below(static_cast<int64_t>(wide.size()) + 1), 1);
  std::vector<Value> operands;
  for (int16_t k = 0; k < ir::facts(op).min_operands; ++k) {
    ElementType element = op == Op::Select && k == 0 ? ElementType::pred : s.element();
    if (k > 0 && s.chance(3)) {
      operands.push_back(s.constant(s.array(element, wide), true));
      continue;
    }
    Value narrow = s.parameter(s.array(element, sizes));
    operands.push_back(s.builder().make(Op::Reshape, s.array(element, wide), {narrow}, ir::ReshapeAttr{}));
  }
  return s.random_op(op, operands);
}

Value sample_swapped_dot(Sampler& s) {
  Value dot = s.random_op(Op::Dot, {});
  if (!dot) return nullptr;
  auto batch = static_cast<int64_t>(dot->as<ir::DotAttr>().lhs_batch.size());
  int64_t left = dot->operand(0)->type.rank() - batch - static_cast<int64_t>(dot->as<ir::DotAttr>().lhs_contracting.size());
  Ints dims;
  for (int64_t i = 0; i < batch; ++i) dims.push_back(i);
  for (int64_t i = batch + left; i < dot->type.rank(); ++i) dims.push_back(i);
  for (int64_t i = batch; i < batch + left; ++i) dims.push_back(i);
  return s.make(Op::Transpose, {dot}, ir::DimsAttr{dims});
}

Value sample_taken_apart(Sampler& s) {
  std::vector<Type> types;
  for (int64_t i = 1 + s.below(3); i-- > 0;) types.push_back(s.array(s.any_element(), s.shape()));
  Value whole = s.parameter(s.context().tuple(types));
  std::vector<Value> parts;
  for (size_t i = 0; i < types.size(); ++i)
    parts.push_back(s.make(Op::GetTupleElement, {whole}, ir::TupleIndexAttr{static_cast<int64_t>(i)}));
  return s.make(Op::Tuple, parts, ir::NoAttr{});
}

Value sample_reduce_of_ones(Sampler& s) {
  Type scalar = s.context().scalar(s.element());
  Ints wide = s.shape(2);
  auto at = s.below(static_cast<int64_t>(wide.size()) + 1);
  wide.insert(wide.begin() + at, 1);
  return sample_reduce(s, s.parameter(s.array(s.element(), wide)), {at}, s.parameter(scalar), sample_reducer(s, scalar));
}

Value sample_reduce_of_reduce(Sampler& s) {
  Type scalar = s.context().scalar(s.element());
  const ir::Computation* reducer = sample_reducer(s, scalar);
  Value x = s.parameter(s.array(s.element(), s.shape()));
  Value inner = sample_reduce(s, x, s.subset(x->type.rank()), sample_initial(s, scalar), reducer);
  return sample_reduce(s, inner, s.subset(inner->type.rank()), sample_initial(s, scalar), reducer);
}

Value sample_reduce_of_transpose(Sampler& s) {
  return sample_reduce_of(s, s.random_op(Op::Transpose, {s.parameter(s.array(s.element(), s.shape()))}));
}
Value sample_reduce_of_broadcast(Sampler& s) {
  return sample_reduce_of(s, s.random_op(Op::Broadcast, {s.parameter(s.array(s.element(), s.shape(2)))}));
}
Value sample_reduce_of_pad(Sampler& s) {
  Type scalar = s.context().scalar(s.element());
  Value padded = s.random_op(Op::Pad, {s.parameter(s.array(s.element(), s.shape(2))), sample_initial(s, scalar)});
  return sample_reduce_of(s, padded);
}

Value sample_adjacent_slices(Sampler& s) {
  Ints sizes = s.shape();
  if (sizes.empty()) sizes.push_back(4);
  auto dim = static_cast<size_t>(s.below(static_cast<int64_t>(sizes.size())));
  Value x = s.parameter(s.array(s.element(), sizes));
  ir::SliceAttr attr{Ints(sizes.size(), 0), sizes, Ints(sizes.size(), 1)};
  std::vector<Value> operands;
  for (int64_t i = 2 + s.below(3); i-- > 0;) {
    attr.start[dim] = operands.empty() || s.chance(4) ? s.below(sizes[dim] + 1) : attr.limit[dim];
    attr.limit[dim] = attr.start[dim] + s.below(sizes[dim] - attr.start[dim] + 1);
    operands.push_back(s.make(Op::Slice, {x}, attr));
  }
  return s.make(Op::Concatenate, operands, ir::DimsAttr{{static_cast<int64_t>(dim)}});
}

Value sample_uniform_parts(Sampler& s) {
  Ints sizes = s.shape();
  if (sizes.empty()) sizes.push_back(2);
  int64_t dim = s.below(static_cast<int64_t>(sizes.size()));
  Value scalar = s.constant(s.context().scalar(s.element()), true);
  std::vector<Value> operands;
  for (int64_t i = 1 + s.below(3); i-- > 0;) {
    sizes[static_cast<size_t>(dim)] = s.below(4);
    operands.push_back(s.builder().make(Op::Broadcast, s.array(s.element(), sizes), {scalar}, ir::BroadcastAttr{}));
  }
  return s.make(Op::Concatenate, operands, ir::DimsAttr{{dim}});
}

Value sample_uniform_pad(Sampler& s) {
  Value scalar = s.constant(s.context().scalar(s.element()), true);
  Type type = s.array(s.element(), s.shape());
  Value inside = s.chance(4) ? s.parameter(type) : s.builder().make(Op::Broadcast, type, {scalar}, ir::BroadcastAttr{});
  return s.random_op(Op::Pad, {inside, scalar});
}

Value sample_window_of_broadcast(Sampler& s) {
  Value wide = s.random_op(Op::Broadcast, {s.parameter(s.array(s.element(), s.shape(2)))});
  return wide ? sample_dynamic_slice(s, wide, sample_window(s, wide->type), sample_starts(s, wide->type)) : nullptr;
}
Value sample_window_of_transpose(Sampler& s) {
  Value turned = s.random_op(Op::Transpose, {s.parameter(s.array(s.element(), s.shape()))});
  return turned ? sample_dynamic_slice(s, turned, sample_window(s, turned->type), sample_starts(s, turned->type)) : nullptr;
}
Value sample_window_of_elementwise(Sampler& s) {
  Value f = sample_elementwise(s);
  return f ? sample_dynamic_slice(s, f, sample_window(s, f->type), sample_starts(s, f->type)) : nullptr;
}
Value sample_window_of_update(Sampler& s) {
  Value x = s.parameter(s.array(s.element(), s.shape()));
  std::vector<Value> starts = sample_starts(s, x->type);
  Value update = s.parameter(s.array(s.element(), sample_window(s, x->type)));
  return sample_dynamic_slice(s, sample_dynamic_update(s, x, update, starts), update->type.sizes(), starts);
}
Value sample_slice_of_update(Sampler& s) {
  Value x = s.parameter(s.array(s.element(), s.shape()));
  Value update = s.parameter(s.array(s.element(), sample_window(s, x->type)));
  std::vector<Value> starts = sample_starts(s, x->type);
  for (Value& start : starts)
    if (!s.chance(3)) start = s.builder().constant(*scalar_literal(s.context(), ElementType::s32, Special::number, s.below(4)));
  return s.random_op(Op::Slice, {sample_dynamic_update(s, x, update, starts)});
}
Value sample_update_by_window(Sampler& s) {
  Value x = s.parameter(s.array(s.element(), s.shape()));
  std::vector<Value> starts = sample_starts(s, x->type);
  return sample_dynamic_update(s, x, sample_dynamic_slice(s, x, sample_window(s, x->type), starts), starts);
}
Value sample_update_of_update(Sampler& s) {
  Value x = s.parameter(s.array(s.element(), s.shape()));
  std::vector<Value> starts = sample_starts(s, x->type);
  Type window = s.array(s.element(), sample_window(s, x->type));
  return sample_dynamic_update(s, sample_dynamic_update(s, x, s.parameter(window), starts), s.parameter(window), starts);
}
Value sample_empty_update(Sampler& s) {
  Ints sizes = s.shape();
  if (sizes.empty()) sizes.push_back(2);
  Value x = s.parameter(s.array(s.element(), sizes));
  sizes[static_cast<size_t>(s.below(static_cast<int64_t>(sizes.size())))] = 0;
  return sample_dynamic_update(s, x, s.parameter(s.array(s.element(), sizes)), sample_starts(s, x->type));
}

Value sample_sort_of_one(Sampler& s) {
  Ints sizes = s.shape(2);
  int64_t dim = s.below(static_cast<int64_t>(sizes.size()) + 1);
  sizes.insert(sizes.begin() + dim, s.below(2));
  ir::ComputationBuilder builder(s.builder().context(), "less");
  std::vector<Value> operands, parameters;
  std::vector<Type> types;
  for (int64_t i = 1 + s.below(2); i-- > 0;) {
    ElementType element = operands.empty() ? s.element() : s.any_element();
    Type scalar = s.context().scalar(element);
    parameters.push_back(builder.parameter(std::ssize(parameters), scalar));
    parameters.push_back(builder.parameter(std::ssize(parameters), scalar));
    operands.push_back(s.parameter(s.array(element, sizes)));
    types.push_back(operands.back()->type);
  }
  Value less = builder.make(Op::Compare, s.context().scalar(ElementType::pred), {parameters[0], parameters[1]},
                            ir::CompareAttr{is_complex(s.element()) ? ir::Direction::EQ : ir::Direction::LT, ir::CompareType::unset});
  const ir::Computation* comparator = s.keep(builder.finish(less));
  Type type = types.size() == 1 ? types[0] : s.context().tuple(types);
  return s.builder().make(Op::Sort, type, operands, ir::SortAttr{dim, s.chance(2)}, std::span(&comparator, 1));
}

Value sample_slice_of_elementwise(Sampler& s) {
  Value f = sample_elementwise(s);
  return f ? s.random_op(Op::Slice, {f}) : nullptr;
}
Value sample_slice_of_reduce(Sampler& s) {
  return s.random_op(Op::Slice, {sample_reduce_of(s, s.parameter(s.array(s.element(), s.shape())))});
}

Value sample_window_of_dot(Sampler& s) {
  Value dot = s.random_op(Op::Dot, {});
  return dot ? sample_dynamic_slice(s, dot, sample_window(s, dot->type), sample_starts(s, dot->type)) : nullptr;
}
Value sample_window_of_reduce(Sampler& s) {
  Value reduce = sample_reduce_of(s, s.parameter(s.array(s.element(), s.shape())));
  return reduce ? sample_dynamic_slice(s, reduce, sample_window(s, reduce->type), sample_starts(s, reduce->type)) : nullptr;
}

Value sample_slice_of_pad(Sampler& s) {
  Value x = s.parameter(s.array(s.element(), s.shape()));
  ir::PadAttr padding;
  for (int64_t d = 0; d < x->type.rank(); ++d) {
    padding.low.push_back(s.below(5) - 1);
    padding.high.push_back(s.below(5) - 1);
    padding.interior.push_back(s.chance(4) ? 1 : 0);
  }
  Value padded = s.make(Op::Pad, {x, s.parameter(s.context().scalar(s.element()))}, padding);
  return padded ? s.random_op(Op::Slice, {padded}) : nullptr;
}

// Parts of one size each along the dimension in which they are joined, so that often nothing is left to reduce.
Value sample_reduce_of_parts(Sampler& s) {
  Ints sizes = s.shape(2);
  auto along = s.below(static_cast<int64_t>(sizes.size()) + 1);
  sizes.insert(sizes.begin() + along, 1);
  Ints dims{along};
  if (s.chance(3) && sizes.size() > 1) {  // another dimension, of size 1
    dims = {along == 0 ? 1 : 0};
    sizes[static_cast<size_t>(dims[0])] = 1;
  }
  std::vector<Value> parts;
  for (int64_t i = 2 + s.below(2); i-- > 0;) parts.push_back(s.parameter(s.array(s.element(), sizes)));
  Value whole = s.make(Op::Concatenate, parts, ir::DimsAttr{{along}});
  Type scalar = s.context().scalar(s.element());
  return whole ? sample_reduce(s, whole, dims, sample_initial(s, scalar), sample_reducer(s, scalar)) : nullptr;
}

namespace {

Value sample_power_of(Sampler& s, std::optional<ir::Literal> exponent) {
  Type type = s.array(s.element(), s.shape());
  if (!exponent) return nullptr;
  Value one = s.builder().constant(*std::move(exponent));
  if (type.rank() > 0) one = s.builder().make(Op::Broadcast, type, {one}, ir::BroadcastAttr{});
  return s.make(Op::Power, {s.parameter(type), one});
}

}  // namespace

Value sample_root(Sampler& s) {
  if (!is_float(s.element())) return nullptr;
  return sample_power_of(s, scalar_from_double(s.context(), s.element(), s.chance(2) ? 0.5 : -0.5));
}
Value sample_small_power(Sampler& s) {
  return sample_power_of(s, scalar_literal(s.context(), s.element(), Special::number, 3 + s.below(is_integer(s.element()) ? 5 : 2)));
}

Value sample_outer_product(Sampler& s) {
  Ints left = s.shape(2), right = s.shape(2);
  ir::DotAttr attr;
  if (!left.empty() && s.chance(3)) {  // a batch dimension
    int64_t at = s.below(static_cast<int64_t>(right.size()) + 1), from = s.below(static_cast<int64_t>(left.size()));
    right.insert(right.begin() + at, left[static_cast<size_t>(from)]);
    attr.lhs_batch.push_back(from);
    attr.rhs_batch.push_back(at);
  }
  auto widen = [&](Ints& sizes, Ints& batch, Ints& contracting) {
    int64_t at = s.below(static_cast<int64_t>(sizes.size()) + 1);
    sizes.insert(sizes.begin() + at, 1);
    for (int64_t& b : batch) b += b >= at ? 1 : 0;
    contracting.push_back(at);
  };
  widen(left, attr.lhs_batch, attr.lhs_contracting);
  widen(right, attr.rhs_batch, attr.rhs_contracting);
  return s.make(Op::Dot, {s.parameter(s.array(s.element(), left)), s.parameter(s.array(s.element(), right))}, attr);
}

Value sample_times_pred(Sampler& s) {
  Ints sizes = s.shape();
  Value which = s.parameter(s.array(ElementType::pred, sizes));
  Value number = s.builder().make(Op::Convert, s.array(s.element(), sizes), {which});
  return s.make(Op::Multiply, {s.parameter(s.array(s.element(), sizes)), number});
}

// Values whose ranges are known, near the numbers at which they are compared and clamped.
Value sample_ranged(Sampler& s, Op op) {
  if (!is_integer(s.element())) return nullptr;
  Ints sizes = s.shape();
  if (sizes.empty()) sizes.push_back(3);
  Type type = s.array(s.element(), sizes);
  auto number = [&](int64_t value) -> Value {
    std::optional<ir::Literal> scalar = scalar_literal(s.context(), s.element(), Special::number, value);
    return scalar ? s.builder().make(Op::Broadcast, type, {s.builder().constant(*std::move(scalar))}, ir::BroadcastAttr{}) : nullptr;
  };
  auto ranged = [&]() -> Value {
    Value of = s.parameter(type);
    switch (s.below(7)) {
      case 0: return s.builder().make(Op::Iota, type, std::array<Value, 0>{}, ir::IotaAttr{s.below(type.rank())});
      case 1: return s.make(Op::And, {of, number(s.below(8))});
      case 2: return s.make(Op::Remainder, {of, number(1 + s.below(7))});
      case 3: return s.make(Op::Clamp, {number(s.below(3) - 1), of, number(2 + s.below(4))});
      case 4: return s.make(Op::Convert, {s.parameter(s.array(ElementType::pred, sizes))}, ir::NoAttr{});
      case 5: return s.make(Op::Add, {s.make(Op::And, {of, number(3)}), number(s.below(6) - 2)});
      default: return number(s.below(6) - 1);
    }
  };
  std::vector<Value> operands;
  for (int16_t k = 0; k < ir::facts(op).min_operands; ++k) operands.push_back(ranged());
  if (std::ranges::find(operands, nullptr) != operands.end()) return nullptr;
  return s.random_op(op, operands);
}

}  // namespace hloc::passes::rules
