#include "passes/rebuild.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

namespace hloc::passes {

using ir::Computation;
using ir::ComputationRef;
using ir::Literal;
using ir::Op;
using ir::Value;

bool CalleeMap::touches(const Computation& from) const {
  if (map_.empty()) return false;
  for (Value v : from.instructions())
    for (const Computation* callee : v->callees())
      if ((*this)(callee) != callee) return true;
  return false;
}

std::vector<bool> live_instructions(const Computation& computation) {
  std::vector<bool> live(computation.size());
  std::vector<Value> todo;
  auto mark = [&](Value v) {
    if (live[v->id]) return;
    live[v->id] = true;
    todo.push_back(v);
  };
  mark(computation.root());
  for (Value v : computation.parameters()) mark(v);
  for (Value v : computation.effects()) mark(v);
  while (!todo.empty()) {
    Value v = todo.back();
    todo.pop_back();
    for (Value operand : v->operands()) mark(operand);
    if (v->extras)
      for (Value before : v->extras->control_predecessors) mark(before);
  }
  return live;
}

namespace {

uint64_t instruction_hash(Value v) {
  uint64_t h = reinterpret_cast<uintptr_t>(v->type.node()) * 0x9e3779b97f4a7c15u ^ reinterpret_cast<uintptr_t>(v->attr);
  h = (h ^ static_cast<uint64_t>(v->op)) * 0xd6e8feb86659fd93u;
  for (Value operand : v->operands()) h = (h ^ (h >> 29) ^ operand->id) * 0xd6e8feb86659fd93u;
  return h ^ (h >> 32);
}

bool is_same_instruction(Value a, Value b) {
  return a->op == b->op && a->flags == b->flags && a->type == b->type && a->attr == b->attr &&
         std::ranges::equal(a->operands(), b->operands()) && std::ranges::equal(a->callees(), b->callees()) &&
         (a->extras == b->extras || (a->extras && b->extras && *a->extras == *b->extras));
}

bool is_written_out(Value v) {
  return v->op == Op::Constant && !v->extras && v->type.is_array() && !v->type->quant && v->type.is_static() &&
         v->type.count() > 1 && is_uniform(v->as<ir::ConstantAttr>().value);
}

}  // namespace

bool is_settled(const Computation& computation, const CalleeMap& callees) {
  if (callees.touches(computation)) return false;
  size_t n = computation.size(), mask = 16;
  while (mask < 2 * n) mask *= 2;
  --mask;
  std::vector<Value> table(mask + 1);  // open addressing
  for (Value v : computation.instructions()) {
    if (is_written_out(v)) return false;
    if (ir::has_effect(v)) continue;
    size_t at = instruction_hash(v) & mask;
    for (; table[at]; at = (at + 1) & mask)
      if (is_same_instruction(table[at], v)) return false;
    table[at] = v;
  }
  std::vector<bool> live = live_instructions(computation);
  return std::ranges::find(live, false) == live.end();
}

Rebuild::Rebuild(const Computation& from, const CalleeMap& callees, const ir::ContextRef& context,
                 ir::Interning interning)
    : from_(from), callees_(callees), builder_(context, from.name(), interning), map_(from.size()) {
  builder_.reserve(from.size());
  if (!from.execution_thread().empty()) builder_.set_thread(from.execution_thread());
}

std::span<const Value> Rebuild::operands(Value old) {
  operands_.clear();
  for (Value operand : old->operands()) {
    HLOC_CHECK(map_[operand->id] != nullptr, "operands are rebuilt before their users");
    operands_.push_back(map_[operand->id]);
  }
  return operands_;
}

std::span<const Computation* const> Rebuild::callees(Value old) {
  callee_list_.clear();
  for (const Computation* callee : old->callees()) callee_list_.push_back(callees_(callee));
  return callee_list_;
}

Value Rebuild::copy(Value old) {
  std::span<const Value> operand_list = operands(old);
  std::span<const Computation* const> callee_list = callees(old);
  size_t before = builder_.size();
  Value now = nullptr;
  if (old->extras && !old->extras->control_predecessors.empty()) {
    ir::Extras extras = *old->extras;
    std::vector<Value> first;
    for (Value p : extras.control_predecessors)
      if (Value m = map_[p->id]; m && std::ranges::find(first, m) == first.end()) first.push_back(m);
    extras.control_predecessors = std::move(first);
    now = builder_.make(old->op, old->type, operand_list, *old->attr, callee_list, &extras, old->flags);
  } else {
    now = builder_.make(old->op, old->type, operand_list, *old->attr, callee_list, old->extras, old->flags);
  }
  if (builder_.size() != before) name_after(now, old);
  for (size_t i = 0; i < callee_list.size(); ++i) changed_ |= callee_list[i] != old->callees()[i];
  map_[old->id] = now;
  changed_ |= now->id != old->id;
  return now;
}

Value Rebuild::copy_normal(Value old) {
  if (!is_written_out(old)) return copy(old);
  size_t before = builder_.size();
  Value now = normal_constant(builder_, old->as<ir::ConstantAttr>().value);
  if (now->id >= before) name_after(now, old);
  replace(old, now);
  return now;
}

void Rebuild::replace(Value old, Value now) {
  map_[old->id] = now;
  changed_ = true;
}

void Rebuild::name_after(Value now, Value old) {
  builder_.set_name(now, from_.name(old));
  const ir::Location& at = from_.location(old);
  if (at.metadata || at.text.end != 0) builder_.set_location(now, at);
}

ComputationRef Rebuild::finish() {
  Value root = map_[from_.root()->id];
  if (!changed()) return nullptr;
  return builder_.finish(root);
}

ir::ModuleRef rebuild_module(const ir::ModuleRef& module, const RewriteComputation& rewrite,
                             std::vector<ComputationRef>* made) {
  std::unordered_set<const Computation*> reached;
  for (const Computation* c : ir::reachable(module->entry())) reached.insert(c);
  CalleeMap callees;
  bool changed = false;
  std::vector<ComputationRef> now;
  for (const ComputationRef& old : module->computations()) {
    if (!reached.contains(old.get())) continue;
    ComputationRef fresh = rewrite(*old, callees);
    changed |= fresh != nullptr;
    if (fresh) callees.set(old.get(), fresh.get());
    if (made) {
      std::ranges::move(*made, std::back_inserter(now));
      made->clear();
    }
    now.push_back(fresh ? std::move(fresh) : old);
  }
  if (!changed) return module;
  // A rewrite may have left some computations unused, or given one for two: list each reachable one once.
  const Computation* entry = callees(&module->entry());
  reached.clear();
  for (const Computation* c : ir::reachable(*entry)) reached.insert(c);
  ir::ModuleBuilder out(*module);
  for (ComputationRef& c : now)
    if (reached.erase(c.get()) != 0) out.add(std::move(c));
  HLOC_CHECK(reached.empty(), "a called computation is in its module");
  return out.finish(entry);
}

namespace {

bool same_extras(const ir::Extras* a, const ir::Extras* b) {
  if (!a || !b) return a == b;
  auto ids = [](const ir::Extras& e) {
    std::vector<uint32_t> out;
    for (Value v : e.control_predecessors) out.push_back(v->id);
    return out;
  };
  if (ids(*a) != ids(*b)) return false;
  ir::Extras x = *a, y = *b;
  x.control_predecessors.clear();
  y.control_predecessors.clear();
  return x == y;
}

}  // namespace

bool same_computation(const Computation& a, const Computation& b) {
  if (a.size() != b.size() || a.root()->id != b.root()->id || a.execution_thread() != b.execution_thread())
    return false;
  auto same_id = [](Value x, Value y) { return x->id == y->id; };
  for (size_t i = 0; i < a.size(); ++i) {
    Value x = a.instructions()[i], y = b.instructions()[i];
    if (x->op != y->op || x->flags != y->flags || x->type != y->type || x->attr != y->attr ||
        !std::ranges::equal(x->operands(), y->operands(), same_id) || !std::ranges::equal(x->callees(), y->callees()) ||
        !same_extras(x->extras, y->extras))
      return false;
  }
  return true;
}

uint64_t structure_hash(const Computation& computation) {
  uint64_t h = combine(computation.size(), computation.root()->id);
  for (Value v : computation.instructions()) {
    h = combine(h, static_cast<uint64_t>(v->op));
    h = combine(h, reinterpret_cast<uintptr_t>(v->type.node()));
    h = combine(h, reinterpret_cast<uintptr_t>(v->attr));
    for (Value operand : v->operands()) h = combine(h, operand->id);
    for (const Computation* callee : v->callees()) h = combine(h, reinterpret_cast<uintptr_t>(callee));
  }
  return h;
}

bool is_uniform(const Literal& value) {
  if (value.is_elided() || !value.type() || !value.type().is_array() || value.size() == 0) return false;
  // Every element equals the one before it: one comparison of the bytes with themselves, shifted.
  auto bytes = value.bytes();
  auto width = static_cast<size_t>(byte_width(value.type().element()));
  return std::memcmp(bytes.data(), bytes.data() + width, bytes.size() - width) == 0;
}

Value normal_constant(ir::ComputationBuilder& builder, const Literal& value) {
  ir::Type type = value.type();
  if (!type.is_array() || type->quant || !type.is_static() || type.count() < 2 || !is_uniform(value))
    return builder.constant(value);
  ir::Context& context = *builder.context();
  Literal one = Literal::uninitialized(context.scalar(type.element()));
  std::memcpy(one.mutable_bytes().data(), value.bytes().data(), one.size());
  return builder.make(Op::Broadcast, type, {builder.constant(std::move(one))}, ir::BroadcastAttr{});
}

}  // namespace hloc::passes
