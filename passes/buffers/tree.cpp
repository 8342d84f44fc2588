// Walks the computations from the entry and writes down steps, values and positions. A computation that several loops
// or branches share is laid out once for each of them.
#include <unordered_map>

#include <fmt/format.h>

#include "ir/support/source.h"
#include "passes/buffers/leaves.h"
#include "passes/buffers/step_kind.h"
#include "passes/buffers/tree.h"
#include "passes/fusion/access.h"

namespace hloc::passes {
namespace {

using ir::Computation;
using ir::Literal;
using ir::Op;
using ir::Type;
using ir::Value;
using plan::Block;
using plan::Step;
using Values = std::vector<ValueId>;

// A loop on the way down, with the values from outside that it reads: they stay until it ends.
struct OpenLoop {
  uint32_t parent = 0, depth = 0;
  Values kept;
};

class TreeWriter {
 public:
  TreeWriter(const ir::Module& module, const ir::Target& target) : module_(module), target_(target) {
    int64_t size = 0;
    for (const auto& c : module.computations()) size += static_cast<int64_t>(c->size());
    longest_ = budget_ = std::min((int64_t{1} << 16) + 64 * size, (int64_t{1} << 18) + 4 * size);
    loops_.emplace_back();
  }

  Result<Draft> write();

 private:
  // One computation being laid out: what each of its sources is here.
  struct Frame {
    const Computation& computation;
    const Leaves& leaves;
    Block& block;
    Values bound;
  };

  const Leaves& leaves(const Computation& c) { return leaves_.of(c); }
  Values values(const Frame& frame, Value v) const;
  ValueId new_value(const Frame& frame, Value definer, uint32_t leaf, Type type);
  Values new_values(Frame& frame, Value definer);
  void use(ValueId value);
  void use(const Values& values) { for (ValueId v : values) use(v); }
  Step& add_step(Frame& frame, Value origin, decltype(Step::what) what);
  void add_moves(Frame& frame, Value origin, const Values& from, const Values& to);

  Result<Values> write_block(const Computation& c, const Values& arguments, Block& block);
  Result<void> write_instruction(Frame& frame, Value v);
  Result<void> write_constant(Frame& frame, Value v);
  void write_kernel(Frame& frame, Value v);
  void note_in_place(Value v, const plan::KernelStep& kernel);
  void write_host(Frame& frame, Value v);
  Result<void> write_while(Frame& frame, Value v);
  Result<void> write_conditional(Frame& frame, Value v);
  Result<void> write_call(Frame& frame, Value v);

  void open_entry(Frame& frame);
  void close_entry(Frame& frame, const Values& root);
  void note_aliases();
  void open_loop();
  void close_loop();

  Diagnostic fail(const Computation& c, Value v, ErrorKind kind, std::string message) const;
  Result<void> check_type(const Computation& c, Value v) const;

