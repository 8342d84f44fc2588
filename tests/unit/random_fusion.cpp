#include "tests/unit/random_fusion.h"

#include <algorithm>
#include <cstring>

#include "backends/loops/lower.h"
#include "ir/eval/eval.h"

namespace hloc::test {
namespace {

using ir::Op;

constexpr ElementType element_choices[] = {ElementType::f32, ElementType::f32, ElementType::f32, ElementType::s32,
                                           ElementType::f64, ElementType::u8, ElementType::s64};

int64_t product_of(const std::vector<int64_t>& sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return n;
}

}  // namespace

std::vector<ir::Literal> RandomFusion::inputs(const ir::Computation& computation) {
  std::vector<ir::Literal> list;
  for (ir::Value p : computation.parameters()) {
    ir::Literal l = ir::Literal::uninitialized(p->type);
    auto bytes = l.mutable_bytes();
    auto width = static_cast<size_t>(byte_width(p->type.element()));
    for (size_t i = 0; i < bytes.size(); i += width) {
      int64_t number = is_unsigned_integer(p->type.element()) || p->type.element() == ElementType::pred ? pick(4) : pick(7) - 3;
      uint64_t bits = loops::constant_bits(p->type.element(), number);
      std::memcpy(bytes.data() + i, &bits, width);
    }
    list.push_back(std::move(l));
  }
  return list;
}

ir::Value RandomFusion::any_of(ElementType element) {
  std::vector<ir::Value> fitting;
  for (ir::Value v : values_)
    if (v->type.element() == element) fitting.push_back(v);
  return fitting.empty() ? as(any(), element) : fitting[static_cast<size_t>(pick(static_cast<int64_t>(fitting.size())))];
}

ir::Value RandomFusion::scalar(ElementType element, int64_t value) {
  ir::Literal l = ir::Literal::uninitialized(context_->scalar(element));
  uint64_t bits = loops::constant_bits(element, value);
  std::memcpy(l.mutable_bytes().data(), &bits, l.size());
  return b_->constant(l);
}

ir::Value RandomFusion::as(ir::Value v, ElementType element) {
  if (v->type.element() == element) return v;
  return b_->make(Op::Convert, context_->with_element(v->type, element), {v});
}

ir::Value RandomFusion::like(ir::Value v, ir::Type type) {
  type = context_->with_element(type, v->type.element());
  if (v->type == type) return v;
  if (v->type.count() == type.count()) return b_->make(Op::Reshape, type, {v}, ir::ReshapeAttr{});
  ir::Value s = v;
  if (v->type.rank() > 0) {
    auto rank = static_cast<size_t>(v->type.rank());
    Sizes ones(rank, 1);
    ir::SliceAttr cut{Sizes(rank, 0), ones, ones};
    for (size_t d = 0; d < rank; ++d) {
      cut.start[d] = pick(v->type.dim(static_cast<int64_t>(d)));
      cut.limit[d] = cut.start[d] + 1;
    }
    s = b_->make(Op::Slice, context_->array(v->type.element(), ones), {v}, cut);
    s = b_->make(Op::Reshape, context_->scalar(v->type.element()), {s}, ir::ReshapeAttr{});
  }
  return b_->make(Op::Broadcast, type, {s}, ir::BroadcastAttr{});
}

const ir::Computation* RandomFusion::reducer(Op op, ElementType element) {
  ir::ComputationBuilder r(context_, "reducer", ir::Interning::append);
  ir::Type t = context_->scalar(element);
  ir::Value a = r.parameter(0, t), b = r.parameter(1, t);
  reducers_.push_back(r.finish(r.make(op, t, {a, b})));
  return reducers_.back().get();
}

ir::Value RandomFusion::elementwise() {
  ir::Value a = any(), b = like(as(any(), a->type.element()), a->type);
  if (a->type.element() == ElementType::pred) {
    constexpr Op ops[] = {Op::And, Op::Or, Op::Xor};
    return b_->make(ops[pick(3)], a->type, {a, b});
  }
  constexpr Op binary[] = {Op::Add, Op::Subtract, Op::Maximum, Op::Minimum};
  if (pick(4) == 0) return b_->make(pick(2) ? Op::Negate : Op::Abs, a->type, {a}, ir::UnaryAttr{});
  return b_->make(binary[pick(4)], a->type, {a, b});
}

ir::Value RandomFusion::choose() {
  ir::Value a = any(), b = like(as(any(), a->type.element()), a->type);
  ir::Value p = b_->make(Op::Compare, context_->with_element(a->type, ElementType::pred), {a, b},
                         ir::CompareAttr{static_cast<ir::Direction>(pick(6)), ir::CompareType::unset});
  return pick(2) ? b_->make(Op::Select, a->type, {p, a, b}) : as(p, ElementType::s32);
}

ir::Value RandomFusion::broadcast() {
  ir::Value a = any();
  if (a->type.rank() > 3 || a->type.count() > 200) return a;
  Sizes sizes = a->type.sizes();
  auto at = static_cast<size_t>(pick(static_cast<int64_t>(sizes.size()) + 1));
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(at), 1 + pick(4));
  ir::BroadcastAttr attr;
  for (size_t d = 0; d < sizes.size(); ++d)
    if (d != at) attr.dims.push_back(static_cast<int64_t>(d));
  return b_->make(Op::Broadcast, context_->array(a->type.element(), sizes), {a}, attr);
}

