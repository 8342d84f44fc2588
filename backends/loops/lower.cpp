// A fusion to a kernel: one loop nest for each group of results of one shape, or a nest of its own for roots that write
// parts of their result (concatenate, dynamic-update-slice, scatter, …) or all of it in passes (sort), or a contraction when all results hang on one dot or
// convolution.
#include "backends/loops/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "backends/loops/elements.h"
#include "backends/loops/lower_contract.h"
#include "backends/loops/lower_scatter.h"
#include "backends/loops/lower_select.h"
#include "backends/loops/lower_sort.h"
#include "backends/loops/lowering.h"
#include "ir/print/print.h"

namespace hloc::loops {
namespace {

constexpr int most_rounds = 24;  // of splitting dimensions
constexpr int64_t nest_dims = int64_t{1} << 36;  // split keys of nests, far from those of reductions

bool is_call(ir::Value v) { return v->op == ir::Op::Fusion; }

// The arrays of the result in the order of its leaves. Nesting of tuples is bounded by that of types.
void collect_outputs(ir::Value root, std::vector<Producer>& out) {
  if (root->op == ir::Op::Tuple) {
    for (ir::Value o : root->operands()) collect_outputs(o, out);
  } else if (root->type.is_tuple()) {
    for (size_t i = 0; i < root->type.tuple_size(); ++i) out.push_back({root, static_cast<int64_t>(i)});
  } else {
    out.push_back(producer_of(root));
  }
}

// What lowering needs to know of a fusion, found once.
struct FusionParts {
  std::vector<ir::Value> inputs;
  std::vector<Producer> outputs;
  std::vector<ir::Value> reachable;  // from the outputs, down to the inputs
};

void walk_from(std::vector<ir::Value> stack, std::unordered_set<ir::Value>& seen, const std::unordered_set<ir::Value>& stop,
               std::vector<ir::Value>& order) {
  while (!stack.empty()) {
    ir::Value v = stack.back();
    stack.pop_back();
    if (!seen.insert(v).second) continue;
    order.push_back(v);
    if (stop.count(v)) continue;
    for (ir::Value o : v->operands()) stack.push_back(o);
  }
}

// Whether an update of a slice, its old elements kept elsewhere, is made in one nest of loops over the result rather than by a
// copy and a second nest: so it is where it begins in a known place, so that the loops are split around it and nothing is
// tested inside, and covers most of the result, so that little is lost where they are not.
bool is_made_whole(ir::Value v) {
  if (v->op != ir::Op::DynamicUpdateSlice || v->operand_count != static_cast<uint32_t>(v->type.rank()) + 2) return false;
  if (v->operand(1)->type.count() * 2 < v->type.count()) return false;
  for (uint32_t i = 2; i < v->operand_count; ++i)
    if (v->operand(i)->op != ir::Op::Constant) return false;
  std::unordered_set<ir::Value> seen;
  std::vector<ir::Value> behind;
  walk_from({v->operand(0), v->operand(1)}, seen, {}, behind);
  return std::ranges::all_of(behind, [](ir::Value b) {  // loops inside would be guarded as a whole
    return ir::is_elementwise(b->op) || b->op == ir::Op::Parameter || b->op == ir::Op::Constant || b->op == ir::Op::Broadcast ||
           b->op == ir::Op::Iota || b->op == ir::Op::Slice || b->op == ir::Op::Reshape || b->op == ir::Op::Transpose ||
           b->op == ir::Op::Reverse || b->op == ir::Op::Pad || b->op == ir::Op::Concatenate || b->op == ir::Op::Copy;
  });
}

FusionParts parts_of(ir::Value fusion) {
  FusionParts p;
  ir::Value root = fusion;
  if (is_call(fusion)) {
    root = fusion->callee(0).root();
    p.inputs.assign(fusion->callee(0).parameters().begin(), fusion->callee(0).parameters().end());
  } else {
    p.inputs.assign(fusion->operands().begin(), fusion->operands().end());
  }
  collect_outputs(root, p.outputs);
  std::unordered_set<ir::Value> seen, stop(p.inputs.begin(), p.inputs.end());
  std::vector<ir::Value> roots;
  for (const Producer& o : p.outputs) roots.push_back(o.instruction);
  walk_from(roots, seen, stop, p.reachable);
  return p;
}

Result<void> check_supported(const FusionParts& parts) {
  std::unordered_set<ir::Value> inputs(parts.inputs.begin(), parts.inputs.end());
  for (ir::Value v : parts.inputs)
    if (!v->type.is_array() || !v->type.is_static() || !is_scalar_type(v->type.element()))
      return error(ErrorKind::target, fmt::format("an input of type {} cannot be lowered to loops", ir::to_string(v->type)));
  for (ir::Value v : parts.reachable)
    if (!inputs.count(v) && v->op != ir::Op::Tuple && v->op != ir::Op::GetTupleElement && !supports(*v))
      return error(ErrorKind::target, fmt::format("'{}' of type {} cannot be lowered to loops", ir::name_of(v->op), ir::to_string(v->type)));
  return {};
}

// One round: the kernel for given splits, or the wish for more of them.
class FusionLowering {
 public:
  FusionLowering(const FusionParts& parts, std::string_view name, const InPlace& in_place, Splits& splits)
      : parts_(parts), in_place_(in_place), builder_(name), elements_(builder_, splits) {}

