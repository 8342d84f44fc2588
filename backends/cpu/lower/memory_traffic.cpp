#include "backends/cpu/lower/memory_traffic.h"

#include <algorithm>

#include "backends/loops/walk.h"

namespace hloc::cpu {
namespace {

using loops::BufferId;
using loops::BufferRole;

// A loop that stores results and has fewer statements than this waits for memory.
constexpr int64_t least_statements = 12;
// Of a run of streaming stores; the lines at its ends may be written in parts, which costs more than an ordinary store.
constexpr int64_t least_streamed_run = 512;
// Shorter rows follow one another so closely that the hardware sees them coming.
constexpr int64_t least_row_bytes = 256;
// Bytes that memory delivers in the time that one access takes: about 40 GB/s for 200 ns.
constexpr int64_t least_ahead = 8 << 10;

int64_t size_of(const loops::Buffer& b) { return b.count * byte_width(b.element); }

// Does the access walk its buffer element by element with the loop's index?
bool walks(const loops::Varying& varying, const loops::Access& access, const loops::Loop& loop) {
  if (!access.guards.empty()) return false;
  loops::LaneStep step = varying.step(access.offset, loop.index);
  return step.step == loops::Step::strided && step.stride == 1;
}

// A vector loop that also accumulates begins where its first element is, aligned or not: its order of summation is fixed.
void find_streamed(const loops::Kernel& kernel, const std::vector<bool>& worth, MemoryTraffic& out) {
  loops::for_each_statement(kernel.body, [&](const loops::Statement& s) {
    auto* loop = s.as<loops::Loop>();
    if (!loop || loop->kind != loops::LoopKind::vector) return;
    auto keeps_from = [&](const loops::Statement& i) { return i.as<loops::Loop>() || (i.as<loops::Accumulate>() && !out.aligned); };
    if (std::ranges::any_of(loop->body, keeps_from)) return;
    loops::Varying varying;
    for (const loops::Statement& i : loop->body) {
      auto* store = i.as<loops::Store>();
      if (!store || !worth[store->access.buffer]) continue;
      if (loop->extent * byte_width(kernel.buffers[store->access.buffer].element) < least_streamed_run) continue;
      if (varying.values.empty()) varying = loops::varying_in(kernel, *loop);
      if (walks(varying, store->access, *loop)) out.streamed.emplace(store, 0);
    }
  });
}

bool stores_outputs(const loops::Kernel& kernel, const loops::Loop& loop) {
  return std::ranges::any_of(loop.body, [&](const loops::Statement& s) {
    auto* store = s.as<loops::Store>();
    return store && kernel.buffers[store->access.buffer].role == BufferRole::output;
  });
}

// How an address moves from one iteration of a loop over rows to the next one: through which index and by how many elements.
struct RowStep {
  loops::IndexId index = loops::no_id;
  int64_t elements = 0;
};

// The loop's variable and the indices that are made from it and clamped, with what one iteration adds to each.
using RowIndices = std::map<loops::IndexId, int64_t>;

RowIndices row_indices(const loops::Kernel& kernel, const loops::Loop& rows) {
  RowIndices out{{rows.index, 1}};
  std::map<loops::ValueId, int64_t> numbers;
  for (const loops::Statement& s : rows.body) {
    if (auto* number = s.as<loops::IndexValue>()) numbers[number->result] = number->affine.coefficient(rows.index);
    auto* derive = s.as<loops::Derive>();
    if (!derive || kernel.indices[derive->index].kind != loops::IndexKind::from_value) continue;
    if (auto it = numbers.find(kernel.indices[derive->index].value); it != numbers.end()) out[derive->index] = it->second;
  }
  return out;
}

RowStep step_of(const loops::Affine& affine, const RowIndices& indices) {
  for (const loops::Term& t : affine.terms)
    if (auto it = indices.find(t.index); it != indices.end()) return {t.index, t.coefficient * it->second};
  return {};
}

struct RowWalk {
  const loops::Loop* loop;
  const loops::Load* load;
  RowStep step;
};

// How loops directly inside `rows` walk rows of a large input, by input.
std::map<BufferId, std::vector<RowWalk>> walks_of_rows(const loops::Kernel& kernel, const Machine& machine, const loops::Loop& rows,
                                                       const RowIndices& indices) {
  std::map<BufferId, std::vector<RowWalk>> out;
  for (const loops::Statement& s : rows.body) {
    auto* loop = s.as<loops::Loop>();
    if (!loop || loop->kind != loops::LoopKind::vector) continue;
    loops::Varying varying;
    for (const loops::Statement& i : loop->body) {
      auto* load = i.as<loops::Load>();
      if (!load) continue;
      const loops::Buffer& buffer = kernel.buffers[load->access.buffer];
      if (buffer.role != BufferRole::input || size_of(buffer) < machine.l2_bytes) continue;
      RowStep step = step_of(load->access.offset, indices);
      if (step.elements < loop->extent) continue;  // rows overlap, or are one and the same
      if (varying.values.empty()) varying = loops::varying_in(kernel, *loop);
      if (!walks(varying, load->access, *loop)) continue;
      std::vector<RowWalk>& list = out[load->access.buffer];
      if (list.empty() || list.back().loop != loop || list.back().step.index != step.index) list.push_back({loop, load, step});
    }
  }
  return out;
}

// How far the next row of a streamed store is.
void find_next_rows(const loops::Kernel& kernel, const loops::Loop& rows, const RowIndices& indices, MemoryTraffic& out) {
  for (const loops::Statement& s : rows.body) {
    auto* loop = s.as<loops::Loop>();
    if (!loop) continue;
    for (const loops::Statement& i : loop->body) {
      auto* store = i.as<loops::Store>();
      auto it = store ? out.streamed.find(store) : out.streamed.end();
      if (it == out.streamed.end()) continue;
      it->second = step_of(store->access.offset, indices).elements * byte_width(kernel.buffers[store->access.buffer].element);
    }
  }
}

// The next rows go to the second level of the caches, which holds other things too: a quarter is a row's. On the way to the
// first their lines would take the few places for misses that this row's own loads need (measured: softmax and layer norm of
// 1024 columns on Zen 4).
void fetch_next_row(const loops::Kernel& kernel, const Machine& machine, const loops::Loop& rows, const RowIndices& indices,
                    MemoryTraffic& out) {
  for (const auto& [buffer, list] : walks_of_rows(kernel, machine, rows, indices)) {
    if (list.size() < 2) continue;
    int64_t width = byte_width(kernel.buffers[buffer].element), row = list[0].loop->extent * width;
    if (row < least_row_bytes || row > machine.l2_bytes / 4) continue;
    const RowWalk* chosen = nullptr;
    for (const RowWalk& w : list) {
      if (stores_outputs(kernel, *w.loop) && loops::statement_count(w.loop->body) < least_statements) continue;  // memory is busy there
      if (!chosen || loops::statement_count(w.loop->body) > loops::statement_count(chosen->loop->body)) chosen = &w;
    }
    if (!chosen) continue;
    int64_t step = chosen->step.elements * width, ahead = (least_ahead + step - 1) / step * step;
    if (ahead <= INT32_MAX / 2) out.ahead[chosen->load] = ahead;
  }
}

}  // namespace

std::vector<bool> streamed_outputs(const loops::Kernel& kernel, const Machine& machine, const std::vector<BufferId>& in_place) {
  std::vector<bool> out(kernel.buffers.size());
  for (size_t b = 0; b < out.size(); ++b)
    out[b] = kernel.buffers[b].role == BufferRole::output && size_of(kernel.buffers[b]) >= machine.streaming_bytes;
  for (BufferId b : in_place) out[b] = false;
  loops::for_each_statement(kernel.body, [&](const loops::Statement& s) {
    if (auto* load = s.as<loops::Load>()) out[load->access.buffer] = false;
  });
  return out;
}

MemoryTraffic memory_traffic(const loops::Kernel& kernel, const Machine& machine, const std::vector<BufferId>& in_place, bool aligned) {
  MemoryTraffic out{.aligned = aligned};
  std::vector<bool> worth = streamed_outputs(kernel, machine, in_place);
  if (std::ranges::find(worth, true) != worth.end()) find_streamed(kernel, worth, out);
  loops::for_each_statement(kernel.body, [&](const loops::Statement& s) {
    auto* loop = s.as<loops::Loop>();
    if (!loop || loop->kind != loops::LoopKind::serial || loop->extent <= 1) return;
    const RowIndices indices = row_indices(kernel, *loop);
    fetch_next_row(kernel, machine, *loop, indices, out);
    find_next_rows(kernel, *loop, indices, out);
  });
  return out;
}

}  // namespace hloc::cpu