ir::Value RandomFusion::reshape() {
  ir::Value a = any();
  int64_t n = a->type.count();
  Sizes sizes;
  while (n > 1) {
    Sizes divisors;
    for (int64_t d = 2; d <= n; ++d)
      if (n % d == 0) divisors.push_back(d);
    sizes.push_back(divisors[static_cast<size_t>(pick(static_cast<int64_t>(divisors.size())))]);
    n /= sizes.back();
  }
  if (pick(3) == 0) sizes.insert(sizes.begin() + pick(static_cast<int64_t>(sizes.size()) + 1), 1);
  if (sizes.size() > 5) return a;
  return b_->make(Op::Reshape, context_->array(a->type.element(), sizes), {a}, ir::ReshapeAttr{});
}

ir::Value RandomFusion::transpose() {
  ir::Value a = any();
  ir::DimsAttr attr;
  for (int64_t d = 0; d < a->type.rank(); ++d) attr.dims.push_back(d);
  std::shuffle(attr.dims.begin(), attr.dims.end(), random_);
  if (pick(4) == 0) return b_->make(Op::Reverse, a->type, {a}, ir::DimsAttr{{attr.dims.begin(), attr.dims.begin() + pick(a->type.rank() + 1)}});
  Sizes sizes;
  for (int64_t d : attr.dims) sizes.push_back(a->type.dim(d));
  return b_->make(Op::Transpose, context_->array(a->type.element(), sizes), {a}, attr);
}

ir::Value RandomFusion::slice() {
  ir::Value a = any();
  ir::SliceAttr attr;
  Sizes sizes;
  for (int64_t d = 0; d < a->type.rank(); ++d) {
    int64_t start = pick(a->type.dim(d)), stride = 1 + pick(2);
    int64_t limit = start + 1 + pick(a->type.dim(d) - start);
    attr.start.push_back(start);
    attr.limit.push_back(limit);
    attr.stride.push_back(stride);
    sizes.push_back((limit - start + stride - 1) / stride);
  }
  return b_->make(Op::Slice, context_->array(a->type.element(), sizes), {a}, attr);
}