  void run(std::span<const std::string> names, bool contract) {
    for (size_t i = 0; i < parts_.inputs.size(); ++i) {
      ir::Value v = parts_.inputs[i];
      elements_.bind(v, builder_.buffer(names[i], BufferRole::input, v->type.element(), v->type.count()));
    }
    for (size_t i = 0; i < parts_.outputs.size(); ++i) {
      ir::Type t = parts_.outputs[i].type();
      buffers_.push_back(builder_.buffer(names[parts_.inputs.size() + i], BufferRole::output, t.element(), t.count()));
    }
    for (const std::vector<size_t>& group : groups()) {
      if (elements_.error()) return;
      bool may_contract = contract && !is_alone(parts_.outputs[group[0]].instruction);
      if (may_contract && lower_contract(elements_, outputs(group), nest_key(group[0]), hero_failed_)) continue;
      if (hero_failed_) return;
      nest(group);
    }
  }

  bool hero_failed() const { return hero_failed_; }
  const Elements& elements() const { return elements_; }
  Kernel finish() { return builder_.finish(); }

 private:
  // The same in each round for the same nest: the `part`-th one that writes output `output`.
  static SplitKey nest_key(size_t output, size_t part = 0) {
    constexpr int64_t most_dims = 256;
    return {nullptr, nest_dims * static_cast<int64_t>(output + 1) + most_dims * static_cast<int64_t>(part)};
  }

  static bool writes_parts(ir::Value v) {
    return v->op == ir::Op::Concatenate || v->op == ir::Op::DynamicUpdateSlice || v->op == ir::Op::Scatter ||
           v->op == ir::Op::Sort || v->op == ir::Op::TopK || v->op == ir::Op::SelectAndScatter;
  }

  std::vector<Output> outputs(const std::vector<size_t>& group) const {
    std::vector<Output> list;
    for (size_t i : group) list.push_back({parts_.outputs[i], buffers_[i]});
    return list;
  }

  // Results of one shape that are computed element by element share a nest. What reads an input comes before what writes
  // over it in place.
  std::vector<std::vector<size_t>> groups() const {
    std::vector<std::vector<size_t>> list;
    std::map<std::vector<int64_t>, size_t> by_shape;
    std::map<ir::Value, size_t> by_instruction;
    for (size_t i = 0; i < parts_.outputs.size(); ++i) {
      ir::Value v = parts_.outputs[i].instruction;
      size_t group = list.size();
      if (is_alone(v)) group = by_instruction.try_emplace(v, group).first->second;
      else group = by_shape.try_emplace(parts_.outputs[i].type().sizes(), group).first->second;
      if (group == list.size()) list.emplace_back();
      list[group].push_back(i);
    }
    if (list.size() > 1 && !in_place_.empty()) order_for_in_place(list);
    return list;
  }

