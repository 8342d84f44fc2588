// inline: a call becomes the instructions of what it calls, everywhere: in the entry, in loop bodies, in reducers.
//
// So do composites (their decomposition), maps whose computation is elementwise (the same ops over whole arrays), and
// conditionals whose selector is a constant. Callees come first, so one level is spliced at a time and no recursion is
// needed. The instructions of a callee stand where the call stood: effects keep their order. If the call had control
// predecessors, the callee's first instructions inherit them; who waited for the call waits for the callee's root and
// effects. A program that doubles at every level would explode: after a limit, which grows with the program, calls stay calls.
#include "passes/call_inline.h"

#include <algorithm>
#include <unordered_map>

#include "passes/rebuild.h"
#include "passes/rewrite/scalar.h"

namespace hloc::passes {
namespace {

using ir::Computation;
using ir::Op;
using ir::Value;

// Instructions that inlining may add: enough for any program that people write, and in proportion to a larger one.
size_t inline_limit(const ir::Module& module) {
  size_t size = 0;
  for (const ir::ComputationRef& c : module.computations()) size += c->size();
  return (size_t{1} << 17) + 16 * size;
}

// What an instruction is replaced by: a computation applied to some operands.
struct Inlinable {
  const Computation* body = nullptr;
  std::vector<Value> arguments;  // of the old computation
};

bool is_scalar_expression(const Computation& body) {
  for (Value v : body.instructions()) {
    if (!v->type.is_array() || v->type.rank() != 0 || ir::has_effect(v) || !v->callees().empty()) return false;
    if (v->op != Op::Parameter && v->op != Op::Constant && !ir::is_elementwise(v->op)) return false;
    if (v->extras && !v->extras->control_predecessors.empty()) return false;
  }
  return true;
}

bool fits_signature(const Computation& body, Value call, std::span<const Value> arguments) {
  if (body.parameters().size() != arguments.size() || !ir::same_shape(body.result_type(), call->type)) return false;
  // A difference in layout is a copy where there is one array; in tuples it is too rare to be worth taking apart.
  if (body.result_type() != call->type && !call->type.is_array()) return false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    ir::Type want = body.parameters()[i]->type, have = arguments[i]->type;
    if (want != have && !(want.is_array() && ir::same_shape(want, have))) return false;
  }
  return true;
}

// The branch of a conditional whose selector is known.
std::optional<size_t> known_branch(Value conditional) {
  Value selector = conditional->operand(0);
  std::optional<int64_t> value = uniform_int(selector);
  if (!value || conditional->callee_count == 0) return std::nullopt;
  if (selector->type.element() == ElementType::pred) return *value != 0 ? 0 : 1;
  auto count = static_cast<int64_t>(conditional->callee_count);
  return static_cast<size_t>(*value < 0 || *value >= count ? count - 1 : *value);
}

Inlinable inlinable(Value v, const CalleeMap& callees) {
  Inlinable out;
  if (v->op == Op::Call || v->op == Op::Composite) {
    if (v->callee_count != 1) return {};
    out = {callees(v->callees()[0]), {v->operands().begin(), v->operands().end()}};
  } else if (v->op == Op::Conditional) {
    std::optional<size_t> branch = known_branch(v);
    if (!branch || *branch >= v->callee_count) return {};
    out.body = callees(v->callees()[*branch]);
    if (*branch + 1 < v->operand_count && !out.body->parameters().empty()) out.arguments = {v->operand(*branch + 1)};
  } else {
    return {};
  }
  if (!out.body->execution_thread().empty() || !fits_signature(*out.body, v, out.arguments)) return {};
  return out;
}

class Inliner {
 public:
  Inliner(const Computation& from, const CalleeMap& callees, const ir::ContextRef& context, size_t& room,
          PassContext& pass)
      : callees_(callees), rebuild_(from, callees, context, ir::Interning::append), room_(room), pass_(pass) {}

  ir::ComputationRef run() {
    for (Value v : rebuild_.from().instructions()) {
      Inlinable what = inlinable(v, callees_);
      bool map = v->op == Op::Map && v->callee_count == 1 && v->type.is_array() && !v->extras &&
                 is_scalar_expression(*callees_(v->callees()[0]));
      size_t size = what.body ? what.body->size() : 0;
      if (map) {
        expand_map(v, *callees_(v->callees()[0]));
      } else if (what.body && size <= room_) {
        room_ -= size;
        splice(v, what);
      } else {
        copy(v);
      }
    }
    return rebuild_.finish();
  }

 private:
  // A plain copy, but one that waits for all effects of the calls it waited for.
  void copy(Value v) {
    Value now = rebuild_.copy(v);
    if (!v->extras || v->extras->control_predecessors.empty() || ends_.empty()) return;
    ir::Extras extras = *v->extras;
    extras.control_predecessors = predecessors(v);
    rebuild_.builder().set_extras(now, std::move(extras));
  }

