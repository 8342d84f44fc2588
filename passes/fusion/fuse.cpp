#include "passes/fusion/fuse.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include <fmt/format.h>

#include "ir/row_buffer.h"
#include "passes/buffers/step_kind.h"
#include "passes/fusion/dissolve.h"
#include "passes/fusion/domains.h"
#include "passes/fusion/dot_sums.h"
#include "passes/fusion/groups.h"
#include "passes/rebuild.h"

namespace hloc::passes {
namespace {

using ir::Computation;
using ir::ComputationRef;
using ir::Op;
using ir::Value;

// Names for fused computations that nobody has yet.
class FreshNames {
 public:
  explicit FreshNames(const ir::Module& module) {
    for (const auto& c : module.computations()) taken_.emplace(c->name());
  }
  std::string make(std::string_view root) {
    std::string base = fmt::format("fused_{}", root), name = base;
    uint32_t& next = next_[base];
    while (!taken_.insert(name).second) name = fmt::format("{}.{}", base, ++next);
    return name;
  }

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, uint32_t> next_;
};

// A constant goes into the kernel of its user, except where the user reads that operand from memory.
bool goes_inside(Value user, size_t position, const ir::Target& target) {
  IndexRole role = index_role(user);
  if (role == IndexRole::contract || role == IndexRole::opaque) return false;
  if (role == IndexRole::update && position == 0) return false;
  return is_inner_constant(user->operand(position), target);
}

// Writes a plan down: one computation becomes another one with fusions, and the computations of those.
class Fuser {
 public:
  Fuser(const Computation& from, const CalleeMap& callees, PassContext& context, const ir::ContextRef& graph, FreshNames& names)
      : from_(from), context_(context), graph_(graph), names_(names), live_(live_instructions(from)),
        plan_(plan_fusion(from, context)), rebuild_(from, callees, graph, ir::Interning::append),
        stamp_(from.size(), 0), inner_(from.size(), nullptr), waits_(from.size(), false) {}

  // Null when nothing changes.
  ComputationRef run() {
    find_needed();
    for (Value v : from_.instructions())
      if (live_[v->id] && is_made(v)) make(v);
    return rebuild_.finish();
  }
  std::vector<ComputationRef> take_fused() { return std::move(fused_); }

 private:
  bool is_member(Value v) const { return stamp_[v->id] == mark_; }

  // Whether the new computation has it: as a kernel's result or as it is.
  bool is_made(Value v) const {
    if (plan_.group_of_output[v->id] != FusionPlan::none) return true;
    return plan_.outside[v->id] && (v->op != Op::Constant || needed_[v->id]);
  }

  void find_needed();
  void make(Value v);
  std::vector<Value> missing(Value v);
  void make_fusion(const FusionGroup& group);
  Value make_body(const FusionGroup& group, ir::ComputationBuilder& body, std::vector<Value>& inputs);

