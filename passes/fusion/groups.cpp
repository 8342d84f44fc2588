#include "passes/fusion/groups.h"

#include <algorithm>

#include <fmt/format.h>

#include "passes/buffers/step_kind.h"
#include "passes/fusion/domains.h"
#include "passes/rebuild.h"

namespace hloc::passes {
namespace {

using ir::Computation;
using ir::Op;
using ir::Type;
using ir::Value;

constexpr size_t most_copies = 16;    // groups that one cheap instruction is made again in
constexpr size_t most_domains = 4;    // ways in which one group computes one member
constexpr size_t most_uses = 64;      // (group, domain) pairs that are looked at for one instruction

// A group while it grows.
struct OpenGroup {
  Value root = nullptr;
  GroupLoops loops;
  std::vector<Value> members;  // users first
  Value hero = nullptr;        // the one reduction or contraction
  bool complex = false;        // has a member that a contraction's or a reduction's epilogue doesn't take
  bool closed = false;         // takes no members
};

// That an instruction is computed in a group, at these domains.
struct Membership {
  uint32_t group = 0;
  uint32_t next = UINT32_MAX;  // of the same instruction
  std::vector<DomainId> domains;
};

struct Use {
  uint32_t group;
  DomainId domain;
  auto operator<=>(const Use&) const = default;
};

// What an instruction's consumers are, as far as fusion goes.
struct Consumers {
  std::vector<Use> uses;  // sorted, each once
  bool outside = false;   // somebody reads the whole array from memory
  bool any = false;
};

class FusionPlanner {
 public:
  FusionPlanner(const Computation& computation, PassContext& context)
      : computation_(computation), context_(context), live_(live_instructions(computation)),
        first_member_(computation.size(), UINT32_MAX) {
    plan_.group_of_root.assign(computation.size(), FusionPlan::none);
    plan_.outside.assign(computation.size(), false);
  }

  FusionPlan plan() {
    find_users();
    find_pinned();
    auto instructions = computation_.instructions();
    for (size_t i = instructions.size(); i-- > 0;)
      if (live_[i]) place(instructions[i]);
    close_groups();
    return std::move(plan_);
  }

 private:
  void find_users();
  void find_pinned();
  bool can_be_kernel(Value v) const;
  void place(Value v);
  void add_uses(Value user, uint32_t position, std::vector<Use>& uses);
  Consumers consumers(Value v);
  void place_cheap(Value v, const Consumers& consumers);
  void place_work(Value v, const Consumers& consumers);
  void place_outside(Value v);

  const char* refusal(Value v, uint32_t group, std::span<const Use> uses) const;
  const char* refusal_by_role(Value v, const OpenGroup& group, std::span<const Use> uses) const;
  double evaluations(std::span<const Use> uses) const;
  void join(Value v, uint32_t group, std::span<const Use> uses);
  uint32_t start_group(Value v);
  void add_membership(Value v, uint32_t group, std::vector<DomainId> domains);
  void close_groups();
  void strip_edge(FusionGroup& group, std::vector<uint32_t>& stamp, uint32_t mark);

  void remark(const char* rule, Value v, std::string text) const;
  void remark_join(Value v, uint32_t group, double evaluations) const;

