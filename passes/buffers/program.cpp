// make_program: draft → cells → exchanges → order of copies → arena → steps over buffers.
#include <map>
#include <memory>

#include <fmt/format.h>

#include "passes/buffers/cells.h"
#include "passes/buffers/copies.h"
#include "passes/buffers/exchanges.h"
#include "passes/buffers/leaves.h"
#include "passes/buffers/tree.h"
#include "passes/fusion/access.h"

namespace hloc::passes {
namespace {

using ir::Type;
using plan::Block;
using plan::Buffer;
using plan::BufferId;
using plan::CopyStep;
using plan::Step;

class ProgramWriter {
 public:
  ProgramWriter(const ir::ModuleRef& module, Draft draft, const ir::Target& target)
      : draft_(std::move(draft)), cells_(draft_), alignment_(std::max<int64_t>(target.buffer_alignment, 1)),
        exchanges_buffers_(target.exchanges_buffers), program_(std::make_shared<plan::Program>()) {
    program_->module = module;
  }

  Result<std::shared_ptr<const plan::Program>> write();

 private:
  void order_block(Block& block);
  void order_group(Block& block, size_t begin, size_t end, Block& out);
  ValueId add_scratch(ValueId like, uint32_t position);
  uint32_t place(ValueId v) const;

  void emit_block(Block& block);
  void bring_parameters(Step& step, Block& out);
  void emit_kernel(plan::KernelStep& kernel);
  void name_exchanges(Block& block);
  BufferId buffer(ValueId v, Type type);
  BufferId buffer(ValueId v) { return buffer(v, draft_.values[v].type); }
  void rename_inputs(ir::Value instruction, std::vector<BufferId>& inputs);
  std::string name(ValueId v);

