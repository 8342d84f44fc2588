#include "passes/fusion/dot_sums.h"

#include <algorithm>
#include <map>

#include "passes/fusion/cost.h"
#include "passes/fusion/domains.h"
#include "passes/rebuild.h"

namespace hloc::passes {

using ir::Computation;
using ir::Op;
using ir::Value;

namespace {

// One operand of a dot.
struct DotSide {
  Value operand = nullptr;
  ir::Ints batch, contracting, free;

  DotSide(Value dot, size_t position) : operand(dot->operand(position)) {
    const auto& attr = dot->as<ir::DotAttr>();
    batch = position == 0 ? attr.lhs_batch : attr.rhs_batch;
    contracting = position == 0 ? attr.lhs_contracting : attr.rhs_contracting;
    for (int64_t d = 0; d < operand->type.rank(); ++d)
      if (std::ranges::find(batch, d) == batch.end() && std::ranges::find(contracting, d) == contracting.end()) free.push_back(d);
  }
  bool is_vector() const {
    return std::ranges::all_of(free, [&](int64_t d) { return operand->type.dim(d) == 1; });
  }
};

// Whether nothing but elementwise work stands behind the array, and nobody needs it in memory.
bool is_made_on_the_way(Value v, const std::vector<bool>& in_memory) {
  return index_role(v) == IndexRole::elementwise && flops_per_element(v) > 0 && !in_memory[v->id];
}

// The position of the matrix whose product with a vector is better a sum.
std::optional<size_t> matrix_to_sum(Value v, const std::vector<bool>& in_memory) {
  if (v->op != Op::Dot || v->as<ir::DotAttr>().algorithm != ir::DotAlgorithm::unset || v->as<ir::DotAttr>().lhs_contracting.empty())
    return std::nullopt;
  ElementType type = v->type.element();
  bool sums_alike = type == ElementType::f32 || type == ElementType::f64 || is_integer(type);
  if (!sums_alike || !v->type.is_static() || v->type.count() == 0) return std::nullopt;
  for (size_t k = 0; k < 2; ++k)
    if (v->operand(k)->type.element() != type || !v->operand(k)->type.is_static() || v->operand(k)->type.count() == 0) return std::nullopt;
  for (size_t k = 0; k < 2; ++k)
    if (DotSide(v, 1 - k).is_vector() && is_made_on_the_way(v->operand(k), in_memory)) return k;
  return std::nullopt;
}

// By id: whether somebody reads the array from memory whatever is fused.
std::vector<bool> needed_in_memory(const Computation& c) {
  std::vector<bool> needed(c.size());
  needed[c.root()->id] = true;
  for (Value v : c.instructions())
    if (index_role(v) == IndexRole::opaque)
      for (Value operand : v->operands()) needed[operand->id] = true;
  return needed;
}

class DotSummer {
 public:
  explicit DotSummer(const ir::ModuleRef& module) : module_(module) {}

  ir::ModuleRef run() {
    return rebuild_module(
        module_,
        [this](const Computation& old, const CalleeMap& callees) -> ir::ComputationRef {
          std::vector<bool> in_memory = needed_in_memory(old);
          bool any = std::ranges::any_of(old.instructions(), [&](Value v) { return matrix_to_sum(v, in_memory).has_value(); });
          if (!any && !callees.touches(old)) return nullptr;
          Rebuild rebuild(old, callees, module_->context(), ir::Interning::append);
          for (Value v : old.instructions()) {
            if (auto matrix = matrix_to_sum(v, in_memory)) rebuild.replace(v, sum(rebuild, v, *matrix));
            else rebuild.copy(v);
          }
          return rebuild.finish();
        },
        &made_);
  }

 private:
  const Computation* adder(ElementType type) {
    auto& known = adders_[type];
    if (known) return known;
    ir::Type scalar = module_->context()->scalar(type);
    ir::ComputationBuilder b(module_->context(), module_->context()->string("sum_of_products_" + std::string(name_of(type))));
    Value x = b.parameter(0, scalar), y = b.parameter(1, scalar);
    made_.push_back(b.finish(b.make(Op::Add, scalar, {x, y})));
    return known = made_.back().get();
  }

