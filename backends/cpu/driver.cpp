#include "backends/cpu/driver.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "backends/cpu/steps.h"

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

// void hloc_copy(to, from, bytes): whole vectors, then bytes; nothing when both are the same memory.
Function copy_function(const Machine& machine) {
  Function f;
  Builder b(f, copy_symbol, machine.vector_bytes);
  Reg to = b.param(), from = b.param(), bytes = b.param();
  machine::BlockId copy = b.block("copy"), same = b.block("same");
  b.branch(Cond::eq, to, from, same, copy);
  b.start(same);
  b.ret();
  b.start(copy);
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
  int64_t pieces = 1, scratch_bytes = 0, all_scratch_bytes = 0;
};

size_t most_buffers(const CpuProgram& program) {
  size_t most = 0;
  for (const StepKernel& k : program.kernels) most = std::max(most, k.buffers.size());
  std::vector<const CpuSteps*> open{&program.steps};
  while (!open.empty()) {
    const CpuSteps& steps = *open.back();
    open.pop_back();
    for (const CpuStep& step : steps) {
      if (auto* host = std::get_if<const plan::HostStep*>(&step.what)) most = std::max(most, (*host)->inputs.size() + (*host)->outputs.size());
      if (auto* loop = std::get_if<RunWhile>(&step.what)) open.push_back(&loop->condition), open.push_back(&loop->body);
      if (auto* branch = std::get_if<RunBranch>(&step.what))
        for (const CpuSteps& b : branch->branches) open.push_back(&b);
    }
  }
  return most;
}

// Emits the entry: one method per kind of step.
class EntryBuilder {
 public:
  // `facts`: by number of the kernel.
  EntryBuilder(const plan::Program& program, const CpuProgram& steps, const Machine& machine, DrivenProgram& out, const std::vector<KernelFacts>& facts)
      : program_(program), steps_(steps), machine_(machine), out_(out), facts_(facts), b_(entry_, out.entry, machine.vector_bytes) {
    int64_t piece_scratch = 0;
    for (const KernelFacts& f : facts) piece_scratch = std::max({piece_scratch, f.pieces * aligned(f.scratch_bytes), f.all_scratch_bytes});
    table_at_ = aligned(program.arena_bytes);
    job_at_ = table_at_ + aligned(static_cast<int64_t>(most_buffers(steps) * sizeof(void*)));
    temp_at_ = job_at_ + aligned(sizeof(Job));
    out_.scratch_bytes = temp_at_ + piece_scratch;
  }

  Result<void> build() {
    in_ = b_.param(), results_ = b_.param(), scratch_ = b_.param(), context_ = b_.param();
    saved_ = b_.fp_save();
    b_.fp_default();
    status_ = b_.mov(0);
    exit_ = b_.block("exit");
    block(steps_.steps);
    if (failure_) return *failure_;
    b_.jump(exit_);
    b_.start(exit_);
    b_.fp_restore(saved_);
    b_.ret(status_);
    out_.functions.push_back(std::move(entry_));
    return {};
  }

 private:
  Reg scratch_at(int64_t offset) {
    if (offset <= INT32_MAX) return b_.lea({scratch_, static_cast<int32_t>(offset)});
    return b_.add(scratch_, b_.mov(offset));
  }

