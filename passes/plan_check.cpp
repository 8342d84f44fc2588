#include "passes/plan_check.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "ir/support/check.h"
#include "passes/buffers/leaves.h"
#include "passes/buffers/step_kind.h"
#include "passes/buffers/cells.h"
#include "passes/fusion/access.h"

namespace hloc::plan {
namespace {

using ir::Computation;
using ir::Op;
using ir::Value;
using passes::Leaves;
using passes::StepKind;

using Symbol = uint64_t;  // 0: unknown bytes, or a token
using Symbols = std::vector<Symbol>;

constexpr int64_t most_steps = 1 << 20;  // of one run

// Where a buffer is: one of the caller's arrays or a stretch of the arena.
struct Region {
  int64_t space = 0;  // 0: arena, -1 - i: constant i, 1 + i: array i of the caller
  int64_t begin = 0, end = 0;

  bool overlaps(const Region& o) const { return space == o.space && begin < o.end && o.begin < end; }
  bool operator==(const Region&) const = default;
};

class SymbolicRun {
 public:
  SymbolicRun(const Program& program, const ir::Target& target, bool share_aliases, uint64_t seed)
      : program_(program), target_(target), seed_(seed), random_(seed * 0x9E3779B97F4A7C15u + 1) {
    for (uint32_t p = 0; p < program.parameters.size(); ++p) parameter_array_.push_back(p);
    for (uint32_t r = 0; r < program.results.size(); ++r) result_array_.push_back(static_cast<int64_t>(program.parameters.size()) + r);
    if (share_aliases)
      for (const Alias& a : program.aliases) result_array_[a.result] = parameter_array_[a.parameter];
  }

  Result<void> run();

 private:
  struct Activation {
    const Computation& computation;
    const Leaves& leaves;
    Symbols bound;  // by source
  };
  struct Cursor {
    const Block& block;
    size_t next = 0;
  };

  Diagnostic wrong(const Step* step, std::string what) const {
    Diagnostic d;
    d.kind = ErrorKind::bug;
    d.message = step ? fmt::format("step {} for '{}': {}", step->position, step->computation->name(step->origin), what) : what;
    return d;
  }

  const Leaves& leaves(const Computation& c) { return leaves_.of(c); }
  Region region(BufferId id) const;
  Symbol read(const Region& r) const;
  void write(const Region& r, Symbol s);
  Result<void> check_place(BufferId id) const;

  Symbols symbols(const Activation& a, Value v) const;
  Result<Symbols> run_block(const Computation& c, const Symbols& arguments, const Block& block);
  Result<Symbols> run_instructions(const Computation& c, const Symbols& arguments, Cursor& cursor);
  Result<void> run_instruction(Activation& a, Value v, Cursor& cursor);
  Result<void> run_copies(Cursor& cursor);
  Result<const Step*> next_step(Cursor& cursor, Value v);
  Result<void> run_computing(Activation& a, Value v, Cursor& cursor, bool kernel);
  Result<void> run_while(Activation& a, Value v, Cursor& cursor);
  Result<void> check_exchanges(const Step& step, const WhileStep& loop);
  void exchange(const WhileStep& loop, bool own_places);
  Result<void> run_conditional(Activation& a, Value v, Cursor& cursor);
  void bind_constant(Activation& a, Value v);
  Result<void> check_inputs(const Step& step, const Activation& a, Value v, const std::vector<BufferId>& inputs);
  Result<void> check_overlaps(const Step& step, const KernelStep* kernel, const std::vector<BufferId>& inputs,
                              const std::vector<BufferId>& outputs);

  uint64_t chance(uint64_t n) {
    random_ ^= random_ << 13, random_ ^= random_ >> 7, random_ ^= random_ << 17;
    return random_ % n;
  }

