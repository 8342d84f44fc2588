// Ops that move elements without computing: where each result element comes from is known from shapes and attributes.
#include <algorithm>

#include "ir/infer/rules.h"

namespace hloc::ir::shapes {
namespace {

// Number of elements; nothing when a dimension is unknown or the product does not fit.
std::optional<int64_t> element_total(Type type) {
  Checked total = 1;
  for (Dim d : type.dims()) {
    if (d.kind == Dim::unknown) return {};
    if (d.size == 0) return 0;
  }
  for (Dim d : type.dims()) total = total * d.size;
  return total.ok ? std::optional(total.value) : std::nullopt;
}

Problem check_declared_element(const Site& s) {
  if (!s.declared || fits_element(s.declared, s.operands[0])) return {};
  return reject(s, "the result is declared {}, but it must keep the element type of the operand {}",
                shape_text(s.declared), shape_text(s.operands[0]));
}

}  // namespace

Result<Type> infer_constant(const Site& s) {
  const Literal& value = s.as<ConstantAttr>().value;
  if (!value.type()) return reject(s, "there is no value");
  return plain(s, value.type());
}

Result<Type> infer_iota(const Site& s) {
  if (Problem p = check_declared_array(s)) return *p;
  if (!s.declared) return Type();
  if (!(class_of(s.declared) & (class_integer | class_float | class_complex)))
    return reject(s, "the element type must be integer, float or complex, but the result is declared {}",
                  shape_text(s.declared));
  if (s.declared.is_scalar()) return reject(s, "a scalar has no dimension to count along; use a constant 0");
  if (Problem p = check_dim(s, "iota_dimension", s.as<IotaAttr>().dim, s.declared.rank())) return *p;
  return Type();
}

namespace {

// Whether elements of these widths agree: equal ones keep the shape; else the last dimension of the narrower side holds
// the parts of one wider element. "" when they do.
std::string bitcast_mismatch(Type from, int from_bits, Type to, int to_bits) {
  if (from_bits == to_bits) return fits_dims(from, to) ? "" : "elements of equal width keep the shape";
  Type wide = from_bits > to_bits ? from : to, narrow = from_bits > to_bits ? to : from;
  int ratio = std::max(from_bits, to_bits) / std::min(from_bits, to_bits);
  if (ratio * std::min(from_bits, to_bits) != std::max(from_bits, to_bits))
    return "one element width must be a multiple of the other";
  bool same_front = narrow.rank() == wide.rank() + 1 && fits(narrow.dims().back(), Dim::of(ratio)) &&
                    std::ranges::equal(wide.dims(), narrow.dims().first(wide.dims().size()),
                                       [](Dim a, Dim b) { return fits(a, b); });
  return same_front ? "" : fmt::format("the narrower side needs a last dimension of {} more than the wider one", ratio);
}

}  // namespace

Result<Type> infer_bitcast_convert(const Site& s) {
  if (Problem p = check_array(s, 0)) return *p;
  if (Problem p = check_declared_array(s)) return *p;
  if (!s.declared) return Type();
  Type from = s.operands[0], to = s.declared;
  auto mismatch = [&](std::string_view why) {
    return reject(s, "{} cannot become {}: {}", shape_text(from), shape_text(to), why);
  };
  if (class_of(from) == class_complex || class_of(to) == class_complex)
    if (class_of(from) != class_of(to)) return mismatch("complex elements only become complex ones");
  int from_bits = bit_width(from.element()), to_bits = bit_width(to.element());
  std::string problem = bitcast_mismatch(from, from_bits, to, to_bits);
  // A pred is a byte for HLO and a bit for StableHLO; the shapes tell which is meant.
  bool one_bit = (class_of(from) | class_of(to)) & class_pred;
  if (!problem.empty() && one_bit) {
    if (class_of(from) == class_pred) from_bits = 1;
    if (class_of(to) == class_pred) to_bits = 1;
    if (bitcast_mismatch(from, from_bits, to, to_bits).empty()) return Type();
  }
  if (!problem.empty()) return mismatch(problem);
  return Type();
}

// Reinterprets bytes: only their number must agree.
Result<Type> infer_bitcast(const Site& s) {
  if (!s.declared || !s.operands[0].is_array()) {
    if (s.declared && !fits(s.declared, s.operands[0]))
      return reject(s, "{} cannot become {}", shape_text(s.operands[0]), shape_text(s.declared));
    return Type();
  }
  if (Problem p = check_declared_array(s)) return *p;
  auto from = element_total(s.operands[0]), to = element_total(s.declared);
  if (!from || !to) return Type();
  Checked from_bits = Checked(*from) * bit_width(s.operands[0].element());
  Checked to_bits = Checked(*to) * bit_width(s.declared.element());
  if (from_bits.ok != to_bits.ok || from_bits.value != to_bits.value)
    return reject(s, "{} and {} have different sizes in bytes", shape_text(s.operands[0]), shape_text(s.declared));
  return Type();
}

// result[.., i_k at dims[k], ..] = operand[i_0, i_1, ..]
Result<Type> infer_broadcast(const Site& s) {
  if (Problem p = check_array(s, 0)) return *p;
  if (Problem p = check_declared_array(s)) return *p;
  const Ints& dims = s.as<BroadcastAttr>().dims;
  Type x = s.operands[0];
  if (Problem p = check_length(s, "dimensions", dims.size(), x.rank())) return *p;
  if (!s.declared) return Type();
  if (Problem p = check_dims(s, "dimensions", dims, s.declared.rank())) return *p;
  if (Problem p = check_declared_element(s)) return *p;
  for (size_t i = 0; i < dims.size(); ++i) {
    Dim from = x.dims()[i], to = s.declared.dims()[static_cast<size_t>(dims[i])];
    if (!fits(from, to))
      return reject(s, "operand dimension {} of {} goes to result dimension {} of {}, so their sizes must be equal", i,
                    shape_text(x), dims[i], shape_text(s.declared));
  }
  return Type();
}

// stablehlo.broadcast: new dimensions in front.
Result<Type> infer_stablehlo_broadcast(const Site& s) {
  if (Problem p = check_array(s, 0)) return *p;
  std::vector<Dim> dims;
  for (int64_t size : s.as<DimsAttr>().dims) {
    if (size < 0) return reject(s, "size {} is negative", size);
    dims.push_back(Dim::of(size));
  }
  dims.insert(dims.end(), s.operands[0].dims().begin(), s.operands[0].dims().end());
  return make_array(s, s.operands[0], std::move(dims));
}

Result<Type> infer_reshape(const Site& s) {
  if (Problem p = check_array(s, 0)) return *p;
  if (Problem p = check_declared_array(s)) return *p;
  if (!s.declared) return Type();
  if (Problem p = check_declared_element(s)) return *p;
  int64_t inferred = s.as<ReshapeAttr>().inferred_dim;
  if (inferred != -1)
    if (Problem p = check_dim(s, "inferred_dimension", inferred, s.declared.rank())) return *p;
  auto from = element_total(s.operands[0]), to = element_total(s.declared);
  if (from && to && *from != *to)
    return reject(s, "{} has {} element{}, but {} has {}", shape_text(s.operands[0]), *from, *from == 1 ? "" : "s",
                  shape_text(s.declared), *to);
  return Type();
}

// result[i_{p0}, i_{p1}, ..] = operand[i_0, i_1, ..]: result dimension k is operand dimension dims[k].
Result<Type> infer_transpose(const Site& s) {
  if (Problem p = check_array(s, 0)) return *p;
  const Ints& order = s.as<DimsAttr>().dims;
  Type x = s.operands[0];
  if (Problem p = check_length(s, "dimensions", order.size(), x.rank())) return *p;
  if (Problem p = check_dims(s, "dimensions", order, x.rank())) return *p;
  std::vector<Dim> dims;
  for (int64_t d : order) dims.push_back(x.dims()[static_cast<size_t>(d)]);
  return make_array(s, x, std::move(dims));
}

Result<Type> infer_reverse(const Site& s) {
  if (Problem p = check_array(s, 0)) return *p;
  if (Problem p = check_dims(s, "dimensions", s.as<DimsAttr>().dims, s.operands[0].rank())) return *p;
  return plain(s, s.operands[0]);
}

namespace {

// Sizes add up along the joined dimension; a dynamic part makes the sum dynamic.
Result<Dim> joined_dim(const Site& s, size_t dim) {
  Checked sum = 0;
  Dim::Kind kind = Dim::fixed;
  for (Type t : s.operands) {
    Dim d = t.dims()[dim];
    kind = std::max(kind, d.kind);
    if (d.kind != Dim::unknown) sum = sum + d.size;
  }
  if (kind == Dim::unknown) return Dim::any();
  if (!sum.ok) return reject(s, "the sum of the sizes of dimension {} does not fit into 63 bits", dim);
  return kind == Dim::bounded ? Dim::at_most(sum.value) : Dim::of(sum.value);
}

}  // namespace

Result<Type> infer_concatenate(const Site& s) {
  if (Problem p = check_arrays(s)) return *p;
  const Ints& attr = s.as<DimsAttr>().dims;
  if (Problem p = check_one(s, "dimensions", attr)) return *p;
  Type first = s.operands[0];
  if (Problem p = check_dim(s, "dimension", attr[0], first.rank())) return *p;
  auto joined = static_cast<size_t>(attr[0]);
  std::vector<Dim> dims = dims_of(first);
  for (size_t i = 1; i < s.operands.size(); ++i) {
    Type t = s.operands[i];
    if (Problem p = check_same_element(s, 0, i)) return *p;
    bool same = t.rank() == first.rank();
    for (size_t d = 0; same && d < dims.size(); ++d) same = d == joined || fits(dims[d], t.dims()[d]);
    if (!same)
      return reject(s, "operands 0 and {} must have the same dimensions except dimension {}, but they are {} and {}", i,
                    joined, shape_text(first), shape_text(t));
    for (size_t d = 0; d < dims.size(); ++d)
      if (d != joined) dims[d] = meet(dims[d], t.dims()[d]);
  }
  auto sum = joined_dim(s, joined);
  if (!sum) return sum.error();
  dims[joined] = *sum;
  return make_array(s, first, std::move(dims));
}

namespace {

Result<Dim> sliced_dim(const Site& s, size_t i) {
  const SliceAttr& a = s.as<SliceAttr>();
  Dim in = s.operands[0].dims()[i];
  int64_t start = a.start[i], limit = a.limit[i], stride = a.stride[i];
  auto place = [&] { return fmt::format("dimension {} of {}", i, shape_text(s.operands[0])); };
  if (start < 0) return reject(s, "start {} of {} is negative", start, place());
  if (limit < start) return reject(s, "limit {} of {} is below start {}", limit, place(), start);
  if (in.kind != Dim::unknown && limit > in.size) return reject(s, "limit {} exceeds {}", limit, place());
  if (stride < 1) return reject(s, "stride {} of {} must be at least 1", stride, place());
  int64_t span = limit - start;
  int64_t size = span / stride + (span % stride != 0);
  // One element out of a dynamic dimension is one element; more may run over its end.
  return in.kind == Dim::bounded && size > 1 ? Dim::at_most(size) : Dim::of(size);
}

}  // namespace

// result[i] = operand[start + i * stride], size ceil((limit - start) / stride)
Result<Type> infer_slice(const Site& s) {
  if (Problem p = check_array(s, 0)) return *p;
  const SliceAttr& a = s.as<SliceAttr>();
  Type x = s.operands[0];
  for (size_t length : {a.start.size(), a.limit.size(), a.stride.size()})
    if (Problem p = check_length(s, "slice", length, x.rank())) return *p;
  std::vector<Dim> dims;
  for (size_t i = 0; i < a.start.size(); ++i) {
    auto d = sliced_dim(s, i);
    if (!d) return d.error();
    dims.push_back(*d);
  }
  return make_array(s, x, std::move(dims));
}

namespace {

// low + size + max(size - 1, 0) * interior + high
Result<Dim> padded_dim(const Site& s, size_t i) {
  const PadAttr& a = s.as<PadAttr>();
  Dim in = s.operands[0].dims()[i];
  if (a.interior[i] < 0) return reject(s, "interior padding {} of dimension {} is negative", a.interior[i], i);
  if (in.kind == Dim::unknown) return Dim::any();
  Checked size = Checked(std::max<int64_t>(in.size - 1, 0)) * a.interior[i] + in.size + a.low[i] + a.high[i];
  if (!size.ok)
    return reject(s, "the padded size of dimension {} of {} does not fit into 63 bits", i, shape_text(s.operands[0]));
  if (size.value < 0)
    return reject(s, "padding {}_{} of dimension {} of {} removes more elements than there are", a.low[i], a.high[i],
                  i, shape_text(s.operands[0]));
  return in.kind == Dim::bounded ? Dim::at_most(size.value) : Dim::of(size.value);
}

}  // namespace

Result<Type> infer_pad(const Site& s) {
  if (Problem p = check_arrays(s)) return *p;
  if (Problem p = check_scalar(s, 1, class_any)) return *p;
  if (Problem p = check_same_element(s, 0, 1)) return *p;
  const PadAttr& a = s.as<PadAttr>();
  Type x = s.operands[0];
  for (size_t length : {a.low.size(), a.high.size(), a.interior.size()})
    if (Problem p = check_length(s, "padding", length, x.rank())) return *p;
  std::vector<Dim> dims;
  for (size_t i = 0; i < a.low.size(); ++i) {
    auto d = padded_dim(s, i);
    if (!d) return d.error();
    dims.push_back(*d);
  }
  return make_array(s, x, std::move(dims));
}

}  // namespace hloc::ir::shapes