  const ir::Module& module_;
  const ir::Target& target_;
  Draft draft_;
  LeafTable leaves_;
  std::unordered_map<const ir::Attr*, Values> constants_;
  std::vector<OpenLoop> loops_;
  uint32_t loop_ = 0;      // the innermost open one
  uint32_t position_ = 0;  // of the newest step
  int64_t longest_ = 0, budget_ = 0;  // instructions that may be laid out, and how many of them are left
};

Diagnostic TreeWriter::fail(const Computation& c, Value v, ErrorKind kind, std::string message) const {
  const ir::Location& at = c.location(v);
  std::string text = fmt::format("'{}': {}", c.name(v), message);
  Diagnostic d = module_.source() && at.text.end > 0 ? error_at(*module_.source(), at.text, text) : error(kind, text);
  d.kind = kind;
  return d;
}

Result<void> TreeWriter::check_type(const Computation& c, Value v) const {
  std::vector<Type> todo{v->type};
  while (!todo.empty()) {
    Type t = todo.back();
    todo.pop_back();
    for (const ir::TypeNode* inner : t->elements) todo.emplace_back(inner);
    if (!t.is_array()) continue;
    if (!t.is_static())
      return fail(c, v, ErrorKind::target,
                  "has a dynamic dimension; a compiled program needs every size, so give the module fixed shapes");
    int64_t bytes;
    if (__builtin_mul_overflow(t.count(), byte_width(t.element()), &bytes) || bytes > (int64_t{1} << 46))
      return fail(c, v, ErrorKind::memory, "needs more bytes than a machine can address; use smaller dimensions");
  }
  return {};
}

Values TreeWriter::values(const Frame& frame, Value v) const {
  Values out;
  for (uint32_t source : frame.leaves.of(v)) out.push_back(frame.bound[source]);
  return out;
}

ValueId TreeWriter::new_value(const Frame& frame, Value definer, uint32_t leaf, Type type) {
  PlanValue value;
  value.type = type;
  value.computation = &frame.computation;
  value.definer = definer;
  value.leaf = leaf;
  value.first = value.last = position_;
  value.loop = loop_;
  draft_.values.push_back(value);
  return static_cast<ValueId>(draft_.values.size() - 1);
}

// One new value for each array leaf of an instruction's result.
Values TreeWriter::new_values(Frame& frame, Value definer) {
  Values out;
  for (uint32_t source : frame.leaves.of(definer)) {
    const LeafSource& leaf = frame.leaves.sources()[source];
    if (leaf.type.is_array()) frame.bound[source] = new_value(frame, definer, leaf.leaf, leaf.type);
    out.push_back(frame.bound[source]);
  }
  return out;
}

// Notes that the newest step reads the value.
void TreeWriter::use(ValueId id) {
  if (id == no_value) return;
  PlanValue& value = draft_.values[id];
  value.last = std::max(value.last, position_);
  if (value.loop == loop_) return;
  // Read in a loop that it was not made in: the next round reads it again, so the outermost such loop keeps it.
  uint32_t outermost = loop_;
  while (loops_[outermost].parent != value.loop) outermost = loops_[outermost].parent;
  Values& kept = loops_[outermost].kept;
  if (kept.empty() || kept.back() != id) kept.push_back(id);
}

Step& TreeWriter::add_step(Frame& frame, Value origin, decltype(Step::what) what) {
  Step step;
  step.what = std::move(what);
  step.origin = origin;
  step.computation = &frame.computation;
  step.position = position_;
  frame.block.push_back(std::move(step));
  return frame.block.back();
}

// Copies that happen at once, at the newest position.
void TreeWriter::add_moves(Frame& frame, Value origin, const Values& from, const Values& to) {
  HLOC_CHECK(from.size() == to.size(), "both sides of a copy have the same leaves");
  for (size_t i = 0; i < from.size(); ++i) {
    if (to[i] == no_value) continue;
    use(from[i]);  // also where it is there already: it must stay until now
    if (from[i] == to[i]) continue;
    draft_.moves.push_back({from[i], to[i], position_, loops_[loop_].depth});
    add_step(frame, origin, plan::CopyStep{from[i], to[i]});
  }
}

void TreeWriter::open_loop() {
  loops_.push_back({loop_, loops_[loop_].depth + 1, {}});
  loop_ = static_cast<uint32_t>(loops_.size() - 1);
}

void TreeWriter::close_loop() {
  for (ValueId v : loops_[loop_].kept) draft_.values[v].last = std::max(draft_.values[v].last, position_);
  Values().swap(loops_[loop_].kept);
  loop_ = loops_[loop_].parent;
}

Result<Values> TreeWriter::write_block(const Computation& c, const Values& arguments, Block& block) {
  budget_ -= static_cast<int64_t>(c.size());
  if (budget_ < 0)
    return error(ErrorKind::memory,
                 fmt::format("computation '{}' is shared by so many nested loops, branches or calls that the program would have over {} "
                             "instructions, far more than its text; give the loops bodies of their own", c.name(), longest_));
  Frame frame{c, leaves(c), block, {}};
  frame.bound.assign(frame.leaves.sources().size(), no_value);
  size_t next = 0;
  for (Value p : c.parameters())
    for (uint32_t source : frame.leaves.of(p)) {
      HLOC_CHECK(next < arguments.size(), "a computation gets the leaves of its parameters");
      frame.bound[source] = arguments[next++];
    }
  HLOC_CHECK(next == arguments.size(), "a computation gets the leaves of its parameters");
  for (Value v : c.instructions())
    if (auto r = write_instruction(frame, v); !r) return r.error();
  return values(frame, c.root());
}

Result<void> TreeWriter::write_instruction(Frame& frame, Value v) {
  if (auto r = check_type(frame.computation, v); !r) return r;
  switch (step_kind(v, target_)) {
    case StepKind::leaf: return v->op == Op::Constant ? write_constant(frame, v) : Result<void>{};
    case StepKind::structure:
    case StepKind::rename: return {};
    case StepKind::kernel: write_kernel(frame, v); return {};
    case StepKind::host: write_host(frame, v); return {};
    case StepKind::control:
      if (v->op == Op::While) return write_while(frame, v);
      if (v->op == Op::Conditional) return write_conditional(frame, v);
      return write_call(frame, v);
  }
  HLOC_UNREACHABLE();
}

// Equal constants are one attribute, so they are one value, wherever they stand.
Result<void> TreeWriter::write_constant(Frame& frame, Value v) {
  auto [slot, fresh] = constants_.try_emplace(v->attr);
  if (fresh) {
    std::vector<const Literal*> parts = ir::leaves(v->as<ir::ConstantAttr>().value);
    for (const Literal* literal : parts)
      if (literal->is_elided())
        return fail(frame.computation, v, ErrorKind::input,
                    "the value of this constant was left out when the module was printed ({...}); print it with its large "
                    "constants in full (XLA: --xla_dump_large_constants, or print_large_constants) and compile that");
    uint32_t leaf = 0;
    for (const Literal* part : parts) {
      ValueId id = no_value;
      if (part->type().is_array()) {
        id = new_value(frame, v, leaf, part->type());
        PlanValue& value = draft_.values[id];
        value.home = Home::constant;
        value.index = static_cast<uint32_t>(draft_.constants.size());
        value.first = value.last = value.loop = 0;
        draft_.constants.push_back(*part);
      }
      slot->second.push_back(id);
      ++leaf;
    }
  }
  auto sources = frame.leaves.of(v);
  for (size_t i = 0; i < sources.size(); ++i) frame.bound[sources[i]] = slot->second[i];
  return {};
}

void drop_tokens(Values& values) { std::erase(values, no_value); }

// Results that may be written over an input. A contraction's epilogue reads and writes each element once, its sum complete.
void TreeWriter::note_in_place(Value v, const plan::KernelStep& kernel) {
  auto may = overwritable_parameters(v->callee(0));
  HLOC_CHECK(may.size() == kernel.inputs.size(), "a kernel has an input for each parameter");
  Values barred;
  for (size_t i = 0; i < may.size(); ++i)
    if (!may[i]) barred.push_back(kernel.inputs[i]);
  std::sort(barred.begin(), barred.end());
  for (ValueId output : kernel.outputs)
    for (size_t i = 0; i < may.size(); ++i) {
      ValueId input = kernel.inputs[i];
      bool same_width = byte_width(draft_.values[input].type.element()) == byte_width(draft_.values[output].type.element());
      if (may[i] && same_width && !std::binary_search(barred.begin(), barred.end(), input)) draft_.in_place.emplace_back(input, output);
    }
}

void TreeWriter::write_kernel(Frame& frame, Value v) {
  ++position_;
  for (const Computation* c : v->callees()) budget_ -= static_cast<int64_t>(c->size());  // what it takes to look at the kernel
  plan::KernelStep kernel{v, {}, {}, {}};
  for (Value operand : v->operands())
    for (ValueId id : values(frame, operand)) kernel.inputs.push_back(id);
  drop_tokens(kernel.inputs);
  use(kernel.inputs);
  kernel.outputs = new_values(frame, v);
  drop_tokens(kernel.outputs);
  note_in_place(v, kernel);
  add_step(frame, v, std::move(kernel));
}

void TreeWriter::write_host(Frame& frame, Value v) {
  ++position_;
  plan::HostStep host{v, {}, {}};
  for (Value operand : v->operands())
    for (ValueId id : values(frame, operand)) host.inputs.push_back(id);
  drop_tokens(host.inputs);
  use(host.inputs);
  host.outputs = new_values(frame, v);
  drop_tokens(host.outputs);
  add_step(frame, v, std::move(host));
}

// Carries have memory of their own: the initial values go there before the loop, those of the next round at the end of
// the body, and the loop's result is found there. A carry that the body returns untouched is just the initial value.
Result<void> TreeWriter::write_while(Frame& frame, Value v) {
  const Computation &condition = v->callee(0), &body = v->callee(1);
  const Leaves& inside = leaves(body);
  auto given = inside.of(body.parameters()[0]), returned = inside.of(body.root());
  Values initial = values(frame, v->operand(0));
  Values carries = initial, moved;
  ++position_;
  uint32_t outer = loop_;
  open_loop();
  for (size_t k = 0; k < carries.size(); ++k) {
    if (initial[k] == no_value || given[k] == returned[k]) continue;
    carries[k] = new_value(frame, v, static_cast<uint32_t>(k), inside.sources()[given[k]].type);
    moved.push_back(static_cast<uint32_t>(k));
  }
  uint32_t loop = loop_;
  loop_ = outer;  // the first copies happen before the loop
  add_moves(frame, v, initial, carries);
  loop_ = loop;

  plan::WhileStep step;
  uint32_t begin = position_;
  auto decision = write_block(condition, carries, step.condition);
  if (!decision) return decision.error();
  ++position_;
  HLOC_CHECK(decision->size() == 1 && (*decision)[0] != no_value, "a condition gives one pred");
  step.predicate = (*decision)[0];
  use(step.predicate);
  for (uint32_t k : moved) use(carries[k]);  // the loop may end here, and the carries are its result

  auto next = write_block(body, carries, step.body);
  if (!next) return next.error();
  ++position_;
  uint32_t renewal = position_;
  Frame inner{body, inside, step.body, {}};
  add_moves(inner, body.root(), *next, carries);
  ++position_;
  close_loop();

  Values result = initial;
  auto sources = frame.leaves.of(v);
  for (uint32_t k : moved) {
    draft_.more.push_back({renewal, position_, carries[k], carries[k]});
    result[k] = new_value(frame, v, k, draft_.values[carries[k]].type);
    draft_.same.emplace_back(carries[k], result[k]);
  }
  for (size_t k = 0; k < result.size(); ++k) frame.bound[sources[k]] = result[k];
  add_step(frame, v, std::move(step)).position = begin;
  return {};
}

// Every branch leaves its results in the same memory.
Result<void> TreeWriter::write_conditional(Frame& frame, Value v) {
  plan::BranchStep step;
  step.branches.resize(v->callees().size());
  ++position_;
  uint32_t begin = position_;
  step.selector = values(frame, v->operand(0))[0];
  use(step.selector);
  Values result = new_values(frame, v);
  for (size_t i = 0; i < v->callees().size(); ++i) {
    const Computation& branch = v->callee(i);
    Values arguments;
    if (i + 1 < v->operands().size() && !branch.parameters().empty()) arguments = values(frame, v->operand(i + 1));
    auto given = write_block(branch, arguments, step.branches[i]);
    if (!given) return given.error();
    ++position_;
    Frame inner{branch, leaves(branch), step.branches[i], {}};
    add_moves(inner, branch.root(), *given, result);
    for (ValueId r : result)
      if (r != no_value) draft_.more.push_back({position_, position_, r, r});
  }
  ++position_;
  for (ValueId r : result)
    if (r != no_value) draft_.values[r].first = draft_.values[r].last = position_;
  add_step(frame, v, std::move(step)).position = begin;
  return {};
}

// Calls are inlined by an earlier pass; one that is left is laid out in place.
Result<void> TreeWriter::write_call(Frame& frame, Value v) {
  Values arguments;
  for (Value operand : v->operands())
    for (ValueId id : values(frame, operand)) arguments.push_back(id);
  auto result = write_block(v->callee(0), arguments, frame.block);
  if (!result) return result.error();
  auto sources = frame.leaves.of(v);
  HLOC_CHECK(sources.size() == result->size(), "a call gives the leaves of its type");
  for (size_t i = 0; i < sources.size(); ++i) frame.bound[sources[i]] = (*result)[i];
  return {};
}

void TreeWriter::note_aliases() {
  // Leaf numbers count arrays only, as parameters and results of the program do.
  auto array_leaf = [&](Type type, const ir::ShapeIndex& path) {
    uint32_t leaf = 0;
    for (int64_t i : path) {
      leaf += leaves_.counts().starts(type)[static_cast<size_t>(i)];
      type = type.element_type(static_cast<size_t>(i));
    }
    return std::pair(leaf, type);
  };
  auto arrays_before = [](const std::vector<Type>& leaves, uint32_t leaf) {
    uint32_t arrays = 0;
    for (uint32_t i = 0; i < leaf; ++i) arrays += leaves[i].is_array();
    return arrays;
  };
  const Computation& entry = module_.entry();
  std::vector<Type> result_leaves = ir::leaves(entry.result_type());
  for (const ir::AliasEntry& alias : module_.config().aliases) {
    auto [out, out_type] = array_leaf(entry.result_type(), alias.output);
    Value parameter = entry.parameters()[static_cast<size_t>(alias.parameter)];
    auto [in, in_type] = array_leaf(parameter->type, alias.index);
    if (!out_type.is_array() || !in_type.is_array() || out_type.byte_size() != in_type.byte_size()) continue;
    uint32_t before = 0;
    for (Value p : entry.parameters()) {
      if (p == parameter) break;
      for (Type t : ir::leaves(p->type)) before += t.is_array();
    }
    uint32_t parameter_leaf = before + arrays_before(ir::leaves(parameter->type), in);
    draft_.aliases.push_back({parameter_leaf, arrays_before(result_leaves, out), alias.must_alias});
  }
}

Result<Draft> TreeWriter::write() {
  const Computation& entry = module_.entry();
  Block unused;
  Frame outside{entry, leaves(entry), unused, Values(leaves(entry).sources().size(), no_value)};
  Values arguments;
  for (Value p : entry.parameters()) {
    if (auto r = check_type(entry, p); !r) return r.error();
    for (ValueId id : new_values(outside, p)) {
      arguments.push_back(id);
      if (id == no_value) continue;
      draft_.values[id].home = Home::parameter;
      draft_.values[id].index = static_cast<uint32_t>(draft_.parameters.size());
      draft_.parameters.push_back(id);
    }
  }
  auto root = write_block(entry, arguments, draft_.steps);
  if (!root) return root.error();
  draft_.end = ++position_;
  Frame frame{entry, leaves(entry), draft_.steps, {}};
  Values results;
  std::vector<Type> types = ir::leaves(entry.result_type());
  for (size_t i = 0; i < types.size(); ++i) {
    results.push_back(no_value);
    if (!types[i].is_array()) continue;
    ValueId id = results.back() = new_value(frame, entry.root(), static_cast<uint32_t>(i), types[i]);
    draft_.values[id].home = Home::result;
    draft_.values[id].index = static_cast<uint32_t>(draft_.results.size());
    draft_.results.push_back(id);
  }
  add_moves(frame, entry.root(), *root, results);
  note_aliases();
  return std::move(draft_);
}

}  // namespace

Result<Draft> draft_program(const ir::Module& module, const ir::Target& target) {
  return TreeWriter(module, target).write();
}

}  // namespace hloc::passes
