#include "backends/cpu/lower/superword.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <utility>

#include "backends/loops/walk.h"
#include "ir/support/check.h"

namespace hloc::cpu {
namespace {

using loops::no_id;
using loops::ValueId;
using Kind = Superwords::Kind;
using Lanes = std::vector<ValueId>;

constexpr size_t most_statements = 1024;      // of a turn
constexpr size_t most_looked_at = 16 * 1024;  // in all plans that are tried
constexpr int64_t extract_cost = 3, lane_cost = 3, splat_cost = 1;  // in statements; more than instructions: they lengthen the chain

// On so many lanes, in simple operations. A divider takes one division after the other, scalar or vector; of integers it takes lanes.
int64_t cost_of(const loops::Kernel& kernel, const loops::Compute& c, int lanes) {
  if (c.op != loops::ScalarOp::Div && c.op != loops::ScalarOp::Sqrt && c.op != loops::ScalarOp::Rem) return 1;
  return is_integer(kernel.type(c.result)) ? 5 * lanes : 5;
}

// The elements of one buffer that a turn changes, in lanes: element o * count * stride + l * stride + g is lane l of pack (o, g).
struct Grouping {
  loops::BufferId buffer = 0;
  int64_t elements = 0, count = 0, stride = 1;
};

class Search {
 public:
  Search(const loops::Kernel& kernel, std::span<const TurnElement> elements, int vector_bytes)
      : kernel_(kernel), elements_(elements), vector_bytes_(vector_bytes), defined_by_(kernel.values.size()), element_of_(kernel.values.size(), -1) {
    for (const loops::Statement& s : kernel.body) {
      if (auto* c = s.as<loops::Compute>()) scalar_cost_ += cost_of(kernel, *c, 1);
      if (ValueId v = loops::result_of(s); v != no_id) defined_by_[v] = &s;
    }
    for (size_t e = 0; e < elements.size(); ++e) {
      numbers_[{elements[e].buffer, elements[e].offset}] = static_cast<uint32_t>(e);
      for (ValueId v : elements[e].loaded) element_of_[v] = static_cast<int>(e);
    }
  }

  // What a turn costs with packs of these groupings, in statements, if they can be packs and no more than `registers` packs and
  // elements change; and its plan.
  std::optional<int64_t> cost(std::span<const Grouping> groupings, int registers);
  Superwords plan(std::span<const Grouping> groupings);

  int64_t scalar_cost() const { return scalar_cost_; }
  std::vector<Grouping> candidates() const;

 private:
  enum class NodeKind : uint8_t { compute, elements, splat, constant, constants, gather };
  struct Node {
    NodeKind kind = NodeKind::compute;
    Lanes lanes;
    std::vector<size_t> args;  // nodes
    ValueId wide = no_id;      // once it is emitted
    bool is_open = false;      // its operands are being emitted
  };

  bool changes(uint32_t e) const { return elements_[e].stored != no_id; }
  bool is_free_to_move(uint32_t e) const { return !elements_[e].loaded.empty(); }
  ElementType type_of(const Lanes& v) const { return kernel_.type(v[0]); }
  bool fits(ElementType t) const { return byte_width(t) * out_.lanes <= vector_bytes_; }

  bool add_pack(const std::vector<uint32_t>& elements);
  size_t node_of(const Lanes& lanes);
  void find_kind(Node& node);
  std::optional<Lanes> operands(const Lanes& lanes, size_t arg) const;
  bool are_alike(const Lanes& lanes) const;
  ValueId new_wide(ElementType type);
  ValueId wide(size_t n);
  ValueId scalar(ValueId v);
  ValueId extracted(ValueId from, int lane);
  void emit_scalar(const loops::Statement& s);
  bool run(std::span<const Grouping> groupings);
  int changing() const;

  const loops::Kernel& kernel_;
  std::span<const TurnElement> elements_;
  int vector_bytes_;
  std::vector<const loops::Statement*> defined_by_;  // by value
  std::vector<int> element_of_;                      // by value; -1: not one
  std::map<std::pair<loops::BufferId, int64_t>, uint32_t> numbers_;
  int64_t scalar_cost_ = 0, cost_ = 0;

