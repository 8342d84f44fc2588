// The planner's decisions: whether an instruction is computed inside a group, and whether again and again or once a row;
// which groups become one.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "passes/buffers/step_kind.h"
#include "passes/fusion/planner.h"

namespace hloc::passes {
namespace {

using ir::Op;
using ir::Value;

// With fewer rows than this, a kernel that goes row by row has too little for several threads …
constexpr double few_rows = 8;
// … which matters when it computes more elements than this.
constexpr double serial_elements = 1 << 15;
// Shorter rows are computed again rather than kept: their loops are short, and lanes go across rows.
constexpr double short_row = 16;

}  // namespace

bool is_repeatable(Value v) {
  return v->op == Op::Broadcast || v->op == Op::Iota || v->op == Op::Slice || v->op == Op::Reshape || v->op == Op::Copy;
}

double FusionPlanner::evaluations(std::span<const Use> uses) const {
  double sum = 0;
  for (const Use& use : uses) sum += groups_[use.group].loops.evaluations(domains_[use.domain]);
  return sum;
}

// Whether `v` can be computed inside the group, and should.
Placement FusionPlanner::placement(Value v, uint32_t id, std::span<const Use> uses) const {
  const OpenGroup& group = groups_[id];
  Placement out;
  out.cost = join_cost(v, evaluations(uses), context_.target);
  out.refusal = refusal_by_place(v, group, uses);
  if (!out.refusal) out.refusal = refusal_by_role(v, group, uses);
  if (!out.refusal && stops_threads(v, group, uses)) out.refusal = "apart, its rows can be dealt out to threads";
  if (!out.refusal && out.cost.repeated_flops > 0 && over_dot_[v->id]) out.refusal = "the epilogue of a contraction computes it once";
  if (out.refusal) return out;
  // What is kept spares the work behind it too; whether that work may be repeated is decided for each of its ops.
  JoinCost with_chain = out.cost;
  with_chain.repeated_bytes *= std::max(1.0, chain_flops_[v->id] / std::max(1.0, flops_per_element(v)));
  if (with_chain.keeping_pays()) out.row = row_dims(v, group, uses);
  if (out.row) return out;
  if (!out.cost.pays()) out.refusal = "computing it again costs more than reading it";
  return out;
}

const char* FusionPlanner::refusal_by_place(Value v, const OpenGroup& group, std::span<const Use> uses) const {
  if (group.closed) return "that kernel takes nothing in";
  if (group.members.size() >= most_members) return "that kernel is full";
  if (uses.size() > (is_repeatable(v) ? most_copies : most_domains)) return "it would be computed at many different positions";
  for (const Use& use : uses) {
    const Domain& d = domains_[use.domain];
    if (d.closed) return "its consumer reads its operand from memory";
    if (d.contracted && v->op != Op::Transpose) return "a contraction reads its operands from memory";
  }
  return nullptr;
}

const char* FusionPlanner::refusal_by_role(Value v, const OpenGroup& group, std::span<const Use> uses) const {
  bool single = uses.size() == 1;
  switch (index_role(v)) {
    case IndexRole::elementwise:
    case IndexRole::leaf: return nullptr;
    case IndexRole::reshape:
      return merged_dimensions(v->type, v->operand(0)->type) ? nullptr : "its index would need divisions";
    case IndexRole::gather:
    case IndexRole::map: {
      bool is_operand = single && domains_[uses[0].domain].contracted;
      return group.hero && v->op != Op::Broadcast && !is_operand ? "a contraction's epilogue takes no such map" : nullptr;
    }
    case IndexRole::reduce: return refusal_of_reduction(v, group, uses);
    case IndexRole::contract:
      if (group.hero) return "that kernel has a contraction already";
      if (group.reduces) return "that kernel has a reduction";
      if (!single || !domains_[uses[0].domain].exact) return "a contraction's epilogue has exactly its shape";
      return group.complex ? "that kernel's index maps don't go with a contraction" : nullptr;
    case IndexRole::update: return "updates are the root of their kernel";
    case IndexRole::opaque: return "it is lowered by itself";
  }
  return nullptr;
}

const char* FusionPlanner::refusal_of_reduction(Value v, const OpenGroup& group, std::span<const Use> uses) const {
  if (group.hero) return "that kernel has a contraction";
  if (!v->type.is_array() && uses.size() != 1) return "its results are wanted in several places";
  for (const Use& use : uses) {
    const Domain& d = domains_[use.domain];
    if (!d.at_output && group.loops.rows_around(d) < few_rows && group.loops.root_iterations() > serial_elements)
      return "the kernel would have too few rows for threads";
  }
  return nullptr;
}

// By id: the most elements that one of the reductions behind a value goes over, as far as one kernel may hold them.
void FusionPlanner::find_row_work() {
  row_work_.assign(computation_.size(), 0);
  for (Value v : computation_.instructions()) {
    IndexRole role = index_role(v);
    if (!live_[v->id] || role == IndexRole::opaque || role == IndexRole::contract) continue;
    double& work = row_work_[v->id];
    for (Value operand : v->operands()) work = std::max(work, row_work_[operand->id]);
    if (role == IndexRole::reduce && v->operand(0)->type.is_array() && v->operand(0)->type.is_static())
      work = std::max(work, static_cast<double>(v->operand(0)->type.count()));
  }
}

// Elementwise work by the length of the chain it ends, and whether that begins with a contraction whose result nobody else reads.
void FusionPlanner::find_chains() {
  constexpr double most_flops = 1e6;
  chain_flops_.assign(computation_.size(), 0);
  over_dot_.assign(computation_.size(), false);
  for (Value v : computation_.instructions()) {
    if (!live_[v->id]) continue;
    if (v->op == Op::Dot) over_dot_[v->id] = true;
    if (!ir::is_elementwise(v->op)) continue;
    double flops = flops_per_element(v);
    for (Value operand : v->operands()) {
      flops += chain_flops_[operand->id];
      bool is_only_user = user_start_[operand->id] + 1 == user_start_[operand->id + 1];
      bool same_shape = operand->type.is_array() && v->type.is_array() && operand->type.sizes() == v->type.sizes();
      if (over_dot_[operand->id] && is_only_user && same_shape) over_dot_[v->id] = true;
    }
    chain_flops_[v->id] = std::min(flops, most_flops);
  }
}

// Whether the elements of `v`, long rows behind each, would be made one after the other inside the group, whereas apart
// they could be dealt out to threads.
bool FusionPlanner::stops_threads(Value v, const OpenGroup& group, std::span<const Use> uses) const {
  if (is_repeatable(v)) return false;
  ir::Type type = v->type.is_tuple() ? v->type.element_type(0) : v->type;
  double elements = static_cast<double>(type.count()), work = row_work_[v->id];
  if (elements < few_rows || work < serial_elements || work < short_row * elements) return false;
  return std::ranges::all_of(uses, [&](const Use& use) { return group.loops.rows_around(domains_[use.domain]) < few_rows; });
}

// The dimensions of `v` that number the rows if it is kept in a row buffer: those that follow the outermost loops, the same
// ones wherever it is wanted. Nothing when the rest is no row.
std::optional<ir::Ints> FusionPlanner::row_dims(Value v, const OpenGroup& group, std::span<const Use> uses) const {
  if (group.hero || !v->type.is_array()) return std::nullopt;
  const Domain& first = domains_[uses[0].domain];
  ir::Ints row;
  for (int32_t loop : group.loops.path(group.loops.innermost(first))) {
    auto dim = std::ranges::find(first.loops, loop) - first.loops.begin();
    auto follows = [&](const Use& use) {
      const Domain& d = domains_[use.domain];
      auto path = group.loops.path(group.loops.innermost(d));
      auto i = static_cast<size_t>(dim);
      bool same_rows = d.warp == first.warp && d.shift(i) == first.shift(i);
      return same_rows && path.size() > row.size() && path[row.size()] == loop && d.loops[i] == loop;
    };
    if (dim == std::ssize(first.loops) || !std::ranges::all_of(uses, follows)) break;
    row.push_back(dim);
  }
  double rows = 1;
  for (int64_t d : row) rows *= static_cast<double>(v->type.dim(d));
  double elements = static_cast<double>(v->type.count()) / std::max(rows, 1.0);
  if (elements < short_row || !fits_row(elements * byte_width(v->type.element()), context_.target)) return std::nullopt;
  if (rows < few_rows && group.loops.root_iterations() > serial_elements) return std::nullopt;
  std::ranges::sort(row);
  return row;
}

// ---- Kernels with several results ----

namespace {

// Beyond so many additions per element, kernels wait for arithmetic and not for memory, and what is saved by reading an array
// once is lost again to registers that one loop over everything doesn't have (measured on the functions of math: 1.4 times
// the time for eight of them in one loop).
constexpr double most_merged_flops = 100;

double elementwise_flops(const std::vector<Value>& members) {
  double sum = 0;
  for (Value v : members)
    if (ir::is_elementwise(v->op)) sum += flops_per_element(v);
  return sum;
}

bool writes_parts(Value v) { return v->op == Op::Concatenate || index_role(v) == IndexRole::update || index_role(v) == IndexRole::opaque; }

std::span<const Use> uses_of(const std::vector<Use>& uses, uint32_t group) {
  auto begin = std::ranges::lower_bound(uses, group, {}, &Use::group), end = std::ranges::upper_bound(uses, group, {}, &Use::group);
  return {begin, end};
}

}  // namespace

// Whether something made from `from` goes, through other kernels, into a member of the group; also where that takes too long
// to tell. `from_inside`: the direct users that are members have it from inside the group.
bool FusionPlanner::reaches(std::span<const Value> from, uint32_t target, bool from_inside) {
  ++search_;
  const uint32_t last = last_before(target);
  size_t visits = 0, direct = from.size();
  std::vector<Value> todo(from.begin(), from.end());
  for (size_t next = 0; next < todo.size(); ++next) {
    for (uint32_t i = user_start_[todo[next]->id]; i < user_start_[todo[next]->id + 1]; ++i) {
      uint32_t id = users_[i].first;
      if (visited_[id] == search_ || id > last) continue;
      Value user = computation_.instructions()[id];
      bool inside = is_member(user, target);
      bool only_inside = inside && !plan_.outside[id] && memberships_[first_member_[id]].next == UINT32_MAX;
      if (only_inside && from_inside && next < direct) continue;  // not visited: another way there would count
      visited_[id] = search_;
      if (++visits > most_visits || inside || pinned_[id] || ir::has_effect(user)) return true;
      todo.push_back(user);
      for (uint32_t m = first_member_[id]; m != UINT32_MAX; m = memberships_[m].next) {  // all results of a kernel wait for it
        OpenGroup& group = groups_[memberships_[m].group];
        if (group.outputs.size() == 1 || std::exchange(group.search, search_) == search_) continue;
        todo.insert(todo.end(), group.outputs.begin(), group.outputs.end());
      }
    }
  }
  return false;
}

// What has a greater id goes into no member of the group, through other kernels and all of their results either.
uint32_t FusionPlanner::last_before(uint32_t target) const {
  uint32_t last = groups_[target].members.front()->id;
  for (bool again = true; again;) {
    again = false;
    for (uint32_t id : with_several_) {
      const OpenGroup& group = groups_[id];
      if (group.members.empty() || group.members.front()->id <= last) continue;
      if (std::ranges::none_of(group.outputs, [&](Value output) { return output->id < last; })) continue;
      last = group.members.front()->id;
      again = true;
    }
  }
  return last;
}

// Why the two groups, both readers of `v`, stay two kernels; null when they become one.
const char* FusionPlanner::merge_refusal(uint32_t a, uint32_t b, std::span<const Use> uses_a, std::span<const Use> uses_b) {
  const OpenGroup &first = groups_[a], &second = groups_[b];
  if (first.closed || second.closed || first.hero || second.hero) return "one of them stands by itself";
  for (Value output : first.outputs)
    if (writes_parts(output) || !output->type.is_array()) return "one of them writes its result in parts";
  for (Value output : second.outputs)
    if (writes_parts(output) || !output->type.is_array()) return "one of them writes its result in parts";
  if (first.root->type.sizes() != second.root->type.sizes()) return "their results have different shapes";
  if (first.reduces != second.reduces) return "only one of them has a reduction";
  if (first.outputs.size() + second.outputs.size() > most_outputs) return "the kernel would have too many results";
  if (first.members.size() + second.members.size() > most_members) return "the kernel would be full";
  if (elementwise_flops(first.members) + elementwise_flops(second.members) > most_merged_flops) return "arithmetic takes longer than memory";
  GroupLoops together = first.loops;  // as they would be
  std::vector<int32_t> there = together.absorb(second.loops);
  bool meets = false;
  for (const Use& use : uses_b) {
    Domain d = domains_[use.domain];
    d.group = a;
    for (int32_t& loop : d.loops)
      if (loop >= 0) loop = there[static_cast<size_t>(loop)];
    meets |= std::ranges::any_of(uses_a, [&](const Use& other) { return domains_[other.domain].same_loops(d); });
  }
  if (!meets) return "they read it in different places";
  if (reaches(first.outputs, b, false) || reaches(second.outputs, a, false)) return "one may need the other's result";
  return nullptr;
}

// Makes one of the groups that read `v`, where that saves bytes; whether any did.
bool FusionPlanner::merge_siblings(Value v, const Consumers& found) {
  if (found.uses.empty() || found.uses.front().group == found.uses.back().group) return false;
  std::vector<uint32_t> apart;
  bool any = false;
  for (size_t i = 0; i < found.uses.size(); ++i) {
    uint32_t group = found.uses[i].group;
    if (i > 0 && found.uses[i - 1].group == group) continue;
    const char* why = nullptr;
    bool merged = false;
    for (uint32_t other : apart) {
      // `found` describes the groups as they were; an absorbed one has its uses at the same places.
      why = merge_refusal(other, group, uses_of(found.uses, other), uses_of(found.uses, group));
      const char* rule = why ? "apart" : "merge";
      if (context_.remarks)
        remark(rule, groups_[group].root,
               fmt::format("with {}, which reads {} too: {}", computation_.name(groups_[other].root), computation_.name(v),
                           why ? std::string(why) : fmt::format("saves {:.0f} bytes of traffic and launch", shared_read_bytes(v->type, context_.target))));
      if (why) continue;
      merge(other, group);
      merged = any = true;
      break;
    }
    if (!merged) apart.push_back(group);
  }
  return any;
}

// Puts all of group `b` into group `a`.
void FusionPlanner::merge(uint32_t a, uint32_t b) {
  OpenGroup &into = groups_[a], from = std::move(groups_[b]);
  groups_[b] = {from.root, GroupLoops(from.root->type), {}, {}, {}, nullptr, false, false, true, {}};
  std::vector<int32_t> here = into.loops.absorb(from.loops);
  for (DomainId id : from.domains) {
    Domain& d = domains_[id];
    d.group = a;
    for (int32_t& loop : d.loops)
      if (loop >= 0) loop = here[static_cast<size_t>(loop)];
    into.domains.push_back(id);
  }
  for (Value v : from.members) {
    // Cheap members may be in both: then they have one membership with the places of two.
    uint32_t* link = &first_member_[v->id];
    while (memberships_[*link].group != b) link = &memberships_[*link].next;
    uint32_t moved = *link;
    uint32_t other = first_member_[v->id];
    while (other != UINT32_MAX && memberships_[other].group != a) other = memberships_[other].next;
    if (other == UINT32_MAX) {
      memberships_[moved].group = a;
      into.members.push_back(v);
      continue;
    }
    auto& places = memberships_[other].domains;
    places.insert(places.end(), memberships_[moved].domains.begin(), memberships_[moved].domains.end());
    *link = memberships_[moved].next;
  }
  std::ranges::sort(into.members, std::greater<>(), &ir::Instruction::id);
  for (Value output : from.outputs) add_output(a, output);
  for (RowBuffer& row : from.row_buffers) {
    bool known = std::ranges::find(into.row_buffers, row.value, &RowBuffer::value) != into.row_buffers.end();
    if (!known) into.row_buffers.push_back(std::move(row));
  }
  into.reduces |= from.reduces;
  into.complex |= from.complex;
}

// An instruction whose array others need goes all the same with a kernel that reads it element by element, as one more result.
bool FusionPlanner::export_from_consumer(Value v, const Consumers& found) {
  if (pinned_[v->id] || writes_parts(v) || is_rename(v) || !v->type.is_array() || index_role(v) == IndexRole::contract) return false;
  for (size_t i = 0; i < found.uses.size();) {
    uint32_t id = found.uses[i].group;
    auto uses = uses_of(found.uses, id);
    i += uses.size();
    const OpenGroup& group = groups_[id];
    bool is_read_in_place = std::ranges::any_of(uses, [&](const Use& use) { return domains_[use.domain].exact; });
    if (!is_read_in_place || group.outputs.size() >= most_outputs || std::ranges::any_of(group.outputs, writes_parts)) continue;
    Placement place = placement(v, id, uses);
    if (place.refusal || place.row || reaches({&v, 1}, id, true)) continue;
    add_output(id, v);
    remark("export", v, fmt::format("a result of {}, which reads it", computation_.name(group.root)));
    join(v, id, uses, place);
    return true;
  }
  return false;
}

}  // namespace hloc::passes
