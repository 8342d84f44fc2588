#include "backends/cpu/driver.h"

#include <algorithm>
#include <cstddef>
#include <unordered_map>

#include <fmt/format.h>

#include "backends/loops/lower.h"

namespace hloc::cpu {
namespace {

using machine::Address;
using machine::Builder;
using machine::Cond;
using machine::Function;
using machine::Reg;

constexpr const char* copy_symbol = "hloc_copy";
constexpr const char* piece_symbol = "hloc_piece";

// What the entry hands to parallel_for; hloc_piece reads it back.
struct Job {
  void* kernel;
  void* buffers;
  void* scratch;
  int64_t scratch_per_piece;
};

int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// void hloc_copy(to, from, bytes): whole vectors, then bytes.
Function copy_function(const Machine& machine) {
  Function f;
  Builder b(f, copy_symbol, machine.vector_bytes);
  Reg to = b.param(), from = b.param(), bytes = b.param();
  machine::VType full = b.full(ElementType::u8);
  Reg i = b.mov(0);
  Reg whole = b.and_(bytes, -int64_t{machine.vector_bytes});
  b.counted_loop(i, whole, machine.vector_bytes, [&] { b.vstore(full, {to, i, 1}, b.vload(full, {from, i, 1})); });
  b.counted_loop(i, bytes, 1, [&] { b.store(ElementType::u8, {to, i, 1}, b.load(ElementType::u8, {from, i, 1})); });
  b.ret();
  return f;
}

// void hloc_piece(Job* job, int64_t i): one piece of a parallel kernel, on whatever thread.
Function piece_function(const Machine& machine) {
  Function f;
  Builder b(f, piece_symbol, machine.vector_bytes);
  Reg job = b.param(), i = b.param();
  Reg saved = b.fp_save();
  b.fp_default();
  auto field = [&](size_t offset) { return b.load(ElementType::s64, {job, static_cast<int32_t>(offset)}); };
  Reg kernel = field(offsetof(Job, kernel)), buffers = field(offsetof(Job, buffers));
  Reg scratch = b.add(field(offsetof(Job, scratch)), b.mul(field(offsetof(Job, scratch_per_piece)), i));
  Reg end = b.add(i, 1);
  b.call(kernel, {buffers, scratch, i, end}, false);
  b.fp_restore(saved);
  b.ret();
  return f;
}

struct KernelFacts {
  std::string symbol;
  int64_t pieces = 1, scratch_bytes = 0;
};

void collect_kernels(const plan::Block& block, std::vector<NamedKernel>& out) {
  for (const plan::Step& step : block) {
    if (auto* kernel = std::get_if<plan::KernelStep>(&step.what)) {
      out.push_back({fmt::format("k{}", out.size()), kernel});
    } else if (auto* loop = std::get_if<plan::WhileStep>(&step.what)) {
      collect_kernels(loop->condition, out);
      collect_kernels(loop->body, out);
    } else if (auto* branch = std::get_if<plan::BranchStep>(&step.what)) {
      for (const plan::Block& b : branch->branches) collect_kernels(b, out);
    }
  }
}

size_t most_buffers(const plan::Block& block) {
  size_t most = 0;
  for (const plan::Step& step : block) {
    if (auto* k = std::get_if<plan::KernelStep>(&step.what)) most = std::max(most, k->inputs.size() + k->outputs.size());
    if (auto* h = std::get_if<plan::HostStep>(&step.what)) most = std::max(most, h->inputs.size() + h->outputs.size());
    if (auto* w = std::get_if<plan::WhileStep>(&step.what)) most = std::max({most, most_buffers(w->condition), most_buffers(w->body)});
    if (auto* c = std::get_if<plan::BranchStep>(&step.what))
      for (const plan::Block& b : c->branches) most = std::max(most, most_buffers(b));
  }
  return most;
}

// Emits the entry: one method per kind of step.
class EntryBuilder {
 public:
  EntryBuilder(const plan::Program& program, const Machine& machine, DrivenProgram& out,
               const std::unordered_map<const plan::KernelStep*, KernelFacts>& kernels)
      : program_(program), out_(out), kernels_(kernels), b_(entry_, out.entry, machine.vector_bytes) {
    int64_t piece_scratch = 0;
    for (const auto& [step, facts] : kernels) piece_scratch = std::max(piece_scratch, facts.pieces * aligned(facts.scratch_bytes));
    table_at_ = aligned(program.arena_bytes);
    job_at_ = table_at_ + aligned(static_cast<int64_t>(most_buffers(program.steps) * sizeof(void*)));
    temp_at_ = job_at_ + aligned(sizeof(Job));
    out_.scratch_bytes = temp_at_ + piece_scratch;
  }

