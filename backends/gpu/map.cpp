// From a kernel's block to launches.
#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "backends/gpu/coalesce.h"
#include "backends/gpu/launch.h"
#include "backends/loops/schedule.h"
#include "backends/loops/walk.h"

namespace hloc::gpu {
namespace {

using loops::Block;
using loops::BufferId;
using loops::Contract;
using loops::DimRole;
using loops::Kernel;
using loops::Loop;
using loops::Statement;

constexpr int64_t least_shared_extent = 32;         // iterations that are worth dealing out to a block's threads
constexpr int64_t most_register_bytes = 256;        // of a local buffer of one thread
constexpr int threads_of_block = 256;
constexpr int64_t enough_blocks = 512;              // to keep a device busy
constexpr int64_t least_part = 8192;                // iterations that are worth a block of their own
constexpr int least_block_threads = 64;             // a whole wave on every device
constexpr int64_t most_32_bit = INT32_MAX / 2;      // room for a grid's tail
constexpr int64_t widest_element = 8;               // bytes

bool is_plain(const Statement& s) {
  return s.as<loops::Compute>() || s.as<loops::Load>() || s.as<loops::IndexValue>() || s.as<loops::Test>() || s.as<loops::Derive>();
}

// What a set of statements reads that it does not make itself.
struct Needs {
  std::vector<bool> values, indices;

  explicit Needs(const Kernel& k) : values(k.values.size()), indices(k.indices.size()) {}

  void affine(const loops::Affine& a) {
    for (const loops::Term& t : a.terms) indices[t.index] = true;
  }
  void one(const Kernel& k, const Statement& s) {
    for_each_value(s, [this](loops::ValueId v) { values[v] = true; });
    for_each_affine(s, [this](const loops::Affine& a) { affine(a); });
    if (auto* d = s.as<loops::Derive>()) {
      affine(k.indices[d->index].of);
      if (k.indices[d->index].value != loops::no_id) values[k.indices[d->index].value] = true;
    }
    if (auto* c = s.as<Contract>()) values[c->lhs_value] = values[c->rhs_value] = true;
  }
  void whole(const Kernel& k, const Statement& s) {
    one(k, s);
    loops::for_each_block(s, [&](const Block& b) { for_each_statement(b, [&](const Statement& inner) { one(k, inner); }); });
  }
  bool has(const Statement& s) const {
    loops::ValueId v = loops::result_of(s);
    if (v != loops::no_id && values[v]) return true;
    auto* d = s.as<loops::Derive>();
    return d && indices[d->index];
  }
};

// Iterations of the loop with those inside it.
int64_t trips(const Loop& loop) {
  int64_t inside = 1;
  for (const Statement& s : loop.body)
    if (auto* l = s.as<Loop>()) inside = std::max(inside, trips(*l));
  int64_t all = 0;
  return __builtin_mul_overflow(loop.extent, inside, &all) ? INT64_MAX : all;
}

class KernelMapper {
 public:
  explicit KernelMapper(GpuKernel& out) : out_(out), kernel_(*out.kernel), memories_(memories_of(out)) {
    for (const Statement& s : kernel_.body) all_.push_back(&s);
  }

  void run() {
    if (!separate()) {
      out_.launches.clear();
      add_rest(all_);
    }
    for (size_t i = 0; i < out_.launches.size(); ++i)
      out_.launches[i].name = out_.launches.size() == 1 ? kernel_.name : fmt::format("{}_{}", kernel_.name, i + 1);
    place_buffers();
    bool wide = needs_64_bits();
    for (Launch& l : out_.launches) l.is_wide = wide || l.iterations > most_32_bit || l.blocks * l.threads * l.lanes > most_32_bit;
  }

 private:
  // ---- Launches ----

  bool is_grid_loop(const Statement& s) const {
    auto* loop = s.as<Loop>();
    return loop && loop->go_on == loops::no_id && loops::is_independent(kernel_, *loop, loops::SideBySide::threads);
  }