  bool is_alone(ir::Value v) const { return writes_parts(v) && !is_input(v); }
  bool is_input(ir::Value v) const { return std::find(parts_.inputs.begin(), parts_.inputs.end(), v) != parts_.inputs.end(); }

  // A group that writes over inputs goes after the groups that read these; among several such, in the order of need.
  void order_for_in_place(std::vector<std::vector<size_t>>& list) const {
    size_t n = list.size();
    std::vector<std::unordered_set<ir::Value>> reads(n), writes(n);
    for (size_t g = 0; g < n; ++g) {
      std::vector<ir::Value> roots, order;
      for (size_t i : list[g]) roots.push_back(parts_.outputs[i].instruction);
      walk_from(roots, reads[g], {}, order);
      for (auto [input, output] : in_place_)
        if (std::find(list[g].begin(), list[g].end(), output) != list[g].end()) writes[g].insert(parts_.inputs[input]);
    }
    std::vector<std::vector<size_t>> sorted;
    std::vector<bool> placed(n);
    for (size_t round = 0; round < n; ++round) {
      size_t next = n;
      for (size_t g = 0; g < n && next == n; ++g) {
        if (placed[g]) continue;
        bool is_read_later = false;
        for (size_t other = 0; other < n; ++other)
          if (other != g && !placed[other])
            for (ir::Value w : writes[g]) is_read_later |= reads[other].count(w) != 0;
        if (!is_read_later) next = g;
      }
      if (next == n) next = static_cast<size_t>(std::find(placed.begin(), placed.end(), false) - placed.begin());
      placed[next] = true;
      sorted.push_back(std::move(list[next]));
    }
    list = std::move(sorted);
  }

  bool is_in_place(ir::Value operand, size_t output) const {
    for (auto [input, out] : in_place_)
      if (out == output && parts_.inputs[input] == operand) return true;
    return false;
  }

  void nest(const std::vector<size_t>& group) {
    const Producer& p = parts_.outputs[group[0]];
    if (p.type().count() == 0) return;
    if (!is_alone(p.instruction)) return elementwise_nest(elements_, outputs(group), nest_key(group[0]), !in_place_.empty());
    if (p.instruction->op == ir::Op::Concatenate) {
      for (size_t i : group) concatenate(p.instruction, i);
      return;
    }
    std::vector<Output> out = outputs(group);
    if (is_made_whole(p.instruction) && !is_in_place(p.instruction->operand(0), group[0]))
      return elementwise_nest(elements_, {out[0]}, nest_key(group[0]), false);
    if (p.instruction->op == ir::Op::Sort || p.instruction->op == ir::Op::TopK)
      return lower_sort(elements_, p.instruction, out, nest_key(group[0]));
    if (p.instruction->op == ir::Op::SelectAndScatter)
      return lower_select_and_scatter(elements_, p.instruction, out[0].buffer, {nest_key(group[0]), nest_key(group[0], 1), nest_key(group[0], 2)});
    for (size_t i = 0; i < group.size(); ++i) {
      size_t leaf = static_cast<size_t>(parts_.outputs[group[i]].leaf);
      ir::Value operand = p.instruction->operand(leaf);
      if (!is_in_place(operand, group[i])) elementwise_nest(elements_, {{producer_of(operand), buffers_[group[i]]}}, nest_key(group[i]));
    }
    if (p.instruction->op == ir::Op::Scatter) return lower_scatter(elements_, p.instruction, out, nest_key(group[0], 1));
    for (size_t i : group) lower_update(elements_, p.instruction, buffers_[i], nest_key(i, 1));
  }