  Reg address(plan::BufferId id) {
    if (auto moved = moved_.find(id); moved != moved_.end()) return moved->second;
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
  Reg pointer_table(const std::vector<plan::BufferId>& buffers) {
    Reg table = scratch_at(table_at_);
    int32_t at = 0;
    for (plan::BufferId id : buffers) {
      b_.store(ElementType::s64, {table, at}, address(id));
      at += static_cast<int32_t>(sizeof(void*));
    }
    return table;
  }

  void block(const CpuSteps& steps) {
    for (const CpuStep& step : steps) std::visit([this](const auto& s) { emit(s); }, step.what);
  }

  // Addresses in the arena share the register of scratch.
  BufferAddress inline_address(plan::BufferId id) {
    if (auto moved = moved_.find(id); moved != moved_.end()) return {moved->second, 0};
    const plan::Buffer& buffer = program_.buffers[id];
    int64_t offset = buffer.storage == plan::Storage::arena ? buffer.offset : -1;
    if (offset >= 0 && offset <= INT32_MAX / 2) return {scratch_, static_cast<int32_t>(offset)};
    return {address(id), 0};
  }

  std::vector<BufferAddress> inline_addresses(const StepKernel& kernel) {
    std::vector<BufferAddress> buffers;
    for (plan::BufferId id : kernel.buffers) buffers.push_back(inline_address(id));
    return buffers;
  }

  void note(const Result<void>& done) {
    if (!done && !failure_) failure_ = done.error();
  }

  void emit_inside(const StepKernel& kernel) {
    note(emit_inline(b_, kernel.kernel, machine_, inline_addresses(kernel), scratch_at(temp_at_)));
  }

  // The kernel that is all of the loop's body and tests at its end, if there is one.
  const StepKernel* whole_body(const RunWhile& step) const {
    if (!step.tests_at_end || step.body.size() != 1) return nullptr;
    auto* run = std::get_if<RunKernel>(&step.body[0].what);
    return run && steps_.kernels[run->kernel].is_inline ? &steps_.kernels[run->kernel] : nullptr;
  }

  void emit(const RunKernel& run) {
    const StepKernel& kernel = steps_.kernels[run.kernel];
    if (kernel.is_inline) return emit_inside(kernel);
    const KernelFacts& facts = facts_[run.kernel];
    Reg table = pointer_table(kernel.buffers);
    Reg temp = scratch_at(temp_at_);
    if (facts.pieces == 1) {
      b_.call(kernel.symbol, {table, temp, b_.mov(0), b_.mov(1)}, false);
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
    set(offsetof(Job, kernel), b_.address_of(kernel.symbol));
    set(offsetof(Job, buffers), table);
    set(offsetof(Job, scratch), temp);
    set(offsetof(Job, scratch_per_piece), b_.mov(aligned(facts.scratch_bytes)));
    b_.call(parallel_for, {context_, b_.mov(facts.pieces), b_.address_of(piece_symbol), job}, false);
    b_.jump(after);
    b_.start(serial);
    b_.call(kernel.symbol, {table, temp, b_.mov(0), b_.mov(facts.pieces)}, false);
    b_.jump(after);
    b_.start(after);
  }

  void emit(const plan::HostStep* step) {
    auto number = static_cast<int64_t>(out_.host_steps.size());
    out_.host_steps.push_back(step);
    std::vector<plan::BufferId> buffers = step->inputs;
    buffers.insert(buffers.end(), step->outputs.begin(), step->outputs.end());
    Reg table = pointer_table(buffers);
    Reg callback = b_.load(ElementType::s64, {context_, static_cast<int32_t>(offsetof(JitContext, host_step))});
    Reg status = b_.extend(ElementType::s32, b_.call(callback, {context_, b_.mov(number), table}));
    b_.mov(status, status_);
    machine::BlockId next = b_.block("host_done");
    b_.branch(Cond::ne, status_, 0, exit_, next);
    b_.start(next);
  }

  void emit(const plan::CopyStep* step) {
    int64_t bytes = program_.buffers[step->from].bytes();
    Reg to = address(step->to), from = address(step->from);
    for (auto [size, type] : {std::pair{1, ElementType::u8}, {2, ElementType::u16}, {4, ElementType::u32}, {8, ElementType::u64}}) {
      if (bytes != size) continue;
      b_.store(type, {to}, b_.load(type, {from}));
      return;
    }
    if (bytes > 0) b_.call(copy_symbol, {to, from, b_.mov(bytes)}, false);
  }

  void emit(const RunWhile& step) {
    machine::BlockId test = b_.block("while"), enter = b_.block("enter"), body = b_.block("body"), after = b_.block("while_done");
    auto branch = [&](machine::BlockId to, machine::BlockId otherwise) {
      b_.branch(Cond::ne, b_.load(ElementType::u8, {address(step.plan->predicate)}), 0, to, otherwise);
    };
    for (const plan::Exchange& e : step.plan->exchanges) {
      Reg carry = b_.mov(address(e.carry[0])), next = b_.mov(address(e.next[0]));
      for (plan::BufferId id : e.carry) moved_[id] = carry;
      for (plan::BufferId id : e.next) moved_[id] = next;
    }
    b_.jump(test);
    b_.start(test);
    block(step.condition);
    branch(enter, after);
    b_.start(enter);
    std::optional<InlineBody> kernel;
    if (const StepKernel* whole = whole_body(step)) {
      kernel.emplace(b_, whole->kernel, machine_, inline_addresses(*whole), scratch_at(temp_at_), whole->apart);
      kernel->enter();
    }
    b_.jump(body);
    b_.start(body);
    if (kernel) note(kernel->turn());
    else block(step.body);
    machine::BlockId leave = kernel ? b_.block("leave") : after;
    if (step.tests_at_end) branch(body, leave);
    else b_.jump(test);
    if (kernel) {
      b_.start(leave);
      kernel->leave();
      b_.jump(after);
    }
    b_.start(after);
    for (const plan::Exchange& e : step.plan->exchanges) bring_back(e);
  }

  // A loop is over: its carry to where it belongs, if it is not there.
  void bring_back(const plan::Exchange& e) {
    Reg last = moved_.at(e.carry[0]);
    for (const auto* list : {&e.carry, &e.next})
      for (plan::BufferId id : *list) moved_.erase(id);
    b_.call(copy_symbol, {address(e.carry[0]), last, b_.mov(program_.buffers[e.carry[0]].bytes())}, false);
  }

  void emit(const RunExchange& step) {
    for (const plan::Exchange& e : step.loop->exchanges) {
      Reg carry = moved_.at(e.carry[0]), next = moved_.at(e.next[0]), kept = b_.mov(carry);
      b_.mov(next, carry);
      b_.mov(kept, next);
    }
  }

  void emit(const RunBranch& step) {
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
  const CpuProgram& steps_;
  const Machine& machine_;
  DrivenProgram& out_;
  const std::vector<KernelFacts>& facts_;
  Function entry_;
  Builder b_;
  Reg in_, results_, scratch_, context_, saved_, status_;
  std::map<plan::BufferId, Reg> moved_;  // arrays that change places: where they are now
  machine::BlockId exit_ = 0;
  int64_t table_at_ = 0, job_at_ = 0, temp_at_ = 0;
  std::optional<Diagnostic> failure_;  // the first kernel that cannot be lowered
};

}  // namespace

Result<DrivenProgram> compile_program(const plan::Program& program, const Machine& machine, std::string_view entry) {
  DrivenProgram out;
  out.entry = entry;
  auto steps = cpu_program(program);
  if (!steps) return steps.error();
  std::vector<KernelFacts> facts;
  for (const StepKernel& kernel : steps->kernels) {
    if (kernel.is_inline) {
      facts.push_back({1, local_bytes(kernel.kernel), 0});
      continue;
    }
    auto compiled = compile_kernel(kernel.kernel, machine, kernel.symbol, kernel.in_place);
    if (!compiled) return compiled.error();
    facts.push_back({compiled->pieces, compiled->scratch_bytes, compiled->all_scratch_bytes});
    out.functions.push_back(std::move(compiled->function));
  }
  for (size_t i = 0; i < program.constants.size(); ++i)
    out.constants.push_back({fmt::format("c{}", i), 64, program.constants[i].bytes()});
  out.functions.push_back(copy_function(machine));
  out.functions.push_back(piece_function(machine));
  if (auto ok = EntryBuilder(program, *steps, machine, out, facts).build(); !ok) return ok.error();
  return out;
}

}  // namespace hloc::cpu
