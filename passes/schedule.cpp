// List scheduling: of the steps that could run next, the one that frees most bytes beyond those it makes; among equals the
// one that stands first. Greedy is not always better than what the frontend wrote, so both orders are measured and the
// given one is kept unless the new one has a lower peak. Effects keep their order, control predecessors are honoured.
//
// What makes no array of its own (tuples, reshapes, constants) comes as soon as its operands are there.
#include "passes/schedule.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "passes/buffers/leaves.h"
#include "passes/buffers/step_kind.h"
#include "passes/rebuild.h"

namespace hloc::passes {
namespace {

using ir::Computation;
using ir::Value;

class ListScheduler {
 public:
  ListScheduler(const Computation& computation, const ir::Target& target, LeafTable& table)
      : computation_(computation), leaves_(table.of(computation)), is_step_(computation.size()) {
    for (Value v : computation.instructions()) {
      StepKind kind = step_kind(v, target);
      is_step_[v->id] = kind == StepKind::kernel || kind == StepKind::host || kind == StepKind::control;
    }
    find_order();
    find_memory();
  }

  // The better order; empty: the given one.
  std::vector<uint32_t> better_order() {
    std::vector<uint32_t> given(computation_.size());
    for (uint32_t i = 0; i < given.size(); ++i) given[i] = i;
    std::vector<uint32_t> listed = list_order();
    HLOC_CHECK(listed.size() == given.size(), "the order of a computation has no circles");
    if (peak(listed) < peak(given)) return listed;
    return {};
  }

 private:
  struct Ready {
    int64_t growth;  // bytes made minus bytes freed
    uint32_t id;
    bool operator>(const Ready& other) const { return std::pair(growth, id) > std::pair(other.growth, other.id); }
  };

  void find_order();
  void find_memory();
  std::vector<uint32_t> list_order() const;
  int64_t peak(const std::vector<uint32_t>& order) const;

  std::span<const uint32_t> reads(uint32_t step) const {
    return std::span(reads_).subspan(read_start_[step], read_start_[step + 1] - read_start_[step]);
  }