  void concatenate(ir::Value v, size_t output) {
    auto dim = v->as<ir::DimsAttr>().dims[0];
    int64_t at = 0;
    for (size_t k = 0; k < v->operand_count && !elements_.error(); ++k) {
      part_nest(elements_, v->operand(k), v->type, {dim, at}, buffers_[output], nest_key(output, k));
      at += v->operand(k)->type.dim(dim);
    }
  }

  const FusionParts& parts_;
  const InPlace& in_place_;
  KernelBuilder builder_;
  Elements elements_;
  std::vector<BufferId> buffers_;
  bool hero_failed_ = false;
};

std::vector<std::string> buffer_names(ir::Value fusion, const FusionParts& parts) {
  std::vector<std::string> names;
  for (size_t i = 0; i < parts.inputs.size(); ++i)
    names.push_back(is_call(fusion) ? std::string(fusion->callee(0).name(parts.inputs[i])) : fmt::format("in{}", i));
  for (const Producer& o : parts.outputs)
    names.push_back(is_call(fusion) ? std::string(fusion->callee(0).name(o.instruction)) : "out");
  return names;
}

}  // namespace

void elementwise_nest(Elements& e, const std::vector<Output>& outputs, SplitKey key, bool reads_first) {
  ir::Type type = outputs[0].producer.type();
  KernelBuilder& b = e.builder();
  std::vector<Elements::Variable> loops;
  std::vector<Affine> index = e.variables(key, type.sizes(), loops);
  for (const auto& l : loops) b.begin_loop(l.index, l.extent);
  std::vector<ValueId> values;
  auto store = [&](size_t i) {
    if (!e.error()) b.store(outputs[i].buffer, row_major_offset(type, index), values[i]);
  };
  for (size_t i = 0; i < outputs.size() && !e.error(); ++i) {
    values.push_back(e.value(outputs[i].producer, {index}));
    if (!reads_first) store(i);
  }
  if (reads_first)
    for (size_t i = 0; i < values.size(); ++i) store(i);
  for (size_t i = 0; i < loops.size(); ++i) b.end_loop();
}

void part_nest(Elements& e, ir::Value part, ir::Type whole, PartPlace place, BufferId buffer, SplitKey key) {
  if (part->type.count() == 0) return;
  KernelBuilder& b = e.builder();
  std::vector<Elements::Variable> loops;
  std::vector<Affine> index = e.variables(key, part->type.sizes(), loops);
  for (const auto& l : loops) b.begin_loop(l.index, l.extent);
  ValueId v = e.value(producer_of(part), {index});
  index[static_cast<size_t>(place.dim)] += Affine(place.start);
  if (!e.error()) b.store(buffer, row_major_offset(whole, index), v);
  for (size_t i = 0; i < loops.size(); ++i) b.end_loop();
}

Result<Kernel> lower_fusion(ir::Value fusion, std::string_view name, const InPlace& in_place) {
  FusionParts parts = parts_of(fusion);
  if (auto ok = check_supported(parts); !ok) return ok.error();
  int64_t heroes = std::count_if(parts.reachable.begin(), parts.reachable.end(), [](ir::Value v) {
    return v->op == ir::Op::Dot || v->op == ir::Op::Convolution;
  });
  bool contract = heroes == 1;
  Splits splits;
  std::vector<std::string> names = buffer_names(fusion, parts);
  for (int round = 0;; ++round) {
    FusionLowering lowering(parts, name, in_place, splits);
    lowering.run(names, contract);
    if (lowering.elements().error()) return *lowering.elements().error();
    if (lowering.hero_failed()) {
      contract = false;
    } else if (!lowering.elements().wants_splits() || round >= most_rounds) {
      return lowering.finish();
    }
  }
}

Result<Kernel> make_kernel(ir::Value fusion, std::string_view name, const InPlace& in_place) {
  auto kernel = lower_fusion(fusion, name, in_place);
  if (!kernel) return kernel;
  Kernel done = legalise(schedule(*std::move(kernel), in_place));
  if (auto ok = verify(done); !ok) return ok.error();
  return done;
}

}  // namespace hloc::loops