  const Program& program_;
  const ir::Target& target_;
  uint64_t seed_, random_;
  int64_t steps_ = 0;
  Symbol newest_ = 0;
  std::map<BufferId, BufferId> stands_in_;  // for a buffer that has changed places: the one whose place it has
  std::vector<int64_t> parameter_array_, result_array_;
  std::map<int64_t, Symbol> arrays_;                           // of the caller
  std::map<int64_t, std::pair<int64_t, Symbol>> arena_;        // begin → end, symbol
  std::map<std::pair<const ir::Attr*, uint32_t>, Symbol> constant_symbols_;
  std::map<int64_t, Symbol> constants_;                        // by index in the program
  passes::LeafTable leaves_;
};

Region SymbolicRun::region(BufferId id) const {
  auto moved = stands_in_.find(id);
  const Buffer& b = program_.buffers[moved == stands_in_.end() ? id : moved->second];
  switch (b.storage) {
    case Storage::parameter: return {1 + parameter_array_[b.index], 0, b.bytes()};
    case Storage::result: return {1 + result_array_[b.index], 0, b.bytes()};
    case Storage::constant: return {-1 - static_cast<int64_t>(b.index), 0, b.bytes()};
    case Storage::arena: return {0, b.offset, b.offset + b.bytes()};
  }
  HLOC_UNREACHABLE();
}

Symbol SymbolicRun::read(const Region& r) const {
  if (r.space < 0) {
    auto it = constants_.find(-1 - r.space);
    return it == constants_.end() ? 0 : it->second;
  }
  if (r.space > 0) {
    auto it = arrays_.find(r.space);
    return it == arrays_.end() ? 0 : it->second;
  }
  auto it = arena_.find(r.begin);
  return it == arena_.end() || it->second.first != r.end ? 0 : it->second.second;
}

void SymbolicRun::write(const Region& r, Symbol s) {
  if (r.begin == r.end) return;
  if (r.space > 0) {
    arrays_[r.space] = s;
    return;
  }
  auto it = arena_.lower_bound(r.begin);
  if (it != arena_.begin() && std::prev(it)->second.first > r.begin) --it;
  while (it != arena_.end() && it->first < r.end) it = arena_.erase(it);
  arena_[r.begin] = {r.end, s};
}

Result<void> SymbolicRun::check_place(BufferId id) const {
  const Buffer& b = program_.buffers[id];
  if (b.storage != Storage::arena || b.bytes() == 0) return {};
  if (b.offset < 0 || b.offset % passes::alignment_of(b.bytes(), std::max<int64_t>(target_.buffer_alignment, 1)) != 0 || b.offset + b.bytes() > program_.arena_bytes)
    return wrong(nullptr, fmt::format("buffer b{} '{}' at {} is misplaced in an arena of {} bytes", id, b.name, b.offset,
                                      program_.arena_bytes));
  return {};
}

Symbols SymbolicRun::symbols(const Activation& a, Value v) const {
  Symbols out;
  for (uint32_t source : a.leaves.of(v)) out.push_back(a.bound[source]);
  return out;
}

Result<void> SymbolicRun::run_copies(Cursor& cursor) {
  for (; cursor.next < cursor.block.size(); ++cursor.next) {
    const Step& step = cursor.block[cursor.next];
    auto* copy = std::get_if<CopyStep>(&step.what);
    if (!copy) break;
    Region from = region(copy->from), to = region(copy->to);
    if (from.end - from.begin != to.end - to.begin) return wrong(&step, "copies between buffers of different sizes");
    if (to.space < 0 || program_.buffers[copy->to].storage == Storage::parameter) return wrong(&step, "copies into what is read only");
    if (from.overlaps(to) && !(from == to)) return wrong(&step, "copies between overlapping buffers");
    write(to, read(from));
  }
  return {};
}

Result<const Step*> SymbolicRun::next_step(Cursor& cursor, Value v) {
  if (auto r = run_copies(cursor); !r) return r.error();
  if (cursor.next == cursor.block.size()) return wrong(nullptr, "a block of steps ends too early");
  const Step& step = cursor.block[cursor.next++];
  if (step.origin != v) return wrong(&step, "stands where another instruction's step should be");
  ++steps_;
  return &step;
}

Result<void> SymbolicRun::check_inputs(const Step& step, const Activation& a, Value v, const std::vector<BufferId>& inputs) {
  size_t next = 0;
  for (Value operand : v->operands()) {
    auto types = ir::leaves(operand->type);
    auto expected = symbols(a, operand);
    for (size_t i = 0; i < types.size(); ++i) {
      if (!types[i].is_array()) continue;
      if (next == inputs.size()) return wrong(&step, "has too few inputs");
      BufferId id = inputs[next++];
      if (!ir::same_shape(program_.buffers[id].type, types[i])) return wrong(&step, fmt::format("reads b{} as another type", id));
      if (types[i].byte_size() != 0 && read(region(id)) != expected[i])
        return wrong(&step, fmt::format("reads b{}, which does not hold operand '{}'", id, a.computation.name(operand)));
    }
  }
  if (next != inputs.size()) return wrong(&step, "has too many inputs");
  return {};
}

Result<void> SymbolicRun::check_overlaps(const Step& step, const KernelStep* kernel, const std::vector<BufferId>& inputs,
                                         const std::vector<BufferId>& outputs) {
  std::vector<bool> may;
  std::vector<std::optional<uint32_t>> updated;
  if (kernel) {
    may = passes::overwritable_parameters(kernel->fusion->callee(0));
    updated = passes::updated_parameters(kernel->fusion->callee(0));
  }
  for (uint32_t o = 0; o < outputs.size(); ++o) {
    Region out = region(outputs[o]);
    if (out.space < 0 || program_.buffers[outputs[o]].storage == Storage::parameter) return wrong(&step, "writes what is read only");
    for (uint32_t p = 0; p < o; ++p)
      if (out.overlaps(region(outputs[p]))) return wrong(&step, "writes two results into one memory");
    for (uint32_t i = 0; i < inputs.size(); ++i) {
      bool listed = kernel && std::ranges::find(kernel->in_place, std::pair(i, o)) != kernel->in_place.end();
      if (listed && updated[o] == i && !(out == region(inputs[i])))
        return wrong(&step, fmt::format("updates b{} in memory that holds something else", inputs[i]));
      if (!out.overlaps(region(inputs[i]))) continue;
      if (!listed || !(out == region(inputs[i])) || may.empty() || !may[i])
        return wrong(&step, fmt::format("writes over its input b{} although it may not", inputs[i]));
    }
  }
  return {};
}

Result<void> SymbolicRun::run_computing(Activation& a, Value v, Cursor& cursor, bool kernel) {
  auto step = next_step(cursor, v);
  if (!step) return step.error();
  auto* k = std::get_if<KernelStep>(&(*step)->what);
  auto* h = std::get_if<HostStep>(&(*step)->what);
  if (kernel ? !k : !h) return wrong(*step, "is of the wrong kind");
  const auto &inputs = k ? k->inputs : h->inputs, &outputs = k ? k->outputs : h->outputs;
  if (auto r = check_inputs(**step, a, v, inputs); !r) return r;
  if (auto r = check_overlaps(**step, k, inputs, outputs); !r) return r;
  size_t next = 0;
  for (uint32_t source : a.leaves.of(v)) {
    ir::Type type = a.leaves.sources()[source].type;
    if (!type.is_array()) continue;
    if (next == outputs.size()) return wrong(*step, "has too few outputs");
    if (program_.buffers[outputs[next]].type != type) return wrong(*step, "writes another type than its own");
    a.bound[source] = ++newest_;
    write(region(outputs[next++]), a.bound[source]);
  }
  if (next != outputs.size()) return wrong(*step, "has too many outputs");
  return {};
}

Result<void> SymbolicRun::check_exchanges(const Step& step, const WhileStep& loop) {
  for (const Exchange& e : loop.exchanges) {
    if (e.carry.empty() || e.next.empty()) return wrong(&step, "exchanges no arrays");
    Region carry = region(e.carry[0]), next = region(e.next[0]);
    if (carry.end - carry.begin != next.end - next.begin || carry.overlaps(next)) return wrong(&step, "exchanges arrays that are not alike and apart");
    for (const auto* list : {&e.carry, &e.next})
      for (BufferId id : *list) {
        Storage storage = program_.buffers[id].storage;
        if (storage == Storage::parameter || storage == Storage::constant) return wrong(&step, "exchanges what is read only");
        if (!(region(id) == region(list->front()))) return wrong(&step, "exchanges one array in two places");
        if (!stands_in_.emplace(id, id).second) return wrong(&step, "exchanges an array twice");
      }
  }
  return {};
}

// Each array goes where its partner is, or all go to their own places.
void SymbolicRun::exchange(const WhileStep& loop, bool own_places) {
  for (const Exchange& e : loop.exchanges) {
    bool back = own_places || stands_in_[e.carry[0]] != e.carry[0];
    Symbol value = read(region(e.carry[0]));
    for (BufferId id : e.carry) stands_in_[id] = back ? e.carry[0] : e.next[0];
    for (BufferId id : e.next) stands_in_[id] = back ? e.next[0] : e.carry[0];
    if (!own_places) continue;
    write(region(e.carry[0]), value);
    write(region(e.next[0]), 0);
    for (const auto* list : {&e.carry, &e.next})
      for (BufferId id : *list) stands_in_.erase(id);
  }
}

Result<void> SymbolicRun::run_while(Activation& a, Value v, Cursor& cursor) {
  auto step = next_step(cursor, v);
  if (!step) return step.error();
  auto* loop = std::get_if<WhileStep>(&(*step)->what);
  if (!loop) return wrong(*step, "is no loop");
  uint64_t rounds = seed_ < 4 ? seed_ : chance(4);
  Symbols carries = symbols(a, v->operand(0));
  if (auto r = check_exchanges(**step, *loop); !r) return r;
  for (uint64_t round = 0;; ++round) {
    auto decision = run_block(v->callee(0), carries, loop->condition);
    if (!decision) return decision.error();
    if (steps_ > most_steps) break;
    if (decision->size() != 1 || read(region(loop->predicate)) != (*decision)[0])
      return wrong(*step, "reads its predicate from the wrong buffer");
    if (round == rounds) break;
    auto next = run_block(v->callee(1), carries, loop->body);
    if (!next) return next.error();
    carries = *next;
    exchange(*loop, false);
  }
  exchange(*loop, true);
  auto sources = a.leaves.of(v);
  for (size_t i = 0; i < sources.size(); ++i) a.bound[sources[i]] = carries[i];
  return {};
}

Result<void> SymbolicRun::run_conditional(Activation& a, Value v, Cursor& cursor) {
  auto step = next_step(cursor, v);
  if (!step) return step.error();
  auto* branch = std::get_if<BranchStep>(&(*step)->what);
  if (!branch || branch->branches.size() != v->callees().size()) return wrong(*step, "has not the branches of its instruction");
  if (read(region(branch->selector)) != symbols(a, v->operand(0))[0]) return wrong(*step, "reads its selector from the wrong buffer");
  size_t taken = seed_ < 4 ? seed_ % branch->branches.size() : chance(branch->branches.size());
  Symbols arguments;
  if (taken + 1 < v->operands().size() && !v->callee(taken).parameters().empty()) arguments = symbols(a, v->operand(taken + 1));
  auto result = run_block(v->callee(taken), arguments, branch->branches[taken]);
  if (!result) return result.error();
  auto sources = a.leaves.of(v);
  for (size_t i = 0; i < sources.size(); ++i) a.bound[sources[i]] = (*result)[i];
  return {};
}

void SymbolicRun::bind_constant(Activation& a, Value v) {
  uint32_t leaf = 0;
  for (uint32_t source : a.leaves.of(v)) {
    Symbol& s = constant_symbols_[{v->attr, leaf++}];
    if (s == 0) s = ++newest_;
    a.bound[source] = s;
  }
  // Which constant of the program that is, is known by its bytes.
  const ir::Literal& value = v->as<ir::ConstantAttr>().value;
  if (value.is_tuple() || !v->type.is_array()) return;
  for (size_t i = 0; i < program_.constants.size(); ++i)
    if (program_.constants[i].bytes().data() == value.bytes().data() && program_.constants[i].type() == value.type())
      constants_[static_cast<int64_t>(i)] = constant_symbols_[{v->attr, 0}];
}

Result<void> SymbolicRun::run_instruction(Activation& a, Value v, Cursor& cursor) {
  switch (passes::step_kind(v, target_)) {
    case StepKind::leaf:
      if (v->op == Op::Constant) bind_constant(a, v);
      return {};
    case StepKind::structure:
    case StepKind::rename: return {};
    case StepKind::kernel: return run_computing(a, v, cursor, true);
    case StepKind::host: return run_computing(a, v, cursor, false);
    case StepKind::control: break;
  }
  if (v->op == Op::While) return run_while(a, v, cursor);
  if (v->op == Op::Conditional) return run_conditional(a, v, cursor);
  Symbols arguments;
  for (Value operand : v->operands())
    for (Symbol s : symbols(a, operand)) arguments.push_back(s);
  auto result = run_instructions(v->callee(0), arguments, cursor);
  if (!result) return result.error();
  auto sources = a.leaves.of(v);
  for (size_t i = 0; i < sources.size(); ++i) a.bound[sources[i]] = (*result)[i];
  return {};
}

Result<Symbols> SymbolicRun::run_instructions(const Computation& c, const Symbols& arguments, Cursor& cursor) {
  Activation a{c, leaves(c), {}};
  a.bound.assign(a.leaves.sources().size(), 0);
  size_t next = 0;
  for (Value p : c.parameters())
    for (uint32_t source : a.leaves.of(p)) a.bound[source] = arguments.at(next++);
  for (Value v : c.instructions()) {
    if (steps_ > most_steps) break;
    if (auto r = run_instruction(a, v, cursor); !r) return r.error();
  }
  return symbols(a, c.root());
}

Result<Symbols> SymbolicRun::run_block(const Computation& c, const Symbols& arguments, const Block& block) {
  Cursor cursor{block};
  auto result = run_instructions(c, arguments, cursor);
  if (!result || steps_ > most_steps) return result;
  if (auto r = run_copies(cursor); !r) return r.error();
  if (cursor.next != block.size()) return wrong(&block[cursor.next], "belongs to no instruction");
  return result;
}

Result<void> SymbolicRun::run() {
  for (BufferId id = 0; id < program_.buffers.size(); ++id)
    if (auto r = check_place(id); !r) return r;
  const Computation& entry = program_.module->entry();
  Symbols arguments;
  size_t array = 0;
  for (Value p : entry.parameters())
    for (ir::Type t : ir::leaves(p->type)) {
      arguments.push_back(t.is_array() ? ++newest_ : 0);
      if (t.is_array()) arrays_[1 + parameter_array_[array++]] = newest_;
    }
  auto result = run_block(entry, arguments, program_.steps);
  if (!result) return result.error();
  if (steps_ > most_steps) return {};
  auto types = ir::leaves(entry.result_type());
  size_t next = 0;
  for (size_t i = 0; i < types.size(); ++i) {
    if (!types[i].is_array()) continue;
    if (next == program_.results.size()) return wrong(nullptr, "a result has no buffer");
    BufferId id = program_.results[next];
    const Buffer& b = program_.buffers[id];
    if (b.storage != Storage::result || b.index != next)
      return wrong(nullptr, fmt::format("result {} is in no result buffer", next));
    if (b.bytes() != 0 && read(region(id)) != (*result)[i])
      return wrong(nullptr, fmt::format("result {} does not hold its value in the end", next));
    ++next;
  }
  return next == program_.results.size() ? Result<void>{} : wrong(nullptr, "there are more result buffers than results");
}

}  // namespace

Result<void> check_program(const Program& program, const ir::Target& target) {
  for (uint64_t seed = 0; seed < 12; ++seed)
    for (bool share : {false, true}) {
      if (share && program.aliases.empty()) continue;
      SymbolicRun run(program, target, share, seed);
      if (auto r = run.run(); !r) return r;
    }
  return {};
}

}  // namespace hloc::plan
