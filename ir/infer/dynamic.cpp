// Ops whose places or sizes are operands: dynamic slices, and the ops on dynamic dimensions.
#include "ir/infer/rules.h"

namespace hloc::ir::shapes {
namespace {

// Start indices are one scalar for each dimension, or (an old form) one vector; all of one integer type.
Problem check_starts(const Site& s, size_t first, int64_t rank) {
  size_t count = s.operands.size() - first;
  for (size_t i = first; i < s.operands.size(); ++i) {
    if (Problem p = check_class(s, i, class_integer)) return p;
    if (i > first)
      if (Problem p = check_same_element(s, first, i)) return p;
  }
  if (count == 1 && s.operands[first].rank() == 1) {
    if (fits(s.operands[first].dims()[0], Dim::of(rank))) return {};
    return reject(s, "the start indices {} must have one entry for each of the {} dimensions of {}",
                  shape_text(s.operands[first]), rank, shape_text(s.operands[0]));
  }
  if (static_cast<int64_t>(count) != rank)
    return reject(s, "there {} {} start ind{}, but {} has {} dimension{}", count == 1 ? "is" : "are", count,
                  count == 1 ? "ex" : "ices", shape_text(s.operands[0]), rank, rank == 1 ? "" : "s");
  for (size_t i = first; i < s.operands.size(); ++i)
    if (Problem p = check_scalar(s, i, class_integer)) return p;
  return {};
}

// A vector of integers with one entry for each dimension of a result of that rank.
Problem check_shape_vector(const Site& s, size_t operand, std::optional<int64_t> rank) {
  if (Problem p = check_class(s, operand, class_integer)) return p;
  Type t = s.operands[operand];
  if (t.rank() != 1) return reject(s, "operand {} must have one dimension, but it is {}", operand, shape_text(t));
  if (rank && !fits(t.dims()[0], Dim::of(*rank)))
    return reject(s, "operand {} must have {} entr{}, one for each dimension, but it is {}", operand, *rank,
                  *rank == 1 ? "y" : "ies", shape_text(t));
  return {};
}

Problem check_declared_like(const Site& s, bool same_rank) {
  if (Problem p = check_declared_array(s)) return p;
  if (!s.declared) return {};
  if (!fits_element(s.declared, s.operands[0]))
    return reject(s, "the result is declared {}, but it must keep the element type of the operand {}",
                  shape_text(s.declared), shape_text(s.operands[0]));
  if (same_rank && s.declared.rank() != s.operands[0].rank())
    return reject(s, "the result is declared {}, but it must have as many dimensions as the operand {}",
                  shape_text(s.declared), shape_text(s.operands[0]));
  return {};
}

std::optional<int64_t> declared_rank(const Site& s) {
  return s.declared ? std::optional(s.declared.rank()) : std::nullopt;
}

}  // namespace

Result<Type> infer_dynamic_slice(const Site& s) {
  if (Problem p = check_arrays(s)) return *p;
  Type x = s.operands[0];
  const Ints& sizes = s.as<DynamicSliceAttr>().sizes;
  if (Problem p = check_length(s, "dynamic_slice_sizes", sizes.size(), x.rank())) return *p;
  if (Problem p = check_starts(s, 1, x.rank())) return *p;
  std::vector<Dim> dims;
  for (size_t i = 0; i < sizes.size(); ++i) {
    Dim in = x.dims()[i];
    if (sizes[i] < 0 || (in.kind != Dim::unknown && sizes[i] > in.size))
      return reject(s, "slice size {} of dimension {} does not fit into {}", sizes[i], i, shape_text(x));
    dims.push_back(Dim::of(sizes[i]));
  }
  return make_array(s, x, std::move(dims));
}

Result<Type> infer_dynamic_update_slice(const Site& s) {
  if (Problem p = check_arrays(s)) return *p;
  Type x = s.operands[0], update = s.operands[1];
  if (Problem p = check_same_element(s, 0, 1)) return *p;
  bool fit = x.rank() == update.rank();
  for (size_t i = 0; fit && i < x.dims().size(); ++i) {
    Dim in = x.dims()[i], part = update.dims()[i];
    fit = in.kind == Dim::unknown || part.kind == Dim::unknown || part.size <= in.size;
  }
  if (!fit) return reject(s, "the update {} does not fit into the operand {}", shape_text(update), shape_text(x));
  if (Problem p = check_starts(s, 2, x.rank())) return *p;
  return plain(s, x);
}

Result<Type> infer_get_dimension_size(const Site& s) {
  if (Problem p = check_array(s, 0)) return *p;
  const Ints& dims = s.as<DimsAttr>().dims;
  if (Problem p = check_one(s, "dimensions", dims)) return *p;
  if (Problem p = check_dim(s, "dimension", dims[0], s.operands[0].rank())) return *p;
  return s.context.scalar(ElementType::s32);
}

Result<Type> infer_set_dimension_size(const Site& s) {
  if (Problem p = check_array(s, 0)) return *p;
  if (Problem p = check_scalar(s, 1, class_integer)) return *p;
  if (s.operands[1].element() != ElementType::s32)
    return reject(s, "the size must be s32[], but it is {}", shape_text(s.operands[1]));
  const Ints& dims = s.as<DimsAttr>().dims;
  Type x = s.operands[0];
  if (Problem p = check_one(s, "dimensions", dims)) return *p;
  if (Problem p = check_dim(s, "dimension", dims[0], x.rank())) return *p;
  std::vector<Dim> result = dims_of(x);
  Dim& set = result[static_cast<size_t>(dims[0])];
  if (set.kind == Dim::fixed) set = Dim::at_most(set.size);
  return make_array(s, x, std::move(result));
}

// HLO gives one scalar for each result dimension, StableHLO one vector.
Result<Type> infer_dynamic_reshape(const Site& s) {
  if (Problem p = check_arrays(s)) return *p;
  if (Problem p = check_declared_like(s, false)) return *p;
  if (s.operands.size() == 2 && s.operands[1].rank() == 1) {
    if (Problem p = check_shape_vector(s, 1, declared_rank(s))) return *p;
  } else {
    for (size_t i = 1; i < s.operands.size(); ++i)
      if (Problem p = check_scalar(s, i, class_integer)) return *p;
    int64_t sizes = static_cast<int64_t>(s.operands.size()) - 1;
    if (s.declared && sizes != s.declared.rank())
      return reject(s, "there {} {} size operand{}, but the result {} has {} dimensions", sizes == 1 ? "is" : "are",
                    sizes, sizes == 1 ? "" : "s", shape_text(s.declared), s.declared.rank());
  }
  if (!s.declared || !s.operands[0].is_static() || !s.declared.is_static()) return Type();
  if (s.operands[0].count() != s.declared.count())
    return reject(s, "{} has {} elements, but {} has {}", shape_text(s.operands[0]), s.operands[0].count(),
                  shape_text(s.declared), s.declared.count());
  return Type();
}

Result<Type> infer_dynamic_broadcast(const Site& s) {
  if (Problem p = check_arrays(s)) return *p;
  const DynamicBroadcastAttr& a = s.as<DynamicBroadcastAttr>();
  Type x = s.operands[0];
  if (Problem p = check_declared_like(s, false)) return *p;
  if (Problem p = check_shape_vector(s, 1, declared_rank(s))) return *p;
  if (Problem p = check_length(s, "broadcast_dimensions", a.dims.size(), x.rank())) return *p;
  if (Problem p = check_dims(s, "known_expanding_dimensions", a.known_expanding, x.rank())) return *p;
  if (Problem p = check_dims(s, "known_nonexpanding_dimensions", a.known_nonexpanding, x.rank())) return *p;
  if (Problem p = check_disjoint(s, "known_expanding_dimensions", a.known_expanding, "known_nonexpanding_dimensions",
                                 a.known_nonexpanding, x.rank()))
    return *p;
  if (!s.declared) return Type();
  if (Problem p = check_dims(s, "broadcast_dimensions", a.dims, s.declared.rank())) return *p;
  for (size_t i = 0; i < a.dims.size(); ++i) {
    Dim from = x.dims()[i], to = s.declared.dims()[static_cast<size_t>(a.dims[i])];
    if (from != Dim::of(1) && !fits(from, to))
      return reject(s, "operand dimension {} of {} must be 1 or equal result dimension {} of {}", i, shape_text(x),
                    a.dims[i], shape_text(s.declared));
  }
  return Type();
}

Result<Type> infer_dynamic_iota(const Site& s) {
  if (Problem p = check_declared_array(s)) return *p;
  if (Problem p = check_shape_vector(s, 0, declared_rank(s))) return *p;
  if (!s.declared) return Type();
  if (!(class_of(s.declared) & (class_integer | class_float | class_complex)))
    return reject(s, "the element type must be integer, float or complex, but the result is declared {}",
                  shape_text(s.declared));
  if (Problem p = check_dim(s, "iota_dimension", s.as<IotaAttr>().dim, s.declared.rank())) return *p;
  return Type();
}

// operand, value, low, high, interior
Result<Type> infer_dynamic_pad(const Site& s) {
  if (Problem p = check_arrays(s)) return *p;
  if (Problem p = check_scalar(s, 1, class_any)) return *p;
  if (Problem p = check_same_element(s, 0, 1)) return *p;
  for (size_t i = 2; i < 5; ++i)
    if (Problem p = check_shape_vector(s, i, s.operands[0].rank())) return *p;
  if (Problem p = check_declared_like(s, true)) return *p;
  return Type();
}

// operand, starts, limits, strides
Result<Type> infer_real_dynamic_slice(const Site& s) {
  if (Problem p = check_arrays(s)) return *p;
  for (size_t i = 1; i < 4; ++i) {
    if (Problem p = check_shape_vector(s, i, s.operands[0].rank())) return *p;
    if (Problem p = check_same_element(s, 1, i)) return *p;
  }
  if (Problem p = check_declared_like(s, true)) return *p;
  return Type();
}

}  // namespace hloc::ir::shapes