  // Splits the block; false: something that a launch needs is made in another one.
  bool separate() {
    std::vector<size_t> rest;
    auto close = [&] {
      if (rest.empty()) return true;
      auto body = with_needs(all_, std::exchange(rest, {}));
      if (!body || !declares_its_accumulators(*body)) return false;
      add_rest(std::move(*body));
      return true;
    };
    for (size_t at = 0; at < kernel_.body.size(); ++at) {
      const Statement& s = kernel_.body[at];
      if (is_plain(s)) continue;
      bool own = s.as<Contract>() || is_grid_loop(s);
      if (!own) {
        rest.push_back(at);
        continue;
      }
      if (!close()) return false;
      auto before = with_needs(all_, {at});
      if (!before || !declares_its_accumulators(*before)) return false;
      before->pop_back();
      if (auto* c = s.as<Contract>()) add_tiles(*c, std::move(*before));
      else add_grid(*s.as<Loop>(), std::move(*before));
    }
    return close();
  }

  // Of all these, the statements at some places and the plain ones before them that they need; nullopt: not only plain ones.
  std::optional<std::vector<const Statement*>> with_needs(const std::vector<const Statement*>& all,
                                                          const std::vector<size_t>& places) const {
    Needs needs(kernel_);
    std::vector<const Statement*> out;
    size_t next = places.size();
    for (size_t at = places.back() + 1; at-- > 0;) {
      const Statement& s = *all[at];
      bool chosen = next > 0 && places[next - 1] == at;
      if (chosen) --next;
      else if (!needs.has(s)) continue;
      else if (!is_repeatable(s, at > places.front())) return std::nullopt;
      needs.whole(kernel_, s);
      out.push_back(&s);
    }
    std::reverse(out.begin(), out.end());
    return out;
  }

  bool declares_its_accumulators(const std::vector<const Statement*>& statements) const {
    std::vector<bool> used(kernel_.accumulators.size()), declared(used.size());
    auto one = [&](const Statement& s) {
      if (auto* d = s.as<loops::Declare>()) declared[d->acc] = true;
      if (auto* a = s.as<loops::Accumulate>()) used[a->acc] = true;
      if (auto* x = s.as<loops::Set>()) used[x->acc] = true;
      if (auto* g = s.as<loops::Get>()) used[g->acc] = true;
    };
    for (const Statement* s : statements) {
      one(*s);
      loops::for_each_block(*s, [&](const Block& b) { for_each_statement(b, one); });
    }
    for (size_t a = 0; a < used.size(); ++a)
      if (used[a] && !declared[a]) return false;
    return true;
  }

  // `inside`: it stands between the statements of this launch, so it runs when they do.
  bool is_repeatable(const Statement& s, bool inside) const {
    if (!is_plain(s)) return false;
    auto* load = s.as<loops::Load>();
    if (!load || inside) return true;
    return kernel_.buffers[load->access.buffer].role == loops::BufferRole::input && !out_.is_in_place[load->access.buffer];
  }

  void add_rest(std::vector<const Statement*> body) {
    Launch l;
    l.body = std::move(body);
    int64_t most = most_shared(l.body);
    if (most > 0) l.mapping = Mapping::block, l.threads = threads_for(most), l.is_cooperative = true, spread_loops(l);
    out_.launches.push_back(std::move(l));
  }

  void add_grid(const Loop& loop, std::vector<const Statement*> before) {
    Launch l;
    const Loop* at = &loop;
    std::vector<const Statement*> statements = std::move(before);
    for (;;) {
      l.grid.push_back({std::move(statements), at});
      l.iterations *= at->extent;
      statements.clear();
      for (const Statement& s : at->body) statements.push_back(&s);
      const Loop* inner = only_loop(*at);
      if (!inner) break;
      statements.pop_back();
      at = inner;
    }
    l.body = std::move(statements);
    bool by_lane = at->kind == loops::LoopKind::vector;  // neighbouring iterations touch neighbouring elements
    int64_t most = by_lane ? 0 : most_shared(l.body);
    if (most >= least_shared_extent) {
      l.mapping = Mapping::block;
      l.threads = threads_for(most);
      l.is_cooperative = true;
      l.blocks = l.iterations;
      spread_loops(l);
    } else if (Coalescing coalescing(out_, l); auto square = coalescing.choose_square()) {
      l.mapping = Mapping::squares;
      l.square_level = *square;
      l.threads = square_side * square_rows;
      l.is_cooperative = true;
      for (size_t i = 0; i < l.grid.size(); ++i) l.blocks *= blocks_along(l, i);
    } else {
      l.threads = threads_of_block;
      l.lanes = coalescing.choose_lanes();
      l.blocks = (l.iterations / l.lanes + threads_of_block - 1) / threads_of_block;
    }
    out_.launches.push_back(std::move(l));
  }

