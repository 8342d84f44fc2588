// Contractions of two operands: result dimensions are batch, the rest of lhs, the rest of rhs.
#include <algorithm>

#include "ir/infer/rules.h"

namespace hloc::ir::shapes {
namespace {

Problem check_dot_side(const Site& s, std::string_view side, const Ints& batch, const Ints& contracting, int64_t rank) {
  std::string batch_name = fmt::format("{}_batch_dims", side), contracting_name = fmt::format("{}_contracting_dims", side);
  if (Problem p = check_dims(s, batch_name, batch, rank)) return p;
  if (Problem p = check_dims(s, contracting_name, contracting, rank)) return p;
  return check_disjoint(s, batch_name, batch, contracting_name, contracting, rank);
}

// Dimensions that are paired must have one size.
Problem check_dot_pairs(const Site& s, std::string_view what, const Ints& lhs, const Ints& rhs) {
  Type x = s.operands[0], y = s.operands[1];
  if (lhs.size() != rhs.size())
    return reject(s, "lhs_{0}_dims={1} and rhs_{0}_dims={2} must have equally many entries", what, list_text(lhs),
                  list_text(rhs));
  for (size_t i = 0; i < lhs.size(); ++i)
    if (!fits(x.dims()[static_cast<size_t>(lhs[i])], y.dims()[static_cast<size_t>(rhs[i])]))
      return reject(s, "{} dimension {} of lhs {} and dimension {} of rhs {} must have the same size", what, lhs[i],
                    shape_text(x), rhs[i], shape_text(y));
  return {};
}

Problem check_dot_elements(const Site& s) {
  Type x = s.operands[0], y = s.operands[1];
  if (x->quant || y->quant) {
    // Float times quantised is a hybrid contraction; the result is declared.
    if (!y->quant)
      return reject(s, "a quantised lhs needs a quantised rhs, but the operands are {} and {}", shape_text(x),
                    shape_text(y));
    return {};
  }
  if (fits_element(x, y, Elements::any_float)) return {};
  unsigned a = class_of(x), b = class_of(y);
  if ((a & class_integer) && (b & class_integer)) return {};
  return reject(s, "the operands have element types that do not multiply: {} and {}; convert one of them",
                shape_text(x), shape_text(y));
}

// A word about how exactly to multiply for each operand, or nothing.
Problem check_dot_precision(const Site& s, const std::vector<Precision>& precision) {
  if (precision.empty() || precision.size() == 2 || precision.size() == s.operands.size()) return {};
  return reject(s, "operand_precision has {} entries; it needs one for each of the two operands", precision.size());
}

Problem check_dot_attr(const Site& s, const DotAttr& a) {
  Type x = s.operands[0], y = s.operands[1];
  if (Problem p = check_dot_elements(s)) return p;
  if (Problem p = check_dot_side(s, "lhs", a.lhs_batch, a.lhs_contracting, x.rank())) return p;
  if (Problem p = check_dot_side(s, "rhs", a.rhs_batch, a.rhs_contracting, y.rank())) return p;
  if (Problem p = check_dot_pairs(s, "batch", a.lhs_batch, a.rhs_batch)) return p;
  if (Problem p = check_dot_pairs(s, "contracting", a.lhs_contracting, a.rhs_contracting)) return p;
  if (Problem p = check_dot_precision(s, a.precision)) return p;
  // Scales along the contracted dimension could not be taken out of the sum.
  if (y->quant && contains(a.rhs_contracting, y->quant->axis))
    return reject(s, "rhs is quantised along dimension {}, which is contracted", y->quant->axis);
  return {};
}

std::vector<Dim> batch_dims(const Site& s, const DotAttr& a) {
  std::vector<Dim> dims;
  for (size_t i = 0; i < a.lhs_batch.size(); ++i)
    dims.push_back(meet(s.operands[0].dims()[static_cast<size_t>(a.lhs_batch[i])],
                        s.operands[1].dims()[static_cast<size_t>(a.rhs_batch[i])]));
  return dims;
}

// The dimensions of `type` that are in none of the lists.
void append_rest(std::vector<Dim>& dims, Type type, const Ints& a, const Ints& b, const Ints& c = {}) {
  std::vector<bool> used = marks(type.dims().size(), {a, b, c});
  for (size_t i = 0; i < used.size(); ++i)
    if (!used[i]) dims.push_back(type.dims()[i]);
}

Type dot_result(const Site& s, std::vector<Dim> dims) {
  Type x = s.operands[0], y = s.operands[1];
  if (x->quant || y->quant) return make_array(s, x, std::move(dims));
  return s.context.array(wider_element(x.element(), y.element()), std::move(dims));
}

}  // namespace

Result<Type> infer_dot(const Site& s) {
  if (Problem p = check_arrays(s)) return *p;
  const DotAttr& a = s.as<DotAttr>();
  if (Problem p = check_dot_attr(s, a)) return *p;
  std::vector<Dim> dims = batch_dims(s, a);
  append_rest(dims, s.operands[0], a.lhs_batch, a.lhs_contracting);
  append_rest(dims, s.operands[1], a.rhs_batch, a.rhs_contracting);
  return dot_result(s, std::move(dims));
}

// stablehlo.dot: vectors and matrices, last dimension of lhs times first of rhs.
Result<Type> infer_plain_dot(const Site& s) {
  if (Problem p = check_arrays(s)) return *p;
  if (Problem p = check_dot_elements(s)) return *p;
  Type x = s.operands[0], y = s.operands[1];
  if (x.rank() < 1 || x.rank() > 2 || y.rank() < 1 || y.rank() > 2)
    return reject(s, "the operands must be vectors or matrices, but they are {} and {}", shape_text(x), shape_text(y));
  if (!fits(x.dims().back(), y.dims().front()))
    return reject(s, "the last dimension of {} and the first of {} must have the same size", shape_text(x),
                  shape_text(y));
  std::vector<Dim> dims;
  append_rest(dims, x, {x.rank() - 1}, {});
  append_rest(dims, y, {0}, {});
  return dot_result(s, std::move(dims));
}

namespace {

// group_sizes is [groups], or has in front of it the lhs dimensions that each have groups of their own: batch
// dimensions, then those of the ragged dimension's kind that stand before it.
Problem check_group_sizes(const Site& s, const Ints& prefix, std::optional<Dim> groups) {
  Type x = s.operands[0], sizes = s.operands[2];
  if (Problem p = check_class(s, 2, class_integer)) return p;
  if (Problem p = check_rank_at_least(s, 2, 1)) return p;
  if (groups && !fits(*groups, sizes.dims().back()))
    return reject(s, "rhs {} has {} groups, but group_sizes is {}", shape_text(s.operands[1]), dim_text(*groups),
                  shape_text(sizes));
  if (sizes.rank() == 1) return {};
  bool same = sizes.dims().size() == prefix.size() + 1;
  for (size_t i = 0; same && i < prefix.size(); ++i)
    same = fits(sizes.dims()[i], x.dims()[static_cast<size_t>(prefix[i])]);
  if (same) return {};
  return reject(s, "group_sizes must be one vector, or have dimensions {} of lhs {} in front, but it is {}",
                list_text(prefix), shape_text(x), shape_text(sizes));
}

}  // namespace

// The ragged dimension of lhs is cut into groups. Cut rows: each group has its own rhs. Cut contraction: each group
// gives its own result, in a new first dimension. Cut batch: only the sizes matter.
Result<Type> infer_ragged_dot(const Site& s) {
  if (Problem p = check_arrays(s)) return *p;
  const RaggedDotAttr& a = s.as<RaggedDotAttr>();
  const DotAttr& dot = a.dot;
  if (Problem p = check_dot_attr(s, dot)) return *p;
  Type x = s.operands[0], y = s.operands[1], sizes = s.operands[2];
  if (Problem p = check_one(s, "lhs_ragged_dims", a.lhs_ragged)) return *p;
  if (Problem p = check_dims(s, "lhs_ragged_dims", a.lhs_ragged, x.rank())) return *p;
  if (Problem p = check_dims(s, "rhs_group_dims", a.rhs_group, y.rank())) return *p;
  if (Problem p = check_disjoint(s, "rhs_group_dims", a.rhs_group, "rhs_batch_dims", dot.rhs_batch, y.rank())) return *p;
  if (Problem p = check_disjoint(s, "rhs_group_dims", a.rhs_group, "rhs_contracting_dims", dot.rhs_contracting, y.rank()))
    return *p;
  int64_t ragged = a.lhs_ragged[0];
  bool cut_batch = contains(dot.lhs_batch, ragged), cut_contraction = contains(dot.lhs_contracting, ragged);
  bool cut_rows = !cut_batch && !cut_contraction;
  if (a.rhs_group.size() != (cut_rows ? 1u : 0u))
    return reject(s, "rhs_group_dims={} must name {} when lhs dimension {} is ragged", list_text(a.rhs_group),
                  cut_rows ? "one dimension" : "no dimension", ragged);

  Ints prefix;
  if (!cut_batch) prefix = dot.lhs_batch;
  const Ints* own = cut_batch ? &dot.lhs_batch : cut_contraction ? &dot.lhs_contracting : nullptr;
  std::vector<bool> used = marks(x.dims().size(), {dot.lhs_batch, dot.lhs_contracting});
  for (int64_t d = 0; !own && d < ragged; ++d)
    if (!used[static_cast<size_t>(d)]) prefix.push_back(d);
  for (size_t i = 0; own && (*own)[i] != ragged; ++i) prefix.push_back((*own)[i]);
  std::optional<Dim> groups;
  if (cut_rows) groups = y.dims()[static_cast<size_t>(a.rhs_group[0])];
  if (Problem p = check_group_sizes(s, prefix, groups)) return *p;

  std::vector<Dim> dims;
  if (cut_contraction) dims.push_back(sizes.dims().back());
  std::vector<Dim> batch = batch_dims(s, dot);
  dims.insert(dims.end(), batch.begin(), batch.end());
  append_rest(dims, x, dot.lhs_batch, dot.lhs_contracting);
  append_rest(dims, y, dot.rhs_batch, dot.rhs_contracting, a.rhs_group);
  return dot_result(s, std::move(dims));
}

// scaled-dot(lhs, rhs, lhs_scale, rhs_scale): one scale for each block; a scalar scales everything.
Result<Type> infer_scaled_dot(const Site& s) {
  auto result = infer_dot(s);
  if (!result) return result;
  for (size_t i : {2, 3}) {
    Type scale = s.operands[i], x = s.operands[i - 2];
    if (Problem p = check_class(s, i, class_float)) return *p;
    if (scale.is_scalar()) continue;
    bool divides = scale.rank() == x.rank();
    for (size_t d = 0; divides && d < scale.dims().size(); ++d) {
      Dim whole = x.dims()[d], blocks = scale.dims()[d];
      if (whole.kind == Dim::unknown || blocks.kind == Dim::unknown) continue;
      divides = blocks.size == 0 ? whole.size == 0 : whole.size % blocks.size == 0;
    }
    if (!divides)
      return reject(s, "the scale {} must divide every dimension of {}", shape_text(scale), shape_text(x));
  }
  return result;
}

}  // namespace hloc::ir::shapes
