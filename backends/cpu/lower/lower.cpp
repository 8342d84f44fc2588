// compile_kernel: parameters, pieces, and the statements of the kernel's own block.
#include <algorithm>

#include <fmt/format.h>

#include "backends/cpu/contract/contract.h"
#include "backends/cpu/contract/expand.h"
#include "backends/cpu/kernel.h"
#include "backends/cpu/lower/emit_block.h"
#include "backends/cpu/lower/pipeline_rows.h"
#include "backends/loops/walk.h"

namespace hloc::cpu {
namespace {

// How a kernel is dealt out. Work is counted in statements run per element; a piece below `least_work` costs more in
// waking a thread (some microseconds) than it saves.
constexpr int64_t least_work = 64 << 10;
constexpr int64_t most_pieces = 16;

// The loops of the kernel's block that are dealt out, each in `count` parts; piece p runs part p of each.
struct Pieces {
  std::vector<size_t> loops;        // statements; none: the kernel is one piece
  std::vector<int64_t> iterations;  // of each, per piece; multiples of their grains
  int64_t count = 1;

  size_t find(size_t statement) const { return static_cast<size_t>(std::find(loops.begin(), loops.end(), statement) - loops.begin()); }
};

// Both up to INT64_MAX / 2.
int64_t work_of(const loops::Loop& loop);
int64_t work_of(const loops::Block& block) {
  int64_t work = 0;
  for (const loops::Statement& s : block) {
    auto* loop = s.as<loops::Loop>();
    work = std::min(INT64_MAX / 2, work + (loop ? work_of(*loop) : 1));
  }
  return work;
}
int64_t work_of(const loops::Loop& loop) {
  int64_t work = std::max<int64_t>(work_of(loop.body), 1);
  return __builtin_mul_overflow(work, std::max<int64_t>(loop.extent, 1), &work) ? INT64_MAX / 2 : std::min(work, INT64_MAX / 2);
}

// What a loop does to buffers that are no inputs: the range of elements that it writes (of its own buffers: uses) of each.
struct LoopWrites {
  struct Part {
    loops::BufferId buffer;
    loops::Range range;
  };
  std::vector<Part> parts;
  bool reads_back = false;

  LoopWrites(const loops::Kernel& kernel, const loops::Loop& loop) {
    loops::for_each_statement(loop.body, [&](const loops::Statement& s) {
      auto add = [&](const loops::Access& a) { parts.push_back({a.buffer, loops::range_of(kernel, a.offset)}); };
      if (auto* store = s.as<loops::Store>()) add(store->access);
      auto* load = s.as<loops::Load>();
      if (!load) return;
      reads_back |= kernel.buffers[load->access.buffer].role == loops::BufferRole::output;
      if (kernel.buffers[load->access.buffer].role == loops::BufferRole::local) add(load->access);
    });
  }
  bool meets(const LoopWrites& other) const {
    return std::any_of(parts.begin(), parts.end(), [&](const Part& a) {
      return std::any_of(other.parts.begin(), other.parts.end(), [&](const Part& b) {
        return a.buffer == b.buffer && a.range.lo <= b.range.hi && b.range.lo <= a.range.hi;
      });
    });
  }
};

// Whether the loops may run side by side: they write to different places and read nothing that one of them writes. (An input
// that an output overwrites is read where it is written only.)
bool are_apart(const loops::Kernel& kernel, const std::vector<size_t>& statements) {
  std::vector<LoopWrites> writes;
  for (size_t i : statements) {
    LoopWrites now(kernel, *kernel.body[i].as<loops::Loop>());
    if (now.reads_back) return false;
    for (const LoopWrites& before : writes)
      if (now.meets(before)) return false;
    writes.push_back(std::move(now));
  }
  return true;
}

// A loop that fills local buffers, so that every piece can run it for itself, and is short beside the work of `whole`.
bool is_preparation(const loops::Kernel& kernel, const loops::Loop& loop, int64_t whole) {
  bool only_locals = loop.grain == 0;
  loops::for_each_statement(loop.body, [&](const loops::Statement& s) {
    auto* store = s.as<loops::Store>();
    if (store && kernel.buffers[store->access.buffer].role != loops::BufferRole::local) only_locals = false;
    if (s.as<loops::Contract>()) only_locals = false;
  });
  return only_locals && work_of(loop) <= whole / most_pieces;
}

Pieces cut(const loops::Kernel& kernel) {
  constexpr size_t most_loops = 8;
  Pieces out;
  int64_t whole = work_of(kernel.body), work = 0, most_grains = 1;
  for (size_t i = 0; i < kernel.body.size(); ++i) {
    const loops::Statement& s = kernel.body[i];
    if (s.as<loops::Contract>()) return {};
    auto* loop = s.as<loops::Loop>();
    if (!loop) {
      if (s.as<loops::Store>()) return {};
      continue;
    }
    if (out.loops.empty() && is_preparation(kernel, *loop, whole)) continue;
    out.loops.push_back(i);
    if (out.loops.size() > most_loops) return {};
    work = std::min(work, INT64_MAX / 2) + work_of(*loop);
    if (loop->grain > 0) most_grains = std::max(most_grains, loop->extent / loop->grain);
  }
  if (out.loops.size() > 1 && !are_apart(kernel, out.loops)) return {};  // a second loop would have to wait for the first
  int64_t wanted = std::min({most_pieces, work / least_work, most_grains});
  if (wanted <= 1) return {};
  for (size_t i : out.loops) {  // one that is not parallel is whole in the first piece
    const auto& loop = *kernel.body[i].as<loops::Loop>();
    int64_t grain = loop.grain > 0 ? loop.grain : loop.extent, each = (loop.extent + wanted - 1) / wanted;
    out.iterations.push_back((each + grain - 1) / grain * grain);
    out.count = std::max(out.count, (loop.extent + out.iterations.back() - 1) / out.iterations.back());
  }
  return out;
}

int64_t contract_count(const loops::Kernel& kernel) {
  return std::count_if(kernel.body.begin(), kernel.body.end(), [](const loops::Statement& s) { return s.as<loops::Contract>() != nullptr; });
}

int64_t local_size(const loops::Buffer& b) { return (b.count * byte_width(b.element) + 63) / 64 * 64; }

// Local buffers follow each other in scratch. Returns the bytes used.
int64_t bind_locals(BlockEmitter& emitter, const loops::Kernel& kernel, Reg scratch) {
  int64_t at = 0;
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    const loops::Buffer& b = kernel.buffers[i];
    if (b.role != loops::BufferRole::local) continue;
    emitter.bind_buffer(static_cast<loops::BufferId>(i), emitter.builder().add(scratch, at));
    at += local_size(b);
  }
  return at;
}

}  // namespace