  Draft draft_;
  Cells cells_;
  int64_t alignment_;
  bool exchanges_buffers_;
  LeafCounts counts_;
  ArenaLayout arena_;
  std::map<CellId, CellId> shared_place_;  // of a parameter's cell: the cell of the result that may be the same memory
  std::map<std::pair<CellId, const ir::TypeNode*>, BufferId> buffers_;
  std::map<uint32_t, uint32_t> constants_;  // index in the draft → index in the program
  std::shared_ptr<plan::Program> program_;
};

// Cells that the caller may put into one memory are one place.
uint32_t ProgramWriter::place(ValueId v) const {
  CellId cell = cells_.of(v);
  auto it = shared_place_.find(cell);
  return it == shared_place_.end() ? cell : it->second;
}

ValueId ProgramWriter::add_scratch(ValueId like, uint32_t position) {
  PlanValue value = draft_.values[like];
  value.home = Home::free;
  value.first = value.last = position;
  draft_.values.push_back(value);
  CellId cell = cells_.add_scratch(value.type.byte_size(), position);
  HLOC_CHECK(cell + 1 == draft_.values.size(), "values and cells are numbered alike");
  return cell;
}

// Copies at one position happen at once; those within one cell are gone.
void ProgramWriter::order_group(Block& block, size_t begin, size_t end, Block& out) {
  std::vector<size_t> kept;
  std::vector<PlaceCopy> copies;
  for (size_t i = begin; i < end; ++i) {
    auto [from, to] = std::get<CopyStep>(block[i].what);
    if (cells_.of(from) == cells_.of(to)) continue;
    kept.push_back(i);
    copies.push_back({place(from), place(to)});
  }
  std::vector<ValueId> scratch(kept.size(), no_value);
  for (OrderedCopy ordered : order_copies(copies)) {
    Step step = block[kept[ordered.index]];
    CopyStep& copy = std::get<CopyStep>(step.what);
    if (ordered.kind == OrderedCopy::save) copy.to = scratch[ordered.index] = add_scratch(copy.from, step.position);
    if (ordered.kind == OrderedCopy::restore) copy.from = scratch[ordered.index];
    out.push_back(std::move(step));
  }
}

void ProgramWriter::order_block(Block& block) {
  Block out;
  out.reserve(block.size());
  for (size_t i = 0; i < block.size();) {
    if (std::holds_alternative<CopyStep>(block[i].what)) {
      size_t end = i;
      while (end < block.size() && block[end].position == block[i].position && std::holds_alternative<CopyStep>(block[end].what)) ++end;
      order_group(block, i, end, out);
      i = end;
      continue;
    }
    if (auto* loop = std::get_if<plan::WhileStep>(&block[i].what)) {
      order_block(loop->condition);
      order_block(loop->body);
    } else if (auto* branch = std::get_if<plan::BranchStep>(&block[i].what)) {
      for (Block& b : branch->branches) order_block(b);
    }
    out.push_back(std::move(block[i++]));
  }
  block = std::move(out);
}

std::string ProgramWriter::name(ValueId v) {
  const PlanValue& value = draft_.values[v];
  std::string name(value.computation->name(value.definer));
  std::string path;
  uint32_t leaf = value.leaf;
  for (Type type = value.definer->type; type.is_tuple();) {
    const auto& starts = counts_.starts(type);
    auto element = static_cast<size_t>(std::upper_bound(starts.begin(), starts.end() - 1, leaf) - starts.begin() - 1);
    path += fmt::format("{}{}", path.empty() ? "" : ",", element);
    leaf -= starts[element];
    type = type.element_type(element);
  }
  return path.empty() ? name : fmt::format("{}{{{}}}", name, path);
}

// The buffer for a value as `type` sees it: reading a reshaped value is reading the same bytes under another type.
BufferId ProgramWriter::buffer(ValueId v, Type type) {
  CellId id = cells_.of(v);
  auto [slot, fresh] = buffers_.try_emplace({id, type.node()}, static_cast<BufferId>(program_->buffers.size()));
  if (!fresh) return slot->second;
  const Cell& cell = cells_.at(id);
  Buffer b;
  b.type = type;
  b.name = name(v);
  b.first = cell.ranges.front().begin;
  b.last = cell.ranges.back().end;
  b.index = cell.index;
  switch (cell.home) {
    case Home::free: b.storage = plan::Storage::arena; b.offset = arena_.offsets[id]; break;
    case Home::parameter: b.storage = plan::Storage::parameter; break;
    case Home::result: b.storage = plan::Storage::result; break;
    case Home::constant: {
      b.storage = plan::Storage::constant;
      auto [constant, first_use] = constants_.try_emplace(cell.index, static_cast<uint32_t>(program_->constants.size()));
      if (first_use) program_->constants.push_back(draft_.constants[cell.index]);
      b.index = constant->second;
      break;
    }
  }
  program_->buffers.push_back(std::move(b));
  return slot->second;
}

void ProgramWriter::rename_inputs(ir::Value instruction, std::vector<BufferId>& inputs) {
  size_t next = 0;
  for (ir::Value operand : instruction->operands())
    for (Type type : ir::leaves(operand->type))
      if (type.is_array()) inputs[next] = buffer(inputs[next], type), ++next;
  HLOC_CHECK(next == inputs.size(), "a step has an input for each array leaf of its operands");
}

// A kernel that updates parts of a parameter does so in the memory of the result, which need not be the caller's memory for
// the parameter: a copy, which does nothing where both are one, brings the rest.
void ProgramWriter::bring_parameters(Step& step, Block& out) {
  if (shared_place_.empty()) return;
  auto& kernel = std::get<plan::KernelStep>(step.what);
  auto updated = updated_parameters(kernel.fusion->callee(0));
  for (size_t o = 0; o < kernel.outputs.size(); ++o) {
    if (!updated[o]) continue;
    ValueId &from = kernel.inputs[*updated[o]], to = kernel.outputs[o];
    if (cells_.of(from) == cells_.of(to) || place(from) != place(to)) continue;
    Step copy = step;
    copy.what = CopyStep{buffer(from), buffer(to, draft_.values[from].type)};
    out.push_back(std::move(copy));
    from = to;
  }
}

void ProgramWriter::emit_kernel(plan::KernelStep& kernel) {
  for (uint32_t o = 0; o < kernel.outputs.size(); ++o)
    for (uint32_t i = 0; i < kernel.inputs.size(); ++i)
      if (place(kernel.inputs[i]) == place(kernel.outputs[o])) kernel.in_place.emplace_back(i, o);
  rename_inputs(kernel.fusion, kernel.inputs);
  for (BufferId& id : kernel.outputs) id = buffer(id);
}

void ProgramWriter::emit_block(Block& block) {
  Block out;
  out.reserve(block.size());
  for (Step& step : block) {
    if (auto* kernel = std::get_if<plan::KernelStep>(&step.what)) {
      bring_parameters(step, out);
      emit_kernel(*kernel);
    } else if (auto* host = std::get_if<plan::HostStep>(&step.what)) {
      rename_inputs(host->instruction, host->inputs);
      for (BufferId& id : host->outputs) id = buffer(id);
    } else if (auto* copy = std::get_if<CopyStep>(&step.what)) {
      copy->from = buffer(copy->from);
      copy->to = buffer(copy->to);
    } else if (auto* loop = std::get_if<plan::WhileStep>(&step.what)) {
      emit_block(loop->condition);
      loop->predicate = buffer(loop->predicate);
      emit_block(loop->body);
    } else {
      auto& branch = std::get<plan::BranchStep>(step.what);
      branch.selector = buffer(branch.selector);
      for (Block& b : branch.branches) emit_block(b);
    }
    out.push_back(std::move(step));
  }
  block = std::move(out);
}

// When all buffers are known: those of the cells that change places.
void ProgramWriter::name_exchanges(Block& block) {
  auto all = [&](std::vector<BufferId>& ids) {
    CellId cell = cells_.of(ids[0]);
    buffer(ids[0]);
    ids.clear();
    for (auto it = buffers_.lower_bound({cell, nullptr}); it != buffers_.end() && it->first.first == cell; ++it) ids.push_back(it->second);
    std::sort(ids.begin(), ids.end());
  };
  for (Step& step : block) {
    if (auto* loop = std::get_if<plan::WhileStep>(&step.what)) {
      for (plan::Exchange& e : loop->exchanges) all(e.carry), all(e.next);
      name_exchanges(loop->condition);
      name_exchanges(loop->body);
    } else if (auto* branch = std::get_if<plan::BranchStep>(&step.what)) {
      for (Block& b : branch->branches) name_exchanges(b);
    }
  }
}

Result<std::shared_ptr<const plan::Program>> ProgramWriter::write() {
  cells_.coalesce();
  if (exchanges_buffers_) exchange_carries(draft_, cells_);
  for (const plan::Alias& alias : draft_.aliases)
    shared_place_[cells_.of(draft_.parameters[alias.parameter])] = cells_.of(draft_.results[alias.result]);
  order_block(draft_.steps);
  std::vector<CellId> used;
  for (ValueId v = 0; v < draft_.values.size(); ++v)
    if (cells_.of(v) == v && cells_.at(v).home == Home::free) used.push_back(v);
  auto arena = lay_out_arena(cells_, used, alignment_);
  if (!arena) return arena.error();
  arena_ = std::move(*arena);
  for (ValueId v : draft_.parameters) program_->parameters.push_back(buffer(v));
  for (ValueId v : draft_.results) program_->results.push_back(buffer(v));
  emit_block(draft_.steps);
  name_exchanges(draft_.steps);
  program_->steps = std::move(draft_.steps);
  program_->aliases = std::move(draft_.aliases);
  program_->arena_bytes = arena_.bytes;
  program_->arena_lower_bound = arena_.lower_bound;
  return std::shared_ptr<const plan::Program>(std::move(program_));
}

}  // namespace
}  // namespace hloc::passes

namespace hloc::plan {

Result<std::shared_ptr<const Program>> make_program(const ir::ModuleRef& module, const ir::Target& target) {
  auto draft = passes::draft_program(*module, target);
  if (!draft) return draft.error();
  return passes::ProgramWriter(module, std::move(*draft), target).write();
}

}  // namespace hloc::plan
