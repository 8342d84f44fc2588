// Elemental lowering of ops that run loops: reduce, reduce-window, and dot and convolution where no contraction serves.
//
// Such a loop stands at the level of the point that it is for, so the sum of a row is made once per row.
#include <algorithm>

#include "backends/loops/elements.h"

namespace hloc::loops {
namespace {

constexpr int deepest_reduction = 32;  // reductions inside reductions

// Narrow floats add up in f32 and are rounded once.
ElementType accumulator_type(ElementType type) { return is_half(type) ? ElementType::f32 : type; }

bool contains_dim(const ir::Ints& dims, int64_t d) { return std::find(dims.begin(), dims.end(), d) != dims.end(); }

std::vector<int64_t> window_sizes(const ir::Window& window) {
  std::vector<int64_t> sizes;
  for (const ir::WindowDim& w : window) sizes.push_back(w.size);
  return sizes;
}

}  // namespace

// How a reducer combines: by one associative operation, or by any computation on accumulators that are read and set.
struct Elements::Accumulation {
  const ir::Computation& reducer;
  std::optional<ScalarOp> op;
  std::vector<AccId> accumulators;
  std::vector<ElementType> types;  // of the results
};

// The operation when the reducer is op(a, b) of its two parameters, possibly between conversions to a wider type and back.
std::optional<ScalarOp> Elements::single_op(const ir::Computation& reducer) const {
  if (reducer.parameters().size() != 2) return std::nullopt;
  auto through = [](ir::Value v) { return v->op == ir::Op::Convert ? v->operand(0) : v; };
  ir::Value root = reducer.root(), op = through(root);
  if (op->operand_count != 2) return std::nullopt;
  ir::Value a = through(op->operand(0)), b = through(op->operand(1));
  bool is_pair = (a == reducer.parameters()[0] && b == reducer.parameters()[1]) ||
                 (a == reducer.parameters()[1] && b == reducer.parameters()[0]);
  ElementType type = root->type.element();
  if (!is_pair || a->type.element() != type || b->type.element() != type) return std::nullopt;
  if (op != root && !(is_half(type) && op->type.element() == ElementType::f32)) return std::nullopt;
  auto scalar = scalar_op_of(op->op, type);
  constexpr ScalarOp allowed[] = {ScalarOp::Add, ScalarOp::Mul, ScalarOp::Min, ScalarOp::Max, ScalarOp::And, ScalarOp::Or, ScalarOp::Xor};
  if (!scalar || std::find(std::begin(allowed), std::end(allowed), *scalar) == std::end(allowed)) return std::nullopt;
  return scalar;
}

Elements::Accumulation Elements::begin_accumulation(const ir::Computation& reducer, const Values& inits) {
  Accumulation a{reducer, single_op(reducer), {}, {}};
  for (size_t i = 0; i < inits.size(); ++i) {
    ElementType type = reducer.parameters()[i]->type.element();
    ElementType held = a.op ? accumulator_type(type) : type;
    a.types.push_back(type);
    a.accumulators.push_back(b_.declare(held, b_.convert(held, b_.convert(type, inits[i]))));
  }
  return a;
}

// One step. Where the guards fail nothing is combined (inputs are the neutral element there already, given one operation).
void Elements::accumulate(Accumulation& a, const Values& inputs, uint32_t guards) {
  if (error_) return;
  if (a.op) {
    ValueId x = b_.convert(a.types[0], inputs[0]);
    return b_.accumulate(a.accumulators[0], *a.op, b_.convert(accumulator_type(a.types[0]), x));
  }
  size_t n = a.accumulators.size();
  Values args;
  for (AccId acc : a.accumulators) args.push_back(b_.get(acc));
  for (size_t i = 0; i < n; ++i) args.push_back(b_.convert(a.reducer.parameters()[n + i]->type.element(), inputs[i]));
  Values results = inlined(a.reducer, args);
  if (error_) return;
  for (size_t i = 0; i < n; ++i) {
    ValueId next = b_.convert(a.types[i], results[i]);
    if (guards != 0) next = b_.make(ScalarOp::Select, {b_.test(guard_lists_[guards]), next, args[i]});
    b_.set(a.accumulators[i], next);
  }
}

Elements::Values Elements::end_accumulation(const Accumulation& a) {
  Values results;
  for (size_t i = 0; i < a.accumulators.size(); ++i) results.push_back(b_.convert(a.types[i], b_.get(a.accumulators[i])));
  return results;
}

ValueId Elements::reduce(const Request& r) {
  ir::Value v = r.producer.instruction;
  if (r.at.otherwise != no_id) {
    ValueId inside = need(r.producer, {r.at.index, r.at.guards, no_id});
    return pending() ? no_id : or_otherwise(inside, r.at);
  }
  size_t n = v->operand_count / 2;
  const ir::Ints& dims = v->as<ir::DimsAttr>().dims;
  Values inits;
  for (size_t i = 0; i < n; ++i) inits.push_back(need(v->operand(n + i), {{}, r.at.guards, no_id}));
  if (pending()) return no_id;
  if (++depth_ > deepest_reduction) return fail(v, "reductions nest too deeply");

  ir::Type from = v->operand(0)->type;
  std::vector<int64_t> sizes;
  for (int64_t d = 0; d < from.rank(); ++d)
    if (contains_dim(dims, d)) sizes.push_back(from.dim(d));
  Values results;
  b_.suspend(level_of(r.at));
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) {
    for (size_t i = 0; i < n; ++i) results.push_back(inits[i]);
  } else {
    std::vector<Variable> loops;
    std::vector<Affine> k = variables({v, 0}, sizes, loops);
    Accumulation a = begin_accumulation(v->callee(0), inits);
    for (const Variable& l : loops) b_.begin_loop(l.index, l.extent);
    Point inner{{}, r.at.guards, no_id};
    size_t kept = 0, summed = 0;
    for (int64_t d = 0; d < from.rank(); ++d) inner.index.push_back(contains_dim(dims, d) ? k[summed++] : r.at.index[kept++]);
    Values inputs;
    for (size_t i = 0; i < n && !error_; ++i) inputs.push_back(value(producer_of(v->operand(i)), inner));
    accumulate(a, inputs, 0);
    for (size_t i = 0; i < loops.size(); ++i) b_.end_loop();
    if (!error_) results = end_accumulation(a);
  }
  b_.resume();
  --depth_;
  if (error_) return no_id;
  for (size_t i = 0; i < n; ++i) {
    bool is_list = v->type.is_tuple();
    ElementType type = is_list ? v->type.element_type(i).element() : v->type.element();
    results[i] = b_.convert(type, results[i]);
    memo_[key_of({{v, static_cast<int64_t>(i)}, r.at})] = results[i];
  }
  return results[static_cast<size_t>(r.producer.leaf)];
}

