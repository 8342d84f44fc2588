// Index set splitting: a loop whose guards change at a few of its iterations becomes several loops in which every guard
// of its variable is known.
//
//   for i in 128 { %0 = load x[i - 127] if 127 <= i < 128 else 0; %1 = load x[i + 1] if 0 <= i < 127 else %0; … }
//     → for i in 127 { %1 = load x[i + 1]; … }; for i in 1 { %0 = load x[i]; … }
//
// So padding, concatenation and rotation cost nothing in the middle of an array. Inner loops are split before those around
// them, into few parts, and not for more code than that is worth.
#include <algorithm>

#include "backends/loops/loop_part.h"
#include "backends/loops/schedule.h"
#include "backends/loops/walk.h"

namespace hloc::loops {
namespace {

constexpr size_t most_parts = 5;
constexpr int64_t most_statements = 256;         // of all parts together
constexpr int64_t most_nested_statements = 512;  // the same where there are loops inside
constexpr int64_t least_extent = 8;              // below, a few masked iterations are as good

const std::vector<Guard>* guards_of(const Statement& s) {
  if (auto* load = s.as<Load>()) return &load->access.guards;
  if (auto* store = s.as<Store>()) return &store->access.guards;
  if (auto* test = s.as<Test>()) return &test->guards;
  return nullptr;
}

bool uses_local(const Kernel& kernel, const Statement& s) {
  auto is_local = [&](const Access& a) { return kernel.buffers[a.buffer].role == BufferRole::local; };
  if (auto* load = s.as<Load>()) return is_local(load->access);
  if (auto* store = s.as<Store>()) return is_local(store->access);
  return false;
}

// Where guards change, in order, within the loop; empty when the loop is not to be split.
std::vector<int64_t> split_points(const Kernel& kernel, const Loop& loop) {
  std::vector<int64_t> points;
  if (loop.extent < least_extent || loop.go_on != no_id) return points;
  bool fits = true, nested = false;
  for_each_statement(loop.body, [&](const Statement& s) {
    nested |= s.as<Loop>() != nullptr;
    auto* derive = s.as<Derive>();
    fits &= !s.as<Contract>() && !(derive && kernel.indices[derive->index].of.coefficient(loop.index) != 0);
    fits &= loop.grain == 0 || !uses_local(kernel, s);  // threads that share a loop out have locals of their own
    const std::vector<Guard>* guards = guards_of(s);
    if (!guards || points.size() >= most_parts) return;
    for (const Guard& guard : *guards) {
      std::optional<Range> range = holds_for(guard, loop.index);
      if (!range) continue;
      for (int64_t at : {range->lo, range->hi})
        if (at > 0 && at < loop.extent && std::ranges::find(points, at) == points.end()) points.push_back(at);
    }
  });
  if (!fits || points.size() >= most_parts) return {};
  int64_t most = nested ? most_nested_statements : most_statements;
  if (static_cast<int64_t>(points.size() + 1) * statement_count(loop.body) > most) return {};
  std::ranges::sort(points);
  return points;
}

void split_in(Kernel& kernel, Block& block) {
  for (size_t at = 0; at < block.size(); ++at) {
    for_each_block(block[at], [&](Block& inner) { split_in(kernel, inner); });
    const Loop* loop = block[at].as<Loop>();
    if (!loop) continue;
    std::vector<int64_t> points = split_points(kernel, *loop);
    if (points.empty()) continue;
    Loop whole = std::move(*block[at].as<Loop>());
    Block parts;
    int64_t begin = 0;
    points.push_back(whole.extent);
    for (int64_t end : points) {
      parts.push_back({part_of_loop(kernel, whole, begin, end)});
      begin = end;
    }
    block.erase(block.begin() + static_cast<std::ptrdiff_t>(at));
    block.insert(block.begin() + static_cast<std::ptrdiff_t>(at), std::make_move_iterator(parts.begin()), std::make_move_iterator(parts.end()));
    at += parts.size() - 1;
  }
}

}  // namespace

void split_loops(Kernel& kernel) { split_in(kernel, kernel.body); }

}  // namespace hloc::loops
