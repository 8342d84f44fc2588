#include "backends/cpu/steps.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "backends/loops/forward.h"
#include "backends/loops/lower.h"
#include "backends/loops/merge_kernels.h"

namespace hloc::cpu {
namespace {

constexpr int64_t most_merged_statements = 512;   // of one merged kernel
constexpr int64_t most_small_statements = 128;    // of a kernel that is merged with others
constexpr int64_t most_small_work = 1 << 14;      // and how many it executes; a call costs some ten
constexpr int64_t most_copied_bytes = 1 << 10;    // of a copy that is merged
constexpr int64_t most_inline_statements = 2048;  // of the entry
constexpr size_t most_searched_buffers = 4096;    // beyond, everything counts as read later

struct StepGroupItem {
  std::optional<loops::Kernel> kernel;  // none: a copy
  std::vector<plan::BufferId> buffers;  // inputs, outputs
  const plan::CopyStep* copy = nullptr;
  uint32_t position = 0;
  int64_t statements = 0;
  std::vector<loops::BufferId> in_place;  // of the kernel
};

// Bytes that a plan's buffer occupies: of the arena, or a memory of the caller's.
struct BufferPlace {
  plan::Storage storage;
  int64_t begin, end;
  ElementType element;

  explicit BufferPlace(const plan::Buffer& b)
      : storage(b.storage), begin(b.storage == plan::Storage::arena ? b.offset : b.index), end(begin + 1), element(b.type.element()) {
    if (storage == plan::Storage::arena) end = begin + b.bytes();
  }
  auto key() const { return std::tuple(storage, begin, end, element); }
  bool meets(const BufferPlace& other) const { return storage == other.storage && begin < other.end && other.begin < end; }
};

class StepGrouper {
 public:
  explicit StepGrouper(const plan::Program& program) : program_(program) {}

  Result<CpuProgram> run() {
    auto steps = block(program_.steps, nullptr);
    if (!steps) return steps.error();
    out_.steps = *std::move(steps);
    return std::move(out_);
  }

 private:
  // The block; where it is the body of a loop, what ends a turn; and behind it the condition of `loop` if that is given.
  Result<CpuSteps> block(const plan::Block& steps, const plan::WhileStep* loop, const plan::WhileStep* body_of = nullptr) {
    CpuSteps out;
    std::vector<StepGroupItem> open;
    for (size_t i = 0; i < steps.size(); ++i) {
      const plan::Step& step = steps[i];
      bool same_moment = i + 1 < steps.size() && steps[i + 1].position == step.position;
      if (std::get_if<plan::KernelStep>(&step.what) || std::get_if<plan::CopyStep>(&step.what)) {
        auto item = item_of(step);
        if (!item) return item.error();
        if (auto ok = add(*std::move(item), open, out); !ok) return ok.error();
        if (!open.empty()) open.back().position -= same_moment;  // what others read at this moment is still needed
        continue;
      }
      if (auto ok = close(open, out); !ok) return ok.error();
      auto other = control(step);
      if (!other) return other.error();
      out.push_back(*std::move(other));
    }
    if (body_of && !body_of->exchanges.empty()) {
      if (auto ok = close(open, out); !ok) return ok.error();
      out.push_back({RunExchange{body_of}});
    }
    if (loop) {
      for (const plan::Step& step : loop->condition) {
        auto item = item_of(step);
        if (!item) return item.error();
        item->position = 0;
        if (auto ok = add(*std::move(item), open, out, loop); !ok) return ok.error();
      }
    }
    if (auto ok = close(open, out, loop); !ok) return ok.error();
    return out;
  }

  Result<StepGroupItem> item_of(const plan::Step& step) {
    StepGroupItem item;
    item.position = step.position;
    if (auto* copy = std::get_if<plan::CopyStep>(&step.what)) {
      item.copy = copy;
      item.statements = 3;  // a loop, a load and a store: what bounds a group bounds its copies too
      item.buffers = {copy->from, copy->to};
      return item;
    }
    const auto& kernel = std::get<plan::KernelStep>(step.what);
    auto made = loops::make_kernel(kernel.fusion, fmt::format("k{}", made_++), kernel.in_place);
    if (!made) return made.error();
    item.kernel = *std::move(made);
    loops::unroll_small_contractions(*item.kernel, most_small_statements);
    item.statements = loops::statement_count(item.kernel->body);
    item.buffers = kernel.inputs;
    item.buffers.insert(item.buffers.end(), kernel.outputs.begin(), kernel.outputs.end());
    for (auto [input, output] : kernel.in_place) item.in_place.push_back(static_cast<loops::BufferId>(kernel.inputs.size() + output));
    return item;
  }