Affine Elements::in_window(const ir::WindowDim& w, const Affine& at, const Affine& k, int64_t size, uint32_t& guards) {
  Affine step = w.reversal ? k * -1 + Affine(w.size - 1) : k;
  Affine a = at * w.stride + step * w.rhs_dilate + Affine(-w.pad_low);
  if (w.lhs_dilate != 1) {
    guards = with_guard(guards, {b_.mod(a, w.lhs_dilate), 0, 1});
    a = b_.floor_div(a, w.lhs_dilate);
  }
  guards = with_guard(guards, {a, 0, size});
  return a;
}

ValueId Elements::reduce_window(const Request& r) {
  ir::Value v = r.producer.instruction;
  if (r.at.otherwise != no_id) {
    ValueId inside = need(r.producer, {r.at.index, r.at.guards, no_id});
    return pending() ? no_id : or_otherwise(inside, r.at);
  }
  size_t n = v->operand_count / 2;
  Values inits;
  for (size_t i = 0; i < n; ++i) inits.push_back(need(v->operand(n + i), {{}, r.at.guards, no_id}));
  if (pending()) return no_id;
  if (++depth_ > deepest_reduction) return fail(v, "reductions nest too deeply");

  ir::Type from = v->operand(0)->type;
  ir::Window window = v->as<ir::WindowAttr>().window;
  if (window.empty()) window.resize(static_cast<size_t>(from.rank()));
  std::vector<Variable> loops;
  b_.suspend(level_of(r.at));
  std::vector<Affine> k = variables({v, 0}, window_sizes(window), loops);
  Accumulation a = begin_accumulation(v->callee(0), inits);
  for (const Variable& l : loops) b_.begin_loop(l.index, l.extent);
  Point inner{{}, r.at.guards, no_id};
  for (size_t d = 0; d < window.size(); ++d)
    inner.index.push_back(in_window(window[d], r.at.index[d], k[d], from.dim(static_cast<int64_t>(d)), inner.guards));
  Values inputs;
  for (size_t i = 0; i < n && !error_; ++i) {
    ElementType type = v->operand(i)->type.element();
    if (a.op && inner.guards != 0) inner.otherwise = b_.constant_of_bits(type, neutral_bits(*a.op, type));
    inputs.push_back(value(producer_of(v->operand(i)), inner));
  }
  accumulate(a, inputs, inner.guards);
  for (size_t i = 0; i < loops.size(); ++i) b_.end_loop();
  Values results;
  if (!error_) results = end_accumulation(a);
  b_.resume();
  --depth_;
  if (error_) return no_id;
  for (size_t i = 0; i < n; ++i) memo_[key_of({{v, static_cast<int64_t>(i)}, r.at})] = results[i];
  return results[static_cast<size_t>(r.producer.leaf)];
}

