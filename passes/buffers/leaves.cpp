#include "passes/buffers/leaves.h"

#include "passes/buffers/step_kind.h"

namespace hloc::passes {

using ir::Op;
using ir::Type;
using ir::Value;

const std::vector<uint32_t>& LeafCounts::starts(Type type) {
  if (auto it = starts_.find(type.node()); it != starts_.end()) return it->second;
  // Elements before tuples, with a stack: types may nest deeper than a program's stack allows.
  std::vector<Type> stack{type};
  while (!stack.empty()) {
    Type t = stack.back();
    size_t before = stack.size();
    if (t.is_tuple())
      for (size_t i = 0; i < t.tuple_size(); ++i)
        if (!starts_.contains(t.element_type(i).node())) stack.push_back(t.element_type(i));
    if (stack.size() != before) continue;
    stack.pop_back();
    if (starts_.contains(t.node())) continue;
    std::vector<uint32_t> starts{0};
    if (!t.is_tuple()) starts.push_back(1);
    else
      for (size_t i = 0; i < t.tuple_size(); ++i)
        starts.push_back(starts.back() + starts_.at(t.element_type(i).node()).back());
    starts_.emplace(t.node(), std::move(starts));
  }
  return starts_.at(type.node());
}

const Leaves& LeafTable::of(const ir::Computation& computation) {
  if (auto it = leaves_.find(&computation); it != leaves_.end()) return *it->second;
  auto made = std::make_unique<Leaves>(computation, *this);  // may add the bodies of its loops to the table
  return *(leaves_[&computation] = std::move(made));
}

Leaves::Leaves(const ir::Computation& computation, LeafTable& table) : ranges_(computation.size()) {
  for (Value v : computation.instructions()) {
    if (is_rename(v) || v->op == Op::AddDependency || v->op == Op::Domain) {
      ranges_[v->id] = ranges_[v->operand(0)->id];
    } else if (v->op == Op::Tuple || v->op == Op::OptBarrier) {
      gather(v);
    } else if (v->op == Op::GetTupleElement) {
      auto index = static_cast<size_t>(v->as<ir::TupleIndexAttr>().index);
      const auto& starts = table.counts().starts(v->operand(0)->type);
      ranges_[v->id] = {ranges_[v->operand(0)->id].first + starts[index], starts[index + 1] - starts[index]};
    } else if (v->op == Op::While) {
      pass_through(v, table.of(v->callee(1)), v->callee(1));
    } else {
      define(v);
    }
    HLOC_CHECK(ranges_[v->id].second == table.counts().count(v->type), "a value has the leaves of its type");
  }
}

uint32_t Leaves::new_source(Value v, uint32_t leaf, Type type) {
  sources_.push_back({v, leaf, type});
  return static_cast<uint32_t>(sources_.size() - 1);
}

void Leaves::define(Value v) {
  auto start = static_cast<uint32_t>(flat_.size());
  uint32_t leaf = 0;
  for (Type type : v->type.is_tuple() ? ir::leaves(v->type) : std::vector<Type>{v->type}) {
    flat_.push_back(new_source(v, leaf, type));
    ++leaf;
  }
  ranges_[v->id] = {start, leaf};
}

void Leaves::pass_through(Value loop, const Leaves& body, const ir::Computation& body_computation) {
  auto given = body.of(body_computation.parameters()[0]), returned = body.of(body_computation.root());
  auto start = static_cast<uint32_t>(flat_.size()), before = ranges_[loop->operand(0)->id].first;
  std::vector<Type> types = ir::leaves(loop->type);
  HLOC_CHECK(given.size() == types.size() && returned.size() == types.size(), "a loop's body maps the carries to themselves");
  for (uint32_t leaf = 0; leaf < types.size(); ++leaf)
    flat_.push_back(given[leaf] == returned[leaf] ? flat_[before + leaf] : new_source(loop, leaf, types[leaf]));
  ranges_[loop->id] = {start, static_cast<uint32_t>(types.size())};
}

void Leaves::gather(Value v) {
  if (v->operands().size() == 1) {  // the leaves of the one operand, without copying a wide tuple's
    ranges_[v->id] = ranges_[v->operand(0)->id];
    return;
  }
  auto start = static_cast<uint32_t>(flat_.size());
  for (Value operand : v->operands()) {
    auto [first, count] = ranges_[operand->id];
    for (uint32_t i = 0; i < count; ++i) flat_.push_back(flat_[first + i]);
  }
  ranges_[v->id] = {start, static_cast<uint32_t>(flat_.size()) - start};
}

}  // namespace hloc::passes