  // Where a launch of blocks has few of them, its loops over many elements become launches of their own before it.
  void spread_loops(Launch& l) {
    for (size_t at = 0; at < l.body.size(); ++at) {
      auto* loop = l.body[at]->as<Loop>();
      if (!loop) continue;
      int64_t parts = std::min({loop->extent / threads_of_block, trips(*loop) / least_part, enough_blocks / l.iterations});
      if (parts < 2 || !is_shared_loop(kernel_, *loop) || !only_collects(*loop) || reads_what_these_write(*loop, l.body, at)) continue;
      auto before = with_needs(l.body, {at});
      if (!before) continue;
      before->pop_back();
      Launch part;
      part.mapping = Mapping::parts;
      part.grid = l.grid;
      part.body = std::move(*before);
      part.iterations = l.iterations;
      part.blocks = l.iterations * parts;
      part.threads = threads_of_block;
      part.is_cooperative = true;
      Spread spread{loop, parts, {}};
      for (const Collected& c : collected_by(*loop)) {
        spread.sums.push_back(static_cast<BufferId>(kernel_.buffers.size()));
        loops::Buffer sums;
        sums.role = loops::BufferRole::local;
        sums.element = kernel_.accumulators[c.acc].type;
        sums.count = part.blocks;
        sums.name = fmt::format("parts{}", kernel_.buffers.size());
        out_.kernel->buffers.push_back(std::move(sums));
        out_.is_in_place.push_back(false);
        memories_.push_back(spread.sums.back());
      }
      part.spread.push_back(spread);
      l.spread.push_back(std::move(spread));
      out_.launches.push_back(std::move(part));
    }
  }

  // No stores, and of what lives outside only accumulators that it adds to.
  static bool only_collects(const Loop& loop) {
    std::vector<Collected> collected = collected_by(loop);
    auto is_collected = [&](loops::AccId acc) {
      return std::ranges::any_of(collected, [acc](const Collected& c) { return c.acc == acc; });
    };
    std::set<loops::AccId> inside;
    bool ok = !collected.empty();
    for_each_statement(loop.body, [&](const Statement& s) {
      if (auto* d = s.as<loops::Declare>()) inside.insert(d->acc);
      ok &= !s.as<loops::Store>() && !s.as<Contract>();
      if (auto* g = s.as<loops::Get>()) ok &= inside.count(g->acc) != 0 && !is_collected(g->acc);
      if (auto* x = s.as<loops::Set>()) ok &= inside.count(x->acc) != 0;
    });
    return ok;
  }

  bool reads_what_these_write(const Loop& loop, const std::vector<const Statement*>& statements, size_t end) const {
    std::set<BufferId> written;
    auto store = [&](const Statement& s) {
      if (auto* st = s.as<loops::Store>()) written.insert(memories_[st->access.buffer]);
    };
    for (size_t i = 0; i < end; ++i) {
      store(*statements[i]);
      loops::for_each_block(*statements[i], [&](const Block& b) { for_each_statement(b, store); });
    }
    bool reads = false;
    for_each_statement(loop.body, [&](const Statement& s) {
      if (auto* load = s.as<loops::Load>()) reads |= written.count(memories_[load->access.buffer]) != 0;
    });
    return reads;
  }

  // The loop that ends the body, when all before it is plain and its iterations can be the grid's, too.
  const Loop* only_loop(const Loop& outer) const {
    for (size_t i = 0; i + 1 < outer.body.size(); ++i)
      if (!is_plain(outer.body[i])) return nullptr;
    if (outer.body.empty() || !is_grid_loop(outer.body.back())) return nullptr;
    return outer.body.back().as<Loop>();
  }

  void add_tiles(const Contract& c, std::vector<const Statement*> before) {
    Launch l;
    l.mapping = Mapping::tiles;
    l.contract = &c;
    l.body = std::move(before);
    int64_t sizes[4] = {1, 1, 1, 1};
    for (const loops::ContractDim& d : c.dims) sizes[static_cast<size_t>(d.role)] *= d.extent;
    int64_t m = sizes[static_cast<size_t>(DimRole::m)], n = sizes[static_cast<size_t>(DimRole::n)];
    if (m <= 32 || n <= 32) l.tile = {16, 16, 16, 1, 1};
    else if (m * n <= 256 * 256) l.tile = {32, 32, 16, 2, 2};
    l.threads = l.tile.threads();
    l.is_cooperative = true;
    l.blocks = sizes[static_cast<size_t>(DimRole::batch)] * ((m + l.tile.m - 1) / l.tile.m) * ((n + l.tile.n - 1) / l.tile.n);
    out_.launches.push_back(std::move(l));
  }

