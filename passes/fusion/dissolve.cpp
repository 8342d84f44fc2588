#include "passes/fusion/dissolve.h"

#include <algorithm>

#include "ir/row_buffer.h"
#include "passes/rebuild.h"

namespace hloc::passes {
namespace {

using ir::Computation;
using ir::Op;
using ir::Value;

bool is_dissolvable(Value v) {
  return v->op == Op::Fusion && v->as<ir::FusionAttr>().kind != ir::FusionKind::kCustom &&
         v->callee(0).parameters().size() == v->operands().size();
}

// The instructions of a fusion's computation, in its place.
Value splice(Rebuild& rebuild, Value fusion, const Computation& body) {
  std::vector<Value> map(body.size(), nullptr), operands;
  for (Value v : body.instructions()) {
    if (v->op == Op::Parameter) {
      auto number = static_cast<size_t>(v->as<ir::ParameterAttr>().number);
      map[v->id] = rebuild.mapped(fusion->operand(number));
      continue;
    }
    operands.clear();
    for (Value operand : v->operands()) operands.push_back(map[operand->id]);
    map[v->id] = rebuild.builder().copy(body, v, operands);
    if (ir::has_row_buffer_attribute(v)) {
      ir::Extras rest = ir::without_row_buffer(v);
      rebuild.builder().share_extras(map[v->id], rest == ir::Extras{} ? nullptr : rebuild.builder().keep_extras(std::move(rest)));
    }
  }
  return map[body.root()->id];
}

// What a get-tuple-element of a fusion with several results has become; null for everything else.
Value spliced_result(const Rebuild& rebuild, Value v) {
  if (v->op != Op::GetTupleElement || !is_dissolvable(v->operand(0))) return nullptr;
  Value tuple = rebuild.mapped(v->operand(0));
  if (tuple->op != Op::Tuple) return nullptr;
  return tuple->operand(static_cast<size_t>(v->as<ir::TupleIndexAttr>().index));
}

}  // namespace

ir::ModuleRef dissolve_fusions(const ir::ModuleRef& module) {
  return rebuild_module(module, [&](const Computation& old, const CalleeMap& callees) -> ir::ComputationRef {
    bool has_fusion = std::ranges::any_of(old.instructions(), is_dissolvable);
    if (!has_fusion && !callees.touches(old)) return nullptr;
    Rebuild rebuild(old, callees, module->context(), ir::Interning::append);
    for (Value v : old.instructions()) {
      // Callees come first, so the body holds no such fusion any more.
      if (is_dissolvable(v)) rebuild.replace(v, splice(rebuild, v, *callees(v->callees()[0])));
      else if (Value result = spliced_result(rebuild, v)) rebuild.replace(v, result);
      else rebuild.copy(v);
    }
    return rebuild.finish();
  });
}

}  // namespace hloc::passes
