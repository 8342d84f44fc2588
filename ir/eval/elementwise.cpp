// Elementwise ops on whole arrays.
#include <algorithm>

#include <fmt/format.h>

#include "ir/eval/ops.h"

namespace hloc::ir::eval {
namespace {

// An operand that nobody else needs and that has room for the result, or a new array.
Literal elementwise_result(Call& c, int width) {
  for (Literal& in : c.in) {
    bool fits = in.type().count() == c.type.count() && byte_width(in.type().element()) == width;
    if (!fits || in.is_shared()) continue;
    Literal out = in.with_type(c.type);
    in = Literal();
    return out;
  }
  return c.eval.allocate(c.type);
}

bool may_be_scalar(Op op, size_t operand) {
  return (op == Op::Select && operand == 0) || (op == Op::Clamp && operand != 1);
}

}  // namespace

Result<Literal> eval_elementwise(Call& c) {
  std::vector<ElementType> types;
  for (const Literal& in : c.in) types.push_back(in.type().element());
  auto k = elementwise_kernel({c.v->op, *c.v->attr, types, c.type.element()});
  if (!k)
    return c.eval.fail(fmt::format("'{}' is not defined on {}", name_of(c.v->op),
                                   types.empty() ? "nothing" : name_of(types[0])), ErrorKind::target);
  std::vector<const std::byte*> in;
  for (size_t i = 0; i < c.in.size(); ++i) {
    k->fixed[i] = may_be_scalar(c.v->op, i) && c.in[i].type().rank() == 0;
    if (!k->fixed[i] && c.in[i].type().count() != c.type.count())
      return c.eval.fail(fmt::format("operand {} of '{}' has {} elements, the result {}", i, name_of(c.v->op),
                                     c.in[i].type().count(), c.type.count()));
    in.push_back(c.in[i].bytes().data());
  }
  Literal out = elementwise_result(c, k->width);
  k->run(*k, in.data(), out.mutable_bytes().data(), c.type.count());
  return out;
}

}  // namespace hloc::ir::eval