ir::Value RandomFusion::pad() {
  ir::Value a = any();
  if (a->type.count() > 200) return a;
  ir::PadAttr attr;
  Sizes sizes;
  for (int64_t d = 0; d < a->type.rank(); ++d) {
    int64_t low = pick(4) - 1, high = pick(4) - 1, interior = pick(4) == 0 ? 1 : 0, n = a->type.dim(d);
    int64_t size = low + high + n + (n - 1) * interior;
    if (size <= 0) low = high = 1, size = 2 + n + (n - 1) * interior;
    attr.low.push_back(low);
    attr.high.push_back(high);
    attr.interior.push_back(interior);
    sizes.push_back(size);
  }
  ir::Value value = scalar(a->type.element(), pick(3));
  return b_->make(Op::Pad, context_->array(a->type.element(), sizes), {a, value}, attr);
}

ir::Value RandomFusion::concatenate() {
  ir::Value a = any();
  if (a->type.rank() == 0 || a->type.count() > 200) return a;
  int64_t dim = pick(a->type.rank());
  std::vector<ir::Value> parts{a};
  Sizes sizes = a->type.sizes();
  for (int64_t i = pick(3); i >= 0; --i) {
    Sizes part = a->type.sizes();
    part[static_cast<size_t>(dim)] = 1 + pick(3);
    sizes[static_cast<size_t>(dim)] += part[static_cast<size_t>(dim)];
    parts.push_back(like(as(any(), a->type.element()), context_->array(a->type.element(), part)));
  }
  return b_->make(Op::Concatenate, context_->array(a->type.element(), sizes), parts, ir::DimsAttr{{dim}});
}

ir::Value RandomFusion::dynamic() {
  ir::Value a = any();
  if (a->type.rank() == 0) return a;
  std::vector<ir::Value> starts;
  Sizes sizes;
  ElementType index = pick(2) ? ElementType::s32 : ElementType::s64;
  for (int64_t d = 0; d < a->type.rank(); ++d) {
    starts.push_back(pick(2) ? scalar(index, pick(5) - 1) : like(any_of(index), context_->scalar(index)));
    sizes.push_back(1 + pick(a->type.dim(d)));
  }
  ir::Type part = context_->array(a->type.element(), sizes);
  bool is_update = pick(2) == 0;
  std::vector<ir::Value> operands{a};
  if (is_update) operands.push_back(like(as(any(), a->type.element()), part));
  operands.insert(operands.end(), starts.begin(), starts.end());
  if (is_update) return b_->make(Op::DynamicUpdateSlice, a->type, operands);
  return b_->make(Op::DynamicSlice, part, operands, ir::DynamicSliceAttr{sizes});
}

// Rows of a 2-D (or wider) array by an index vector.
ir::Value RandomFusion::gather() {
  ir::Value a = any();
  if (a->type.rank() == 0 || a->type.count() > 200) return a;
  int64_t n = 1 + pick(4);
  ir::Value indices = like(any_of(ElementType::s32), context_->array(ElementType::s32, {n, 1}));
  ir::GatherAttr attr;
  Sizes sizes{n};
  int64_t dim = pick(a->type.rank());
  for (int64_t d = 0; d < a->type.rank(); ++d) {
    attr.slice_sizes.push_back(d == dim ? 1 : a->type.dim(d));
    if (d == dim) continue;
    attr.offset_dims.push_back(static_cast<int64_t>(sizes.size()));
    sizes.push_back(a->type.dim(d));
  }
  attr.collapsed_slice_dims = attr.start_index_map = {dim};
  attr.index_vector_dim = 1;
  return b_->make(Op::Gather, context_->array(a->type.element(), sizes), {a, indices}, attr);
}

ir::Value RandomFusion::reduce() {
  ir::Value a = any();
  if (a->type.element() == ElementType::pred) a = as(a, ElementType::s32);
  ElementType element = a->type.element();
  ir::DimsAttr attr;
  Sizes kept;
  for (int64_t d = 0; d < a->type.rank(); ++d) {
    if (pick(2)) attr.dims.push_back(d);
    else kept.push_back(a->type.dim(d));
  }
  constexpr Op ops[] = {Op::Add, Op::Maximum, Op::Minimum};
  return b_->make(Op::Reduce, context_->array(element, kept), {a, scalar(element, pick(3))}, attr, {reducer(ops[pick(3)], element)});
}

