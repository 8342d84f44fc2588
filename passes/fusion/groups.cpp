#include "passes/fusion/groups.h"

#include <algorithm>

#include <fmt/format.h>

#include "passes/buffers/step_kind.h"
#include "passes/fusion/planner.h"
#include "passes/rebuild.h"

namespace hloc::passes {
namespace {

using ir::Computation;
using ir::Op;
using ir::Type;
using ir::Value;

std::string numbers(const JoinCost& cost) {
  return fmt::format("saves {:.0f} bytes of traffic and launch, repeats {:.0f} flops worth {:.0f} bytes, a row buffer {:.0f}",
                     cost.saved_bytes, cost.repeated_flops, cost.repeated_bytes, cost.kept_bytes);
}

bool has_static_arrays(Type type) {
  if (type.is_array()) return type.is_static();
  if (!type.is_tuple() || type.tuple_size() == 0) return false;
  for (size_t i = 0; i < type.tuple_size(); ++i)
    if (Type t = type.element_type(i); !t.is_array() || !t.is_static()) return false;
  return true;
}

// The uses of one group after the other.
template <class F>
void by_group(const std::vector<Use>& uses, F f) {
  for (size_t i = 0; i < uses.size();) {
    size_t end = i;
    while (end < uses.size() && uses[end].group == uses[i].group) ++end;
    f(uses[i].group, std::span(uses).subspan(i, end - i));
    i = end;
  }
}

}  // namespace

void FusionPlanner::find_users() {
  user_start_.assign(computation_.size() + 1, 0);
  for (Value v : computation_.instructions())
    if (live_[v->id])
      for (Value operand : v->operands()) ++user_start_[operand->id + 1];
  for (size_t i = 1; i < user_start_.size(); ++i) user_start_[i] += user_start_[i - 1];
  users_.resize(user_start_.back());
  std::vector<uint32_t> next(user_start_.begin(), user_start_.end() - 1);
  for (Value v : computation_.instructions())
    if (live_[v->id])
      for (uint32_t i = 0; i < v->operand_count; ++i) users_[next[v->operand(i)->id]++] = {v->id, i};
}

// Instructions with a control edge stay kernels of their own, so that the edge has two ends.
void FusionPlanner::find_pinned() {
  pinned_.assign(computation_.size(), false);
  for (Value v : computation_.instructions()) {
    if (!v->extras || v->extras->control_predecessors.empty()) continue;
    pinned_[v->id] = true;
    for (Value before : v->extras->control_predecessors) pinned_[before->id] = true;
  }
}

bool FusionPlanner::can_be_kernel(Value v) const {
  if (v->op == Op::Parameter || v->op == Op::Constant || v->op == Op::Tuple || v->op == Op::Fusion) return false;
  if (!has_static_arrays(v->type) || ir::has_effect(v)) return false;
  for (Value operand : v->operands())
    if (!operand->type.is_array() || !operand->type.is_static()) return false;
  return is_supported(v, context_.target);
}

// Sorts and makes one of what is at one place; whether few enough are left.
bool FusionPlanner::tidy(std::vector<Use>& uses) {
  std::sort(uses.begin(), uses.end());
  size_t kept = 0;
  for (const Use& use : uses) {
    const Domain& d = domains_[use.domain];
    size_t same = kept;
    for (size_t i = kept; i-- > 0 && uses[i].group == use.group;)
      if (domains_[uses[i].domain].same_place(d)) same = i;
    if (same == kept) uses[kept++] = use;
    else if (domains_[uses[same].domain].stage < d.stage) uses[same] = use;
  }
  uses.resize(kept);
  return kept <= most_uses;
}

// Adds the positions at which the groups that compute `user` want its operand.
void FusionPlanner::add_uses(Value user, uint32_t position, std::vector<Use>& uses) {
  for (uint32_t m = first_member_[user->id]; m != UINT32_MAX; m = memberships_[m].next) {
    uint32_t group = memberships_[m].group;
    for (DomainId domain : memberships_[m].domains) {
      if (auto inner = operand_domain(user, position, domains_[domain], groups_[group].loops)) domain = add_domain(std::move(*inner));
      uses.push_back({group, domain});
    }
  }
}

Consumers FusionPlanner::consumers(Value v) {
  Consumers found;
  found.outside = found.any = v == computation_.root();
  for (uint32_t i = user_start_[v->id]; i < user_start_[v->id + 1]; ++i) {
    auto [id, position] = users_[i];
    found.any = true;
    // A copy of the user that stays outside reads memory.
    if (plan_.outside[id]) found.outside = true;
    add_uses(computation_.instructions()[id], position, found.uses);
    if (found.uses.size() > 4 * most_uses && !tidy(found.uses)) break;
  }
  if (!tidy(found.uses)) found.uses.clear(), found.outside = true;
  return found;
}

DomainId FusionPlanner::add_domain(Domain domain) {
  auto id = static_cast<DomainId>(domains_.size());
  groups_[domain.group].domains.push_back(id);
  domains_.push_back(std::move(domain));
  return id;
}

bool FusionPlanner::is_member(Value v, uint32_t group) const {
  for (uint32_t m = first_member_[v->id]; m != UINT32_MAX; m = memberships_[m].next)
    if (memberships_[m].group == group) return true;
  return false;
}

// A reduction with several results of which each is taken by itself: its kernel has what is wanted of them as results, or
// it goes into the kernel that all are wanted in.
bool FusionPlanner::is_split_reduction(Value v) const {
  if (v->op != Op::Reduce || !v->type.is_tuple() || pinned_[v->id] || v == computation_.root() || !can_be_kernel(v)) return false;
  if (user_start_[v->id] == user_start_[v->id + 1]) return false;
  for (uint32_t i = user_start_[v->id]; i < user_start_[v->id + 1]; ++i)
    if (computation_.instructions()[users_[i].first]->op != Op::GetTupleElement || pinned_[users_[i].first]) return false;
  return true;
}

void FusionPlanner::find_split_reductions() {
  split_.assign(computation_.size(), false);
  for (Value v : computation_.instructions()) split_[v->id] = live_[v->id] && is_split_reduction(v);
}

void FusionPlanner::place_split_reduction(Value v) {
  std::vector<std::pair<Value, Consumers>> parts;
  std::vector<Use> uses;
  bool outside = false;
  for (uint32_t i = user_start_[v->id]; i < user_start_[v->id + 1]; ++i) {
    Value part = computation_.instructions()[users_[i].first];
    parts.emplace_back(part, consumers(part));
    const Consumers& found = parts.back().second;
    outside |= found.outside || found.uses.empty();
    uses.insert(uses.end(), found.uses.begin(), found.uses.end());
  }
  bool one_place = !outside && tidy(uses) && uses.size() == 1;
  Placement place;
  if (one_place) place = placement(v, uses[0].group, uses);
  uint32_t id = one_place && !place.refusal ? uses[0].group : FusionPlan::none;
  for (auto& [part, found] : parts) {
    if (id == FusionPlan::none) {
      id = start_group(part);
    } else if (one_place && !place.refusal) {
      add_membership(part, id, {uses[0].domain});
    } else {
      // One more result of the kernel that the first part began.
      add_output(id, part);
      add_membership(part, id, memberships_[first_member_[parts[0].first->id]].domains);
    }
  }
  std::ranges::sort(groups_[id].members, std::greater<>(), &ir::Instruction::id);
  uses.clear();
  for (const auto& part : parts)
    for (DomainId d : memberships_[first_member_[part.first->id]].domains) uses.push_back({id, d});
  tidy(uses);
  join(v, id, uses, place);
}

void FusionPlanner::place(Value v) {
  if (v->op == Op::GetTupleElement && split_[v->operand(0)->id]) return;  // placed along with the reduction
  if (split_[v->id]) return place_split_reduction(v);
  bool fits = can_be_kernel(v);
  bool is_shared = v->type.is_array() && v->type.is_static() && !is_repeatable(v) && v->op != Op::Constant;
  Consumers found;
  if (fits || is_shared) found = consumers(v);
  if (is_shared && merge_siblings(v, found)) found = consumers(v);
  if (!fits) return place_outside(v);
  if (pinned_[v->id]) found.outside = true, found.uses.clear();
  if (is_repeatable(v)) place_cheap(v, found);
  else place_work(v, found);
}

void FusionPlanner::place_outside(Value v) { plan_.outside[v->id] = true; }

void FusionPlanner::place_cheap(Value v, const Consumers& found) {
  bool alone = found.outside || !found.any;
  size_t copies = 0;
  by_group(found.uses, [&](uint32_t group, std::span<const Use> uses) {
    Placement place = placement(v, group, uses);
    if (copies == most_copies) place.refusal = "it is repeated in many kernels already";
    if (place.refusal) {
      alone = true;
      remark("keep", v, fmt::format("not made again in {}: {}", computation_.name(groups_[group].root), place.refusal));
    } else {
      ++copies;
      join(v, group, uses, place);
    }
  });
  if (!alone) return;
  if (is_rename(v)) place_outside(v);
  else start_group(v);
}

void FusionPlanner::place_work(Value v, const Consumers& found) {
  Placement place;
  if ((found.outside || found.uses.empty() || found.uses.front().group != found.uses.back().group) && export_from_consumer(v, found)) return;
  if (!found.any) place.refusal = "nothing reads it";
  else if (found.outside) place.refusal = "its array is needed in memory";
  else if (found.uses.front().group != found.uses.back().group) place.refusal = "several kernels read it";
  else place = placement(v, found.uses.front().group, found.uses);
  if (!place.refusal) return join(v, found.uses.front().group, found.uses, place);
  if (context_.remarks) {
    std::string weighed = place.cost.saved_bytes > 0 ? fmt::format(" ({})", numbers(place.cost)) : "";
    remark("keep", v, fmt::format("a kernel of its own: {}{}", place.refusal, weighed));
  }
  if (is_rename(v)) place_outside(v);
  else start_group(v);
}

void FusionPlanner::add_membership(Value v, uint32_t group, std::vector<DomainId> domains) {
  groups_[group].members.push_back(v);
  memberships_.push_back({group, first_member_[v->id], std::move(domains)});
  first_member_[v->id] = static_cast<uint32_t>(memberships_.size() - 1);
}

// Where a value in a row buffer is computed: in loops of its own inside the row's.
Domain FusionPlanner::row_domain(Value v, uint32_t id, std::span<const Use> uses, const ir::Ints& row) {
  GroupLoops& loops = groups_[id].loops;
  const Domain& first = domains_[uses[0].domain];
  Domain d;
  d.group = id;
  d.loops.assign(first.loops.size(), Domain::no_loop);
  int32_t around = Domain::no_loop;
  for (int64_t dim : row) {
    d.loops[static_cast<size_t>(dim)] = first.loops[static_cast<size_t>(dim)];
    around = loops.inner_of(around, d.loops[static_cast<size_t>(dim)]);
  }
  for (const Use& use : uses) d.stage = std::max(d.stage, domains_[use.domain].stage + 1);
  size_t n = 0;
  for (size_t i = 0; i < d.loops.size(); ++i)
    if (!std::ranges::binary_search(row, static_cast<int64_t>(i)))
      around = d.loops[i] = loops.inside(around, d.stage, n++, v->type.dim(static_cast<int64_t>(i)));
  return d;
}

void FusionPlanner::join(Value v, uint32_t id, std::span<const Use> uses, const Placement& placement) {
  OpenGroup& group = groups_[id];
  IndexRole role = index_role(v);
  if (role == IndexRole::contract) group.hero = v;
  group.reduces |= role == IndexRole::reduce;
  bool is_contracted = domains_[uses[0].domain].contracted;
  if ((role == IndexRole::map || role == IndexRole::gather) && v->op != Op::Broadcast && !is_contracted) group.complex = true;
  std::vector<DomainId> domains;
  if (placement.row) {
    domains.push_back(add_domain(row_domain(v, id, uses, *placement.row)));
    group.row_buffers.push_back({v, *placement.row});
  } else {
    for (const Use& use : uses) domains.push_back(use.domain);
  }
  remark_join(v, id, placement);
  add_membership(v, id, std::move(domains));
}

uint32_t FusionPlanner::start_group(Value v) {
  auto id = static_cast<uint32_t>(groups_.size());
  OpenGroup group{v, GroupLoops(v->type), {v}, {}, {}, nullptr, false, false, false, {}};
  IndexRole role = index_role(v);
  if (role == IndexRole::contract) group.hero = v;
  group.reduces = role == IndexRole::reduce;
  group.closed = pinned_[v->id] || role == IndexRole::opaque;
  group.complex = (role == IndexRole::map || role == IndexRole::gather) && v->op != Op::Broadcast;
  groups_.push_back(std::move(group));
  Domain root;
  root.group = id;
  if (v->type.is_array())
    for (int32_t i = 0; i < v->type.rank(); ++i) root.loops.push_back(i);
  // A variadic reduction has results of one shape; its loops are those of the first.
  if (v->type.is_tuple()) {
    groups_[id].loops = GroupLoops(v->type.element_type(0));
    for (int32_t i = 0; i < v->type.element_type(0).rank(); ++i) root.loops.push_back(i);
  }
  root.exact = root.at_output = true;
  add_membership(v, id, {add_domain(std::move(root))});
  plan_.group_of_output[v->id] = id;
  return id;
}

void FusionPlanner::add_output(uint32_t group, Value v) {
  std::vector<Value>& outputs = groups_[group].outputs;
  outputs.push_back(v);
  if (outputs.size() == 2) with_several_.push_back(group);
  plan_.group_of_output[v->id] = group;
}

// A reshape at the edge of a group is taken out: outside it is only another name for the bytes, inside it would be arithmetic.
void FusionPlanner::strip_edge(FusionGroup& group, std::vector<uint32_t>& stamp, uint32_t mark) {
  size_t kept = 0;
  for (Value v : group.members) {
    bool at_edge = is_rename(v) && plan_.group_of_output[v->id] == FusionPlan::none && stamp[v->operand(0)->id] != mark && !is_inner_constant(v->operand(0), context_.target);
    if (at_edge) {
      plan_.outside[v->id] = true;
      continue;
    }
    stamp[v->id] = mark;
    group.members[kept++] = v;
  }
  group.members.resize(kept);
}

void FusionPlanner::close_groups() {
  std::vector<uint32_t> stamp(computation_.size(), 0);
  for (uint32_t id = 0; id < groups_.size(); ++id) {
    OpenGroup& open = groups_[id];
    FusionGroup group;
    group.outputs = open.outputs;
    std::ranges::sort(group.outputs, {}, &ir::Instruction::id);
    if (open.hero || open.reduces) group.kind = open.hero ? ir::FusionKind::kOutput : ir::FusionKind::kInput;
    group.row_buffers = std::move(open.row_buffers);
    group.members.assign(open.members.rbegin(), open.members.rend());
    strip_edge(group, stamp, id + 1);
    plan_.groups.push_back(std::move(group));
  }
}

void FusionPlanner::remark(const char* rule, Value v, std::string text) const {
  if (context_.remarks)
    context_.remarks->push_back(
        {"fuse", rule, std::string(computation_.name()), std::string(computation_.name(v)), std::move(text)});
}

void FusionPlanner::remark_join(Value v, uint32_t group, const Placement& placement) const {
  if (!context_.remarks) return;
  remark(placement.row ? "join-row" : "join", v,
         fmt::format("into {}: {}", computation_.name(groups_[group].root), numbers(placement.cost)));
}

bool is_inner_constant(Value v, const ir::Target& target) {
  if (v->op != Op::Constant || !v->type.is_array()) return false;
  return v->type.rank() == 0 || (v->type.is_static() && v->type.count() <= 16 && is_supported(v, target));
}

FusionPlan plan_fusion(const Computation& computation, PassContext& context) {
  return FusionPlanner(computation, context).plan();
}

}  // namespace hloc::passes
