// From a kernel's block to launches.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

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
constexpr int64_t most_shared_bytes = 32 << 10;     // of a block's local buffers
constexpr int threads_of_block = 256;
constexpr int least_block_threads = 64;             // a whole wave on every device
constexpr int64_t most_32_bit = INT32_MAX / 2;      // room for a grid's tail

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

class KernelMapper {
 public:
  explicit KernelMapper(GpuKernel& out) : out_(out), kernel_(*out.kernel) {}

  void run() {
    if (!separate()) {
      out_.launches.clear();
      std::vector<const Statement*> all;
      for (const Statement& s : kernel_.body) all.push_back(&s);
      add_rest(std::move(all));
    }
    for (size_t i = 0; i < out_.launches.size(); ++i)
      out_.launches[i].name = out_.launches.size() == 1 ? kernel_.name : fmt::format("{}_{}", kernel_.name, i + 1);
    place_buffers();
    bool wide = needs_64_bits();
    for (Launch& l : out_.launches) l.is_wide = wide || l.iterations > most_32_bit || l.blocks * l.threads > most_32_bit;
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
      auto body = with_needs(std::exchange(rest, {}));
      if (body) add_rest(std::move(*body));
      return body.has_value();
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
      auto before = with_needs({at});
      if (!before) return false;
      before->pop_back();
      if (auto* c = s.as<Contract>()) add_tiles(*c, std::move(*before));
      else add_grid(*s.as<Loop>(), std::move(*before));
    }
    return close();
  }

  // The statements at these places and the plain ones before them that they need; nullopt: not only plain ones.
  std::optional<std::vector<const Statement*>> with_needs(const std::vector<size_t>& places) const {
    Needs needs(kernel_);
    std::vector<const Statement*> out;
    size_t next = places.size();
    for (size_t at = places.back() + 1; at-- > 0;) {
      const Statement& s = kernel_.body[at];
      bool chosen = next > 0 && places[next - 1] == at;
      if (chosen) --next;
      else if (!needs.has(s)) continue;
      else if (!is_repeatable(s, at > places.front())) return std::nullopt;
      needs.whole(kernel_, s);
      out.push_back(&s);
    }
    std::reverse(out.begin(), out.end());
    if (!declares_its_accumulators(out)) return std::nullopt;
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
    return !load || inside || (kernel_.buffers[load->access.buffer].role == loops::BufferRole::input && !out_.is_in_place[load->access.buffer]);
  }

  void add_rest(std::vector<const Statement*> body) {
    Launch l;
    l.body = std::move(body);
    int64_t most = most_shared(l.body);
    if (most > 0) l.mapping = Mapping::block, l.threads = threads_for(most), l.is_cooperative = true;
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
    } else {
      l.threads = threads_of_block;
      l.blocks = (l.iterations + threads_of_block - 1) / threads_of_block;
    }
    out_.launches.push_back(std::move(l));
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
      int64_t shared = 0;
      for (BufferId b = 0; b < n; ++b) {
        if (!used[i][b]) continue;
        if (kernel_.buffers[b].role == loops::BufferRole::local) l.places[b] = place(l, b, users[b] > 1, shared);
        if (l.places[b] != Place::registers && l.places[b] != Place::shared) l.buffers.push_back(b);
      }
    }
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
    for (const Statement* s : l.body) whole(*s);
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

void map_kernel(GpuKernel& kernel) { KernelMapper(kernel).run(); }

}  // namespace hloc::gpu
