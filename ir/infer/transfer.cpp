// Asynchronous pairs and transfers to the host or between devices. Their tuples carry contexts that belong to the
// runtime, so only the parts that mean something are checked.
#include "ir/infer/rules.h"

namespace hloc::ir::shapes {
namespace {

Problem check_callee_of_async(const Site& s, std::span<const Type> operands, Type result) {
  if (s.callees.empty()) return {};
  if (Problem p = check_parameters(s, *s.callees[0], operands)) return p;
  return check_callee_result(s, *s.callees[0], result);
}

std::vector<Type> parts_of(Type tuple) {
  std::vector<Type> parts;
  for (size_t i = 0; i < tuple.tuple_size(); ++i) parts.push_back(tuple.element_type(i));
  return parts;
}

// ((operands..), result, contexts..), or a future of the result.
bool is_async_type(Type t) {
  if (t.kind() == TypeKind::future) return true;
  return t.is_tuple() && t.tuple_size() >= 2 && t.element_type(0).is_tuple();
}

constexpr std::string_view async_form = "((operands..), result, contexts..)";

// StableHLO lists its results, the last one a token; HLO groups them.
bool ends_in_token(Type t) {
  return t.is_token() || (t.is_tuple() && t.tuple_size() > 0 && t.element_type(t.tuple_size() - 1).is_token());
}

}  // namespace

Result<Type> infer_async_start(const Site& s) {
  if (Problem p = check_aliases(s, s.as<AsyncAttr>().aliases)) return *p;
  if (Problem p = s.callees.empty() ? Problem() : check_parameters(s, *s.callees[0], s.operands)) return *p;
  if (!s.declared) return Type();
  if (!is_async_type(s.declared))
    return reject(s, "the result must be {}, but it is declared {}", async_form, shape_text(s.declared));
  bool future = s.declared.kind() == TypeKind::future;
  Type operands = s.context.tuple(s.operands);
  if (!future && !fits(s.declared.element_type(0), operands))
    return reject(s, "the first part of the result is declared {}, but the operands are {}",
                  shape_text(s.declared.element_type(0)), shape_text(operands));
  Type result = s.declared.element_type(future ? 0 : 1);
  if (Problem p = s.callees.empty() ? Problem() : check_callee_result(s, *s.callees[0], result)) return *p;
  return Type();
}

Result<Type> infer_async_update(const Site& s) {
  Type t = s.operands[0];
  if (!is_async_type(t)) return reject(s, "the operand must be {}, but it is {}", async_form, shape_text(t));
  if (t.is_tuple())
    if (Problem p = check_callee_of_async(s, parts_of(t.element_type(0)), t.element_type(1))) return *p;
  return t;
}

Result<Type> infer_async_done(const Site& s) {
  Type t = s.operands[0];
  if (!is_async_type(t)) return reject(s, "the operand must be {}, but it is {}", async_form, shape_text(t));
  if (t.kind() == TypeKind::future) return t.element_type(0);
  if (Problem p = check_callee_of_async(s, parts_of(t.element_type(0)), t.element_type(1))) return *p;
  return plain(s, t.element_type(1));
}

// (destination, source, context)
Result<Type> infer_copy_start(const Site& s) {
  Type x = s.operands[0];
  if (!s.declared) {
    Type parts[] = {x, x, s.context.scalar(ElementType::u32)};
    return s.context.tuple(parts);
  }
  bool good = s.declared.is_tuple() && s.declared.tuple_size() >= 2 && fits(s.declared.element_type(0), x) &&
              fits(s.declared.element_type(1), x);
  if (!good)
    return reject(s, "the result must be (destination, source, context) with two of {}, but it is declared {}",
                  shape_text(x), shape_text(s.declared));
  return Type();
}

Result<Type> infer_copy_done(const Site& s) {
  Type t = s.operands[0];
  if (!t.is_tuple() || t.tuple_size() < 2)
    return reject(s, "the operand must be (destination, source, context), but it is {}", shape_text(t));
  return plain(s, t.element_type(0));
}

Result<Type> infer_infeed(const Site& s) {
  if (Problem p = check_token(s, 0)) return *p;
  if (s.declared && !ends_in_token(s.declared))
    return reject(s, "the result must be a tuple of data and a token, but it is declared {}", shape_text(s.declared));
  return Type();
}

Result<Type> infer_outfeed(const Site& s) {
  size_t last = s.operands.size() - 1;
  if (Problem p = check_token(s, last)) return *p;
  Type shape = s.as<OutfeedAttr>().shape;
  if (shape && last == 1 && !fits(shape, s.operands[0]))
    return reject(s, "outfeed_shape is {}, but the data is {}", shape_text(shape), shape_text(s.operands[0]));
  return s.context.token();
}

// HLO: (data, context, token)
Result<Type> infer_send(const Site& s) {
  size_t last = s.operands.size() - 1;
  if (Problem p = check_token(s, last)) return *p;
  if (!s.declared) return Type();
  if (!ends_in_token(s.declared))
    return reject(s, "the result must be (data, context, token), but it is declared {}", shape_text(s.declared));
  if (s.declared.is_tuple() && last == 1 && !fits(s.declared.element_type(0), s.operands[0]))
    return reject(s, "the first part of the result is declared {}, but the data is {}",
                  shape_text(s.declared.element_type(0)), shape_text(s.operands[0]));
  return Type();
}

Result<Type> infer_send_done(const Site& s) {
  if (!ends_in_token(s.operands[0]))
    return reject(s, "the operand must be (data, context, token), but it is {}", shape_text(s.operands[0]));
  return s.context.token();
}

Result<Type> infer_recv(const Site& s) {
  if (Problem p = check_token(s, 0)) return *p;
  if (s.declared && !ends_in_token(s.declared))
    return reject(s, "the result must be (data, context, token), but it is declared {}", shape_text(s.declared));
  return Type();
}

Result<Type> infer_recv_done(const Site& s) {
  Type t = s.operands[0];
  if (!t.is_tuple() || t.tuple_size() < 3 || !ends_in_token(t))
    return reject(s, "the operand must be (data, context, token), but it is {}", shape_text(t));
  Type parts[] = {t.element_type(0), s.context.token()};
  return s.context.tuple(parts);
}

}  // namespace hloc::ir::shapes