ir::Value RandomFusion::window() {
  ir::Value a = any();
  if (a->type.element() == ElementType::pred || a->type.rank() == 0) return a;
  ir::WindowAttr attr;
  Sizes sizes;
  for (int64_t d = 0; d < a->type.rank(); ++d) {
    ir::WindowDim w;
    w.size = 1 + pick(3);
    w.stride = 1 + pick(2);
    w.pad_low = pick(2);
    w.pad_high = pick(2);
    w.lhs_dilate = 1 + (pick(4) == 0);
    w.rhs_dilate = 1 + (pick(4) == 0);
    int64_t base = (a->type.dim(d) - 1) * w.lhs_dilate + 1 + w.pad_low + w.pad_high, reach = (w.size - 1) * w.rhs_dilate + 1;
    if (base < reach) return a;
    sizes.push_back((base - reach) / w.stride + 1);
    attr.window.push_back(w);
  }
  if (product_of(sizes) > 400) return a;
  constexpr Op ops[] = {Op::Add, Op::Maximum};
  ElementType element = a->type.element();
  return b_->make(Op::ReduceWindow, context_->array(element, sizes), {a, scalar(element, 0)}, attr, {reducer(ops[pick(2)], element)});
}

ir::Value RandomFusion::dot() {
  ir::Value a = any();
  if (a->type.element() == ElementType::pred || a->type.rank() == 0) return a;
  ElementType element = a->type.element();
  ir::DotAttr attr;
  Sizes out_batch, out, rhs_sizes;
  for (int64_t d = 0; d < a->type.rank(); ++d) {
    int64_t role = pick(3), n = a->type.dim(d);
    if (role == 0) attr.lhs_batch.push_back(d), out_batch.push_back(n);
    if (role == 1) attr.lhs_contracting.push_back(d);
    if (role == 2) out.push_back(n);
  }
  // rhs: batch, contracting and one or two free dimensions in a random order.
  std::vector<std::pair<int, int64_t>> dims;  // role, number
  for (size_t i = 0; i < out_batch.size(); ++i) dims.push_back({0, static_cast<int64_t>(i)});
  for (size_t i = 0; i < attr.lhs_contracting.size(); ++i) dims.push_back({1, static_cast<int64_t>(i)});
  for (int64_t i = pick(2); i >= 0; --i) dims.push_back({2, 1 + pick(3)});
  std::shuffle(dims.begin(), dims.end(), random_);
  attr.rhs_batch.resize(out_batch.size());
  attr.rhs_contracting.resize(attr.lhs_contracting.size());
  for (size_t d = 0; d < dims.size(); ++d) {
    auto [role, n] = dims[d];
    auto i = static_cast<size_t>(n);
    if (role == 0) attr.rhs_batch[i] = static_cast<int64_t>(d), rhs_sizes.push_back(out_batch[i]);
    if (role == 1) attr.rhs_contracting[i] = static_cast<int64_t>(d), rhs_sizes.push_back(a->type.dim(attr.lhs_contracting[i]));
    if (role == 2) rhs_sizes.push_back(n), out.push_back(n);
  }
  out_batch.insert(out_batch.end(), out.begin(), out.end());
  if (product_of(out_batch) > 400) return a;
  ir::Value b = like(as(any(), element), context_->array(element, rhs_sizes));
  return b_->make(Op::Dot, context_->array(element, out_batch), {a, b}, attr);
}

