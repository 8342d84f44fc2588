#include "backends/gpu/coalesce.h"

#include <algorithm>

namespace hloc::gpu {
namespace {

using loops::Access;
using loops::Statement;

constexpr int vector_bytes = 16;
constexpr int64_t least_square_extent = 16;
// A body that computes more than this is not held up by memory, and several lanes of it may want more registers than there are.
constexpr size_t most_lane_statements = 64;

bool is_straight(const Statement& s) {
  return !s.as<loops::Loop>() && !s.as<loops::Contract>() && !s.as<loops::Declare>() && !s.as<loops::Accumulate>() && !s.as<loops::Set>();
}

}  // namespace

Coalescing::Coalescing(const GpuKernel& kernel, const Launch& launch)
    : kernel_(*kernel.kernel), launch_(launch), memories_(memories_of(kernel)), is_stored_(memories_.size()),
      is_of_grid_(kernel_.indices.size()), is_made_(kernel_.indices.size()) {
  for (const GridLevel& level : launch.grid) is_of_grid_[level.loop->index] = true;
  for (const Statement* s : launch.body) {
    auto* load = s->as<loops::Load>();
    is_straight_ &= is_straight(*s) && !(load && is_stored_[memories_[load->access.buffer]]);
    if (auto* store = s->as<loops::Store>()) is_stored_[memories_[store->access.buffer]] = true;
    if (auto* derive = s->as<loops::Derive>()) is_made_[derive->index] = true;
  }
}

bool Coalescing::is_by_lanes(const Access& access, int lanes) const {
  if (!access.guards.empty() || access.offset.base % lanes != 0) return false;
  loops::IndexId inner = launch_.grid.back().loop->index;
  for (const loops::Term& t : access.offset.terms) {
    // An index that the body makes may change from lane to lane.
    if (t.index == inner ? t.coefficient != 1 : t.coefficient % lanes != 0 || is_made_[t.index]) return false;
  }
  return access.offset.coefficient(inner) == 1 && kernel_.buffers[access.buffer].role != loops::BufferRole::local;
}

int Coalescing::choose_lanes() const {
  if (launch_.grid.empty() || launch_.body.size() > most_lane_statements || !is_straight_) return 1;
  int width = 1;
  auto take = [&](const Access& a) { width = std::max(width, byte_width(kernel_.buffers[a.buffer].element)); };
  for (const Statement* s : launch_.body) {
    if (auto* load = s->as<loops::Load>()) take(load->access);
    if (auto* store = s->as<loops::Store>()) take(store->access);
  }
  int lanes = vector_bytes / width;
  if (lanes <= 1 || launch_.grid.back().loop->extent % lanes != 0) return 1;
  bool any_load = false, any_wide = false, any_store = false;
  for (const Statement* s : launch_.body) {
    if (auto* load = s->as<loops::Load>()) any_load = true, any_wide |= is_by_lanes(load->access, lanes);
    if (auto* store = s->as<loops::Store>()) {
      any_store = true;
      if (!is_by_lanes(store->access, lanes)) return 1;
    }
  }
  return any_store && (any_wide || !any_load) ? lanes : 1;
}

bool Coalescing::is_across(const loops::Load& load, size_t level) const {
  const loops::Affine& offset = load.access.offset;
  if (!load.access.guards.empty() || kernel_.buffers[load.access.buffer].role == loops::BufferRole::local) return false;
  int64_t step = offset.coefficient(launch_.grid.back().loop->index);
  if (step == 0 || step == 1 || offset.coefficient(launch_.grid[level].loop->index) != 1) return false;
  bool of_grid = std::ranges::all_of(offset.terms, [&](const loops::Term& t) { return is_of_grid_[t.index]; });
  return of_grid && !is_stored_[memories_[load.access.buffer]];
}

std::optional<size_t> Coalescing::choose_square() const {
  if (launch_.grid.size() < 2 || launch_.grid.back().loop->extent < least_square_extent || !is_straight_) return std::nullopt;
  for (size_t level = 0; level + 1 < launch_.grid.size(); ++level) {
    if (launch_.grid[level].loop->extent < least_square_extent) continue;
    int64_t shared = 0;
    for (const Statement* s : launch_.body)
      if (auto* load = s->as<loops::Load>(); load && is_across(*load, level))
        shared += int64_t{square_side} * (square_side + 1) * byte_width(kernel_.buffers[load->access.buffer].element);
    if (shared > 0 && shared <= most_shared_bytes) return level;
  }
  return std::nullopt;
}

}  // namespace hloc::gpu
