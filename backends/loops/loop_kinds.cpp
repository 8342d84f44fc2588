// Which loop runs on vector lanes, which is unrolled, which is dealt out to threads.
//
// Vector: of all ways to make at most one loop on each path from the root vector, the cheapest by a count of what the
// innermost statements cost. A nest of a few loops has few ways, and each is counted once from the inside out.
#include <algorithm>
#include <unordered_map>

#include "backends/loops/schedule.h"
#include "backends/loops/walk.h"

namespace hloc::loops {
namespace {

// What one execution costs, in units of one vector instruction.
struct KindCosts {
  double lanes = 8;             // iterations that a vector one replaces
  double scalar = 1;            // any statement, one element
  double contiguous = 1;        // vector load or store of neighbours, and any vector computation
  double uniform = 0.25;        // a vector load of one element for all lanes
  double strided = 8;           // lane by lane with a known stride
  double varying = 10;          // lane by lane with computed addresses
  double combine = 6;           // partial results of an accumulator, once per vector loop
  double tail = 2;              // iterations left over when the extent is no multiple of the lanes
};
constexpr KindCosts kind_costs;

constexpr int64_t work_per_chunk = 1 << 14;    // statements that one thread gets at least
constexpr int64_t grain_of_vector = 64;        // chunks of a vector loop begin at multiples of this
constexpr int64_t few_iterations = 256;        // an outermost loop with fewer is merged with the next for more threads
constexpr int64_t unrolled_extent = 8, unrolled_statements = 96;

class VectorChoice {
 public:
  explicit VectorChoice(Kernel& kernel) : kernel_(kernel) {}

  void run(Block& block) {
    for (Statement& s : block)
      if (auto* loop = s.as<Loop>()) apply(*loop, best(*loop));
  }

 private:
  struct Choice {
    double cost = 0;
    bool is_vector = false;
    std::vector<Choice> inner;  // of the loops in the body, in order
  };

  // The loop and everything inside it without lanes above it.
  Choice best(Loop& loop) {
    Choice plain;
    double once = 1;  // the loop's own counting
    for (Statement& s : loop.body) {
      if (auto* inner = s.as<Loop>()) {
        plain.inner.push_back(best(*inner));
        once += plain.inner.back().cost;
      } else {
        once += kind_costs.scalar * weight(s);
      }
    }
    plain.cost = once * static_cast<double>(loop.extent);
    if (!is_independent(kernel_, loop, SideBySide::lanes)) return plain;
    Choice lanes;
    lanes.is_vector = true;
    Varying varying = varying_in(kernel_, loop);
    auto extent = static_cast<double>(loop.extent);
    double whole = static_cast<double>(loop.extent / static_cast<int64_t>(kind_costs.lanes));
    double iterations = whole + (whole * kind_costs.lanes != extent ? kind_costs.tail : 0);
    lanes.cost = iterations * (1 + in_lanes(loop.body, varying, loop.index)) + kind_costs.combine * outer_accumulators(loop);
    return lanes.cost <= plain.cost ? lanes : plain;
  }

  void apply(Loop& loop, const Choice& c) {
    if (c.is_vector) {
      loop.kind = LoopKind::vector;
      return;
    }
    size_t next = 0;
    for (Statement& s : loop.body)
      if (auto* inner = s.as<Loop>()) apply(*inner, c.inner[next++]);
  }

  double weight(const Statement& s) const {
    auto* c = s.as<Compute>();
    bool is_function = c && (facts(c->op).level == Level::composite || (c->op == ScalarOp::Rem && is_float(kernel_.type(c->result))));
    return is_function ? 16 : 1;
  }

  double in_lanes(const Block& block, const Varying& varying, IndexId index) const {
    double sum = 0;
    for (const Statement& s : block) {
      if (auto* inner = s.as<Loop>()) {
        sum += static_cast<double>(inner->extent) * (1 + in_lanes(inner->body, varying, index));
      } else if (auto* load = s.as<Load>()) {
        sum += access(load->access, varying, index);
      } else if (auto* store = s.as<Store>()) {
        sum += access(store->access, varying, index);
      } else {
        sum += weight(s);
      }
    }
    return sum;
  }

  static double access(const Access& a, const Varying& varying, IndexId index) {
    LaneStep step = varying.step(a.offset, index);
    if (step.step == Step::uniform) return kind_costs.uniform;
    if (step.step == Step::varying) return kind_costs.varying;
    return step.stride == 1 ? kind_costs.contiguous : kind_costs.strided;
  }

