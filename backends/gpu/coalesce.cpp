#include "backends/gpu/coalesce.h"

#include <algorithm>
#include <set>

#include "backends/loops/walk.h"

namespace hloc::gpu {
namespace {

using loops::Access;
using loops::Statement;

constexpr int vector_bytes = 16;
constexpr int64_t least_square_extent = 16;
// A body that computes more than this is not held up by memory, and several lanes of it may want more registers than there are.
constexpr size_t most_lane_statements = 64;

// Statements that take part may be repeated for each lane, with all loads by vectors before them and all stores behind.
bool is_straight(const GpuKernel& kernel, const Launch& launch) {
  std::vector<loops::BufferId> memories = memories_of(kernel);
  std::set<loops::BufferId> stored;
  for (const Statement* s : launch.body) {
    if (auto* store = s->as<loops::Store>()) stored.insert(memories[store->access.buffer]);
    else if (s->as<loops::Loop>() || s->as<loops::Contract>() || s->as<loops::Declare>() || s->as<loops::Accumulate>() || s->as<loops::Set>()) return false;
    else if (auto* load = s->as<loops::Load>(); load && stored.count(memories[load->access.buffer]) != 0) return false;
  }
  return true;
}

}  // namespace

bool is_by_lanes(const loops::Kernel& kernel, const Launch& launch, int lanes, const Access& access) {
  if (!access.guards.empty() || access.offset.base % lanes != 0) return false;
  // An index that the body makes may change from lane to lane.
  for (const Statement* s : launch.body)
    if (auto* d = s->as<loops::Derive>(); d && access.offset.coefficient(d->index) != 0) return false;
  loops::IndexId inner = launch.grid.back().loop->index;
  for (const loops::Term& t : access.offset.terms)
    if (t.index == inner ? t.coefficient != 1 : t.coefficient % lanes != 0) return false;
  return access.offset.coefficient(inner) == 1 && kernel.buffers[access.buffer].role != loops::BufferRole::local;
}

int choose_lanes(const GpuKernel& kernel, const Launch& launch) {
  if (launch.grid.empty() || launch.body.size() > most_lane_statements || !is_straight(kernel, launch)) return 1;
  int width = 1;
  auto take = [&](const Access& a) { width = std::max(width, byte_width(kernel.kernel->buffers[a.buffer].element)); };
  for (const Statement* s : launch.body) {
    if (auto* load = s->as<loops::Load>()) take(load->access);
    if (auto* store = s->as<loops::Store>()) take(store->access);
  }
  int lanes = vector_bytes / width;
  if (lanes <= 1 || launch.grid.back().loop->extent % lanes != 0) return 1;
  bool any_load = false, any_wide = false, any_store = false;
  for (const Statement* s : launch.body) {
    if (auto* load = s->as<loops::Load>()) any_load = true, any_wide |= is_by_lanes(*kernel.kernel, launch, lanes, load->access);
    if (auto* store = s->as<loops::Store>()) {
      any_store = true;
      if (!is_by_lanes(*kernel.kernel, launch, lanes, store->access)) return 1;
    }
  }
  return any_store && (any_wide || !any_load) ? lanes : 1;
}

bool is_across(const GpuKernel& kernel, const Launch& launch, size_t level, const loops::Load& load) {
  const loops::Affine& offset = load.access.offset;
  const loops::Loop& inner = *launch.grid.back().loop;
  if (!load.access.guards.empty() || kernel.kernel->buffers[load.access.buffer].role == loops::BufferRole::local) return false;
  int64_t step = offset.coefficient(inner.index);
  if (step == 0 || step == 1 || offset.coefficient(launch.grid[level].loop->index) != 1) return false;
  for (const loops::Term& t : offset.terms)
    if (std::ranges::none_of(launch.grid, [&](const GridLevel& g) { return g.loop->index == t.index; })) return false;
  std::vector<loops::BufferId> memories = memories_of(kernel);
  for (const Statement* s : launch.body)
    if (auto* store = s->as<loops::Store>(); store && memories[store->access.buffer] == memories[load.access.buffer]) return false;
  return true;
}

std::optional<size_t> choose_square(const GpuKernel& kernel, const Launch& launch) {
  if (launch.grid.size() < 2 || launch.grid.back().loop->extent < least_square_extent || !is_straight(kernel, launch)) return std::nullopt;
  for (size_t level = 0; level + 1 < launch.grid.size(); ++level) {
    if (launch.grid[level].loop->extent < least_square_extent) continue;
    int64_t shared = 0;
    for (const Statement* s : launch.body)
      if (auto* load = s->as<loops::Load>(); load && is_across(kernel, launch, level, *load))
        shared += int64_t{square_side} * (square_side + 1) * byte_width(kernel.kernel->buffers[load->access.buffer].element);
    if (shared > 0 && shared <= most_shared_bytes) return level;
  }
  return std::nullopt;
}

}  // namespace hloc::gpu
