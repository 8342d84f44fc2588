#include "passes/rewrite/sample.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "ir/infer/infer.h"
#include "ir/support/float_formats.h"
#include "passes/rewrite/engine.h"

namespace hloc::passes {

using ir::Ints;
using ir::Op;
using ir::Type;
using ir::Value;

Sampler::Sampler(ir::ContextRef context, uint64_t seed, ElementType element)
    : random_(seed), builder_(std::move(context), "sample", ir::Interning::intern), element_(element) {
  cube_ = chance(2) ? 1 + below(3) : 0;
}

ElementType Sampler::any_element() {
  if (!chance(4)) return element_;
  if (chance(2)) return ElementType::pred;
  return static_cast<ElementType>(1 + below(static_cast<int64_t>(ElementType::c128)));
}

Ints Sampler::shape(int64_t most_rank) {
  if (shaped_ && static_cast<int64_t>(last_shape_.size()) <= most_rank && !chance(4)) return last_shape_;
  Ints out(static_cast<size_t>(below(most_rank + 1)));
  for (int64_t& size : out) size = cube_ > 0 ? cube_ : chance(12) ? 0 : chance(3) ? 1 : 1 + below(4);
  if (!shaped_) last_shape_ = out;
  shaped_ = true;
  return out;
}

Ints Sampler::permutation(int64_t n) {
  Ints out(static_cast<size_t>(n));
  std::iota(out.begin(), out.end(), 0);
  if (!chance(4)) std::shuffle(out.begin(), out.end(), random_);
  return out;
}

Ints Sampler::subset(int64_t n) {
  Ints out;
  for (int64_t i = 0; i < n; ++i)
    if (chance(2)) out.push_back(i);
  return out;
}

ir::Attr Sampler::plain_attr(Op op) { return default_attr(op); }

Value Sampler::parameter(Type type) { return builder_.parameter(parameters_++, type); }

Value Sampler::constant(Type type, bool uniform) {
  if (!uniform) return builder_.constant(fill(type));
  Value scalar = builder_.constant(fill(context().scalar(type.element())));
  return type.rank() == 0 ? scalar : builder_.make(Op::Broadcast, type, {scalar}, ir::BroadcastAttr{});
}

Value Sampler::make(Op op, std::span<const Value> operands, ir::Attr attr) {
  std::vector<Type> types;
  for (Value v : operands) {
    if (!v) return nullptr;
    types.push_back(v->type);
  }
  Result<Type> type = ir::infer(context(), op, types, attr, {});
  return type && *type ? builder_.make(op, *type, operands, std::move(attr)) : nullptr;
}

namespace {

// Values at which laws of arithmetic break, then anything.
double special_double(int64_t which) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double values[] = {0.0,  -0.0, 1.0,       -1.0, infinity, -infinity, std::numeric_limits<double>::quiet_NaN(),
                               2.0,  0.5,  -3.0,      1e30, -1e-30,   1e300,     5e-324,
                               1e-4, 4.0,  0.3333333, 7.0,  6e-8,     65504.0};
  return values[static_cast<size_t>(which) % std::size(values)];
}

template <class T>
T sample_element(std::mt19937_64& random, ElementType element) {
  uint64_t bits = random();
  if constexpr (std::is_same_v<T, bool>) {
    return (bits & 1) != 0;
  } else if constexpr (is_complex_type<T>) {
    using Part = typename T::value_type;
    ElementType part = std::is_same_v<Part, float> ? ElementType::f32 : ElementType::f64;
    Part re = sample_element<Part>(random, part);
    return T(re, sample_element<Part>(random, part));
  } else if constexpr (is_int_type<T>) {
    int width = bit_width(element);
    uint64_t top = uint64_t{1} << (width - 1);
    const uint64_t values[] = {0, 1, ~uint64_t{0}, top, top - 1, 2, 3, 4, 8, random()};
    return static_cast<T>(static_cast<int64_t>(values[bits % std::size(values)]));
  } else {
    if (bits % 4 != 0) return static_cast<T>(special_double(static_cast<int64_t>(bits >> 8 & 0xffff)));
    T value;  // any bits: NaN payloads, subnormals; sub-byte formats keep to their bits
    uint64_t any = random();
    if (int width = bit_width(element); width < 8) any &= (uint64_t{1} << width) - 1;
    std::memcpy(static_cast<void*>(&value), &any, sizeof value);
    return value;
  }
}

}  // namespace