ir::Value RandomFusion::convolution() {
  ir::Value a = any();
  if (!is_float(a->type.element())) a = as(a, ElementType::f32);
  ElementType element = a->type.element();
  int64_t groups = 1 + pick(2), in = groups * (1 + pick(2)), features = groups * (1 + pick(3)), n = 1 + pick(2);
  ir::ConvAttr attr;
  ir::WindowDim w;
  w.size = 1 + pick(3);
  w.stride = 1 + pick(2);
  w.pad_low = pick(3);
  w.pad_high = pick(2);
  w.lhs_dilate = 1 + (pick(3) == 0);
  w.rhs_dilate = 1 + (pick(3) == 0);
  w.reversal = pick(3) == 0;
  int64_t size = 3 + pick(4), base = (size - 1) * w.lhs_dilate + 1 + w.pad_low + w.pad_high, reach = (w.size - 1) * w.rhs_dilate + 1;
  if (base < reach) return a;
  int64_t out = (base - reach) / w.stride + 1;
  attr.window = {w};
  attr.feature_group_count = groups;
  bool channels_last = pick(2);
  attr.dims.input_batch = attr.dims.output_batch = 0;
  attr.dims.input_feature = attr.dims.output_feature = channels_last ? 2 : 1;
  attr.dims.input_spatial = attr.dims.output_spatial = {channels_last ? 1 : 2};
  attr.dims.kernel_output_feature = channels_last ? 2 : 0;
  attr.dims.kernel_input_feature = 1;
  attr.dims.kernel_spatial = {channels_last ? 0 : 2};
  Sizes x = channels_last ? Sizes{n, size, in} : Sizes{n, in, size}, y = channels_last ? Sizes{n, out, features} : Sizes{n, features, out};
  Sizes k = channels_last ? Sizes{w.size, in / groups, features} : Sizes{features, in / groups, w.size};
  ir::Value lhs = like(a, context_->array(element, x)), rhs = like(as(any(), element), context_->array(element, k));
  return b_->make(Op::Convolution, context_->array(element, y), {lhs, rhs}, attr);
}

ir::ComputationRef RandomFusion::make(int ops) {
  b_ = std::make_unique<ir::ComputationBuilder>(context_, "fused");
  values_.clear();
  int64_t inputs = 1 + pick(3);
  for (int64_t i = 0; i < inputs; ++i) {
    Sizes sizes;
    for (int64_t r = pick(4); r > 0; --r) sizes.push_back(1 + pick(6));
    values_.push_back(b_->parameter(i, context_->array(element_choices[pick(7)], sizes)));
  }
  using Maker = ir::Value (RandomFusion::*)();
  constexpr Maker makers[] = {
      &RandomFusion::elementwise, &RandomFusion::elementwise, &RandomFusion::choose,  &RandomFusion::broadcast,
      &RandomFusion::reshape,     &RandomFusion::reshape,     &RandomFusion::transpose, &RandomFusion::slice,
      &RandomFusion::pad,         &RandomFusion::concatenate, &RandomFusion::dynamic, &RandomFusion::gather,
      &RandomFusion::reduce,      &RandomFusion::window,      &RandomFusion::dot,     &RandomFusion::convolution};
  for (int i = 0; i < ops; ++i) {
    ir::Value v = (this->*makers[pick(static_cast<int64_t>(std::size(makers)))])();
    // Sums of products stay exact only while numbers are small.
    if (v->op == Op::Dot || v->op == Op::Convolution || v->op == Op::Reduce || v->op == Op::ReduceWindow) {
      ir::Value limit = like(scalar(v->type.element(), 7), v->type);
      v = b_->make(Op::Minimum, v->type, {v, limit});
      if (!is_unsigned_integer(v->type.element())) v = b_->make(Op::Maximum, v->type, {v, like(scalar(v->type.element(), -7), v->type)});
    }
    values_.push_back(v);
  }
  ir::Value root = values_.back();
  if (pick(4) == 0) {
    std::vector<ir::Value> parts{root, any(), any()};
    std::vector<ir::Type> types;
    for (ir::Value p : parts) types.push_back(p->type);
    root = b_->make(Op::Tuple, context_->tuple(types), parts);
  }
  return b_->finish(root);
}

