// Ops that run a small computation over elements: reduce, scan, sort, map; and topk.
#include <algorithm>

#include "ir/infer/rules.h"

namespace hloc::ir::shapes {

// reduce(inputs.., inits..): the named dimensions go away; the element type is what the reducer returns.
Result<Type> infer_reduce(const Site& s) {
  if (Problem p = check_arrays(s)) return *p;
  if (s.operands.size() % 2 != 0)
    return reject(s, "there must be one initial value for each input, but there are {} operands", s.operands.size());
  size_t n = s.operands.size() / 2;
  for (size_t i = n; i < 2 * n; ++i)
    if (Problem p = check_scalar(s, i, class_any)) return *p;
  for (size_t i = 1; i < n; ++i)
    if (Problem p = check_same_dims(s, 0, i)) return *p;
  const Ints& reduced = s.as<DimsAttr>().dims;
  Type x = s.operands[0];
  if (Problem p = check_dims(s, "dimensions", reduced, x.rank())) return *p;
  auto accumulators = check_reducer(s, *s.callees[0], s.operands.first(n), s.operands.last(n));
  if (!accumulators) return accumulators.error();
  std::vector<bool> gone = marks(x.dims().size(), {reduced});
  std::vector<Dim> dims;
  for (size_t d = 0; d < gone.size(); ++d)
    if (!gone[d]) {
      Dim dim = x.dims()[d];
      for (size_t i = 1; i < n; ++i) dim = meet(dim, s.operands[i].dims()[d]);
      dims.push_back(dim);
    }
  std::vector<Type> results;
  for (Type t : *accumulators) results.push_back(make_array(s, t, dims));
  return one_or_tuple(s, results);
}

namespace {

std::vector<Type> tuple_parts(Type type) {
  if (!type.is_tuple()) return {type};
  std::vector<Type> parts;
  for (size_t i = 0; i < type.tuple_size(); ++i) parts.push_back(type.element_type(i));
  return parts;
}

Type without_dim(const Site& s, Type type, size_t dim) {
  std::vector<Dim> dims = dims_of(type);
  dims.erase(dims.begin() + static_cast<ptrdiff_t>(dim));
  return make_array(s, type, std::move(dims));
}

// The length of the scan: all inputs agree on it.
Result<Dim> scan_length(const Site& s, size_t inputs, int64_t dim) {
  if (inputs == 0) return reject(s, "there must be at least one input besides the {} initial carries", s.operands.size());
  Dim length = Dim::any();
  for (size_t i = 0; i < inputs; ++i) {
    Type t = s.operands[i];
    if (Problem p = check_dim(s, fmt::format("operand {}: dimension", i), dim, t.rank())) return *p;
    Dim d = t.dims()[static_cast<size_t>(dim)];
    if (!fits(d, length))
      return reject(s, "operands 0 and {} have different sizes along dimension {}: {} and {}", i, dim,
                    shape_text(s.operands[0]), shape_text(t));
    length = meet(length, d);
  }
  return length;
}

}  // namespace

// scan(inputs.., carries..): the computation takes one slice of each input and the carries, and returns one slice of
// each output and the next carries.
Result<Type> infer_scan(const Site& s) {
  if (Problem p = check_arrays(s)) return *p;
  const ScanAttr& a = s.as<ScanAttr>();
  if (Problem p = check_one(s, "dimensions", a.dims)) return *p;
  if (a.num_carries < 0 || static_cast<uint64_t>(a.num_carries) > s.operands.size())
    return reject(s, "num_carries={} must be from 0 to the number of operands, {}", a.num_carries, s.operands.size());
  auto carries = static_cast<size_t>(a.num_carries);
  size_t inputs = s.operands.size() - carries;
  auto length = scan_length(s, inputs, a.dims[0]);
  if (!length) return length.error();
  auto dim = static_cast<size_t>(a.dims[0]);
  const Computation& body = *s.callees[0];
  std::vector<Type> parameters;
  for (size_t i = 0; i < s.operands.size(); ++i)
    parameters.push_back(i < inputs ? without_dim(s, s.operands[i], dim) : s.operands[i]);
  if (Problem p = check_parameters(s, body, parameters)) return *p;
  std::vector<Type> parts = tuple_parts(body.result_type());
  if (parts.size() < carries)
    return reject(s, "computation {} must return outputs and {} carries, but it returns {}", body.name(), carries,
                  shape_text(body.result_type()));
  size_t outputs = parts.size() - carries;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].is_array() || (i < outputs && parts[i].rank() < a.dims[0]))
      return reject(s, "part {} of what computation {} returns, {}, is no slice across dimension {}", i, body.name(),
                    shape_text(parts[i]), dim);
    if (i >= outputs) {
      if (!fits(parts[i], s.operands[inputs + i - outputs]))
        return reject(s, "carry {} begins as {}, but computation {} returns {}", i - outputs,
                      shape_text(s.operands[inputs + i - outputs]), body.name(), shape_text(parts[i]));
      continue;
    }
    std::vector<Dim> dims = dims_of(parts[i]);
    dims.insert(dims.begin() + static_cast<ptrdiff_t>(dim), *length);
    parts[i] = make_array(s, parts[i], std::move(dims));
  }
  return body.result_type().is_tuple() ? s.context.tuple(parts) : parts[0];
}