  bool is_small(const StepGroupItem& item) const {
    if (item.copy) return program_.buffers[item.copy->from].bytes() <= most_copied_bytes;
    if (item.statements > most_small_statements || statements_run(*item.kernel) > most_small_work) return false;
    return can_inline(*item.kernel) && piece_count(*item.kernel) == 1;
  }

  // Into the open group, or after it.
  Result<void> add(StepGroupItem item, std::vector<StepGroupItem>& open, CpuSteps& out, const plan::WhileStep* loop = nullptr) {
    bool small = is_small(item);
    if (!small && item.kernel && reduce_in_last(item, open, out)) return {};
    int64_t statements = item.statements;
    for (const StepGroupItem& i : open) statements += i.statements;
    if (!small || statements > most_merged_statements)
      if (auto ok = close(open, out, loop); !ok) return ok;
    if (small) {
      open.push_back(std::move(item));
    } else if (item.copy) {
      out.push_back({item.copy});
    } else {
      run_kernel({item.kernel->name, *std::move(item.kernel), std::move(item.buffers), false, std::move(item.in_place), {}}, out);
    }
    return {};
  }

  // A reduction of what the last large kernel stores becomes part of that kernel. Both are then one piece, so the reduction
  // is one already and not much less work. Small kernels between the two stay after them.
  bool reduce_in_last(const StepGroupItem& item, const std::vector<StepGroupItem>& open, const CpuSteps& out) {
    auto* last = out.empty() ? nullptr : std::get_if<RunKernel>(&out.back().what);
    if (!last) return false;
    StepKernel& before = out_.kernels[last->kernel];
    if (before.is_inline || !can_inline(before.kernel) || !can_inline(*item.kernel) || piece_count(*item.kernel) > 1) return false;
    if (statements_run(before.kernel) / 2 > statements_run(*item.kernel)) return false;
    for (const StepGroupItem& small : open)
      for (plan::BufferId a : small.buffers)
        for (plan::BufferId b : item.buffers)
          if (share_bytes(BufferPlace(program_.buffers[a]), BufferPlace(program_.buffers[b]))) return false;
    // What others read at these moments, the small kernels too, is still needed.
    StepGroupItem first{.kernel = before.kernel, .buffers = before.buffers}, second = item;
    first.position = (open.empty() ? item : open[0]).position - 1;
    --second.position;
    auto merged = merge({std::move(first), std::move(second)}, nullptr, true);
    if (!merged) return false;
    merged->symbol = merged->kernel.name = before.symbol;
    before = *std::move(merged);
    return true;
  }

  void run_kernel(StepKernel kernel, CpuSteps& out) {
    kernel.symbol = kernel.kernel.name = fmt::format("k{}", out_.kernels.size());
    out.push_back({RunKernel{static_cast<uint32_t>(out_.kernels.size())}});
    out_.kernels.push_back(std::move(kernel));
  }

  Result<void> close(std::vector<StepGroupItem>& open, CpuSteps& out, const plan::WhileStep* loop = nullptr) {
    std::vector<StepGroupItem> items = std::exchange(open, {});
    bool only_copies = std::all_of(items.begin(), items.end(), [](const StepGroupItem& i) { return i.copy != nullptr; });
    if (only_copies && depth_ == 0) {
      for (const StepGroupItem& i : items) out.push_back({i.copy});
      return {};
    }
    StepKernel merged = *merge(items, loop, false);
    if (auto ok = loops::verify(merged.kernel); !ok) return ok.error();
    if (merged.kernel.body.empty()) return {};
    int64_t statements = loops::statement_count(merged.kernel.body);
    merged.is_inline = depth_ > 0 && inlined_ + statements <= most_inline_statements;
    if (merged.is_inline) inlined_ += statements;
    run_kernel(std::move(merged), out);
    return {};
  }