void bind_inline_buffers(BlockEmitter& emitter, const loops::Kernel& kernel, std::span<const BufferAddress> buffers, Reg scratch) {
  size_t next = 0;
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    if (kernel.buffers[i].role == loops::BufferRole::local) continue;
    emitter.bind_buffer(static_cast<loops::BufferId>(i), buffers[next].base, buffers[next].offset);
    ++next;
  }
  bind_locals(emitter, kernel, scratch);
}

int64_t statements_run(const loops::Kernel& kernel) { return work_of(kernel.body); }

int64_t piece_count(const loops::Kernel& kernel) { return cut(kernel).count; }

bool can_inline(const loops::Kernel& kernel) {
  bool good = true;
  loops::for_each_statement(kernel.body, [&](const loops::Statement& s) { good &= !s.as<loops::Contract>(); });
  return good;
}

int64_t local_bytes(const loops::Kernel& kernel) {
  int64_t bytes = 0;
  for (const loops::Buffer& b : kernel.buffers)
    if (b.role == loops::BufferRole::local) bytes += local_size(b);
  return bytes;
}

Result<void> emit_inline(machine::Builder& b, const loops::Kernel& kernel, const Machine& machine, std::span<const BufferAddress> buffers,
                         Reg scratch) {
  BlockEmitter emitter(kernel, b, machine);
  bind_inline_buffers(emitter, kernel, buffers, scratch);
  emitter.emit(kernel.body);
  if (emitter.failure) return *emitter.failure;
  return {};
}

namespace {

// The kernel with row pipelines in place of loops; none: there are none.
struct Pipelines {
  std::vector<std::optional<RowPipeline>> of;  // by statement of the kernel's block
  std::optional<loops::Kernel> kernel;

  Pipelines(loops::Kernel& plain, const Machine& machine, const std::vector<loops::BufferId>& in_place) : of(plain.body.size()) {
    const std::vector<bool> worth_streaming = streamed_outputs(plain, machine, in_place);
    for (size_t i = 0; i < of.size(); ++i)
      if (auto* loop = plain.body[i].as<loops::Loop>()) of[i] = pipeline_rows(plain, *loop, machine, in_place, worth_streaming);
    for (size_t i = 0; i < of.size(); ++i) {
      if (!of[i]) continue;
      if (!kernel) kernel = plain;
      kernel->body[i] = {of[i]->loop};
    }
  }
};

}  // namespace