  // An array of the same elements, the dimensions of `from` being those numbered in `dims`.
  ir::Type picked(ir::Type from, const ir::Ints& dims) {
    std::vector<int64_t> sizes;
    for (int64_t d : dims) sizes.push_back(from.dim(d));
    return module_->context()->array(from.element(), sizes);
  }

  // reduce(matrix * broadcast(vector)), its dimensions in the dot's order.
  Value sum(Rebuild& rebuild, Value dot, size_t position) {
    ir::ComputationBuilder& b = rebuild.builder();
    DotSide matrix(dot, position), vector(dot, 1 - position);
    ir::Ints order, places;  // the vector's dimensions in the order of those of the matrix that they go along
    for (int64_t d = 0; d < matrix.operand->type.rank(); ++d) {
      auto in_batch = std::ranges::find(matrix.batch, d), in_sum = std::ranges::find(matrix.contracting, d);
      if (in_batch != matrix.batch.end()) order.push_back(vector.batch[static_cast<size_t>(in_batch - matrix.batch.begin())]);
      else if (in_sum != matrix.contracting.end()) order.push_back(vector.contracting[static_cast<size_t>(in_sum - matrix.contracting.begin())]);
      else continue;
      places.push_back(d);
    }
    Value weights = rebuild.mapped(vector.operand);
    ir::Ints kept = order, turns;
    std::ranges::sort(kept);
    if (!vector.free.empty()) weights = b.make(Op::Reshape, picked(vector.operand->type, kept), {weights}, ir::ReshapeAttr{});
    for (int64_t d : order) turns.push_back(std::ranges::find(kept, d) - kept.begin());
    if (order != kept) weights = b.make(Op::Transpose, picked(vector.operand->type, order), {weights}, ir::DimsAttr{turns});
    ir::Type whole = matrix.operand->type;
    weights = b.make(Op::Broadcast, picked(whole, all_dims(whole)), {weights}, ir::BroadcastAttr{places});
    Value product = b.make(Op::Multiply, picked(whole, all_dims(whole)), {rebuild.mapped(matrix.operand), weights});
    ir::Ints left, contracted = matrix.contracting;
    std::ranges::sort(contracted);
    for (int64_t d = 0; d < whole.rank(); ++d)
      if (!std::ranges::binary_search(contracted, d)) left.push_back(d);
    Value zero = b.constant(ir::Literal::zeros(module_->context()->scalar(dot->type.element())));
    const Computation* add = adder(dot->type.element());
    Value sum = b.make(Op::Reduce, picked(whole, left), {product, zero}, ir::DimsAttr{contracted}, {add});
    ir::Ints wanted = matrix.batch, turned;  // the dot has batch dimensions first
    wanted.insert(wanted.end(), matrix.free.begin(), matrix.free.end());
    for (int64_t d : wanted) turned.push_back(std::ranges::find(left, d) - left.begin());
    if (!std::ranges::is_sorted(turned)) sum = b.make(Op::Transpose, picked(whole, wanted), {sum}, ir::DimsAttr{turned});
    if (sum->type.sizes() != dot->type.sizes()) sum = b.make(Op::Reshape, dot->type, {sum}, ir::ReshapeAttr{});
    rebuild.name_after(sum, dot);
    return sum;
  }

  static ir::Ints all_dims(ir::Type type) {
    ir::Ints dims;
    for (int64_t d = 0; d < type.rank(); ++d) dims.push_back(d);
    return dims;
  }

  const ir::ModuleRef& module_;
  std::vector<ir::ComputationRef> made_;
  std::map<ElementType, const Computation*> adders_;
};

}  // namespace

ir::ModuleRef sums_for_dots(const ir::ModuleRef& module) { return DotSummer(module).run(); }

}  // namespace hloc::passes