  // The largest extent of a loop that threads share; 0: there is none.
  int64_t most_shared(const std::vector<const Statement*>& statements) const {
    int64_t most = 0;
    for (const Statement* s : statements) most = std::max(most, most_shared(*s));
    return most;
  }
  int64_t most_shared(const Statement& s) const {
    if (auto* c = s.as<Contract>()) {
      int64_t results = 1;
      for (const loops::ContractDim& d : c->dims)
        if (d.role != DimRole::k) results *= d.extent;
      return results;
    }
    auto* loop = s.as<Loop>();
    if (!loop) return 0;
    if (is_shared_loop(kernel_, *loop)) return loop->extent;
    int64_t most = 0;
    for (const Statement& inner : loop->body) most = std::max(most, most_shared(inner));
    return most;
  }

  // What the statement's shared loops collect.
  int64_t collected_values(const Statement& s) const {
    auto* loop = s.as<Loop>();
    if (!loop) return 0;
    if (is_shared_loop(kernel_, *loop)) return static_cast<int64_t>(collected_by(*loop).size());
    int64_t values = 0;
    for (const Statement& inner : loop->body) values += collected_values(inner);
    return values;
  }

  static int threads_for(int64_t extent) {
    int threads = least_block_threads;
    while (threads < threads_of_block && threads * 2 <= extent) threads *= 2;
    return threads;
  }

  // ---- Buffers ----

  void place_buffers() {
    size_t n = kernel_.buffers.size();
    std::vector<int> users(n);
    std::vector<std::vector<bool>> used(out_.launches.size(), std::vector<bool>(n));
    for (size_t i = 0; i < out_.launches.size(); ++i) {
      mark_used(out_.launches[i], used[i]);
      for (BufferId b = 0; b < n; ++b) users[b] += used[i][b];
    }
    out_.scratch_offsets.assign(n, -1);
    for (size_t i = 0; i < out_.launches.size(); ++i) {
      Launch& l = out_.launches[i];
      l.places.assign(n, Place::none);
      int64_t shared = l.mapping == Mapping::block ? std::max(int64_t{0}, bytes_of_sums(l) - (most_block_bytes - most_shared_bytes)) : 0;
      for (BufferId b = 0; b < n; ++b) {
        if (!used[i][b]) continue;
        if (kernel_.buffers[b].role == loops::BufferRole::local) l.places[b] = place(l, b, users[b] > 1, shared);
        if (l.places[b] != Place::registers && l.places[b] != Place::shared) l.buffers.push_back(b);
      }
    }
  }

  // Of shared memory: each value has a place for each wave.
  int64_t bytes_of_sums(const Launch& l) const {
    int64_t values = 0;
    for (const Statement* s : l.body) values += collected_values(*s);
    return values * (l.threads / least_wave) * widest_element;
  }

  Place place(const Launch& l, BufferId b, bool is_common, int64_t& shared) {
    int64_t bytes = kernel_.buffers[b].count * byte_width(kernel_.buffers[b].element);
    if (is_common) return scratch(b, bytes, Place::global);
    if (l.mapping == Mapping::block) {
      if (shared + bytes > most_shared_bytes) return scratch(b, bytes * l.blocks, Place::per_block);
      shared += bytes;
      return Place::shared;
    }
    if (bytes <= most_register_bytes) return Place::registers;
    return scratch(b, bytes * l.threads * l.blocks, Place::per_thread);
  }

  Place scratch(BufferId b, int64_t bytes, Place place) {
    if (out_.scratch_offsets[b] >= 0) return place;
    out_.scratch_offsets[b] = out_.scratch_bytes;
    out_.scratch_bytes += (bytes + 255) / 256 * 256;
    return place;
  }