// ---- Dot and convolution ----

ElementType accumulate_type(ir::Value v) {
  ElementType result = v->type.element(), a = v->operand(0)->type.element(), b = v->operand(1)->type.element();
  if (result == ElementType::f64 || a == ElementType::f64 || b == ElementType::f64) return ElementType::f64;
  if (is_float(result)) return ElementType::f32;
  if (result == ElementType::pred) return ElementType::s32;
  bool is_wide = bit_width(result) == 64;
  if (is_signed_integer(result)) return is_wide ? ElementType::s64 : ElementType::s32;
  return is_wide ? ElementType::u64 : ElementType::u32;
}

std::vector<int64_t> Elements::summed_sizes(ir::Value v) {
  std::vector<int64_t> sizes;
  if (v->op == ir::Op::Dot) {
    for (int64_t d : v->as<ir::DotAttr>().lhs_contracting) sizes.push_back(v->operand(0)->type.dim(d));
    return sizes;
  }
  const auto& attr = v->as<ir::ConvAttr>();
  for (int64_t d : attr.dims.kernel_spatial) sizes.push_back(v->operand(1)->type.dim(d));
  sizes.push_back(v->operand(1)->type.dim(attr.dims.kernel_input_feature));
  return sizes;
}

Point Elements::factor_point(ir::Value v, size_t operand, const Point& at, const std::vector<Affine>& k) {
  return v->op == ir::Op::Dot ? dot_point(v, operand, at, k) : conv_point(v, operand, at, k);
}

// The result's dimensions: batch, then the free ones of lhs, then those of rhs.
Point Elements::dot_point(ir::Value v, size_t operand, const Point& at, const std::vector<Affine>& k) {
  const auto& attr = v->as<ir::DotAttr>();
  bool is_lhs = operand == 0;
  const ir::Ints& batch = is_lhs ? attr.lhs_batch : attr.rhs_batch;
  const ir::Ints& contracting = is_lhs ? attr.lhs_contracting : attr.rhs_contracting;
  auto rank = static_cast<size_t>(v->operand(operand)->type.rank());
  size_t next = is_lhs ? batch.size() : at.index.size() - (rank - batch.size() - contracting.size());
  Point p{std::vector<Affine>(rank), at.guards, no_id};
  for (size_t i = 0; i < batch.size(); ++i) p.index[static_cast<size_t>(batch[i])] = at.index[i];
  for (size_t i = 0; i < contracting.size(); ++i) p.index[static_cast<size_t>(contracting[i])] = k[i];
  for (size_t d = 0; d < rank; ++d) {
    auto dim = static_cast<int64_t>(d);
    if (!contains_dim(batch, dim) && !contains_dim(contracting, dim)) p.index[d] = at.index[next++];
  }
  return p;
}