ir::Literal Sampler::fill(Type type) {
  if (type.is_token()) return ir::Literal::token(type);
  if (type.is_tuple()) return ir::build_up<ir::Literal>(type, [this](Type leaf) { return fill(leaf); }, ir::Literal::tuple);
  ir::Literal out = ir::Literal::uninitialized(type);
  visit_element(type.element(), [&](auto tag) {
    using T = decltype(tag);
    for (T& value : out.mutable_data<T>()) value = sample_element<T>(random_, type.element());
  });
  return out;
}

Value Sampler::leaf(const PatNode& node, Type type) {
  if (node.kind == PatNode::literal) {
    if (!type.is_array()) return nullptr;
    std::optional<ir::Literal> scalar = scalar_literal(context(), type.element(), node.special, node.value);
    if (!scalar) return nullptr;
    Value one = builder_.constant(*std::move(scalar));
    return type.rank() == 0 ? one : builder_.make(Op::Broadcast, type, {one}, ir::BroadcastAttr{});
  }
  Value& bound = variables_[node.number];
  if (!bound) {
    if (node.kind == PatNode::constant) bound = constant(type, true);
    else bound = type.is_array() && chance(6) ? constant(type, chance(2)) : parameter(type);
  }
  return bound;
}

Value Sampler::instance(const Pat& pattern) {
  // A leaf waits until its op says which type it needs.
  struct Item {
    Value value;
    const PatNode* leaf;
  };
  std::vector<Item> stack;
  for (uint8_t i = 0; i < pattern.size; ++i) {
    const PatNode& node = pattern.nodes[i];
    bool is_leaf = node.kind == PatNode::variable || node.kind == PatNode::constant || node.kind == PatNode::literal;
    if (is_leaf) {
      Value bound = node.kind == PatNode::literal ? nullptr : variables_[node.number];
      stack.push_back({bound, &node});
      continue;
    }
    size_t arity = node.arity == PatNode::any_arity ? 0 : node.arity;
    std::span<Item> items = std::span(stack).last(arity);
    // Leaves take the type of a neighbour that is known, where the op's operands have one type.
    Type neighbour;
    size_t first = node.op == Op::Select ? 1 : 0;
    for (size_t k = first; k < arity; ++k)
      if (items[k].value) neighbour = items[k].value->type;
    bool one_type = ir::is_elementwise(node.op) && arity > 0;
    if (one_type && !neighbour) {
      Ints sizes = first == 1 && items[0].value ? items[0].value->type.sizes() : shape();
      neighbour = array(any_element(), sizes);
    }
    std::vector<Value> operands;
    for (size_t k = 0; k < arity; ++k) {
      Type want = neighbour;
      if (first == 1 && k == 0) want = array(ElementType::pred, chance(6) ? Ints{} : neighbour.sizes());
      if (node.op == Op::AfterAll) want = context().token();
      if (!items[k].value && want && !(node.op == Op::Clamp && k != 1 && chance(4)))
        items[k].value = leaf(*items[k].leaf, want);
      else if (!items[k].value && want)
        items[k].value = leaf(*items[k].leaf, context().scalar(want.element()));
      operands.push_back(items[k].value);
    }
    std::optional<ir::Direction> direction;
    if (node.attr.kind == AttrExpr::direction) direction = node.attr.compare;
    Value made = random_op(node.op, operands, direction);
    if (!made) return nullptr;
    for (size_t k = 0; k < arity; ++k)  // what random_op made up is the variable from here on
      if (!items[k].value && items[k].leaf->kind != PatNode::literal)
        variables_[items[k].leaf->number] = made->operand(k);
    stack.resize(stack.size() - arity);
    stack.push_back({made, nullptr});
  }
  return stack.back().value;
}

}  // namespace hloc::passes