  void build() {
    in_ = b_.param(), results_ = b_.param(), scratch_ = b_.param(), context_ = b_.param();
    saved_ = b_.fp_save();
    b_.fp_default();
    status_ = b_.mov(0);
    exit_ = b_.block("exit");
    block(program_.steps);
    b_.jump(exit_);
    b_.start(exit_);
    b_.fp_restore(saved_);
    b_.ret(status_);
    out_.functions.push_back(std::move(entry_));
  }

 private:
  Reg scratch_at(int64_t offset) {
    if (offset <= INT32_MAX) return b_.lea({scratch_, static_cast<int32_t>(offset)});
    return b_.add(scratch_, b_.mov(offset));
  }

  Reg address(plan::BufferId id) {
    const plan::Buffer& buffer = program_.buffers[id];
    switch (buffer.storage) {
      case plan::Storage::parameter: return b_.load(ElementType::s64, {in_, static_cast<int32_t>(buffer.index * sizeof(void*))});
      case plan::Storage::result: return b_.load(ElementType::s64, {results_, static_cast<int32_t>(buffer.index * sizeof(void*))});
      case plan::Storage::constant: return b_.address_of(fmt::format("c{}", buffer.index));
      case plan::Storage::arena: return scratch_at(buffer.offset);
    }
    HLOC_UNREACHABLE();
  }

  // The step's buffers as an array of pointers; its address.
  Reg pointer_table(const std::vector<plan::BufferId>& inputs, const std::vector<plan::BufferId>& outputs) {
    Reg table = scratch_at(table_at_);
    int32_t at = 0;
    for (const auto* list : {&inputs, &outputs}) {
      for (plan::BufferId id : *list) {
        b_.store(ElementType::s64, {table, at}, address(id));
        at += static_cast<int32_t>(sizeof(void*));
      }
    }
    return table;
  }

  void block(const plan::Block& steps) {
    for (const plan::Step& step : steps) std::visit([this](const auto& s) { emit(s); }, step.what);
  }

  void emit(const plan::KernelStep& step) {
    const KernelFacts& facts = kernels_.at(&step);
    Reg table = pointer_table(step.inputs, step.outputs);
    Reg temp = scratch_at(temp_at_);
    if (facts.pieces == 1) {
      b_.call(facts.symbol, {table, temp, b_.mov(0), b_.mov(1)}, false);
      return;
    }
    machine::BlockId have_context = b_.block("context"), parallel = b_.block("parallel"), serial = b_.block("serial"), after = b_.block("after");
    b_.branch(Cond::ne, context_, 0, have_context, serial);
    b_.start(have_context);
    Reg parallel_for = b_.load(ElementType::s64, {context_, static_cast<int32_t>(offsetof(hloc_context, parallel_for))});
    b_.branch(Cond::ne, parallel_for, 0, parallel, serial);
    b_.start(parallel);
    Reg job = scratch_at(job_at_);
    auto set = [&](size_t offset, Reg value) { b_.store(ElementType::s64, {job, static_cast<int32_t>(offset)}, value); };
    set(offsetof(Job, kernel), b_.address_of(facts.symbol));
    set(offsetof(Job, buffers), table);
    set(offsetof(Job, scratch), temp);
    set(offsetof(Job, scratch_per_piece), b_.mov(aligned(facts.scratch_bytes)));
    b_.call(parallel_for, {context_, b_.mov(facts.pieces), b_.address_of(piece_symbol), job}, false);
    b_.jump(after);
    b_.start(serial);
    b_.call(facts.symbol, {table, temp, b_.mov(0), b_.mov(facts.pieces)}, false);
    b_.jump(after);
    b_.start(after);
  }