  std::vector<Value> predecessors(Value v) {
    std::vector<Value> out;
    auto add = [&](Value p) {
      if (p && std::ranges::find(out, p) == out.end()) out.push_back(p);
    };
    if (!v->extras) return out;
    for (Value p : v->extras->control_predecessors) {
      add(rebuild_.mapped(p));
      if (auto it = ends_.find(p); it != ends_.end())
        for (Value end : it->second) add(end);
    }
    return out;
  }

  Value as_type(Value v, ir::Type type) {
    return v->type == type ? v : rebuild_.builder().make(Op::Copy, type, {v});
  }

  void splice(Value call, const Inlinable& what) {
    const Computation& body = *what.body;
    ir::ComputationBuilder& builder = rebuild_.builder();
    std::vector<Value> map(body.size()), operands, before = predecessors(call);
    for (size_t i = 0; i < what.arguments.size(); ++i) {
      Value parameter = body.parameters()[i];
      map[parameter->id] = as_type(rebuild_.mapped(what.arguments[i]), parameter->type);
    }
    for (Value v : body.instructions()) {
      if (v->op == Op::Parameter) continue;
      operands.clear();
      bool first = true;  // no operand that is computed in the callee
      for (Value operand : v->operands()) {
        operands.push_back(map[operand->id]);
        first &= operand->op == Op::Parameter || operand->op == Op::Constant;
      }
      Value now = builder.copy(body, v, operands);
      bool waits = v->extras && !v->extras->control_predecessors.empty();
      if (waits || (first && !before.empty() && v->op != Op::Constant)) {
        ir::Extras extras = v->extras ? *v->extras : ir::Extras{};
        for (Value& p : extras.control_predecessors) p = map[p->id];
        if (first && v->op != Op::Constant)
          extras.control_predecessors.insert(extras.control_predecessors.end(), before.begin(), before.end());
        builder.set_extras(now, std::move(extras));
      }
      map[v->id] = now;
    }
    for (Value v : body.effects()) ends_[call].push_back(map[v->id]);
    rebuild_.replace(call, as_type(map[body.root()->id], call->type));
    remark(call, body);
  }

  // map(f)(x, y) is f's ops over the arrays x and y.
  void expand_map(Value call, const Computation& body) {
    ir::ComputationBuilder& builder = rebuild_.builder();
    ir::Context& context = *builder.context();
    std::vector<ir::Dim> dims(call->type.dims().begin(), call->type.dims().end());
    auto arrayed = [&](ir::Type scalar) {
      return context.array(scalar.element(), dims, call->type.layout(), scalar->quant);
    };
    std::vector<Value> map(body.size()), operands;
    for (Value v : body.instructions()) {
      if (v->op == Op::Parameter) {
        map[v->id] = rebuild_.mapped(call->operand(static_cast<size_t>(v->as<ir::ParameterAttr>().number)));
        continue;
      }
      operands.clear();
      for (Value operand : v->operands()) operands.push_back(map[operand->id]);
      Value now = nullptr;
      if (v->op == Op::Constant) {
        Value scalar = builder.copy(body, v, {});
        now = dims.empty() ? scalar : builder.make(Op::Broadcast, arrayed(v->type), {scalar}, ir::BroadcastAttr{});
      } else {
        now = builder.make(v->op, arrayed(v->type), operands, *v->attr, {}, v->extras, v->flags);
        builder.set_name(now, body.name(v));
      }
      map[v->id] = now;
    }
    rebuild_.replace(call, as_type(map[body.root()->id], call->type));
    remark(call, body);
  }

  void remark(Value call, const Computation& body) {
    if (!pass_.remarks) return;
    pass_.remarks->push_back({"inline", std::string(ir::name_of(call->op)), std::string(rebuild_.from().name()),
                              std::string(rebuild_.from().name(call)), "replaced by " + std::string(body.name())});
  }

  const CalleeMap& callees_;
  Rebuild rebuild_;
  size_t& room_;  // how many more instructions may be added
  PassContext& pass_;
  std::unordered_map<Value, std::vector<Value>> ends_;  // effects of the calls spliced so far, by old call
};

bool may_inline(const Computation& computation) {
  for (Value v : computation.instructions())
    if (v->op == Op::Call || v->op == Op::Composite || v->op == Op::Map || v->op == Op::Conditional) return true;
  return false;
}

Result<ir::ModuleRef> run_inline(const ir::ModuleRef& module, PassContext& pass) {
  size_t room = inline_limit(*module);
  return rebuild_module(module, [&](const Computation& old, const CalleeMap& callees) -> ir::ComputationRef {
    if (!may_inline(old) && !callees.touches(old)) return nullptr;
    return Inliner(old, callees, module->context(), room, pass).run();
  });
}

}  // namespace

const Pass inline_pass{"inline", "calls, composites and maps become the instructions of what they call", run_inline};

}  // namespace hloc::passes
