// Whether HLO has words for everything in a module; StableHLO has ops and types that HLO lacks.
#include <unordered_set>

#include <fmt/format.h>

#include "ir/print/hlo_printer.h"

namespace hloc::ir {
namespace {

// Empty when HLO can say the type.
std::string type_without_hlo(Type type, std::unordered_set<const TypeNode*>& good) {
  std::vector<Type> todo{type}, visited;
  while (!todo.empty()) {
    Type t = todo.back();
    todo.pop_back();
    if (!good.insert(t.node()).second) continue;
    if (t.kind() == TypeKind::future) return "a future, a type that HLO text cannot say";
    if (t->quant) return "a quantised type, which HLO text cannot say";
    for (size_t i = 0; i < t->elements.size(); ++i) todo.push_back(t.element_type(i));
  }
  return {};
}

std::string attr_without_hlo(Value v) {
  if (v->op != Op::AllToAll) return {};
  const auto& attr = v->as<CollectiveAttr>();
  if (!attr.has_dims && attr.split_dim != attr.concat_dim)
    return "a split and a concatenation along different dimensions, which HLO's all-to-all cannot say";
  return {};
}

}  // namespace

std::optional<Diagnostic> unprintable_as_hlo(const Module& module) {
  std::unordered_set<const TypeNode*> good;
  for (const ComputationRef& c : module.computations())
    for (Value v : c->instructions()) {
      std::string why;
      if (facts(v->op).hlo.empty())
        why = fmt::format("the op '{}' has no HLO form", name_of(v->op));
      else if (!good.contains(v->type.node()) && !(why = type_without_hlo(v->type, good)).empty())
        why = fmt::format("'{}' has {}", c->name(v), why);
      else if (!(why = attr_without_hlo(v)).empty())
        why = fmt::format("'{}' has {}", c->name(v), why);
      if (why.empty()) continue;
      Loc at = c->location(v).text;
      Diagnostic d = module.source() && at.end != 0 ? error_at(*module.source(), at, why) : error(ErrorKind::input, why);
      d.kind = ErrorKind::target;
      return d;
    }
  return std::nullopt;
}

}  // namespace hloc::ir
