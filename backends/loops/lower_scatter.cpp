// dynamic-update-slice and scatter as loops over the updates.
#include "backends/loops/lower_scatter.h"

#include <algorithm>

namespace hloc::loops {
namespace {

bool is_among(const ir::Ints& list, int64_t x) { return std::find(list.begin(), list.end(), x) != list.end(); }

}  // namespace

void lower_update(Elements& e, ir::Value v, BufferId buffer, SplitKey key) {
  ir::Value update = v->operand(1);
  if (update->type.count() == 0) return;
  KernelBuilder& b = e.builder();
  std::vector<Affine> starts;
  for (int64_t d = 0; d < v->type.rank(); ++d) {
    ValueId s = e.value(producer_of(v->operand(static_cast<size_t>(d) + 2)), {});
    if (e.error()) return;
    starts.push_back(e.clamped(s, v->type.dim(d) - update->type.dim(d)));
  }
  std::vector<Elements::Variable> loops;
  std::vector<Affine> index = e.variables(key, update->type.sizes(), loops);
  for (const auto& l : loops) b.begin_loop(l.index, l.extent);
  ValueId value = e.value(producer_of(update), {index});
  for (size_t d = 0; d < index.size(); ++d) index[d] += starts[d];
  if (!e.error()) b.store(buffer, row_major_offset(v->type, index), value);
  for (size_t i = 0; i < loops.size(); ++i) b.end_loop();
}

namespace {

// Where an element of the updates goes: start + its place in the window, and the guards for being inside.
class ScatterTarget {
 public:
  ScatterTarget(Elements& e, ir::Value v, size_t operands)
      : e_(e), attr_(v->as<ir::ScatterAttr>()), indices_(v->operand(operands)), type_(v->operand(0)->type) {}

  Affine offset(const std::vector<Affine>& update, ir::Type update_type, std::vector<Guard>& guards) {
    std::vector<Affine> walk;
    for (size_t d = 0; d < update.size(); ++d)
      if (!is_among(attr_.update_window_dims, static_cast<int64_t>(d))) walk.push_back(update[d]);
    std::vector<Affine> index;
    size_t next_window = 0;
    for (int64_t d = 0; d < type_.rank(); ++d) {
      Affine a;
      int64_t window = 1;
      auto batch = std::find(attr_.input_batching_dims.begin(), attr_.input_batching_dims.end(), d);
      bool is_batch = batch != attr_.input_batching_dims.end();
      if (!is_batch && !is_among(attr_.inserted_window_dims, d)) {
        int64_t dim = attr_.update_window_dims[next_window++];
        a = update[static_cast<size_t>(dim)];
        window = update_type.dim(dim);
      }
      if (is_batch) a = walk[batch_place(static_cast<size_t>(batch - attr_.input_batching_dims.begin()))];
      auto component = std::find(attr_.scatter_dims_to_operand_dims.begin(), attr_.scatter_dims_to_operand_dims.end(), d);
      if (component != attr_.scatter_dims_to_operand_dims.end())
        a += start(walk, component - attr_.scatter_dims_to_operand_dims.begin(), {-window, type_.dim(d)});
      Range r = e_.builder().range(a);
      if (r.lo < 0 || r.hi >= type_.dim(d)) guards.push_back({a, 0, type_.dim(d)});
      index.push_back(std::move(a));
    }
    return row_major_offset(type_, index);
  }

 private:
  size_t batch_place(size_t i) const {
    int64_t dim = attr_.scatter_indices_batching_dims[i];
    return static_cast<size_t>(dim - (dim > attr_.index_vector_dim));
  }

  // Beyond `clamp` every element of the window is outside, as it is at its ends.
  Affine start(const std::vector<Affine>& walk, int64_t component, Range clamp) {
    std::vector<Affine> at = walk;
    if (attr_.index_vector_dim < indices_->type.rank()) at.insert(at.begin() + attr_.index_vector_dim, Affine(component));
    ValueId s = e_.value(producer_of(indices_), {std::move(at)});
    if (e_.error()) return {};
    if (is_unsigned_integer(indices_->type.element())) clamp.lo = 0;
    return e_.builder().index_of(s, clamp);
  }

  Elements& e_;
  const ir::ScatterAttr& attr_;
  ir::Value indices_;
  ir::Type type_;
};

}  // namespace

void lower_scatter(Elements& e, ir::Value v, const std::vector<Output>& outputs, SplitKey key) {
  size_t n = (v->operand_count - 1) / 2;
  std::vector<BufferId> buffers(n, no_id);
  for (const Output& o : outputs) buffers[static_cast<size_t>(o.producer.leaf)] = o.buffer;
  bool each_once = outputs.size() == n && std::find(buffers.begin(), buffers.end(), no_id) == buffers.end();
  if (!each_once) {
    e.fail(v, "each of its results is wanted once");
    return;
  }
  ir::Type updates = v->operand(n + 1)->type;
  if (updates.count() == 0) return;
  KernelBuilder& b = e.builder();
  std::vector<Elements::Variable> loops;
  std::vector<Affine> index = e.variables(key, updates.sizes(), loops);
  for (const auto& l : loops) b.begin_loop(l.index, l.extent);
  std::vector<Guard> guards;
  Affine offset = ScatterTarget(e, v, n).offset(index, updates, guards);
  std::vector<ValueId> args;
  for (size_t i = 0; i < n && !e.error(); ++i) {
    ElementType type = v->operand(i)->type.element();
    args.push_back(b.load(buffers[i], offset, guards, guards.empty() ? no_id : b.constant_of_bits(type, 0)));
  }
  for (size_t i = 0; i < n && !e.error(); ++i) args.push_back(e.value(producer_of(v->operand(n + 1 + i)), {index}));
  if (!e.error()) {
    std::vector<ValueId> results = e.inlined(v->callee(0), args);
    for (size_t i = 0; i < results.size(); ++i) b.store(buffers[i], offset, results[i], guards);
  }
  for (size_t i = 0; i < loops.size(); ++i) b.end_loop();
}

}  // namespace hloc::loops
