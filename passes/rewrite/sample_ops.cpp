// Random ops: each with an attribute and shapes that fit, and operands made up where none are given.
#include <algorithm>

#include "passes/rewrite/engine.h"
#include "passes/rewrite/sample.h"

namespace hloc::passes {

using ir::Ints;
using ir::Op;
using ir::Type;
using ir::Value;

Value Sampler::array_or(Value v, int64_t least_rank) {
  if (v) return v;
  Ints sizes = shape();
  while (static_cast<int64_t>(sizes.size()) < least_rank) sizes.push_back(cube_ > 0 ? cube_ : 1 + below(3));
  Type type = array(any_element(), sizes);
  return chance(8) ? constant(type, chance(2)) : parameter(type);
}

Value Sampler::random_op(Op op, std::vector<Value> operands, std::optional<ir::Direction> direction) {
  auto given = [&](size_t i) { return i < operands.size() ? operands[i] : nullptr; };
  for (Value v : operands)
    if (v && !v->type.is_array() && op != Op::Tuple && op != Op::AfterAll && op != Op::GetTupleElement) return nullptr;
  if (op == Op::Convert || op == Op::BitcastConvert || op == Op::ReducePrecision) return random_conversion(op, given(0));
  if (ir::is_elementwise(op)) return random_elementwise(op, std::move(operands), direction);
  if (op == Op::Broadcast) return random_broadcast(array_or(given(0)));
  if (op == Op::Reshape) return random_reshape(array_or(given(0)));
  if (op == Op::Slice) return random_slice(array_or(given(0)));
  if (op == Op::Pad) return random_pad(array_or(given(0)), given(1));
  if (op == Op::Concatenate) return random_concatenate();
  if (op == Op::DynamicSlice) return random_dynamic_slice();
  if (op == Op::DynamicUpdateSlice) return random_dynamic_update();
  if (op == Op::Dot) return random_dot(given(0), given(1));
  if (op == Op::Transpose) {
    Value x = array_or(given(0));
    return make(op, {x}, ir::DimsAttr{permutation(x->type.rank())});
  }
  if (op == Op::Reverse) {
    Value x = array_or(given(0));
    return make(op, {x}, ir::DimsAttr{subset(x->type.rank())});
  }
  if (op == Op::Constant) return constant(array(any_element(), shape()), false);
  if (op == Op::Copy || op == Op::Bitcast) {
    Value x = array_or(given(0));
    return builder_.make(op, x->type, {x});
  }
  if (op == Op::Iota) {
    Ints sizes = shape();
    sizes.push_back(cube_ > 0 ? cube_ : 1 + below(3));
    return builder_.make(op, array(any_element(), sizes), {}, ir::IotaAttr{below(static_cast<int64_t>(sizes.size()))});
  }
  if (op == Op::GetDimensionSize) {
    Value x = array_or(given(0), 1);
    return make(op, {x}, ir::DimsAttr{{below(x->type.rank())}});
  }
  if (op == Op::Tuple) {
    std::vector<Value> parts;
    for (int64_t i = 1 + below(3); i-- > 0;) parts.push_back(array_or(nullptr));
    return make(op, parts, ir::NoAttr{});
  }
  if (op == Op::GetTupleElement && given(0))
    return make(op, {given(0)}, ir::TupleIndexAttr{below(static_cast<int64_t>(given(0)->type.tuple_size()))});
  if (op == Op::AfterAll) return make(op, operands, ir::NoAttr{});
  return nullptr;
}

Value Sampler::random_elementwise(Op op, std::vector<Value> operands, std::optional<ir::Direction> direction) {
  ir::Attr attr = default_attr(op);
  for (Value v : operands)
    if (!v) return nullptr;
  if (op == Op::Compare) {
    ir::CompareAttr compare{direction.value_or(static_cast<ir::Direction>(below(6))), ir::CompareType::unset};
    if (is_float(operands[0]->type.element()) && chance(3)) compare.type = ir::CompareType::TOTALORDER;
    attr = compare;
  }
  return make(op, operands, std::move(attr));
}

Value Sampler::random_conversion(Op op, Value given) {
  Value x = array_or(given);
  if (op == Op::ReducePrecision) {
    constexpr int64_t exponents[] = {2, 4, 5, 8, 11}, mantissas[] = {0, 2, 3, 7, 10, 23, 52};
    return make(op, {x}, ir::ReducePrecisionAttr{exponents[below(5)], mantissas[below(7)]});
  }
  auto element = static_cast<ElementType>(1 + below(static_cast<int64_t>(ElementType::c128)));
  if (op == Op::Convert && chance(3)) element = chance(2) ? element_ : ElementType::f32;
  if (op == Op::BitcastConvert) {
    for (int i = 0; i < 40 && bit_width(element) != bit_width(x->type.element()); ++i)
      element = static_cast<ElementType>(1 + below(static_cast<int64_t>(ElementType::c128)));
    bool any_complex = is_complex(element) || is_complex(x->type.element());
    if (bit_width(element) != bit_width(x->type.element()) || any_complex) return nullptr;
    if ((element == ElementType::pred) != (x->type.element() == ElementType::pred)) return nullptr;
  }
  return builder_.make(op, context().with_element(x->type, element), {x});
}

Value Sampler::random_broadcast(Value x) {
  int64_t rank = x->type.rank() + below(3);
  Ints places = permutation(rank), sizes(static_cast<size_t>(rank));
  Ints dims(places.begin(), places.begin() + x->type.rank());
  if (!chance(4)) std::ranges::sort(dims);
  for (int64_t& size : sizes) size = cube_ > 0 ? cube_ : chance(16) ? 0 : 1 + below(4);
  for (size_t i = 0; i < dims.size(); ++i) sizes[static_cast<size_t>(dims[i])] = x->type.dim(static_cast<int64_t>(i));
  return builder_.make(Op::Broadcast, array(x->type.element(), sizes), {x}, ir::BroadcastAttr{dims});
}

// Dimensions merge with the next, split, or come and go when their size is 1.
Value Sampler::random_reshape(Value x) {
  Ints sizes = x->type.sizes();
  for (int64_t step = 1 + below(3); step-- > 0;) {
    auto count = static_cast<int64_t>(sizes.size());
    int64_t i = count > 0 ? below(count) : 0;
    auto at = static_cast<size_t>(i);
    int64_t what = below(4);
    if (what == 0) sizes.insert(sizes.begin() + below(count + 1), 1);
    if (what == 1 && count > 0 && sizes[at] == 1) sizes.erase(sizes.begin() + i);
    if (what == 2 && i + 1 < count) {
      sizes[at] *= sizes[at + 1];
      sizes.erase(sizes.begin() + i + 1);
    }
    if (what == 3 && count > 0 && sizes[at] % 2 == 0) {
      sizes[at] /= 2;
      sizes.insert(sizes.begin() + i, 2);
    }
  }
  return builder_.make(Op::Reshape, array(x->type.element(), sizes), {x}, ir::ReshapeAttr{});
}

Value Sampler::random_slice(Value x) {
  ir::SliceAttr attr;
  for (const ir::Dim& d : x->type.dims()) {
    bool whole = chance(3);
    int64_t start = whole ? 0 : below(d.size + 1), limit = whole ? d.size : start + below(d.size - start + 1);
    attr.start.push_back(start);
    attr.limit.push_back(limit);
    attr.stride.push_back(chance(3) ? 2 : 1);
  }
  return make(Op::Slice, {x}, attr);
}

Value Sampler::random_pad(Value x, Value filler) {
  ir::PadAttr attr;
  bool nothing = chance(3);
  for (int64_t d = 0; d < x->type.rank(); ++d) {
    attr.low.push_back(nothing ? 0 : below(4) - 1);
    attr.high.push_back(nothing ? 0 : below(4) - 1);
    attr.interior.push_back(below(2) * below(2));
  }
  if (!filler) filler = parameter(context().scalar(x->type.element()));
  return make(Op::Pad, {x, filler}, attr);
}

Value Sampler::random_concatenate() {
  Ints sizes = shape();
  if (sizes.empty()) sizes.push_back(1);
  int64_t dim = below(static_cast<int64_t>(sizes.size()));
  ElementType element = any_element();
  std::vector<Value> operands;
  for (int64_t i = 1 + below(3); i-- > 0;) {
    sizes[static_cast<size_t>(dim)] = below(4);
    operands.push_back(parameter(array(element, sizes)));
  }
  return make(Op::Concatenate, operands, ir::DimsAttr{{dim}});
}

Value Sampler::random_dynamic_slice() {
  Value x = array_or(nullptr);
  std::vector<Value> operands{x};
  Ints sizes;
  bool whole = chance(3);
  for (const ir::Dim& d : x->type.dims()) {
    operands.push_back(chance(2) ? parameter(context().scalar(ElementType::s32))
                                 : constant(context().scalar(chance(2) ? ElementType::s32 : ElementType::u64), true));
    sizes.push_back(whole ? d.size : below(d.size + 1));
  }
  for (size_t i = 2; i < operands.size(); ++i)  // indices have one type
    if (operands[i]->type != operands[1]->type) operands[i] = operands[1];
  return make(Op::DynamicSlice, operands, ir::DynamicSliceAttr{sizes});
}

Value Sampler::random_dynamic_update() {
  Value x = array_or(nullptr);
  Ints sizes = x->type.sizes();
  if (!chance(2))
    for (int64_t& size : sizes) size = below(size + 1);
  std::vector<Value> operands{x, parameter(array(x->type.element(), sizes))};
  for (int64_t d = 0; d < x->type.rank(); ++d) operands.push_back(parameter(context().scalar(ElementType::s32)));
  return make(Op::DynamicUpdateSlice, operands, ir::NoAttr{});
}

Value Sampler::random_dot(Value x, Value y) {
  ir::DotAttr attr;
  bool swapped = !x && y;  // the given side first
  Value a = swapped ? y : array_or(x, 1);
  Value b = swapped ? x : y;
  Ints order = permutation(a->type.rank());
  int64_t contracted = below(std::min<int64_t>(a->type.rank(), 2) + 1);
  int64_t batch = below(std::min<int64_t>(a->type.rank() - contracted, 1) + 1);
  Ints contracting(order.begin(), order.begin() + contracted);
  Ints batching(order.begin() + contracted, order.begin() + contracted + batch);
  Ints other_contracting, other_batch;
  if (!b) {
    int64_t rank = contracted + batch + below(2);
    Ints sizes(static_cast<size_t>(rank), cube_ > 0 ? cube_ : 1 + below(3)), places = permutation(rank);
    for (int64_t i = 0; i < contracted + batch; ++i) {
      int64_t place = places[static_cast<size_t>(i)];
      sizes[static_cast<size_t>(place)] = a->type.dim(order[static_cast<size_t>(i)]);
      (i < contracted ? other_contracting : other_batch).push_back(place);
    }
    b = parameter(array(a->type.element(), sizes));
  } else {
    Ints places = permutation(b->type.rank());
    if (contracted + batch > b->type.rank()) return nullptr;
    other_contracting.assign(places.begin(), places.begin() + contracted);
    other_batch.assign(places.begin() + contracted, places.begin() + contracted + batch);
  }
  attr.lhs_contracting = swapped ? other_contracting : contracting;
  attr.rhs_contracting = swapped ? contracting : other_contracting;
  attr.lhs_batch = swapped ? other_batch : batching;
  attr.rhs_batch = swapped ? batching : other_batch;
  return swapped ? make(Op::Dot, {b, a}, attr) : make(Op::Dot, {a, b}, attr);
}

}  // namespace hloc::passes