  static double outer_accumulators(const Loop& loop) {
    std::vector<AccId> inside;
    double outer = 0;
    for_each_statement(loop.body, [&](const Statement& s) {
      if (auto* d = s.as<Declare>()) inside.push_back(d->acc);
      if (auto* a = s.as<Accumulate>()) outer += std::find(inside.begin(), inside.end(), a->acc) == inside.end();
    });
    return outer;
  }

  Kernel& kernel_;
};

int64_t work_of(const Block& block) {
  int64_t sum = 0;
  auto add = [&sum](int64_t n) { sum = n > (int64_t{1} << 40) - sum ? int64_t{1} << 40 : sum + n; };
  for (const Statement& s : block) {
    if (auto* loop = s.as<Loop>()) {
      int64_t inside = work_of(loop->body);
      add(loop->extent > (int64_t{1} << 40) / (inside + 1) ? int64_t{1} << 40 : loop->extent * inside);
    } else {
      add(1);
    }
  }
  return sum;
}

// ---- Parallel loops ----

// Values and indices of the kernel's own block that accumulators had a part in.
struct NotPlain {
  std::vector<bool> values, indices;

  bool uses(const Kernel& kernel, const Block& block) const {
    bool any = false;
    for_each_statement(block, [&](const Statement& s) { any |= reads(kernel, s); });
    return any;
  }
  bool reads(const Kernel& kernel, const Statement& s) const {
    bool any = false;
    auto affine = [&](const Affine& a) {
      for (const Term& t : a.terms) any |= indices[t.index];
    };
    for_each_value(s, [&](ValueId v) { any |= values[v]; });
    for_each_affine(s, affine);
    if (auto* d = s.as<Derive>()) {
      const Index& i = kernel.indices[d->index];
      affine(i.of);
      if (i.kind == IndexKind::from_value) any |= values[i.value];
    }
    return any;
  }
};

// for i in A { for j in B { … } } → for n in A*B { i = n div B; j = n mod B; … }
bool split_by_division(Kernel& kernel, Loop& loop) {
  if (loop.extent >= few_iterations || loop.kind != LoopKind::serial || loop.body.size() != 1) return false;
  auto* inner = loop.body[0].as<Loop>();
  if (!inner || inner->kind != LoopKind::serial || loop.go_on != no_id || !is_independent(kernel, *inner, SideBySide::threads)) return false;
  auto n = static_cast<IndexId>(kernel.indices.size());
  int64_t extent = loop.extent * inner->extent;
  kernel.indices.push_back({IndexKind::loop, {0, extent - 1}, {}, 1, no_id});
  kernel.indices[loop.index] = {IndexKind::floor_div, {0, loop.extent - 1}, Affine::of(n), inner->extent, no_id};
  kernel.indices[inner->index] = {IndexKind::mod, {0, inner->extent - 1}, Affine::of(n), inner->extent, no_id};
  Block body{{Derive{loop.index}}, {Derive{inner->index}}};
  std::move(inner->body.begin(), inner->body.end(), std::back_inserter(body));
  Loop merged{n, extent, LoopKind::serial, 0, std::move(body), no_id};
  loop = std::move(merged);
  return true;
}

// By buffer: how many statements of the block use it.
std::vector<int64_t> uses_in(const Kernel& kernel, const Block& block) {
  std::vector<int64_t> uses(kernel.buffers.size());
  for_each_statement(block, [&](const Statement& s) {
    if (auto* load = s.as<Load>()) ++uses[load->access.buffer];
    if (auto* store = s.as<Store>()) ++uses[store->access.buffer];
  });
  return uses;
}

// The local buffers that a loop uses: by itself, or along with statements outside it.
class LoopLocals {
 public:
  LoopLocals(const Kernel& kernel, const Loop& loop)
      : kernel_(kernel), inside_(uses_in(kernel, loop.body)), all_(uses_in(kernel, kernel.body)) {}

  bool is_private(BufferId b) const { return is_used(b) && inside_[b] == all_[b]; }
  bool any_shared() const {
    for (BufferId b = 0; b < inside_.size(); ++b)
      if (is_used(b) && inside_[b] != all_[b]) return true;
    return false;
  }

 private:
  bool is_used(BufferId b) const { return kernel_.buffers[b].role == BufferRole::local && inside_[b] > 0; }

