#include "ir/graph.h"

#include <algorithm>

#include <fmt/format.h>

namespace hloc::ir {
namespace {

uint64_t hash_extras(const Extras& extras) {
  // Extras are rare; a coarse hash suffices, equality is exact.
  return combine(extras.sharding.has_value(), extras.frontend_attributes.size());
}

bool equal_extras(const Extras* a, const Extras* b) { return a == b || (a && b && *a == *b); }

}  // namespace

size_t ComputationBuilder::KeyHash::operator()(Value v) const {
  uint64_t h = combine(static_cast<uint64_t>(v->op) | uint64_t{v->flags} << 16, reinterpret_cast<uintptr_t>(v->type.node()));
  h = combine(h, reinterpret_cast<uintptr_t>(v->attr));
  for (Value operand : v->operands()) h = combine(h, operand->id);
  for (const Computation* callee : v->callees()) h = combine(h, reinterpret_cast<uintptr_t>(callee));
  return v->extras ? combine(h, hash_extras(*v->extras)) : h;
}

bool ComputationBuilder::KeyEqual::operator()(Value a, Value b) const {
  return a->op == b->op && a->flags == b->flags && a->type == b->type && a->attr == b->attr &&
         std::ranges::equal(a->operands(), b->operands()) && std::ranges::equal(a->callees(), b->callees()) &&
         equal_extras(a->extras, b->extras);
}

ComputationBuilder::ComputationBuilder(ContextRef context, std::string_view name, Interning interning)
    : context_(std::move(context)), interning_(interning), result_(std::make_shared<Computation>()) {
  result_->name_ = context_->string(name);
}

Value ComputationBuilder::make_interned(Op op, Type type, std::span<const Value> operands, const Attr* attr,
                                        std::span<const Computation* const> callees, const Extras* extras, uint16_t flags) {
  Computation& c = *result_;
  Instruction node{};
  node.op = op;
  node.flags = flags;
  node.type = type;
  node.attr = attr;
  node.operand_list = operands.data();
  node.operand_count = static_cast<uint32_t>(operands.size());
  node.callee_list = callees.data();
  node.callee_count = static_cast<uint32_t>(callees.size());
  node.extras = extras;
  bool effectful = has_effect(&node);
  bool interned = interning_ == Interning::intern && !effectful;
  if (interned)
    if (auto it = interned_.find(&node); it != interned_.end()) return *it;

  node.id = static_cast<uint32_t>(c.instructions_.size());
  node.operand_list = c.arena_.copy(operands).data();
  node.callee_list = c.arena_.copy(callees).data();
  if (extras) node.extras = &c.extras_.emplace_back(*extras);
  Value v = c.arena_.make<Instruction>(node);
  c.instructions_.push_back(v);
  if (op == Op::Parameter) c.parameters_.push_back(v);
  if (effectful) c.effects_.push_back(v);
  if (interned) interned_.insert(v);
  return v;
}

Value ComputationBuilder::parameter(int64_t number, Type type, std::string_view name) {
  Value v = make(Op::Parameter, type, {}, ParameterAttr{number});
  if (!name.empty()) set_name(v, context_->string(name));
  return v;
}

Value ComputationBuilder::constant(Literal value) {
  Type type = value.type();
  return make(Op::Constant, type, {}, ConstantAttr{std::move(value)});
}

Value ComputationBuilder::copy(const Computation& from, Value like, std::span<const Value> operands,
                               std::span<const Computation* const> callees) {
  std::optional<Extras> extras;
  if (like->extras) {
    extras = *like->extras;
    extras->control_predecessors.clear();
    if (*extras == Extras{}) extras.reset();
  }
  size_t before = size();
  Value v = make(like->op, like->type, operands, *like->attr, callees, extras ? &*extras : nullptr, like->flags);
  if (size() == before) return v;  // interned: keeps its own name
  set_name(v, from.name(like));
  const Location& at = from.location(like);
  if (at.metadata || at.text.end != 0) set_location(v, at);
  return v;
}

void ComputationBuilder::set_name(Value v, std::string_view name) {
  auto& names = result_->names_;
  if (names.size() <= v->id) names.resize(v->id + 1);
  if (names[v->id].empty()) names[v->id] = name;
}

void ComputationBuilder::set_location(Value v, Location location) {
  auto& locations = result_->locations_;
  if (locations.size() <= v->id) locations.resize(v->id + 1);
  locations[v->id] = location;
}

void ComputationBuilder::set_extras(Value v, Extras extras) { share_extras(v, keep_extras(std::move(extras))); }

void ComputationBuilder::share_extras(Value v, const Extras* kept) {
  HLOC_CHECK(interning_ == Interning::append, "extras are part of an interned value's identity");
  const_cast<Instruction*>(v)->extras = kept;
}

void ComputationBuilder::set_thread(std::string_view thread) { result_->thread_ = context_->string(thread); }

void ComputationBuilder::reserve(size_t instructions) {
  result_->instructions_.reserve(instructions);
  result_->names_.reserve(instructions);
  result_->locations_.reserve(instructions);
  result_->arena_.reserve(instructions * (sizeof(Instruction) + 2 * sizeof(Value)));
}

ComputationRef ComputationBuilder::finish(Value root, bool names_are_unique) {
  Computation& c = *result_;
  c.names_.resize(c.instructions_.size());
  std::unordered_set<std::string_view> taken;
  if (!names_are_unique) taken.reserve(c.names_.size() * 2);
  std::unordered_map<std::string_view, uint32_t> next;
  for (Value v : c.instructions_) {
    if (names_are_unique) break;
    std::string_view& name = c.names_[v->id];
    if (name.empty()) name = name_of(v->op);
    if (taken.insert(name).second) continue;
    std::string_view base = name;
    if (size_t dot = base.rfind('.'); dot != std::string_view::npos && dot > 0 &&
        dot + 1 < base.size() && std::all_of(base.begin() + static_cast<ptrdiff_t>(dot) + 1, base.end(), [](char ch) { return ch >= '0' && ch <= '9'; }))
      base = base.substr(0, dot);
    std::string candidate;
    do {
      candidate = fmt::format("{}.{}", base, ++next[base]);
    } while (taken.contains(candidate));
    name = context_->string(candidate);
    taken.insert(name);
  }
  std::vector<Value> by_number(c.parameters_.size());
  for (Value v : c.parameters_) {
    auto number = static_cast<size_t>(v->as<ParameterAttr>().number);
    HLOC_CHECK(number < by_number.size(), "parameter numbers are dense");
    HLOC_CHECK(by_number[number] == nullptr, "a parameter number occurs twice");
    by_number[number] = v;
  }
  c.parameters_ = std::move(by_number);
  HLOC_CHECK(root != nullptr, "a computation has a root");
  c.root_ = root;
  interned_.clear();
  return std::move(result_);
}

ModuleBuilder::ModuleBuilder(ContextRef context, std::string_view name) : result_(std::make_shared<Module>()) {
  result_->context_ = std::move(context);
  result_->name_ = name;
}

ModuleBuilder::ModuleBuilder(const Module& like) : result_(std::make_shared<Module>()) {
  result_->name_ = like.name_;
  result_->config_ = like.config_;
  result_->context_ = like.context_;
  result_->source_ = like.source_;
}

const Computation* ModuleBuilder::add(ComputationRef computation) {
  const Computation* added = computation.get();
  result_->computations_.push_back(std::move(computation));
  return added;
}

void ModuleBuilder::set_source(SourceRef source) {
  result_->context_->keep(source);
  result_->source_ = std::move(source);
}

ModuleRef ModuleBuilder::finish(const Computation* entry) {
  HLOC_CHECK(!result_->computations_.empty(), "a module has a computation");
  result_->entry_ = entry ? entry : result_->computations_.back().get();
  return std::move(result_);
}

std::vector<const Computation*> reachable(const Computation& entry) {
  // Post-order over the call graph with an explicit stack; computations are acyclic by construction.
  std::vector<const Computation*> order;
  std::unordered_set<const Computation*> seen{&entry};
  struct Frame {
    const Computation* computation;
    std::vector<const Computation*> callees;
    size_t next = 0;
  };
  auto frame = [](const Computation* c) {
    Frame f{c, {}, 0};
    for (Value v : c->instructions())
      for (const Computation* callee : v->callees()) f.callees.push_back(callee);
    return f;
  };
  std::vector<Frame> stack{frame(&entry)};
  while (!stack.empty()) {
    Frame& top = stack.back();
    if (top.next == top.callees.size()) {
      order.push_back(top.computation);
      stack.pop_back();
    } else if (const Computation* callee = top.callees[top.next++]; seen.insert(callee).second) {
      stack.push_back(frame(callee));
    }
  }
  return order;
}

bool has_effect(Value v) {
  if (has(v->op, effect)) return true;
  if (v->op == Op::CustomCall && v->as<CustomCallAttr>().has_side_effect) return true;
  for (const Computation* callee : v->callees())
    if (!callee->effects().empty()) return true;
  return false;
}

std::vector<uint32_t> use_counts(const Computation& computation, const std::vector<bool>& users) {
  std::vector<uint32_t> counts(computation.size());
  for (Value v : computation.instructions()) {
    if (!users.empty() && !users[v->id]) continue;
    for (Value operand : v->operands()) ++counts[operand->id];
  }
  ++counts[computation.root()->id];
  return counts;
}

}  // namespace hloc::ir