// The comparator takes two scalars of each operand, side by side, and says whether the first goes before the second.
Result<Type> infer_sort(const Site& s) {
  if (Problem p = check_arrays(s)) return *p;
  for (size_t i = 1; i < s.operands.size(); ++i)
    if (Problem p = check_same_dims(s, 0, i)) return *p;
  if (Problem p = check_dim(s, "dimension", s.as<SortAttr>().dim, s.operands[0].rank())) return *p;
  std::vector<Type> parameters, results;
  for (Type t : s.operands) {
    Type scalar = make_array(s, t, {});
    parameters.insert(parameters.end(), {scalar, scalar});
    results.push_back(plain(s, t));
  }
  const Computation& comparator = *s.callees[0];
  if (Problem p = check_parameters(s, comparator, parameters)) return *p;
  if (Problem p = check_callee_result(s, comparator, s.context.scalar(ElementType::pred))) return *p;
  return one_or_tuple(s, results);
}

// The k largest (or smallest) along the last dimension, and where they were.
Result<Type> infer_topk(const Site& s) {
  if (Problem p = check_class(s, 0, class_pred | class_integer | class_float)) return *p;
  if (Problem p = check_rank_at_least(s, 0, 1)) return *p;
  Type x = s.operands[0];
  int64_t k = s.as<TopKAttr>().k;
  Dim last = x.dims().back();
  if (k < 0 || (last.kind != Dim::unknown && k > last.size))
    return reject(s, "k={} must be from 0 to the last dimension of {}", k, shape_text(x));
  auto others = x.dims().first(x.dims().size() - 1);
  std::vector<Dim> dims(others.begin(), others.end());
  dims.push_back(Dim::of(k));
  Type parts[] = {make_array(s, x, dims), s.context.array(ElementType::s32, dims)};
  return s.context.tuple(parts);
}

Result<Type> infer_map(const Site& s) {
  if (Problem p = check_arrays(s)) return *p;
  for (size_t i = 1; i < s.operands.size(); ++i)
    if (Problem p = check_same_dims(s, 0, i)) return *p;
  Type x = s.operands[0];
  const Ints& dims = s.as<DimsAttr>().dims;
  bool in_order = dims.empty() || static_cast<int64_t>(dims.size()) == x.rank();
  for (size_t i = 0; in_order && i < dims.size(); ++i) in_order = dims[i] == static_cast<int64_t>(i);
  if (!in_order)
    return reject(s, "dimensions={} must name all dimensions of {} in ascending order", list_text(dims), shape_text(x));
  std::vector<Type> parameters;
  for (Type t : s.operands) parameters.push_back(make_array(s, t, {}));
  const Computation& callee = *s.callees[0];
  if (Problem p = check_parameters(s, callee, parameters)) return *p;
  if (!callee.result_type().is_scalar())
    return reject(s, "computation {} must return a scalar, but it returns {}", callee.name(),
                  shape_text(callee.result_type()));
  return make_array(s, callee.result_type(), dims_of(x));
}

}  // namespace hloc::ir::shapes