  static void mark_used(const Launch& l, std::vector<bool>& used) {
    auto one = [&used](const Statement& s) {
      if (auto* load = s.as<loops::Load>()) used[load->access.buffer] = true;
      if (auto* store = s.as<loops::Store>()) used[store->access.buffer] = true;
    };
    auto whole = [&](const Statement& s) {
      one(s);
      loops::for_each_block(s, [&](const Block& b) { for_each_statement(b, one); });
    };
    for (const GridLevel& level : l.grid)
      for (const Statement* s : level.statements) whole(*s);
    for (const Statement* s : l.body)
      if (!s->as<Loop>() || !spread_of(l, s->as<Loop>())) whole(*s);
    for (const Spread& spread : l.spread) {
      for (BufferId b : spread.sums) used[b] = true;
      if (l.mapping == Mapping::parts) for_each_statement(spread.loop->body, one);
    }
    if (l.contract)
      for (const Block* b : {&l.contract->lhs, &l.contract->rhs, &l.contract->epilogue}) for_each_statement(*b, one);
  }

  // ---- Width of indices ----

  bool fits(const loops::Affine& a) const {
    int64_t sum = a.base < 0 ? -a.base : a.base;
    for (const loops::Term& t : a.terms) {
      const loops::Range& r = kernel_.indices[t.index].range;
      int64_t most = std::max(std::abs(r.lo), std::abs(r.hi)), product = 0;
      if (__builtin_mul_overflow(most, std::abs(t.coefficient), &product) || product > most_32_bit) return false;
      sum += product;
      if (sum > most_32_bit) return false;
    }
    return true;
  }

  bool needs_64_bits() const {
    bool wide = false;
    for (const loops::Buffer& b : kernel_.buffers) wide |= b.count > most_32_bit;
    for (const loops::Index& i : kernel_.indices) wide |= std::max(std::abs(i.range.lo), std::abs(i.range.hi)) > most_32_bit || !fits(i.of);
    for_each_statement(kernel_.body, [&](const Statement& s) {
      for_each_affine(s, [&](const loops::Affine& a) { wide |= !fits(a); });
    });
    return wide;
  }

  GpuKernel& out_;
  const Kernel& kernel_;
  std::vector<const Statement*> all_;     // of the kernel's block
  std::vector<BufferId> memories_;        // by buffer
};

}  // namespace

bool is_shareable(const Kernel& kernel, const Loop& loop) {
  return loop.go_on == loops::no_id &&
         (loop.kind == loops::LoopKind::vector || loops::is_independent(kernel, loop, loops::SideBySide::lanes));
}

bool is_shared_loop(const Kernel& kernel, const Loop& loop) {
  if (!is_shareable(kernel, loop)) return false;
  if (loop.extent >= least_shared_extent) return true;
  bool inner = false;
  for_each_statement(loop.body, [&](const Statement& s) {
    auto* l = s.as<Loop>();
    inner |= l && l->extent >= least_shared_extent && is_shareable(kernel, *l);
  });
  return !inner && loop.kind != loops::LoopKind::unrolled;
}

std::vector<Collected> collected_by(const Loop& loop) {
  std::vector<Collected> out;
  std::set<loops::AccId> inside;
  for_each_statement(loop.body, [&](const Statement& s) {
    if (auto* d = s.as<loops::Declare>()) inside.insert(d->acc);
    auto* a = s.as<loops::Accumulate>();
    if (!a || inside.count(a->acc)) return;
    if (std::ranges::none_of(out, [&](const Collected& c) { return c.acc == a->acc; })) out.push_back({a->acc, a->op});
  });
  return out;
}

const Spread* spread_of(const Launch& launch, const Loop* loop) {
  auto found = std::ranges::find_if(launch.spread, [&](const Spread& spread) { return spread.loop == loop; });
  return found == launch.spread.end() ? nullptr : &*found;
}

bool is_side(const Launch& launch, size_t level) { return level == launch.square_level || level + 1 == launch.grid.size(); }

int64_t blocks_along(const Launch& launch, size_t level) {
  int64_t extent = launch.grid[level].loop->extent;
  return is_side(launch, level) ? (extent + square_side - 1) / square_side : extent;
}

std::vector<BufferId> memories_of(const GpuKernel& kernel) {
  std::vector<BufferId> out(kernel.kernel->buffers.size());
  for (BufferId b = 0; b < out.size(); ++b) out[b] = b;
  auto inputs = static_cast<BufferId>(kernel.step->inputs.size());
  for (auto [input, output] : kernel.step->in_place) out[input] = inputs + output;
  return out;
}

void map_kernel(GpuKernel& kernel) { KernelMapper(kernel).run(); }

}  // namespace hloc::gpu
