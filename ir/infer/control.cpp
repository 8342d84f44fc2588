// Tuples, tokens, calls and loops: types go through unchanged; called computations must agree with them.
#include "ir/infer/rules.h"

namespace hloc::ir::shapes {

Result<Type> infer_tuple(const Site& s) { return s.context.tuple(s.operands); }

Result<Type> infer_get_tuple_element(const Site& s) {
  Type t = s.operands[0];
  int64_t index = s.as<TupleIndexAttr>().index;
  if (!t.is_tuple()) return reject(s, "the operand must be a tuple, but it is {}", shape_text(t));
  if (index < 0 || static_cast<uint64_t>(index) >= t.tuple_size())
    return reject(s, "index={} is out of range: the operand is {} with {} element{}", index, shape_text(t),
                  t.tuple_size(), t.tuple_size() == 1 ? "" : "s");
  return t.element_type(static_cast<size_t>(index));
}

Result<Type> infer_token(const Site& s) { return s.context.token(); }

Result<Type> infer_add_dependency(const Site& s) {
  if (Problem p = check_token(s, 1)) return *p;
  return s.operands[0];
}

Result<Type> infer_opt_barrier(const Site& s) { return one_or_tuple(s, s.operands); }

Result<Type> infer_first_operand(const Site& s) { return plain(s, s.operands[0]); }

Result<Type> infer_call(const Site& s) {
  if (const auto* fusion = get_if<FusionAttr>(&s.attr))
    if (Problem p = check_aliases(s, fusion->aliases)) return *p;
  if (s.callees.empty()) return Type();  // a composite that nobody has decomposed
  const Computation& callee = *s.callees[0];
  if (Problem p = check_parameters(s, callee, s.operands)) return *p;
  return plain(s, callee.result_type());
}

// while(init): condition and body, in this order, take the value that is carried.
Result<Type> infer_while(const Site& s) {
  Type carried = s.operands[0];
  const Computation &condition = *s.callees[0], &body = *s.callees[1];
  if (Problem p = check_parameters(s, condition, s.operands)) return *p;
  if (Problem p = check_callee_result(s, condition, s.context.scalar(ElementType::pred))) return *p;
  if (Problem p = check_parameters(s, body, s.operands)) return *p;
  if (Problem p = check_callee_result(s, body, carried)) return *p;
  return plain(s, carried);
}

// conditional(which, x0, x1..): branch k gets xk. A pred chooses the first branch when true.
Result<Type> infer_conditional(const Site& s) {
  if (Problem p = check_array(s, 0)) return *p;
  Type which = s.operands[0];
  bool by_pred = which.element() == ElementType::pred;
  if (!which.is_scalar() || (!by_pred && which.element() != ElementType::s32))
    return reject(s, "the first operand must be pred[] or s32[], but it is {}", shape_text(which));
  if (by_pred && s.callees.size() != 2)
    return reject(s, "a pred chooses between two computations, but there are {}", s.callees.size());
  // StableHLO's `if` and `case` capture what their regions use, so those take no operands of their own.
  bool bare = s.op == Op::StableHloIf;
  if (!bare && s.operands.size() != s.callees.size() + 1)
    return reject(s, "{} branch{} need as many operands after the first, but there are {}", s.callees.size(),
                  s.callees.size() == 1 ? "" : "es", s.operands.size() - 1);
  Type result = s.callees[0]->result_type();
  for (size_t i = 0; i < s.callees.size(); ++i) {
    if (Problem p = check_parameters(s, *s.callees[i], bare ? s.operands.first(0) : s.operands.subspan(i + 1, 1)))
      return *p;
    if (!fits(s.callees[i]->result_type(), result))
      return reject(s, "computations {} and {} return different types: {} and {}", s.callees[0]->name(),
                    s.callees[i]->name(), shape_text(result), shape_text(s.callees[i]->result_type()));
  }
  return plain(s, result);
}

// What a custom call does with its operands is its own business; what it says about them must be right.
Result<Type> infer_custom_call(const Site& s) {
  const CustomCallAttr& a = s.as<CustomCallAttr>();
  if (a.target.empty()) return reject(s, "custom_call_target must not be empty");
  if (a.operand_layouts) {
    if (a.operand_layouts->size() != s.operands.size())
      return reject(s, "operand_layout_constraints has {} entries, but there are {} operands", a.operand_layouts->size(),
                    s.operands.size());
    for (size_t i = 0; i < s.operands.size(); ++i)
      if (!fits((*a.operand_layouts)[i], s.operands[i]))
        return reject(s, "operand_layout_constraints gives operand {} as {}, but it is {}", i,
                      shape_text((*a.operand_layouts)[i]), shape_text(s.operands[i]));
  }
  if (Problem p = check_aliases(s, a.aliases)) return *p;
  return Type();
}

Result<Type> infer_check(const Site& s) {
  const CheckAttr& a = s.as<CheckAttr>();
  if (Problem p = check_arrays(s)) return *p;
  if (s.operands.size() == 2) {
    if (Problem p = check_same_dims(s, 0, 1)) return *p;
    if (Problem p = check_same_element(s, 0, 1)) return *p;
  } else if (a.expected.type() && !fits(a.expected.type(), s.operands[0])) {
    return reject(s, "the expected value is {}, but the operand is {}", shape_text(a.expected.type()),
                  shape_text(s.operands[0]));
  }
  return Type();
}

Result<Type> infer_anything(const Site&) { return Type(); }

}  // namespace hloc::ir::shapes