Result<CompiledKernel> compile_kernel(const loops::Kernel& written, const Machine& machine, std::string name, const std::vector<loops::BufferId>& in_place) {
  loops::Kernel kernel = expand_contractions(written, machine);
  const Pipelines pipelines(kernel, machine, in_place);
  const loops::Kernel& chosen = pipelines.kernel ? *pipelines.kernel : kernel;
  const MemoryTraffic traffic = memory_traffic(kernel, machine, in_place);
  const MemoryTraffic row_traffic = pipelines.kernel ? memory_traffic(chosen, machine, in_place, true) : MemoryTraffic();
  CompiledKernel out;
  machine::Builder b(out.function, std::move(name), machine.vector_bytes);
  Reg buffers = b.param(), scratch = b.param(), begin = b.param(), end = b.param();
  BlockEmitter emitter(kernel, b, machine);
  emitter.set_traffic(&traffic);
  std::vector<Reg> memory_of(kernel.buffers.size());
  int32_t at = 0;
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    if (kernel.buffers[i].role == loops::BufferRole::local) continue;
    memory_of[i] = b.load(ElementType::s64, {buffers, at});
    emitter.bind_buffer(static_cast<loops::BufferId>(i), memory_of[i]);
    at += 8;
  }
  int64_t locals = bind_locals(emitter, kernel, scratch);

  Pieces pieces = cut(chosen);
  bool one_contract = contract_count(kernel) == 1 && !std::any_of(kernel.body.begin(), kernel.body.end(), [](const loops::Statement& s) { return s.as<loops::Loop>(); });
  // A statement, or of a loop that is dealt out, its part in pieces [begin, end); `rows` of its iterations are one of the loop
  // in `chosen`.
  auto emit_part = [&](size_t i, const loops::Statement& s, int64_t rows) {
    size_t k = pieces.find(i);
    if (k == pieces.loops.size() || pieces.count == 1) return emitter.emit_statement(s);
    const auto& loop = *s.as<loops::Loop>();
    Reg extent = b.mov(loop.extent), lo = b.min(b.mul(begin, pieces.iterations[k] * rows), extent);
    Reg hi = b.min(b.mul(end, pieces.iterations[k] * rows), extent);
    emitter.emit_loop_range(loop, lo, hi);
    out.pieces = pieces.count;
  };
  auto emit_pipeline = [&](size_t i) {
    emitter.set_traffic(&row_traffic);
    emit_part(i, chosen.body[i], 1);
    emitter.set_traffic(&traffic);
  };
  // What the pipeline stands for, with sums in its order: results do not depend on where memory lies.
  auto emit_plain = [&](size_t i, const RowPipeline& pipeline) {
    emitter.set_partials(emitter.partials_of(pipeline.row_loop()));
    emit_part(i, kernel.body[i], pipeline.rows);
    emitter.set_partials({});
  };
  for (size_t i = 0; i < kernel.body.size(); ++i) {
    const loops::Statement& s = kernel.body[i];
    if (auto* contract = s.as<loops::Contract>()) {
      ContractPlan plan = *plan_contract(kernel, *contract, machine);
      Reg memory = b.add(scratch, locals);
      out.scratch_bytes = std::max(out.scratch_bytes, one_contract ? plan.scratch_bytes : plan.all_scratch_bytes);
      out.all_scratch_bytes = std::max(out.all_scratch_bytes, plan.all_scratch_bytes);
      if (one_contract) out.pieces = plan.pieces;
      emit_contract(emitter, *contract, plan, memory, one_contract ? begin : b.mov(0), one_contract ? end : b.mov(plan.pieces));
    } else if (const auto& pipeline = pipelines.of[i]; pipeline && !pipeline->streamed.empty()) {
      Reg places = b.mov(0);
      for (loops::BufferId buffer : pipeline->streamed) places = b.or_(places, memory_of[buffer]);
      b.if_else(machine::Cond::eq, b.and_(places, machine.vector_bytes - 1), 0, [&] { emit_pipeline(i); }, [&] { emit_plain(i, *pipeline); });
    } else if (pipeline) {
      emit_pipeline(i);
    } else {
      emit_part(i, s, 1);
    }
    if (emitter.failure) return *emitter.failure;
  }
  if (!traffic.streamed.empty() || !row_traffic.streamed.empty()) b.store_fence();
  b.ret();
  out.scratch_bytes += locals, out.all_scratch_bytes += locals;
  return out;
}

}  // namespace hloc::cpu