  // Of one plan.
  Superwords out_;
  std::vector<Node> nodes_;
  std::map<Lanes, size_t> node_numbers_;
  std::map<std::vector<uint32_t>, size_t> pack_numbers_;
  std::vector<int> pack_of_;                                // by element, of those that change; -1: none
  std::vector<std::pair<int, int>> lane_of_;                // by value: node and lane that make it; -1: none
  std::vector<bool> is_emitted_;                            // by value: on one lane
  std::map<std::pair<ValueId, int>, ValueId> extracted_;    // wide value and lane
  bool failed_ = false, records_ = false;                   // records: the steps, not only what they cost
};

std::vector<Grouping> Search::candidates() const {
  std::vector<Grouping> out;
  for (loops::BufferId b = 0; b < kernel_.buffers.size(); ++b) {
    int64_t n = kernel_.buffers[b].count;
    int most = vector_bytes_ / byte_width(kernel_.buffers[b].element);
    if (n < 2 || n > 64) continue;
    bool all = true;
    for (int64_t i = 0; i < n && all; ++i) {
      auto found = numbers_.find({b, i});
      all = found != numbers_.end() && changes(found->second) && is_free_to_move(found->second);
    }
    if (!all) continue;
    for (int64_t count = std::min<int64_t>(n, most); count >= 2; --count) {
      if (n % count != 0) continue;
      for (int64_t stride = 1; stride <= n / count; ++stride)
        if (n / count % stride == 0) out.push_back({b, n, count, stride});
    }
  }
  return out;
}

// ---- packs ---------------------------------------------------------------------------------------------------------

ValueId Search::new_wide(ElementType type) {
  out_.kernel.values.push_back({type, false, 0});
  return static_cast<ValueId>(out_.kernel.values.size() - 1);
}

// A pack of elements that change; false where one of them is in another pack.
bool Search::add_pack(const std::vector<uint32_t>& elements) {
  if (pack_numbers_.contains(elements)) return true;
  for (uint32_t e : elements)
    if (!changes(e) || !is_free_to_move(e) || pack_of_[e] >= 0) return false;
  if (!fits(kernel_.buffers[elements_[elements[0]].buffer].element)) return false;
  pack_numbers_[elements] = out_.packs.size();
  for (uint32_t e : elements) pack_of_[e] = static_cast<int>(out_.packs.size());
  out_.packs.push_back({elements, new_wide(kernel_.buffers[elements_[elements[0]].buffer].element), no_id});
  return true;
}

// What the lanes have as their operand number `arg`; none where they have no such one.
std::optional<Lanes> Search::operands(const Lanes& lanes, size_t arg) const {
  Lanes out;
  for (ValueId v : lanes) out.push_back(defined_by_[v]->as<loops::Compute>()->args[arg]);
  return out[0] == no_id ? std::nullopt : std::optional(out);
}

// The same operation on the same types.
bool Search::are_alike(const Lanes& lanes) const {
  const loops::Compute* first = nullptr;
  for (ValueId v : lanes) {
    auto* c = defined_by_[v] ? defined_by_[v]->as<loops::Compute>() : nullptr;
    if (!c) return false;
    if (!first) first = c;
    if (c->op != first->op || c->predicate != first->predicate || kernel_.type(v) != kernel_.type(lanes[0])) return false;
    for (size_t i = 0; i < c->args.size(); ++i) {
      if ((c->args[i] == no_id) != (first->args[i] == no_id)) return false;
      if (c->args[i] != no_id && kernel_.type(c->args[i]) != kernel_.type(first->args[i])) return false;
      if (c->args[i] != no_id && !fits(kernel_.type(c->args[i]))) return false;
    }
  }
  return fits(kernel_.type(lanes[0]));
}

void Search::find_kind(Node& node) {
  const Lanes& lanes = node.lanes;
  bool same = std::ranges::all_of(lanes, [&](ValueId v) { return v == lanes[0]; });
  std::vector<uint32_t> elements;
  for (ValueId v : lanes)
    if (element_of_[v] >= 0) elements.push_back(static_cast<uint32_t>(element_of_[v]));
  if (same && kernel_.is_constant(lanes[0])) {
    node.kind = NodeKind::constant;
    node.wide = lanes[0];  // the emitter repeats constants
    return;
  }
  if (elements.size() == lanes.size() && fits(type_of(lanes))) {
    bool none_changes = std::ranges::none_of(elements, [&](uint32_t e) { return changes(e); });
    if (none_changes) {
      node.kind = NodeKind::elements;
      auto [it, is_new] = pack_numbers_.try_emplace(elements, out_.packs.size());
      if (is_new) out_.packs.push_back({elements, new_wide(type_of(lanes)), no_id});
      node.wide = out_.packs[it->second].value;
      return;
    }
    if (!same && add_pack(elements)) {
      node.kind = NodeKind::elements;
      node.wide = out_.packs[pack_numbers_[elements]].value;
      return;
    }
  }
  if (!same && are_alike(lanes)) {
    node.kind = NodeKind::compute;
    return;
  }
  bool constants = std::ranges::all_of(lanes, [&](ValueId v) { return kernel_.is_constant(v); });
  node.kind = same ? NodeKind::splat : constants ? NodeKind::constants : NodeKind::gather;
  // A mask has no lanes to take or to put; and what is wider than its lane does not fit.
  if (type_of(lanes) == ElementType::pred || !fits(type_of(lanes))) failed_ = true;
}

size_t Search::node_of(const Lanes& lanes) {
  if (auto known = node_numbers_.find(lanes); known != node_numbers_.end()) return known->second;
  size_t n = nodes_.size();
  node_numbers_[lanes] = n;
  nodes_.emplace_back().lanes = lanes;
  Node made{.lanes = lanes};
  find_kind(made);
  if (made.kind == NodeKind::compute) {
    for (size_t lane = 0; lane < lanes.size(); ++lane)
      if (lane_of_[lanes[lane]].first < 0) lane_of_[lanes[lane]] = {static_cast<int>(n), static_cast<int>(lane)};
    for (size_t i = 0; i < 3 && !failed_; ++i)
      if (auto next = operands(lanes, i)) made.args.push_back(node_of(*next));
  }
  nodes_[n] = std::move(made);
  return n;
}

// ---- the order -----------------------------------------------------------------------------------------------------

ValueId Search::extracted(ValueId from, int lane) {
  auto [known, is_new] = extracted_.try_emplace({from, lane}, no_id);
  if (!is_new) return known->second;
  ValueId to = known->second = new_wide(out_.kernel.type(from));
  if (records_) out_.steps.push_back({Kind::extract, {}, to, {from}, lane});
  cost_ += extract_cost;
  return to;
}

// The value on one lane: its number in the new kernel.
ValueId Search::scalar(ValueId v) {
  if (failed_ || kernel_.is_constant(v)) return v;
  if (int e = element_of_[v]; e >= 0) {
    int pack = pack_of_[static_cast<size_t>(e)];
    if (pack < 0) return out_.is_read[static_cast<size_t>(e)] = true, v;
    const Superwords::Pack& p = out_.packs[static_cast<size_t>(pack)];
    return extracted(p.value, static_cast<int>(std::ranges::find(p.elements, static_cast<uint32_t>(e)) - p.elements.begin()));
  }
  if (auto [node, lane] = lane_of_[v]; node >= 0 && kernel_.type(v) != ElementType::pred) {
    ValueId from = wide(static_cast<size_t>(node));
    return failed_ ? v : extracted(from, lane);
  }
  if (is_emitted_[v]) return v;
  if (defined_by_[v]->as<loops::Compute>()) emit_scalar(*defined_by_[v]);
  else failed_ = true;  // another lane needs it before it is known
  return v;
}

void Search::emit_scalar(const loops::Statement& s) {
  if (ValueId v = loops::result_of(s); v != no_id) is_emitted_[v] = true;
  if (records_) {
    Superwords::Step step{Kind::scalar, s, no_id, {}, 0};
    loops::for_each_value_slot(step.statement, [&](ValueId& v) { v = scalar(v); });
    out_.steps.push_back(std::move(step));
  } else {
    loops::for_each_value(s, [&](ValueId v) { scalar(v); });
  }
  if (auto* c = s.as<loops::Compute>()) cost_ += cost_of(kernel_, *c, 1);
}

// The node's value on all lanes.
ValueId Search::wide(size_t n) {
  if (nodes_[n].wide != no_id || failed_) return nodes_[n].wide;
  if (std::exchange(nodes_[n].is_open, true)) return failed_ = true, no_id;  // it needs a lane of itself
  const Node& node = nodes_[n];  // emitting does not make nodes
  ElementType type = type_of(node.lanes);
  if (node.kind == NodeKind::compute) {
    loops::Compute c = *defined_by_[node.lanes[0]]->as<loops::Compute>();
    for (size_t i = 0; i < node.args.size(); ++i) c.args[i] = wide(node.args[i]);
    if (failed_) return no_id;
    c.result = new_wide(type);
    cost_ += cost_of(out_.kernel, c, out_.lanes);
    nodes_[n].wide = c.result;
    if (records_) out_.steps.push_back({Kind::wide, {c}, no_id, {}, 0});
    return c.result;
  }
  std::vector<ValueId> from;
  size_t count = node.kind == NodeKind::splat ? 1 : node.lanes.size();
  for (size_t i = 0; i < count; ++i) from.push_back(scalar(node.lanes[i]));
  if (failed_) return no_id;
  Kind kind = node.kind == NodeKind::splat ? Kind::splat : node.kind == NodeKind::constants ? Kind::data : Kind::gather;
  cost_ += kind == Kind::splat ? splat_cost : kind == Kind::data ? 0 : lane_cost * static_cast<int64_t>(count);
  ValueId to = nodes_[n].wide = new_wide(type);
  if (records_) out_.steps.push_back({kind, {}, to, std::move(from), 0});
  return to;
}

bool Search::run(std::span<const Grouping> groupings) {
  out_ = {};
  nodes_.clear(), node_numbers_.clear(), pack_numbers_.clear(), extracted_.clear();
  pack_of_.assign(elements_.size(), -1);
  lane_of_.assign(kernel_.values.size(), {-1, -1});
  is_emitted_.assign(kernel_.values.size(), false);
  out_.is_read.assign(elements_.size(), false);
  out_.is_packed.assign(elements_.size(), false);
  out_.stored.assign(elements_.size(), no_id);
  failed_ = false, cost_ = 0;
  out_.kernel.values = kernel_.values;
  out_.lanes = static_cast<int>(std::bit_ceil(static_cast<uint64_t>(groupings[0].count)));
  for (const Grouping& g : groupings)
    for (int64_t first = 0; first < g.elements; ++first) {
      if (first / g.stride % g.count != 0) continue;
      std::vector<uint32_t> pack;
      for (int64_t l = 0; l < g.count; ++l) pack.push_back(numbers_.at({g.buffer, first + l * g.stride}));
      if (!add_pack(pack)) return false;
    }
  // What packs become, down to packs, which may be new ones.
  std::vector<size_t> next;
  for (size_t p = 0; p < out_.packs.size() && !failed_; ++p) {
    Lanes lanes;
    for (uint32_t e : out_.packs[p].elements) lanes.push_back(elements_[e].stored);
    next.push_back(lanes[0] == no_id ? SIZE_MAX : node_of(lanes));
  }
  // Statements that are not computations, and what they need, in their order; then what is left to the end of the turn.
  for (const loops::Statement& s : kernel_.body) {
    if (failed_) return false;
    if (s.as<loops::Compute>()) continue;
    if (auto* access = loops::access_of(s))
      if (numbers_.contains({access->buffer, access->offset.base})) continue;  // an element: by its register
    emit_scalar(s);
  }
  next.resize(out_.packs.size(), SIZE_MAX);  // the last ones do not change
  for (size_t p = 0; p < out_.packs.size() && !failed_; ++p)
    if (next[p] != SIZE_MAX) out_.packs[p].next = wide(next[p]);
  for (size_t e = 0; e < elements_.size() && !failed_; ++e) {
    out_.is_packed[e] = pack_of_[e] >= 0;
    if (!out_.is_packed[e] && elements_[e].stored != no_id) out_.stored[e] = scalar(elements_[e].stored);
  }
  return !failed_;
}

// Registers that the plan needs all the time.
int Search::changing() const {
  auto packs = std::ranges::count_if(out_.packs, [](const Superwords::Pack& p) { return p.next != no_id; });
  return static_cast<int>(packs + std::ranges::count_if(out_.stored, [](ValueId v) { return v != no_id; }));
}

std::optional<int64_t> Search::cost(std::span<const Grouping> groupings, int registers) {
  records_ = false;
  return run(groupings) && changing() <= registers ? std::optional(cost_) : std::nullopt;
}

Superwords Search::plan(std::span<const Grouping> groupings) {
  records_ = true;
  HLOC_CHECK(run(groupings), "a plan that has been made before");
  const loops::Kernel& k = kernel_;
  out_.kernel = {k.name, k.buffers, std::move(out_.kernel.values), k.indices, k.accumulators, {}};
  return std::move(out_);
}

// Statements that are all told by the values that they name.
bool is_plain(const loops::Statement& s) {
  if (const loops::Access* access = loops::access_of(s)) return access->guards.empty() && access->offset.is_constant();
  return s.as<loops::Compute>() || s.as<loops::Declare>() || s.as<loops::Accumulate>() || s.as<loops::Set>() || s.as<loops::Get>();
}

}  // namespace

Superwords scalar_turn(const loops::Kernel& k, std::span<const TurnElement> elements) {
  Superwords out;
  out.kernel = {k.name, k.buffers, k.values, k.indices, k.accumulators, {}};
  std::set<std::pair<loops::BufferId, int64_t>> places;
  for (const TurnElement& e : elements) places.emplace(e.buffer, e.offset), out.stored.push_back(e.stored);
  out.is_packed.resize(elements.size());
  out.is_read.resize(elements.size(), true);
  for (const loops::Statement& s : k.body) {
    const loops::Access* access = loops::access_of(s);
    if (!access || !places.contains({access->buffer, access->offset.base})) out.steps.push_back({Kind::scalar, s, no_id, {}, 0});
  }
  return out;
}

std::optional<Superwords> superwords(const loops::Kernel& kernel, std::span<const TurnElement> elements, int vector_bytes, int registers) {
  if (kernel.body.size() > most_statements || !std::ranges::all_of(kernel.body, is_plain)) return std::nullopt;
  Search search(kernel, elements, vector_bytes);
  std::vector<Grouping> open = search.candidates(), chosen;
  int64_t least = search.scalar_cost() * 3 / 4;
  size_t looked_at = 0;
  while (true) {  // one more array each time, as long as that helps
    std::vector<Grouping> possible;
    std::optional<Grouping> better;
    for (const Grouping& g : open) {
      if (!chosen.empty() && (g.count != chosen[0].count || g.buffer == chosen.back().buffer)) continue;
      if ((looked_at += kernel.body.size()) > most_looked_at) break;
      chosen.push_back(g);
      std::optional<int64_t> cost = search.cost(chosen, registers);
      chosen.pop_back();
      if (!cost) continue;
      possible.push_back(g);
      if (*cost < least) least = *cost, better = g;
    }
    if (!better) break;
    chosen.push_back(*better);
    open = std::move(possible);
  }
  if (chosen.empty()) return std::nullopt;
  return search.plan(chosen);
}

}  // namespace hloc::cpu