  const Computation& from_;
  PassContext& context_;
  const ir::ContextRef& graph_;
  FreshNames& names_;
  std::vector<bool> live_, needed_;
  FusionPlan plan_;
  Rebuild rebuild_;
  std::vector<uint32_t> stamp_;   // by id: the group (its number + 1) whose computation has it
  std::vector<Value> inner_;      // by id: in that computation
  std::vector<bool> waits_;       // by id: for what it needs
  uint32_t mark_ = 0;
  std::vector<ComputationRef> fused_;
};

// Constants that are not only inside kernels.
void Fuser::find_needed() {
  needed_.assign(from_.size(), false);
  needed_[from_.root()->id] = true;
  for (Value v : from_.instructions()) {
    if (!live_[v->id]) continue;
    if (v->extras)
      for (Value before : v->extras->control_predecessors) needed_[before->id] = true;
    if (v->op == Op::Constant && v->extras && !v->extras->control_predecessors.empty()) needed_[v->id] = true;
    if (plan_.outside[v->id])
      for (Value operand : v->operands()) needed_[operand->id] = true;
  }
  for (const FusionGroup& group : plan_.groups)
    for (Value v : group.members)
      for (size_t i = 0; i < v->operands().size(); ++i)
        if (v->operand(i)->op == Op::Constant && !goes_inside(v, i, context_.target)) needed_[v->operand(i)->id] = true;
}

// What `v`, or the kernel that it is a result of, reads and is not made yet.
std::vector<Value> Fuser::missing(Value v) {
  std::vector<Value> missing;
  auto need = [&](Value operand) {
    if (!rebuild_.mapped(operand)) missing.push_back(operand);
  };
  auto need_extras = [&](Value of) {
    if (of->extras)
      for (Value before : of->extras->control_predecessors)
        if (is_made(before)) need(before);
  };
  uint32_t group = plan_.group_of_output[v->id];
  if (group == FusionPlan::none) {
    for (Value operand : v->operands()) need(operand);
    need_extras(v);
    return missing;
  }
  ++mark_;
  for (Value member : plan_.groups[group].members) stamp_[member->id] = mark_;
  for (Value member : plan_.groups[group].members) {
    need_extras(member);
    for (size_t i = 0; i < member->operands().size(); ++i)
      if (!is_member(member->operand(i)) && !goes_inside(member, i, context_.target)) need(member->operand(i));
  }
  return missing;
}

// A kernel with several results may have to wait for what stands between these.
void Fuser::make(Value wanted) {
  std::vector<Value> todo{wanted};
  while (!todo.empty()) {
    Value v = todo.back();
    if (rebuild_.mapped(v)) {
      todo.pop_back();
      continue;
    }
    std::vector<Value> before = missing(v);
    if (!before.empty()) {
      HLOC_CHECK(!waits_[v->id], "no kernel needs its own result");  // it is back on top, so all of that should be there
      waits_[v->id] = true;
      todo.insert(todo.end(), before.rbegin(), before.rend());
      continue;
    }
    if (uint32_t group = plan_.group_of_output[v->id]; group != FusionPlan::none) make_fusion(plan_.groups[group]);
    else rebuild_.copy(v);
    todo.pop_back();
  }
}

// The fused computation's instructions; its root.
Value Fuser::make_body(const FusionGroup& group, ir::ComputationBuilder& body, std::vector<Value>& inputs) {
  ++mark_;
  std::vector<Value> operands;
  auto keep_row = [&](Value outer, Value inner) {
    auto row = std::ranges::find(group.row_buffers, outer, &RowBuffer::value);
    if (row != group.row_buffers.end()) body.set_extras(inner, ir::with_row_buffer(outer, row->row_dims));
  };
  auto bind = [&](Value outer, Value inner) {
    stamp_[outer->id] = mark_;
    inner_[outer->id] = inner;
    return inner;
  };
  for (Value v : group.members) {
    operands.clear();
    for (size_t i = 0; i < v->operands().size(); ++i) {
      Value operand = v->operand(i);
      bool inside = goes_inside(v, i, context_.target);
      // One constant may be both, inside for one user and read from memory for another.
      if (is_member(operand) && (operand->op != Op::Constant || inside == (inner_[operand->id]->op == Op::Constant))) {
        operands.push_back(inner_[operand->id]);
      } else if (inside) {
        operands.push_back(bind(operand, body.copy(from_, operand, {})));
      } else {
        Value parameter = body.parameter(static_cast<int64_t>(inputs.size()), operand->type);
        body.set_name(parameter, from_.name(operand));
        operands.push_back(bind(operand, parameter));
        inputs.push_back(rebuild_.mapped(operand));
        HLOC_CHECK(inputs.back() != nullptr, "what a kernel reads is made before it");
      }
    }
    keep_row(v, bind(v, body.copy(from_, v, operands)));
  }
  if (group.outputs.size() == 1) return inner_[group.outputs[0]->id];
  operands.clear();
  std::vector<ir::Type> types;
  for (Value output : group.outputs) {
    operands.push_back(inner_[output->id]);
    types.push_back(output->type);
  }
  return body.make(Op::Tuple, graph_->tuple(types), operands);
}

void Fuser::make_fusion(const FusionGroup& group) {
  Value last = group.outputs.back();
  ir::ComputationBuilder body(graph_, names_.make(from_.name(last)));
  std::vector<Value> inputs;
  Value root = make_body(group, body, inputs);
  fused_.push_back(body.finish(root));

  ir::Extras extras;
  if (last->extras)
    for (Value before : last->extras->control_predecessors)
      if (Value now = rebuild_.mapped(before)) extras.control_predecessors.push_back(now);
  const Computation* callee = fused_.back().get();
  Value fusion = rebuild_.builder().make(Op::Fusion, root->type, inputs, ir::FusionAttr{group.kind, {}}, std::span(&callee, 1),
                                         extras.control_predecessors.empty() ? nullptr : &extras);
  if (group.outputs.size() == 1) {
    rebuild_.replace(last, fusion);
    rebuild_.name_after(fusion, last);
    return;
  }
  rebuild_.builder().set_name(fusion, graph_->string(fmt::format("{}.kernel", from_.name(last))));
  for (size_t i = 0; i < group.outputs.size(); ++i) {
    Value output = group.outputs[i];
    Value result = rebuild_.builder().make(Op::GetTupleElement, output->type, {fusion}, ir::TupleIndexAttr{static_cast<int64_t>(i)});
    rebuild_.replace(output, result);
    rebuild_.name_after(result, output);
  }
}

// Computations that run as steps and as nothing else: one that is a reducer too must stay as it is, with all it calls.
std::unordered_set<const Computation*> fusible_computations(const ir::Module& module, const std::vector<const Computation*>& reachable) {
  auto steps = step_computations(module.entry());
  std::unordered_set<const Computation*> out(steps.begin(), steps.end());
  for (auto c = reachable.rbegin(); c != reachable.rend(); ++c)  // callers first
    for (Value v : (*c)->instructions()) {
      bool as_step = out.contains(*c) && (v->op == Op::While || v->op == Op::Conditional || v->op == Op::Call);
      if (!as_step)
        for (const Computation* callee : v->callees()) out.erase(callee);
    }
  return out;
}

Result<ir::ModuleRef> run_fuse(const ir::ModuleRef& given, PassContext& context) {
  ir::ModuleRef module = sums_for_dots(dissolve_fusions(given));
  auto reachable = ir::reachable(module->entry());
  auto fusible = fusible_computations(*module, reachable);
  std::unordered_set<const Computation*> reached(reachable.begin(), reachable.end());
  FreshNames names(*module);
  CalleeMap callees;
  bool changed = false;
  std::vector<ComputationRef> now;
  for (const ComputationRef& old : module->computations()) {
    if (!reached.contains(old.get())) continue;
    if (!fusible.contains(old.get())) {
      now.push_back(old);
      continue;
    }
    Fuser fuser(*old, callees, context, module->context(), names);
    ComputationRef fresh = fuser.run();
    for (ComputationRef& fused : fuser.take_fused()) now.push_back(std::move(fused));
    changed |= fresh != nullptr;
    if (fresh) callees.set(old.get(), fresh.get());
    now.push_back(fresh ? std::move(fresh) : old);
  }
  if (!changed) return module;
  ir::ModuleBuilder out(*module);
  const Computation* entry = callees(&module->entry());
  for (ComputationRef& c : now) out.add(std::move(c));
  return out.finish(entry);
}

}  // namespace

const Pass fuse_pass{"fuse", "instructions become kernels, one fusion instruction each", run_fuse};

}  // namespace hloc::passes