// Output feature o of group g = o / (O / groups) sees the input features of that group; batch groups likewise. A window
// that is turned around is turned on the input's side (in_window), so the kernel is always walked the plain way.
Point Elements::conv_point(ir::Value v, size_t operand, const Point& at, const std::vector<Affine>& k) {
  const auto& attr = v->as<ir::ConvAttr>();
  const ir::ConvDims& dims = attr.dims;
  ir::Type in = v->operand(0)->type, kernel = v->operand(1)->type;
  auto position = [](int64_t d) { return static_cast<size_t>(d); };
  const Affine& o = at.index[position(dims.output_feature)];
  Point p{std::vector<Affine>(position(v->operand(operand)->type.rank())), at.guards, no_id};
  if (operand == 1) {
    for (size_t s = 0; s < dims.kernel_spatial.size(); ++s) p.index[position(dims.kernel_spatial[s])] = k[s];
    p.index[position(dims.kernel_input_feature)] = k.back();
    p.index[position(dims.kernel_output_feature)] = o;
    return p;
  }
  for (size_t s = 0; s < dims.input_spatial.size(); ++s) {
    ir::WindowDim w = s < attr.window.size() ? attr.window[s] : ir::WindowDim{};
    const Affine& out = at.index[position(dims.output_spatial[s])];
    p.index[position(dims.input_spatial[s])] = in_window(w, out, k[s], in.dim(dims.input_spatial[s]), p.guards);
  }
  int64_t out_features = v->type.dim(dims.output_feature);
  Affine batch = at.index[position(dims.output_batch)], feature = k.back();
  if (attr.feature_group_count > 1)
    feature += divided(o, out_features / attr.feature_group_count) * kernel.dim(dims.kernel_input_feature);
  if (attr.batch_group_count > 1) batch += divided(o, out_features / attr.batch_group_count) * v->type.dim(dims.output_batch);
  p.index[position(dims.input_batch)] = batch;
  p.index[position(dims.input_feature)] = feature;
  return p;
}

ValueId Elements::factor(ir::Value operand, const Point& at, ElementType accumulate) {
  Point p = at;
  ElementType type = operand->type.element();
  if (p.guards != 0) p.otherwise = b_.constant_of_bits(type, 0);
  ValueId x = value(producer_of(operand), std::move(p));
  if (error_) return no_id;
  bool is_exact = is_float(type) ? is_float(accumulate)
                                 : is_integer(type) && bit_width(type) < bit_width(accumulate) &&
                                       (is_unsigned_integer(type) || is_signed_integer(accumulate));
  return is_exact ? x : b_.convert(accumulate, x);
}

ValueId Elements::sum_of_products(ir::Value v, const Point& at) {
  if (at.otherwise != no_id) {
    ValueId inside = need(v, {at.index, at.guards, no_id});
    return pending() ? no_id : or_otherwise(inside, at);
  }
  if (++depth_ > deepest_reduction) return fail(v, "reductions nest too deeply");
  ElementType type = accumulate_type(v);
  std::vector<int64_t> sizes = summed_sizes(v);
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return --depth_, b_.constant_of_bits(v->type.element(), 0);
  std::vector<Variable> loops;
  b_.suspend(level_of(at));
  std::vector<Affine> k = variables({v, 0}, sizes, loops);
  AccId sum = b_.declare(type, b_.constant_of_bits(type, 0));
  for (const Variable& l : loops) b_.begin_loop(l.index, l.extent);
  ValueId x = factor(v->operand(0), factor_point(v, 0, at, k), type);
  ValueId y = error_ ? no_id : factor(v->operand(1), factor_point(v, 1, at, k), type);
  if (!error_) b_.accumulate(sum, ScalarOp::Add, b_.make(ScalarOp::Mul, {b_.convert(type, x), b_.convert(type, y)}));
  for (size_t i = 0; i < loops.size(); ++i) b_.end_loop();
  ValueId result = b_.get(sum);
  if (v->type.element() == ElementType::pred) result = b_.compare(Predicate::ne, result, b_.constant(type, 0));
  b_.resume();
  --depth_;
  return error_ ? no_id : b_.convert(v->type.element(), result);
}

}  // namespace hloc::loops