  const Computation& computation_;
  const Leaves& leaves_;
  std::vector<bool> is_step_;
  std::vector<std::vector<uint32_t>> before_;   // only what operands don't say: effects and control predecessors
  std::vector<uint32_t> after_start_, after_;   // by id: whom it must precede
  std::vector<uint32_t> waits_;                 // by id: for how many
  std::vector<uint32_t> read_start_, reads_;    // by id: the sources that a step reads, each once
  std::vector<int64_t> bytes_;                  // by source: 0 for what is not made by a step
  std::vector<uint32_t> readers_;               // by source: steps that read it; what leaves the computation has one more
  std::vector<uint32_t> reader_sum_;            // by source: exclusive or of its readers' ids
  std::vector<int64_t> made_;                   // by id: bytes
};

void ListScheduler::find_order() {
  size_t n = computation_.size();
  before_.resize(n);
  for (Value v : computation_.instructions())
    if (v->extras)
      for (Value p : v->extras->control_predecessors) before_[v->id].push_back(p->id);
  auto effects = computation_.effects();
  for (size_t i = 1; i < effects.size(); ++i) before_[effects[i]->id].push_back(effects[i - 1]->id);
  after_start_.assign(n + 1, 0);
  waits_.assign(n, 0);
  auto each_edge = [&](auto f) {
    for (Value v : computation_.instructions()) {
      for (Value operand : v->operands()) f(operand->id, v->id);
      for (uint32_t p : before_[v->id]) f(p, v->id);
    }
  };
  each_edge([&](uint32_t from, uint32_t to) { ++after_start_[from + 1], ++waits_[to]; });
  for (size_t i = 1; i <= n; ++i) after_start_[i] += after_start_[i - 1];
  after_.resize(after_start_.back());
  std::vector<uint32_t> next(after_start_.begin(), after_start_.end() - 1);
  each_edge([&](uint32_t from, uint32_t to) { after_[next[from]++] = to; });
}

void ListScheduler::find_memory() {
  size_t sources = leaves_.sources().size();
  bytes_.assign(sources, 0);
  readers_.assign(sources, 0);
  reader_sum_.assign(sources, 0);
  made_.assign(computation_.size(), 0);
  for (size_t s = 0; s < sources; ++s) {
    const LeafSource& source = leaves_.sources()[s];
    if (!is_step_[source.definer->id] || !source.type.is_array() || source.type.count() < 0) continue;
    // Sizes that no memory has are refused later; here they must only not overflow.
    bytes_[s] = std::min<int64_t>(source.type.count(), int64_t{1} << 36) * byte_width(source.type.element());
    made_[source.definer->id] += bytes_[s];
  }
  read_start_.assign(1, 0);
  std::vector<uint32_t> last_reader(sources, UINT32_MAX);
  for (Value v : computation_.instructions()) {
    if (is_step_[v->id])
      for (Value operand : v->operands())
        for (uint32_t s : leaves_.of(operand)) {
          if (bytes_[s] == 0 || last_reader[s] == v->id) continue;
          last_reader[s] = v->id;
          reads_.push_back(s);
          ++readers_[s];
          reader_sum_[s] ^= v->id;
        }
    read_start_.push_back(static_cast<uint32_t>(reads_.size()));
  }
  for (uint32_t s : leaves_.of(computation_.root())) ++readers_[s];
}

std::vector<uint32_t> ListScheduler::list_order() const {
  size_t n = computation_.size();
  std::vector<uint32_t> order, waits = waits_, left = readers_, sum = reader_sum_;
  std::vector<int64_t> growth = made_;
  std::vector<bool> done(n), ready(n);
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> free;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> steps;
  order.reserve(n);
  // What leaves the computation counts the way out as one more reader, whose id is not in the sum.
  std::vector<bool> leaves(left.size());
  for (uint32_t s : leaves_.of(computation_.root())) leaves[s] = true;
  for (size_t s = 0; s < left.size(); ++s)
    if (left[s] == 1 && !leaves[s]) growth[sum[s]] -= bytes_[s];
  auto make_ready = [&](uint32_t id) {
    ready[id] = true;
    if (is_step_[id]) steps.push({growth[id], id});
    else free.push(id);
  };
  auto run = [&](uint32_t id) {
    order.push_back(id);
    done[id] = true;
    if (is_step_[id])
      for (uint32_t s : reads(id)) {
        sum[s] ^= id;
        if (--left[s] != 1 || leaves[s]) continue;
        uint32_t last = sum[s];
        growth[last] -= bytes_[s];
        if (ready[last] && !done[last]) steps.push({growth[last], last});
      }
    for (uint32_t i = after_start_[id]; i < after_start_[id + 1]; ++i)
      if (--waits[after_[i]] == 0) make_ready(after_[i]);
  };
  for (uint32_t id = 0; id < n; ++id)
    if (waits[id] == 0) make_ready(id);
  while (!free.empty() || !steps.empty()) {
    if (!free.empty()) {
      uint32_t id = free.top();
      free.pop();
      run(id);
      continue;
    }
    Ready next = steps.top();
    steps.pop();
    if (!done[next.id] && growth[next.id] == next.growth) run(next.id);
  }
  return order;
}

int64_t ListScheduler::peak(const std::vector<uint32_t>& order) const {
  std::vector<uint32_t> left = readers_;
  int64_t now = 0, most = 0;
  for (uint32_t id : order) {
    if (!is_step_[id]) continue;
    most = std::max(most, now += made_[id]);
    for (uint32_t s : reads(id))
      if (--left[s] == 0) now -= bytes_[s];
    for (uint32_t s : leaves_.of(computation_.instructions()[id]))
      if (readers_[s] == 0) now -= bytes_[s];
  }
  return most;
}

ir::ComputationRef schedule_computation(const Computation& old, const CalleeMap& callees, const ir::ContextRef& graph,
                                        const ir::Target& target, LeafTable& table) {
  std::vector<uint32_t> order = ListScheduler(old, target, table).better_order();
  if (order.empty() && !callees.touches(old)) return nullptr;
  Rebuild rebuild(old, callees, graph, ir::Interning::append);
  if (order.empty())
    for (Value v : old.instructions()) rebuild.copy(v);
  for (uint32_t id : order) rebuild.copy(old.instructions()[id]);
  return rebuild.finish();
}

Result<ir::ModuleRef> run_schedule(const ir::ModuleRef& module, PassContext& context) {
  auto steps = step_computations(module->entry());
  std::sort(steps.begin(), steps.end());
  LeafTable table;
  ir::ModuleRef out = rebuild_module(module, [&](const Computation& old, const CalleeMap& callees) -> ir::ComputationRef {
    bool is_steps = std::binary_search(steps.begin(), steps.end(), &old);
    if (is_steps) return schedule_computation(old, callees, module->context(), context.target, table);
    if (!callees.touches(old)) return nullptr;
    Rebuild rebuild(old, callees, module->context(), ir::Interning::append);
    for (Value v : old.instructions()) rebuild.copy(v);
    return rebuild.finish();
  });
  if (out->config().is_scheduled) return out;
  ir::ModuleBuilder flagged(*out);
  for (const ir::ComputationRef& c : out->computations()) flagged.add(c);
  flagged.config().is_scheduled = true;
  return flagged.finish(&out->entry());
}

}  // namespace

const Pass schedule_pass{"schedule", "instructions stand in an order in which little memory is alive at once", run_schedule};

}  // namespace hloc::passes
