// Rules of reductions. Those that change which elements are combined with which are for reducers that are one op for
// which order does not matter bit by bit: integer arithmetic and logic, maximum and minimum.
#pragma once

#include "passes/rules/dims.h"

namespace hloc::passes::rules {

// The op of a reducer that is one commutative op on its two parameters; Op::Tuple when it is anything else.
inline ir::Op reducer_op(const ir::Computation& reducer) {
  ir::Value root = reducer.root();
  if (reducer.parameters().size() != 2 || root->operand_count != 2 || !ir::is_elementwise(root->op)) return ir::Op::Tuple;
  ir::Value a = reducer.parameters()[0], b = reducer.parameters()[1];
  bool both = (root->operand(0) == a && root->operand(1) == b) || (root->operand(0) == b && root->operand(1) == a);
  return both && ir::has(root->op, ir::commutative) && reducer.effects().empty() ? root->op : ir::Op::Tuple;
}

// The op of a reduction of one array whose values have one element type throughout; Op::Tuple otherwise.
inline ir::Op reduced_by(ir::Value reduce) {
  if (reduce->operand_count != 2 || reduce->callee_count != 1 || !reduce->type.is_array()) return ir::Op::Tuple;
  ElementType element = reduce->type.element();
  bool one_element = reduce->operand(0)->type.element() == element && reduce->operand(1)->type.element() == element &&
                     reduce->callee(0).root()->type.element() == element;
  return one_element ? reducer_op(reduce->callee(0)) : ir::Op::Tuple;
}

inline bool is_extremum(ir::Op op) { return op == ir::Op::Maximum || op == ir::Op::Minimum; }
inline bool is_bitwise(ir::Op op) { return op == ir::Op::And || op == ir::Op::Or || op == ir::Op::Xor; }

// Whether any order of combining gives the same bits.
inline bool any_order(ir::Op op, ElementType element) {
  if (is_complex(element)) return false;
  if (is_extremum(op) || is_bitwise(op)) return true;
  return (op == ir::Op::Add || op == ir::Op::Multiply) && is_integer(element);
}
// Whether f(a, a) is a.
inline bool is_idempotent(ir::Op op) { return is_extremum(op) || op == ir::Op::And || op == ir::Op::Or; }

// Whether every element of `v` leaves what it is combined with as it is.
inline bool is_neutral(const Match& m, ir::Value v, ir::Op op) {
  std::span<const std::byte> bytes = uniform_bytes(v);
  ElementType element = v->type.element();
  Special special = op == ir::Op::Maximum ? Special::lowest
                    : op == ir::Op::Minimum ? Special::highest
                    : op == ir::Op::And     ? Special::ones
                    : op == ir::Op::Add && is_float(element) ? Special::minus_zero
                                                             : Special::number;
  std::optional<ir::Literal> want = scalar_literal(m.context, element, special, op == ir::Op::Multiply ? 1 : 0);
  bool known = is_extremum(op) || is_bitwise(op) || op == ir::Op::Add || op == ir::Op::Multiply;
  return known && want && !bytes.empty() && std::ranges::equal(want->bytes(), bytes);
}

inline ir::Ints kept_dims(ir::Value reduce) {
  ir::Ints out;
  for (int64_t d = 0; d < reduce->operand(0)->type.rank(); ++d)
    if (!contains(dims_of(reduce), d)) out.push_back(d);
  return out;
}
inline ir::Value reduce_with(Replacement& out, ir::Type type, ir::Value from, ir::Value initial, ir::Ints dims,
                             const ir::Computation& reducer) {
  const ir::Computation* callee = &reducer;
  ir::Value operands[] = {from, initial};
  return out.make(ir::Op::Reduce, type, operands, ir::DimsAttr{std::move(dims)}, std::span(&callee, 1));
}

// Each result is one element combined with the initial value when only dimensions of size 1 are reduced.
inline ir::Value combined_once(const Match& m, Replacement& out) {
  ir::Value reduce = m[p];
  ir::Op op = reduced_by(reduce);
  if (op == ir::Op::Tuple || dims_of(reduce).empty()) return nullptr;
  ir::Value from = reduce->operand(0), initial = reduce->operand(1);
  for (int64_t d : dims_of(reduce))
    if (from->type.dim(d) != 1) return nullptr;
  ir::Value start = out.broadcast(initial, reduce->type, {});
  return out.make(op, reduce->type, {start, out.reshape(from, reduce->type)});
}

// A reduction of a reduction by the same op reduces all dimensions at once, if the inner one starts at the neutral element.
inline ir::Value reduced_at_once(const Match& m, Replacement& out) {
  ir::Value outer = m[q], inner = m[p];
  ir::Op op = reduced_by(outer);
  if (op == ir::Op::Tuple || reduced_by(inner) != op || !any_order(op, outer->type.element())) return nullptr;
  if (!is_neutral(m, m[y], op)) return nullptr;
  ir::Ints dims = pick(kept_dims(inner), dims_of(outer));
  dims.insert(dims.end(), dims_of(inner).begin(), dims_of(inner).end());
  std::ranges::sort(dims);
  return reduce_with(out, m.root->type, m[x], m[z], std::move(dims), outer->callee(0));
}

// The same elements in the same order, found without the transpose.
inline ir::Value reduced_untransposed(const Match& m, Replacement& out) {
  const ir::Ints& order = dims_of(m[p]);
  if (m[q]->operand_count != 2 || m[q]->callee_count != 1) return nullptr;
  ir::Ints dims = dims_of(m[q]);
  std::ranges::sort(dims);
  dims = pick(order, dims);
  if (!std::ranges::is_sorted(dims) || !std::ranges::is_sorted(pick(order, kept_dims(m[q])))) return nullptr;
  return reduce_with(out, m.root->type, m[x], m[y], std::move(dims), m[q]->callee(0));
}

// Of equal elements an idempotent op sees one; an integer sum is a multiple.
inline ir::Value reduced_before_broadcast(const Match& m, Replacement& out) {
  ir::Value reduce = m[q], wide = m[p];
  ir::Op op = reduced_by(reduce);
  ElementType element = m.root->type.element();
  bool sums = op == ir::Op::Add && is_integer(element);
  if (op == ir::Op::Tuple || !(sums || (is_idempotent(op) && any_order(op, element)))) return nullptr;
  const ir::Ints& places = broadcast_dims(wide);
  ir::Ints inner_dims, inner_sizes, result_places;  // of x: reduced, kept; where the kept ones are in the result
  int64_t copies = 1;
  for (int64_t d : dims_of(reduce))
    if (!contains(places, d) && (wide->type.dim(d) == 0 || __builtin_mul_overflow(copies, wide->type.dim(d), &copies))) return nullptr;
  if (std::ranges::all_of(dims_of(reduce), [&](int64_t d) { return contains(places, d); })) return nullptr;
  ir::Ints kept = kept_dims(reduce);
  for (size_t i = 0; i < places.size(); ++i) {
    auto d = static_cast<int64_t>(i);
    if (contains(dims_of(reduce), places[i])) {
      inner_dims.push_back(d);
      continue;
    }
    inner_sizes.push_back(m[x]->type.dim(d));
    result_places.push_back(position(kept, places[i]));
  }
  ir::Type type = array_like(m, m.root->type, inner_sizes);
  ir::Value one = m[x];
  std::optional<ir::Literal> zero = scalar_literal(m.context, element, Special::number, 0);
  std::optional<ir::Literal> count = scalar_literal(m.context, element, Special::number, copies);
  if (sums) {
    if (!zero || !count) return nullptr;
    ir::Value nothing = out.splat(m[y]->type, *std::move(zero));
    if (!inner_dims.empty()) one = reduce_with(out, type, one, nothing, inner_dims, reduce->callee(0));
    one = out.make(ir::Op::Multiply, type, {one, out.splat(type, *std::move(count))});
    one = out.make(ir::Op::Add, type, {one, out.broadcast(m[y], type, {})});
  } else if (!inner_dims.empty()) {
    one = reduce_with(out, type, one, m[y], inner_dims, reduce->callee(0));
  } else {
    one = out.make(op, type, {out.broadcast(m[y], type, {}), one});
  }
  return out.broadcast(one, m.root->type, result_places);
}

// Padding that is neutral, in reduced dimensions only.
inline ir::Value reduced_unpadded(const Match& m, Replacement& out) {
  ir::Op op = reduced_by(m[q]);
  if (op == ir::Op::Tuple || !is_neutral(m, m[z], op) || is_complex(m.root->type.element())) return nullptr;
  const auto& attr = m[p]->as<ir::PadAttr>();
  for (size_t d = 0; d < attr.low.size(); ++d) {
    bool pads = attr.low[d] != 0 || attr.high[d] != 0 || attr.interior[d] != 0;
    bool reduced = contains(dims_of(m[q]), static_cast<int64_t>(d));
    if (attr.low[d] < 0 || attr.high[d] < 0 || (pads && !reduced)) return nullptr;
  }
  return reduce_with(out, m.root->type, m[x], m[y], dims_of(m[q]), m[q]->callee(0));
}

ir::Value sample_reduce_of_ones(Sampler& s);
ir::Value sample_reduce_of_reduce(Sampler& s);
ir::Value sample_reduce_of_transpose(Sampler& s);
ir::Value sample_reduce_of_broadcast(Sampler& s);
ir::Value sample_reduce_of_pad(Sampler& s);

inline constexpr Rule reduction[] = {
    {"reduce-single", any(ir::Op::Reduce, p), Build{"f(initial, reshape(x)) when only dimensions of size 1 are reduced", combined_once},
     sample_reduce_of_ones},
    {"reduce-reduce", reduce(reduce(x, y, p), z, q), Build{"reduce(x, z) over the dimensions of both, when y is neutral and order does not matter", reduced_at_once},
     sample_reduce_of_reduce},
    {"reduce-transpose", reduce(transpose(x, p), y, q), Build{"reduce(x, y), when p keeps the order of both kinds of dimensions", reduced_untransposed},
     sample_reduce_of_transpose},
    {"reduce-broadcast", reduce(broadcast(x, p), y, q), Build{"broadcast(reduce(x, y)) where f(a, a) = a; a multiple where integers are summed", reduced_before_broadcast},
     sample_reduce_of_broadcast},
    {"reduce-pad", reduce(pad(x, z, p), y, q), Build{"reduce(x, y), when z is neutral and only reduced dimensions are padded", reduced_unpadded},
     sample_reduce_of_pad},
};

}  // namespace hloc::passes::rules