  const Kernel& kernel_;
  std::vector<int64_t> inside_, all_;
};

void make_parallel(Kernel& kernel, Loop& loop) {
  if (LoopLocals(kernel, loop).any_shared() || !is_independent(kernel, loop, SideBySide::threads)) return;
  while (split_by_division(kernel, loop)) continue;
  int64_t work = std::max<int64_t>(work_of(loop.body), 1);
  int64_t grain = std::max<int64_t>(1, work_per_chunk / work);
  if (loop.kind == LoopKind::vector) grain = (grain + grain_of_vector - 1) / grain_of_vector * grain_of_vector;
  if (grain * 2 <= loop.extent) loop.grain = grain;
}

void choose_parallel(Kernel& kernel) {
  NotPlain not_plain{std::vector<bool>(kernel.values.size()), std::vector<bool>(kernel.indices.size())};
  for (Statement& s : kernel.body) {
    if (auto* loop = s.as<Loop>()) {
      if (!not_plain.uses(kernel, loop->body)) {
        make_parallel(kernel, *loop);
        not_plain.indices.resize(kernel.indices.size());
      }
      continue;
    }
    bool is_touched = s.as<Get>() || not_plain.reads(kernel, s);
    if (auto* load = s.as<Load>()) is_touched |= kernel.buffers[load->access.buffer].role != BufferRole::input;
    if (ValueId v = result_of(s); v != no_id && is_touched) not_plain.values[v] = true;
    if (auto* d = s.as<Derive>(); d && is_touched) not_plain.indices[d->index] = true;
  }
}

void unroll_small(Block& block) {
  for (Statement& s : block) {
    for_each_block(s, [](Block& inner) { unroll_small(inner); });
    auto* loop = s.as<Loop>();
    if (!loop || loop->kind != LoopKind::serial || loop->grain != 0 || loop->go_on != no_id || loop->extent > unrolled_extent) continue;
    if (loop->extent * statement_count(loop->body) <= unrolled_statements) loop->kind = LoopKind::unrolled;
  }
}

// ---- Independence ----

struct LoopEffects {
  std::vector<const Access*> stores, loads;  // of buffers that are no inputs
};

// Different values of the indices give different addresses: from the smallest coefficient on, each is larger than all that
// the smaller ones can reach together. An index made from a value inside the loop may be anything. `apart`: not even the
// addresses that many elements further on are among them.
bool is_injective(const Kernel& kernel, const Affine& offset, const std::vector<IndexId>& made_inside, int64_t apart = 0) {
  struct Reach {
    int64_t coefficient, most;
  };
  std::vector<Reach> terms;
  if (apart != 0) terms.push_back({std::abs(apart), 1});
  for (const Term& t : offset.terms) {
    if (std::find(made_inside.begin(), made_inside.end(), t.index) != made_inside.end()) return false;
    const Index& i = kernel.indices[t.index];
    if (i.kind != IndexKind::from_value) terms.push_back({std::abs(t.coefficient), i.range.hi - i.range.lo});
  }
  std::sort(terms.begin(), terms.end(), [](const Reach& a, const Reach& b) { return a.coefficient < b.coefficient; });
  int64_t reach = 0;
  for (const Reach& t : terms) {
    if (t.coefficient <= reach) return false;
    reach += t.coefficient * t.most;
  }
  return true;
}

// Two accesses to one buffer that may meet at one element in different iterations, other than by having equal addresses.
bool may_meet(const Kernel& kernel, const Access& a, const Access& b, const std::vector<IndexId>& made_inside) {
  if (a.buffer != b.buffer || a.offset == b.offset) return false;
  return a.offset.terms != b.offset.terms || !is_injective(kernel, a.offset, made_inside, b.offset.base - a.offset.base);
}

// Each iteration keeps to a part of the buffer of its own: all addresses are c * index + rest, and the rests, which differ by
// less than c, depend on what is made inside the loop only. Gathered addresses count with the range they are clamped to.
bool has_own_parts(const Kernel& kernel, const Loop& loop, const std::vector<const Access*>& accesses, const std::vector<bool>& inside) {
  int64_t pitch = std::abs(accesses[0]->offset.coefficient(loop.index));
  Affine outside;
  Range all{INT64_MAX, INT64_MIN};
  for (const Access* a : accesses) {
    if (a->offset.coefficient(loop.index) != accesses[0]->offset.coefficient(loop.index)) return false;
    Affine rest, outer;
    rest.base = a->offset.base;
    for (const Term& t : a->offset.terms)
      if (t.index != loop.index) (inside[t.index] ? rest : outer).terms.push_back(t);
    if (a == accesses[0]) outside = outer;
    if (outer != outside) return false;
    Range r = range_of(kernel, rest);
    all = {std::min(all.lo, r.lo), std::max(all.hi, r.hi)};
  }
  return pitch != 0 && all.lo > -(int64_t{1} << 60) && all.hi < int64_t{1} << 60 && all.hi - all.lo < pitch;
}

// What lanes may do in a loop that some leave early.
bool only_computes(const Block& block) {
  bool only = true;
  for_each_statement(block, [&](const Statement& s) { only &= !s.as<Store>() && !s.as<Accumulate>(); });
  return only;
}

// Drops the accesses to buffers of which each iteration has a part.
void erase_own_parts(const Kernel& kernel, const Loop& loop, LoopEffects& e) {
  std::vector<bool> inside(kernel.indices.size());
  for_each_statement(loop.body, [&](const Statement& s) {
    if (auto* inner = s.as<Loop>()) inside[inner->index] = true;
    if (auto* derive = s.as<Derive>()) inside[derive->index] = true;
  });
  std::unordered_map<BufferId, std::vector<const Access*>> accesses;
  for (const Access* a : e.stores) accesses[a->buffer].push_back(a);
  for (const Access* a : e.loads)
    if (auto it = accesses.find(a->buffer); it != accesses.end()) it->second.push_back(a);
  for (const auto& [buffer, list] : accesses) {
    if (!has_own_parts(kernel, loop, list, inside)) continue;
    auto is_it = [b = buffer](const Access* a) { return a->buffer == b; };
    std::erase_if(e.stores, is_it);
    std::erase_if(e.loads, is_it);
  }
}

bool same_buffer_elsewhere(const Kernel& kernel, const LoopEffects& e, const std::vector<IndexId>& made_inside) {
  for (size_t i = 0; i < e.stores.size(); ++i) {
    for (const Access* load : e.loads)
      if (may_meet(kernel, *e.stores[i], *load, made_inside)) return true;
    for (size_t k = 0; k < i; ++k)
      if (may_meet(kernel, *e.stores[i], *e.stores[k], made_inside)) return true;
  }
  return false;
}

}  // namespace

// Every store goes to an address of its own that moves with the loop's variable, and whatever else touches that buffer does
// so at the same address or at one that no store of another iteration reaches. Or else each iteration has a part of the buffer
// of its own. A local buffer that is used inside the loop only holds nothing from one iteration to the next
// (lowering makes no others), so for threads it does not count.
bool is_independent(const Kernel& kernel, const Loop& loop, SideBySide how) {
  bool may_accumulate = how == SideBySide::lanes;
  std::vector<AccId> inside;
  std::vector<IndexId> made_inside;  // from values
  LoopEffects effects;
  bool good = loop.go_on == no_id;
  for_each_statement(loop.body, [&](const Statement& s) {
    auto is_inside = [&inside](AccId a) { return std::find(inside.begin(), inside.end(), a) != inside.end(); };
    if (auto* d = s.as<Declare>()) inside.push_back(d->acc);
    if (auto* a = s.as<Accumulate>()) good &= may_accumulate || is_inside(a->acc);
    if (auto* a = s.as<Set>()) good &= is_inside(a->acc);
    if (auto* a = s.as<Get>()) good &= is_inside(a->acc);
    if (auto* l = s.as<Loop>(); l && l->go_on != no_id) good &= is_inside(l->go_on) && (how == SideBySide::threads || only_computes(l->body));
    if (s.as<Contract>()) good = false;
    if (auto* d = s.as<Derive>(); d && kernel.indices[d->index].kind == IndexKind::from_value) made_inside.push_back(d->index);
    if (auto* store = s.as<Store>()) effects.stores.push_back(&store->access);
    if (auto* load = s.as<Load>(); load && kernel.buffers[load->access.buffer].role != BufferRole::input) effects.loads.push_back(&load->access);
  });
  if (how == SideBySide::threads) {
    auto is_private = [locals = LoopLocals(kernel, loop)](const Access* a) { return locals.is_private(a->buffer); };
    std::erase_if(effects.stores, is_private);
    std::erase_if(effects.loads, is_private);
  }
  if (good) erase_own_parts(kernel, loop, effects);
  if (!good || same_buffer_elsewhere(kernel, effects, made_inside)) return false;
  Varying varying = varying_in(kernel, loop);
  return std::all_of(effects.stores.begin(), effects.stores.end(), [&](const Access* store) {
    return varying.step(store->offset, loop.index).step == Step::strided && is_injective(kernel, store->offset, made_inside);
  });
}

void choose_loop_kinds(Kernel& kernel) {
  VectorChoice(kernel).run(kernel.body);
  choose_parallel(kernel);
  unroll_small(kernel.body);
}

}  // namespace hloc::loops