  // `reduces`: only if a reduction moves to where its array is stored.
  std::optional<StepKernel> merge(const std::vector<StepGroupItem>& items, const plan::WhileStep* loop, bool reduces) {
    std::map<decltype(std::declval<BufferPlace>().key()), uint32_t> numbers;
    std::vector<loops::SharedMemory> memories;
    std::vector<plan::BufferId> buffer_of;
    auto number = [&](plan::BufferId id) {
      const plan::Buffer& b = program_.buffers[id];
      auto [it, is_new] = numbers.try_emplace(BufferPlace(b).key(), static_cast<uint32_t>(memories.size()));
      if (is_new) memories.push_back({"", b.type.element(), b.type.count(), {}, true}), buffer_of.push_back(id);
      return it->second;
    };
    std::vector<std::vector<uint32_t>> used;
    uint32_t last = 0;
    for (const StepGroupItem& i : items) {
      auto& list = used.emplace_back();
      for (plan::BufferId id : i.buffers) list.push_back(number(id));
      last = std::max(last, i.position);
    }
    uint32_t first = reduces ? items[0].position : last;  // small kernels between the two run after both
    for (uint32_t m = 0; m < memories.size(); ++m) describe(m, memories, buffer_of, first, last, loop);
    std::vector<bool> apart;
    for (const loops::SharedMemory& memory : memories) apart.push_back(memory.overlaps.empty());
    loops::KernelMerger merger(std::move(memories));
    for (size_t i = 0; i < items.size(); ++i) {
      if (items[i].copy) merger.add_copy(used[i][0], used[i][1]);
      else merger.add(*items[i].kernel, used[i]);
    }
    if (reduces && !merger.reduce_as_stored()) return std::nullopt;
    auto merged = merger.finish(fmt::format("k{}", out_.kernels.size()));
    StepKernel out{merged.kernel.name, std::move(merged.kernel), {}, false, {}, {}};
    for (uint32_t m : merged.memories) out.buffers.push_back(buffer_of[m]), out.apart.push_back(apart[m]);
    return out;
  }

  // Which other memories it overlaps, and whether somebody reads after position `first` what is there up to `last`.
  void describe(uint32_t m, std::vector<loops::SharedMemory>& memories, const std::vector<plan::BufferId>& buffer_of, uint32_t first,
                uint32_t last, const plan::WhileStep* loop) const {
    BufferPlace place(program_.buffers[buffer_of[m]]);
    for (uint32_t other = 0; other < memories.size(); ++other)
      if (other != m && share_bytes(place, BufferPlace(program_.buffers[buffer_of[other]]))) memories[m].overlaps.push_back(other);
    if (place.storage != plan::Storage::arena || program_.buffers.size() > most_searched_buffers) return;
    memories[m].is_read_later = std::any_of(program_.buffers.begin(), program_.buffers.end(), [&](const plan::Buffer& b) {
      return b.last > first && b.first <= last + 1 && place.meets(BufferPlace(b));
    });
    if (!loop) return;
    // Whatever else had the predicate's bytes is gone by the time it is made.
    BufferPlace predicate(program_.buffers[loop->predicate]);
    memories[m].is_read_later |= place.begin == predicate.begin && place.end == predicate.end && place.meets(predicate);
  }

  bool share_bytes(const BufferPlace& a, const BufferPlace& b) const {
    if (a.meets(b)) return true;
    return std::any_of(program_.aliases.begin(), program_.aliases.end(), [&](const plan::Alias& alias) {
      auto is_pair = [&](const BufferPlace& p, const BufferPlace& r) {
        return p.storage == plan::Storage::parameter && r.storage == plan::Storage::result && p.begin == alias.parameter && r.begin == alias.result;
      };
      return is_pair(a, b) || is_pair(b, a);
    });
  }

  Result<CpuStep> control(const plan::Step& step) {
    if (auto* host = std::get_if<plan::HostStep>(&step.what)) return CpuStep{host};
    if (auto* loop = std::get_if<plan::WhileStep>(&step.what)) return while_step(*loop);
    const auto& branch = std::get<plan::BranchStep>(step.what);
    RunBranch out{branch.selector, {}};
    for (const plan::Block& b : branch.branches) {
      auto steps = block(b, nullptr);
      if (!steps) return steps.error();
      out.branches.push_back(*std::move(steps));
    }
    return CpuStep{std::move(out)};
  }

  Result<CpuStep> while_step(const plan::WhileStep& loop) {
    RunWhile out;
    out.plan = &loop;
    ++depth_;
    auto condition = block(loop.condition, nullptr);
    if (!condition) return condition.error();
    out.condition = *std::move(condition);
    out.tests_at_end = std::all_of(out.condition.begin(), out.condition.end(), [this](const CpuStep& s) {
      auto* run = std::get_if<RunKernel>(&s.what);
      return run && out_.kernels[run->kernel].is_inline;
    });
    auto body = block(loop.body, out.tests_at_end ? &loop : nullptr, &loop);
    --depth_;
    if (!body) return body.error();
    out.body = *std::move(body);
    return CpuStep{std::move(out)};
  }

  const plan::Program& program_;
  CpuProgram out_;
  size_t made_ = 0;
  int depth_ = 0;         // of loops
  int64_t inlined_ = 0;   // statements
};

}  // namespace

Result<CpuProgram> cpu_program(const plan::Program& program) { return StepGrouper(program).run(); }

}  // namespace hloc::cpu