  const Computation& computation_;
  PassContext& context_;
  std::vector<bool> live_, pinned_;
  std::vector<uint32_t> user_start_;                     // by id: range of users_
  std::vector<std::pair<uint32_t, uint32_t>> users_;     // (user's id, operand position)
  std::vector<OpenGroup> groups_;
  std::vector<Domain> domains_;
  std::vector<Membership> memberships_;
  std::vector<uint32_t> first_member_;                   // by id
  FusionPlan plan_;
};

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

bool has_static_arrays(Type type) {
  if (type.is_array()) return type.is_static();
  if (!type.is_tuple() || type.tuple_size() == 0) return false;
  for (size_t i = 0; i < type.tuple_size(); ++i)
    if (Type t = type.element_type(i); !t.is_array() || !t.is_static()) return false;
  return true;
}

bool FusionPlanner::can_be_kernel(Value v) const {
  if (v->op == Op::Parameter || v->op == Op::Constant || v->op == Op::Tuple || v->op == Op::Fusion) return false;
  if (!has_static_arrays(v->type) || ir::has_effect(v)) return false;
  for (Value operand : v->operands())
    if (!operand->type.is_array() || !operand->type.is_static()) return false;
  return is_supported(v, context_.target);
}

// What is made again in every consumer rather than written to memory: it computes nothing.
bool is_repeatable(Value v) {
  return v->op == Op::Broadcast || v->op == Op::Iota || v->op == Op::Slice || v->op == Op::Reshape || v->op == Op::Copy;
}

// Sorts and drops repetitions; whether few enough are left.
bool tidy(std::vector<Use>& uses) {
  std::sort(uses.begin(), uses.end());
  uses.erase(std::unique(uses.begin(), uses.end()), uses.end());
  return uses.size() <= most_uses;
}

// Adds the positions at which the groups that compute `user` want its operand.
void FusionPlanner::add_uses(Value user, uint32_t position, std::vector<Use>& uses) {
  for (uint32_t m = first_member_[user->id]; m != UINT32_MAX; m = memberships_[m].next) {
    uint32_t group = memberships_[m].group;
    for (DomainId domain : memberships_[m].domains) {
      if (auto inner = operand_domain(user, position, domains_[domain], groups_[group].loops)) {
        domain = static_cast<DomainId>(domains_.size());
        domains_.push_back(std::move(*inner));
      }
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

void FusionPlanner::place(Value v) {
  if (!can_be_kernel(v)) return place_outside(v);
  Consumers found = consumers(v);
  if (pinned_[v->id]) found.outside = true, found.uses.clear();
  if (is_repeatable(v)) place_cheap(v, found);
  else place_work(v, found);
}

void FusionPlanner::place_outside(Value v) { plan_.outside[v->id] = true; }

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

void FusionPlanner::place_cheap(Value v, const Consumers& found) {
  bool alone = found.outside || !found.any;
  size_t copies = 0;
  by_group(found.uses, [&](uint32_t group, std::span<const Use> uses) {
    const char* why = copies == most_copies ? "it is repeated in many kernels already" : refusal(v, group, uses);
    if (why) {
      alone = true;
      remark("keep", v, fmt::format("not made again in {}: {}", computation_.name(groups_[group].root), why));
    } else {
      ++copies;
      join(v, group, uses);
    }
  });
  if (!alone) return;
  if (is_rename(v)) place_outside(v);
  else start_group(v);
}

void FusionPlanner::place_work(Value v, const Consumers& found) {
  const char* why = nullptr;
  if (!found.any) why = "nothing reads it";
  else if (found.outside) why = "its array is needed in memory";
  else if (found.uses.front().group != found.uses.back().group) why = "several kernels read it";
  else why = refusal(v, found.uses.front().group, found.uses);
  if (!why) return join(v, found.uses.front().group, found.uses);
  remark("keep", v, fmt::format("a kernel of its own: {}", why));
  if (is_rename(v)) place_outside(v);
  else start_group(v);
}

double FusionPlanner::evaluations(std::span<const Use> uses) const {
  double sum = 0;
  for (const Use& use : uses) sum += groups_[use.group].loops.evaluations(domains_[use.domain]);
  return sum;
}

// Why `v` can't be computed inside the group; null when it can and should.
const char* FusionPlanner::refusal(Value v, uint32_t id, std::span<const Use> uses) const {
  const OpenGroup& group = groups_[id];
  if (group.closed) return "that kernel takes nothing in";
  if (group.members.size() >= most_members) return "that kernel is full";
  if (uses.size() > (is_repeatable(v) ? most_copies : most_domains)) return "it would be computed at many different positions";
  for (const Use& use : uses) {
    const Domain& d = domains_[use.domain];
    if (d.closed) return "its consumer reads its operand from memory";
    if (d.contracted && v->op != Op::Transpose) return "a contraction reads its operands from memory";
  }
  if (const char* why = refusal_by_role(v, group, uses)) return why;
  return join_cost(v, evaluations(uses), context_.target).pays() ? nullptr : "computing it again costs more than reading it";
}

const char* FusionPlanner::refusal_by_role(Value v, const OpenGroup& group, std::span<const Use> uses) const {
  bool single = uses.size() == 1;
  switch (index_role(v)) {
    case IndexRole::elementwise:
    case IndexRole::leaf: return nullptr;
    case IndexRole::reshape:
      return merged_dimensions(v->type, v->operand(0)->type) ? nullptr : "its index would need divisions";
    case IndexRole::map: {
      bool contracts = group.hero && group.hero->op == Op::Dot;
      bool is_operand = single && domains_[uses[0].domain].contracted;
      return contracts && v->op != Op::Broadcast && !is_operand ? "a contraction's epilogue takes no such map" : nullptr;
    }
    case IndexRole::reduce:
      if (group.hero) return "that kernel has a reduction or contraction already";
      if (!v->type.is_array() || !single || !domains_[uses[0].domain].at_output)
        return "a reduction is computed once for each element of the result";
      return group.complex ? "that kernel's index maps don't go with a reduction" : nullptr;
    case IndexRole::contract:
      if (group.hero) return "that kernel has a reduction or contraction already";
      if (!single || !domains_[uses[0].domain].exact) return "a contraction's epilogue has exactly its shape";
      return group.complex ? "that kernel's index maps don't go with a contraction" : nullptr;
    case IndexRole::update: return "updates are the root of their kernel";
    case IndexRole::opaque: return "it is lowered by itself";
  }
  return nullptr;
}

void FusionPlanner::add_membership(Value v, uint32_t group, std::vector<DomainId> domains) {
  groups_[group].members.push_back(v);
  memberships_.push_back({group, first_member_[v->id], std::move(domains)});
  first_member_[v->id] = static_cast<uint32_t>(memberships_.size() - 1);
}

void FusionPlanner::join(Value v, uint32_t id, std::span<const Use> uses) {
  OpenGroup& group = groups_[id];
  IndexRole role = index_role(v);
  if (role == IndexRole::reduce || role == IndexRole::contract) group.hero = v;
  bool is_contracted = domains_[uses[0].domain].contracted;
  if (role == IndexRole::map && v->op != Op::Broadcast && !is_contracted) group.complex = true;
  std::vector<DomainId> domains;
  for (const Use& use : uses) domains.push_back(use.domain);
  remark_join(v, id, evaluations(uses));
  add_membership(v, id, std::move(domains));
}

uint32_t FusionPlanner::start_group(Value v) {
  auto id = static_cast<uint32_t>(groups_.size());
  OpenGroup group{v, GroupLoops(v->type), {}, nullptr, false, false};
  IndexRole role = index_role(v);
  if (role == IndexRole::reduce || role == IndexRole::contract) group.hero = v;
  group.closed = pinned_[v->id] || role == IndexRole::opaque;
  group.complex = role == IndexRole::map && v->op != Op::Broadcast;
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
  domains_.push_back(std::move(root));
  add_membership(v, id, {static_cast<DomainId>(domains_.size() - 1)});
  plan_.group_of_root[v->id] = id;
  return id;
}

// A reshape at the edge of a group is taken out: outside it is only another name for the bytes, inside it would be arithmetic.
void FusionPlanner::strip_edge(FusionGroup& group, std::vector<uint32_t>& stamp, uint32_t mark) {
  size_t kept = 0;
  for (Value v : group.members) {
    bool at_edge = is_rename(v) && stamp[v->operand(0)->id] != mark && !is_inner_constant(v->operand(0), context_.target);
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
    group.root = open.root;
    if (open.hero) group.kind = open.hero->op == Op::Dot ? ir::FusionKind::kOutput : ir::FusionKind::kInput;
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

void FusionPlanner::remark_join(Value v, uint32_t group, double evaluations) const {
  if (!context_.remarks) return;
  JoinCost cost = join_cost(v, evaluations, context_.target);
  remark("join", v,
         fmt::format("into {}: saves {:.0f} bytes of traffic and launch, repeats {:.0f} flops worth {:.0f} bytes",
                     computation_.name(groups_[group].root), cost.saved_bytes, cost.repeated_flops, cost.repeated_bytes));
}

}  // namespace

bool is_inner_constant(Value v, const ir::Target& target) {
  if (v->op != Op::Constant || !v->type.is_array()) return false;
  return v->type.rank() == 0 || (v->type.is_static() && v->type.count() <= 16 && is_supported(v, target));
}

FusionPlan plan_fusion(const Computation& computation, PassContext& context) {
  return FusionPlanner(computation, context).plan();
}

}  // namespace hloc::passes
