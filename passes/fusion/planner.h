// The planner's state; groups.h says what it does. groups.cpp walks and keeps the groups, placement.cpp decides.
#pragma once

#include <compare>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "passes/fusion/cost.h"
#include "passes/fusion/domains.h"
#include "passes/fusion/groups.h"
#include "passes/rebuild.h"

namespace hloc::passes {

inline constexpr size_t most_copies = 16;    // groups that one cheap instruction is made again in
inline constexpr size_t most_domains = 8;    // ways in which one group computes one member
inline constexpr size_t most_uses = 64;      // (group, domain) pairs that are looked at for one instruction
inline constexpr size_t most_outputs = 8;    // results of one kernel: each is a stream of its own
inline constexpr size_t most_visits = 256;   // instructions looked at to see whether one kernel needs another

// A group while it grows.
struct OpenGroup {
  ir::Value root = nullptr;
  GroupLoops loops;
  std::vector<ir::Value> outputs;  // members whose arrays others read; the root is the first
  std::vector<ir::Value> members;  // users first
  std::vector<DomainId> domains;   // all of this group
  ir::Value hero = nullptr;        // the one contraction
  bool reduces = false;            // has a reduction
  bool complex = false;            // has a member that a contraction's epilogue doesn't take
  bool closed = false;             // takes no members
  std::vector<RowBuffer> row_buffers;
  uint32_t search = 0;             // that followed its results last
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

// Whether an instruction may be computed in a group, and how.
struct Placement {
  const char* refusal = nullptr;   // null: it can and should
  std::optional<ir::Ints> row;     // kept in a row buffer
  JoinCost cost;
};

// What is made again in every consumer rather than written to memory: it computes nothing.
bool is_repeatable(ir::Value v);

class FusionPlanner {
 public:
  FusionPlanner(const ir::Computation& computation, PassContext& context)
      : computation_(computation), context_(context), live_(live_instructions(computation)),
        first_member_(computation.size(), UINT32_MAX), visited_(computation.size(), 0) {
    plan_.group_of_output.assign(computation.size(), FusionPlan::none);
    plan_.outside.assign(computation.size(), false);
  }

  FusionPlan plan() {
    find_users();
    find_pinned();
    find_split_reductions();
    find_row_work();
    find_chains();
    auto instructions = computation_.instructions();
    for (size_t i = instructions.size(); i-- > 0;)
      if (live_[i]) place(instructions[i]);
    close_groups();
    return std::move(plan_);
  }

 private:
  void find_users();
  void find_pinned();
  bool can_be_kernel(ir::Value v) const;
  void place(ir::Value v);
  void add_uses(ir::Value user, uint32_t position, std::vector<Use>& uses);
  bool tidy(std::vector<Use>& uses);
  Consumers consumers(ir::Value v);
  void place_cheap(ir::Value v, const Consumers& consumers);
  void place_work(ir::Value v, const Consumers& consumers);
  void place_outside(ir::Value v);
  bool is_split_reduction(ir::Value v) const;
  void find_split_reductions();
  void place_split_reduction(ir::Value v);
  DomainId add_domain(Domain domain);
  bool is_member(ir::Value v, uint32_t group) const;

  // placement.cpp: whether and how
  Placement placement(ir::Value v, uint32_t group, std::span<const Use> uses) const;
  const char* refusal_by_place(ir::Value v, const OpenGroup& group, std::span<const Use> uses) const;
  const char* refusal_by_role(ir::Value v, const OpenGroup& group, std::span<const Use> uses) const;
  const char* refusal_of_reduction(ir::Value v, const OpenGroup& group, std::span<const Use> uses) const;
  void find_row_work();
  void find_chains();
  bool stops_threads(ir::Value v, const OpenGroup& group, std::span<const Use> uses) const;
  std::optional<ir::Ints> row_dims(ir::Value v, const OpenGroup& group, std::span<const Use> uses) const;
  double evaluations(std::span<const Use> uses) const;

  // Kernels with several results
  bool merge_siblings(ir::Value v, const Consumers& found);
  const char* merge_refusal(uint32_t a, uint32_t b, std::span<const Use> uses_a, std::span<const Use> uses_b);
  void merge(uint32_t a, uint32_t b);
  bool export_from_consumer(ir::Value v, const Consumers& found);
  bool reaches(std::span<const ir::Value> from, uint32_t target, bool from_inside);
  uint32_t last_before(uint32_t target) const;

  void join(ir::Value v, uint32_t group, std::span<const Use> uses, const Placement& placement);
  Domain row_domain(ir::Value v, uint32_t group, std::span<const Use> uses, const ir::Ints& row);
  uint32_t start_group(ir::Value v);
  void add_output(uint32_t group, ir::Value v);
  void add_membership(ir::Value v, uint32_t group, std::vector<DomainId> domains);
  void close_groups();
  void strip_edge(FusionGroup& group, std::vector<uint32_t>& stamp, uint32_t mark);

  void remark(const char* rule, ir::Value v, std::string text) const;
  void remark_join(ir::Value v, uint32_t group, const Placement& placement) const;

  const ir::Computation& computation_;
  PassContext& context_;
  std::vector<bool> live_, pinned_, split_;
  std::vector<double> row_work_;                         // by id
  std::vector<double> chain_flops_;                      // by id: of an element, with the elementwise work behind it
  std::vector<bool> over_dot_;                           // by id: could be a contraction's epilogue
  std::vector<uint32_t> user_start_;                     // by id: range of users_
  std::vector<std::pair<uint32_t, uint32_t>> users_;     // (user's id, operand position)
  std::vector<OpenGroup> groups_;
  std::vector<uint32_t> with_several_;                   // groups that have more than one output, or had
  std::vector<Domain> domains_;
  std::vector<Membership> memberships_;
  std::vector<uint32_t> first_member_;                   // by id
  std::vector<uint32_t> visited_;                        // by id: the search that saw it last
  uint32_t search_ = 0;
  FusionPlan plan_;
};

}  // namespace hloc::passes
