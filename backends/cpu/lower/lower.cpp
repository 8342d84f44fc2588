// compile_kernel: parameters, pieces, and the statements of the kernel's own block.
#include <algorithm>

#include <fmt/format.h>

#include "backends/cpu/contract/contract.h"
#include "backends/cpu/contract/expand.h"
#include "backends/cpu/kernel.h"
#include "backends/cpu/lower/emit_block.h"
#include "backends/loops/walk.h"

namespace hloc::cpu {
namespace {

// How a kernel is dealt out. Work is counted in statements run per element; a piece below `least_work` costs more in
// waking a thread (some microseconds) than it saves.
constexpr int64_t least_work = 64 << 10;
constexpr int64_t most_pieces = 16;

struct Pieces {
  size_t statement = SIZE_MAX;   // the one statement of the kernel's block that is cut; SIZE_MAX: none
  int64_t count = 1;
  int64_t iterations = 0;        // of the loop, per piece; a multiple of its grain
};

int64_t work_of(const loops::Block& block) {
  int64_t work = 0;
  for (const loops::Statement& s : block) {
    auto* loop = s.as<loops::Loop>();
    int64_t inner = loop ? work_of(loop->body) : 1;
    if (loop && __builtin_mul_overflow(inner, std::max<int64_t>(loop->extent, 1), &inner)) inner = INT64_MAX / 2;
    work = work > INT64_MAX / 2 - inner ? INT64_MAX / 2 : work + inner;
  }
  return work;
}

// A loop that fills local buffers, so that every piece can run it for itself, and is short beside the work of `whole`.
bool is_preparation(const loops::Kernel& kernel, const loops::Loop& loop, int64_t whole) {
  bool only_locals = loop.grain == 0;
  loops::for_each_statement(loop.body, [&](const loops::Statement& s) {
    auto* store = s.as<loops::Store>();
    if (store && kernel.buffers[store->access.buffer].role != loops::BufferRole::local) only_locals = false;
    if (s.as<loops::Contract>()) only_locals = false;
  });
  if (!only_locals) return false;
  int64_t work = work_of(loop.body);
  return !__builtin_mul_overflow(work, loop.extent * most_pieces, &work) && work <= whole;
}

Pieces cut(const loops::Kernel& kernel) {
  Pieces out;
  int64_t whole = work_of(kernel.body);
  for (size_t i = 0; i < kernel.body.size(); ++i) {
    const loops::Statement& s = kernel.body[i];
    if (s.as<loops::Contract>()) return {};
    auto* loop = s.as<loops::Loop>();
    if (!loop) {
      if (s.as<loops::Store>()) return {};
      continue;
    }
    if (out.statement == SIZE_MAX && is_preparation(kernel, *loop, whole)) continue;
    if (out.statement != SIZE_MAX || loop->grain == 0) return {};  // a second loop would have to wait for the first
    out.statement = i;
  }
  if (out.statement == SIZE_MAX) return {};
  const auto& loop = *kernel.body[out.statement].as<loops::Loop>();
  int64_t per_iteration = std::max<int64_t>(work_of(loop.body), 1);
  int64_t least = (least_work + per_iteration - 1) / per_iteration;
  int64_t wanted = std::clamp<int64_t>(loop.extent / std::max<int64_t>(least, 1), 1, most_pieces);
  int64_t each = (loop.extent + wanted - 1) / wanted;
  out.iterations = (each + loop.grain - 1) / loop.grain * loop.grain;
  out.count = std::max<int64_t>(1, (loop.extent + out.iterations - 1) / out.iterations);
  return out;
}

int64_t contract_count(const loops::Kernel& kernel) {
  return std::count_if(kernel.body.begin(), kernel.body.end(), [](const loops::Statement& s) { return s.as<loops::Contract>() != nullptr; });
}

// Local buffers follow each other in scratch. Returns the bytes used.
int64_t bind_locals(BlockEmitter& emitter, const loops::Kernel& kernel, Reg scratch) {
  int64_t at = 0;
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    const loops::Buffer& b = kernel.buffers[i];
    if (b.role != loops::BufferRole::local) continue;
    emitter.bind_buffer(static_cast<loops::BufferId>(i), emitter.builder().add(scratch, at));
    at += (b.count * byte_width(b.element) + 63) / 64 * 64;
  }
  return at;
}

}  // namespace

Result<CompiledKernel> compile_kernel(const loops::Kernel& written, const Machine& machine, std::string name) {
  const loops::Kernel kernel = expand_contractions(written, machine);
  CompiledKernel out;
  machine::Builder b(out.function, std::move(name), machine.vector_bytes);
  Reg buffers = b.param(), scratch = b.param(), begin = b.param(), end = b.param();
  BlockEmitter emitter(kernel, b, machine);
  int32_t at = 0;
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    if (kernel.buffers[i].role == loops::BufferRole::local) continue;
    emitter.bind_buffer(static_cast<loops::BufferId>(i), b.load(ElementType::s64, {buffers, at}));
    at += 8;
  }
  int64_t locals = bind_locals(emitter, kernel, scratch);

  Pieces pieces = cut(kernel);
  bool one_contract = contract_count(kernel) == 1 && !std::any_of(kernel.body.begin(), kernel.body.end(), [](const loops::Statement& s) { return s.as<loops::Loop>(); });
  for (size_t i = 0; i < kernel.body.size(); ++i) {
    const loops::Statement& s = kernel.body[i];
    if (auto* contract = s.as<loops::Contract>()) {
      ContractPlan plan = *plan_contract(kernel, *contract, machine);
      Reg memory = b.add(scratch, locals);
      out.scratch_bytes = std::max(out.scratch_bytes, plan.scratch_bytes);
      if (one_contract) out.pieces = plan.pieces;
      emit_contract(emitter, *contract, plan, memory, one_contract ? begin : b.mov(0), one_contract ? end : b.mov(plan.pieces));
    } else if (i == pieces.statement && pieces.count > 1) {
      const auto& loop = *s.as<loops::Loop>();
      Reg lo = b.mul(begin, pieces.iterations);
      Reg hi = b.min(b.mul(end, pieces.iterations), b.mov(loop.extent));
      emitter.emit_loop_range(loop, lo, hi);
      out.pieces = pieces.count;
    } else {
      emitter.emit_statement(s);
    }
    if (emitter.failure) return *emitter.failure;
  }
  b.ret();
  out.scratch_bytes += locals;
  return out;
}

}  // namespace hloc::cpu
