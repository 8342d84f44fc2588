// Reductions over sliding windows.
#include "ir/infer/rules.h"

namespace hloc::ir::shapes {
namespace {

Problem check_inputs_alike(const Site& s, size_t n) {
  for (size_t i = 1; i < n; ++i)
    if (Problem p = check_same_dims(s, 0, i)) return p;
  return {};
}

Result<std::vector<Dim>> windowed_dims(const Site& s, Type input, const Window& window) {
  if (static_cast<int64_t>(window.size()) != input.rank())
    return reject(s, "window has {} dimension{}, but the operand is {}", window.size(), window.size() == 1 ? "" : "s",
                  shape_text(input));
  std::vector<Dim> dims;
  for (size_t i = 0; i < window.size(); ++i) {
    auto d = window_result(s, i, input.dims()[i], window[i]);
    if (!d) return d.error();
    dims.push_back(*d);
  }
  return dims;
}

}  // namespace

// reduce-window(inputs.., inits..)
Result<Type> infer_reduce_window(const Site& s) {
  if (Problem p = check_arrays(s)) return *p;
  if (s.operands.size() % 2 != 0)
    return reject(s, "there must be one initial value for each input, but there are {} operands", s.operands.size());
  size_t n = s.operands.size() / 2;
  for (size_t i = n; i < 2 * n; ++i)
    if (Problem p = check_scalar(s, i, class_any)) return *p;
  if (Problem p = check_inputs_alike(s, n)) return *p;
  auto accumulators = check_reducer(s, *s.callees[0], s.operands.first(n), s.operands.last(n));
  if (!accumulators) return accumulators.error();
  auto dims = windowed_dims(s, s.operands[0], s.as<WindowAttr>().window);
  if (!dims) return dims.error();
  std::vector<Type> results;
  for (Type t : *accumulators) results.push_back(make_array(s, t, *dims));
  return one_or_tuple(s, results);
}

// select-and-scatter(operand, source, init): each source element goes to the place in its window that `select` picks.
Result<Type> infer_select_and_scatter(const Site& s) {
  if (Problem p = check_arrays(s)) return *p;
  Type x = s.operands[0], source = s.operands[1];
  if (Problem p = check_scalar(s, 2, class_any)) return *p;
  if (!fits_element(x, source, Elements::any_float))
    return reject(s, "operands 0 and 1 have different element types: {} and {}", shape_text(x), shape_text(source));
  const Computation& select = *s.callees[0];
  Type scalar = make_array(s, x, {});
  Type two[] = {scalar, scalar};
  if (Problem p = check_parameters(s, select, two)) return *p;
  if (Problem p = check_callee_result(s, select, s.context.scalar(ElementType::pred))) return *p;
  auto accumulators = check_reducer(s, *s.callees[1], s.operands.subspan(1, 1), s.operands.subspan(2, 1));
  if (!accumulators) return accumulators.error();
  const Window& window = s.as<WindowAttr>().window;
  for (size_t i = 0; i < window.size(); ++i)
    if (window[i].lhs_dilate != 1 || window[i].rhs_dilate != 1)
      return reject(s, "window dimension {} is dilated; only size, stride and padding are possible here", i);
  auto dims = windowed_dims(s, x, window);
  if (!dims) return dims.error();
  Type expected = make_array(s, source, *std::move(dims));
  if (!fits_dims(expected, source))
    return reject(s, "the windows over {} give {}, but the source is {}", shape_text(x), shape_text(expected),
                  shape_text(source));
  return make_array(s, (*accumulators)[0], dims_of(x));
}

}  // namespace hloc::ir::shapes
