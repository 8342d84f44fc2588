// List scheduling: of the steps that could run next, the one that frees most bytes beyond those it makes; among equals the
// one that stands first. Greedy is not always better than what the frontend wrote, so both orders are measured and the
// given one is kept unless the new one has a lower peak. Effects keep their order, control predecessors are honoured.
//
// In the body of a loop, what makes the next value of a carried array comes after what else reads the present one, so far as
// operands allow: then it can be written where the present one lies, and nothing is copied at the end of a turn.
//
// What makes no array of its own (tuples, reshapes, constants) comes as soon as its operands are there.
#include "passes/schedule.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_set>

#include "passes/buffers/leaves.h"
#include "passes/buffers/step_kind.h"
#include "passes/rebuild.h"

namespace hloc::passes {
namespace {

using ir::Computation;
using ir::Value;

class ListScheduler {
 public:
  ListScheduler(const Computation& computation, bool is_loop_body, const ir::Target& target, LeafTable& table)
      : computation_(computation), leaves_(table.of(computation)), is_step_(computation.size()) {
    for (Value v : computation.instructions()) {
      StepKind kind = step_kind(v, target);
      is_step_[v->id] = kind == StepKind::kernel || kind == StepKind::host || kind == StepKind::control;
    }
    find_order();
    if (is_loop_body) order_carries();
    find_memory();
  }

  // The better order; empty: the given one.
  std::vector<uint32_t> better_order() {
    std::vector<uint32_t> given(computation_.size());
    for (uint32_t i = 0; i < given.size(); ++i) given[i] = i;
    std::vector<uint32_t> listed = list_order(), carried = has_carries_ ? in_order_of_ids() : given;
    HLOC_CHECK(listed.size() == given.size() && carried.size() == given.size(), "the order of a computation has no circles");
    if (peak(listed) < std::min(peak(given), peak(carried))) return listed;
    return carried != given && peak(carried) <= peak(given) ? carried : std::vector<uint32_t>();
  }

 private:
  struct Ready {
    int64_t growth;  // bytes made minus bytes freed
    uint32_t id;
    bool operator>(const Ready& other) const { return std::pair(growth, id) > std::pair(other.growth, other.id); }
  };

  void find_order();
  void find_edges();
  void order_carries();
  bool reaches(uint32_t from, uint32_t to, size_t& visits) const;
  void find_memory();
  std::vector<uint32_t> in_order_of_ids() const;
  std::vector<uint32_t> list_order() const;
  int64_t peak(const std::vector<uint32_t>& order) const;

  std::span<const uint32_t> reads(uint32_t step) const {
    return std::span(reads_).subspan(read_start_[step], read_start_[step + 1] - read_start_[step]);
  }

  const Computation& computation_;
  const Leaves& leaves_;
  std::vector<bool> is_step_;
  std::vector<std::vector<uint32_t>> before_;   // only what operands don't say: effects, control predecessors, readers of carries
  bool has_carries_ = false;                    // there are some of the last kind
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
  find_edges();
}

void ListScheduler::find_edges() {
  size_t n = computation_.size();
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

// Each edge only where it makes no circle with those before.
void ListScheduler::order_carries() {
  constexpr size_t most_visits = 1 << 18;  // of instructions and edges, for all carries together
  if (computation_.parameters().size() != 1 || !computation_.root()->type.is_tuple()) return;
  auto now = leaves_.of(computation_.parameters()[0]), next = leaves_.of(computation_.root());
  std::vector<uint32_t> maker(leaves_.sources().size(), UINT32_MAX);  // by source: what makes the carry's next value
  for (size_t i = 0; i < std::min(now.size(), next.size()); ++i)
    if (uint32_t made_by = leaves_.sources()[next[i]].definer->id; now[i] != next[i] && is_step_[made_by]) maker[now[i]] = made_by;
  size_t visits = 0;
  for (Value v : computation_.instructions()) {
    if (!is_step_[v->id]) continue;
    for (Value operand : v->operands())
      for (uint32_t s : leaves_.of(operand)) {
        uint32_t last = maker[s];
        if (last == UINT32_MAX || last == v->id || (!before_[last].empty() && before_[last].back() == v->id)) continue;
        if (visits > most_visits || reaches(last, v->id, visits)) continue;
        before_[last].push_back(v->id);
        has_carries_ = true;
      }
  }
  if (has_carries_) find_edges();
}

// Along operands and what `before_` says at the moment, from a later instruction to earlier ones.
bool ListScheduler::reaches(uint32_t from, uint32_t to, size_t& visits) const {
  std::vector<bool> seen(computation_.size());
  std::vector<uint32_t> todo{to};
  while (!todo.empty()) {
    uint32_t id = todo.back();
    todo.pop_back();
    if (id == from) return true;
    if (seen[id]) continue;
    seen[id] = true;
    visits += 1 + computation_.instructions()[id]->operand_count + before_[id].size();
    for (Value operand : computation_.instructions()[id]->operands()) todo.push_back(operand->id);
    todo.insert(todo.end(), before_[id].begin(), before_[id].end());
  }
  return false;
}

// Of what could come next, always what stands first.
std::vector<uint32_t> ListScheduler::in_order_of_ids() const {
  std::vector<uint32_t> order, waits = waits_;
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (uint32_t id = 0; id < waits.size(); ++id)
    if (waits[id] == 0) ready.push(id);
  while (!ready.empty()) {
    uint32_t id = ready.top();
    ready.pop();
    order.push_back(id);
    for (uint32_t i = after_start_[id]; i < after_start_[id + 1]; ++i)
      if (--waits[after_[i]] == 0) ready.push(after_[i]);
  }
  return order;
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

ir::ComputationRef schedule_computation(const Computation& old, bool is_loop_body, const CalleeMap& callees, const ir::ContextRef& graph,
                                        const ir::Target& target, LeafTable& table) {
  std::vector<uint32_t> order = ListScheduler(old, is_loop_body, target, table).better_order();
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
  std::unordered_set<const Computation*> bodies;
  for (const Computation* c : steps)
    for (Value v : c->instructions())
      if (v->op == ir::Op::While) bodies.insert(&v->callee(1));
  LeafTable table;
  ir::ModuleRef out = rebuild_module(module, [&](const Computation& old, const CalleeMap& callees) -> ir::ComputationRef {
    bool is_steps = std::binary_search(steps.begin(), steps.end(), &old);
    if (is_steps) return schedule_computation(old, bodies.contains(&old), callees, module->context(), context.target, table);
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