ir::ComputationRef calling(const ir::ContextRef& context, const ir::Computation& fused) {
  ir::ComputationBuilder b(context, "caller");
  std::vector<ir::Value> arguments;
  for (ir::Value p : fused.parameters()) arguments.push_back(b.parameter(static_cast<int64_t>(arguments.size()), p->type));
  const ir::Computation* callee = &fused;
  return b.finish(b.make(Op::Fusion, fused.result_type(), arguments, ir::FusionAttr{}, std::span(&callee, 1)));
}

namespace {

// Runs the kernel on copies of the inputs; the outputs' bytes one after the other.
Result<std::vector<std::byte>> interpreted(const loops::Kernel& kernel, std::span<const ir::Literal> inputs) {
  std::vector<std::vector<std::byte>> memory;
  for (const loops::Buffer& b : kernel.buffers) {
    memory.emplace_back(static_cast<size_t>(b.count * byte_width(b.element)), std::byte{0xcd});
    if (memory.size() <= inputs.size()) {
      auto bytes = inputs[memory.size() - 1].bytes();
      memory.back().assign(bytes.begin(), bytes.end());
    }
  }
  std::vector<std::span<std::byte>> views(memory.begin(), memory.end());
  if (auto ok = loops::interpret(kernel, views); !ok) return ok.error();
  std::vector<std::byte> out;
  for (size_t b = 0; b < kernel.buffers.size(); ++b)
    if (kernel.buffers[b].role == loops::BufferRole::output) out.insert(out.end(), memory[b].begin(), memory[b].end());
  return out;
}

std::optional<std::string> compare_kernel(const char* stage, const loops::Kernel& kernel, std::span<const ir::Literal> inputs,
                                          const std::vector<std::byte>& expected) {
  std::string text = loops::print(kernel);
  auto again = loops::read_kernel(std::make_shared<const Source>(Source{"printed", text}));
  if (!again) return std::string(stage) + ": what is printed does not read: " + again.error().render() + text;
  if (loops::print(*again) != text) return std::string(stage) + ": printing what was read gives another text\n" + text + loops::print(*again);
  auto got = interpreted(kernel, inputs);
  if (!got) return std::string(stage) + ": " + got.error().message + "\n" + text;
  if (*got == expected) return std::nullopt;
  size_t at = 0;
  while (at < got->size() && at < expected.size() && (*got)[at] == expected[at]) ++at;
  return std::string(stage) + ": values differ at byte " + std::to_string(at) + " of " + std::to_string(expected.size()) + "\n" + text;
}

}  // namespace

std::optional<std::string> check_lowering(ir::Value fusion, std::span<const ir::Literal> inputs) {
  auto value = ir::evaluate(fusion->callee(0), inputs);
  if (!value) return "the evaluator: " + value.error().message;
  std::vector<std::byte> expected;
  std::vector<const ir::Literal*> leaves{&*value};
  while (!leaves.empty()) {
    const ir::Literal* l = leaves.back();
    leaves.pop_back();
    for (size_t i = l->parts().size(); i-- > 0;) leaves.push_back(&l->parts()[i]);
    if (l->parts().empty()) expected.insert(expected.end(), l->bytes().begin(), l->bytes().end());
  }
  auto kernel = loops::lower_fusion(fusion, "k");
  if (!kernel) return "lowering: " + kernel.error().message;
  if (auto wrong = compare_kernel("lowered", *kernel, inputs, expected)) return wrong;
  loops::Kernel scheduled = loops::schedule(*kernel);
  if (auto wrong = compare_kernel("scheduled", scheduled, inputs, expected)) return wrong;
  return compare_kernel("legalised", loops::legalise(scheduled), inputs, expected);
}

}  // namespace hloc::test