  void emit(const plan::HostStep& step) {
    auto number = static_cast<int64_t>(out_.host_steps.size());
    out_.host_steps.push_back(&step);
    Reg table = pointer_table(step.inputs, step.outputs);
    Reg callback = b_.load(ElementType::s64, {context_, static_cast<int32_t>(offsetof(JitContext, host_step))});
    Reg status = b_.extend(ElementType::s32, b_.call(callback, {context_, b_.mov(number), table}));
    b_.mov(status, status_);
    machine::BlockId next = b_.block("host_done");
    b_.branch(Cond::ne, status_, 0, exit_, next);
    b_.start(next);
  }

  void emit(const plan::CopyStep& step) {
    int64_t bytes = program_.buffers[step.from].bytes();
    Reg to = address(step.to), from = address(step.from);
    for (auto [size, type] : {std::pair{1, ElementType::u8}, {2, ElementType::u16}, {4, ElementType::u32}, {8, ElementType::u64}}) {
      if (bytes != size) continue;
      b_.store(type, {to}, b_.load(type, {from}));
      return;
    }
    if (bytes > 0) b_.call(copy_symbol, {to, from, b_.mov(bytes)}, false);
  }

  void emit(const plan::WhileStep& step) {
    machine::BlockId test = b_.block("while"), body = b_.block("body"), after = b_.block("while_done");
    b_.jump(test);
    b_.start(test);
    block(step.condition);
    b_.branch(Cond::ne, b_.load(ElementType::u8, {address(step.predicate)}), 0, body, after);
    b_.start(body);
    block(step.body);
    b_.jump(test);
    b_.start(after);
  }

  void emit(const plan::BranchStep& step) {
    machine::BlockId after = b_.block("join");
    bool by_pred = program_.buffers[step.selector].type.element() == ElementType::pred;
    Reg selector = b_.load(by_pred ? ElementType::u8 : ElementType::s32, {address(step.selector)});
    for (size_t i = 0; i < step.branches.size(); ++i) {
      bool last = i + 1 == step.branches.size();
      machine::BlockId otherwise = after;
      if (!last) {  // true runs branches[0]; an s32 out of range the last
        machine::BlockId taken = b_.block("branch");
        otherwise = b_.block("branch_else");
        if (by_pred) b_.branch(Cond::ne, selector, 0, taken, otherwise);
        else b_.branch(Cond::eq, selector, static_cast<int64_t>(i), taken, otherwise);
        b_.start(taken);
      }
      block(step.branches[i]);
      b_.jump(after);
      if (!last) b_.start(otherwise);
    }
    b_.start(after);
  }

  const plan::Program& program_;
  DrivenProgram& out_;
  const std::unordered_map<const plan::KernelStep*, KernelFacts>& kernels_;
  Function entry_;
  Builder b_;
  Reg in_, results_, scratch_, context_, saved_, status_;
  machine::BlockId exit_ = 0;
  int64_t table_at_ = 0, job_at_ = 0, temp_at_ = 0;
};

}  // namespace

std::vector<NamedKernel> kernels_of(const plan::Program& program) {
  std::vector<NamedKernel> out;
  collect_kernels(program.steps, out);
  return out;
}

Result<DrivenProgram> compile_program(const plan::Program& program, const Machine& machine, std::string_view entry) {
  DrivenProgram out;
  out.entry = entry;
  std::unordered_map<const plan::KernelStep*, KernelFacts> kernels;
  for (const NamedKernel& named : kernels_of(program)) {
    auto kernel = loops::make_kernel(named.step->fusion, named.symbol, named.step->in_place);
    if (!kernel) return kernel.error();
    auto compiled = compile_kernel(*kernel, machine, named.symbol);
    if (!compiled) return compiled.error();
    kernels[named.step] = {named.symbol, compiled->pieces, compiled->scratch_bytes};
    out.functions.push_back(std::move(compiled->function));
  }
  for (size_t i = 0; i < program.constants.size(); ++i)
    out.constants.push_back({fmt::format("c{}", i), 64, program.constants[i].bytes()});
  out.functions.push_back(copy_function(machine));
  out.functions.push_back(piece_function(machine));
  EntryBuilder(program, machine, out, kernels).build();
  return out;
}

}  // namespace hloc::cpu
