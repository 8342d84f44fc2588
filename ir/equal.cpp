#include "ir/equal.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "ir/print/print.h"

namespace hloc::ir {
namespace {

// Compares values that may hold types or literals of different contexts.
class DeepEqual {
 public:
  bool types(Type a, Type b) {
    std::vector<std::pair<const TypeNode*, const TypeNode*>> todo{{a.node(), b.node()}};
    while (!todo.empty()) {
      auto [x, y] = todo.back();
      todo.pop_back();
      if (x == y || (x && y && known_.contains({x, y}))) continue;
      if (!x || !y || x->kind != y->kind || x->element != y->element || x->dims != y->dims || x->layout != y->layout ||
          x->elements.size() != y->elements.size() || !quants(x->quant, y->quant))
        return false;
      for (size_t i = 0; i < x->elements.size(); ++i) todo.emplace_back(x->elements[i], y->elements[i]);
      pending_.emplace_back(x, y);
    }
    known_.insert(pending_.begin(), pending_.end());
    pending_.clear();
    return true;
  }

  template <class T>
  bool operator()(const T& a, const T& b) {
    if constexpr (std::is_same_v<T, Type>) return types(a, b);
    else if constexpr (std::is_same_v<T, Literal>) return literals(a, b);
    else if constexpr (std::is_floating_point_v<T>) return std::memcmp(&a, &b, sizeof(T)) == 0;
    else if constexpr (requires { a.fields(); })
      return tuples(a.fields(), b.fields(), std::make_index_sequence<std::tuple_size_v<decltype(a.fields())>>());
    else return a == b;
  }
  template <class T>
  bool operator()(const std::vector<T>& a, const std::vector<T>& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i)
      if (!(*this)(static_cast<const T&>(a[i]), static_cast<const T&>(b[i]))) return false;
    return true;
  }
  template <class T>
  bool operator()(const std::optional<T>& a, const std::optional<T>& b) {
    return a.has_value() == b.has_value() && (!a || (*this)(*a, *b));
  }
  bool operator()(const Attr& a, const Attr& b) {
    return a.index() == b.index() && visit([&]<class A>(const A& x) { return (*this)(x, get<A>(b)); }, a);
  }

  bool literals(const Literal& a, const Literal& b) {
    if (!types(a.type(), b.type())) return false;
    return std::ranges::equal(leaves(a), leaves(b), [this](const Literal* x, const Literal* y) {
      return x->is_elided() == y->is_elided() && types(x->type(), y->type()) && std::ranges::equal(x->bytes(), y->bytes());
    });
  }

 private:
  template <class A, size_t... I>
  bool tuples(const A& a, const A& b, std::index_sequence<I...>) {
    return ((*this)(std::get<I>(a), std::get<I>(b)) && ...);
  }
  bool quants(const QuantParams* a, const QuantParams* b) { return a == b || (a && b && *a == *b); }

  std::set<std::pair<const TypeNode*, const TypeNode*>> known_;
  std::vector<std::pair<const TypeNode*, const TypeNode*>> pending_;
};

std::unordered_set<const Computation*> implied_computations(const Module& module) {
  std::unordered_set<const Computation*> implied;
  for (const ComputationRef& c : module.computations())
    for (Value v : c->instructions())
      if (v->op == Op::AsyncStart && v->as<AsyncAttr>().sugared && v->callee_count == 1) implied.insert(&v->callee(0));
  return implied;
}

class ModuleComparison {
 public:
  ModuleComparison(const Module& a, const Module& b, std::string* why)
      : a_(a), b_(b), why_(why), implied_a_(implied_computations(a)), implied_b_(implied_computations(b)) {}

  bool run() {
    if (a_.name() != b_.name()) return differ("the modules are named '{}' and '{}'", a_.name(), b_.name());
    if (!configs()) return false;
    std::vector<const Computation*> list_a = written(a_, implied_a_), list_b = written(b_, implied_b_);
    if (list_a.size() != list_b.size()) return differ("there are {} and {} computations", list_a.size(), list_b.size());
    for (size_t i = 0; i < list_a.size(); ++i) pair_.emplace(list_a[i], list_b[i]);
    for (size_t i = 0; i < list_a.size(); ++i) {
      if (list_a[i]->name() != list_b[i]->name())
        return differ("computation {} is named '{}' and '{}'", i, list_a[i]->name(), list_b[i]->name());
      if (!computations(*list_a[i], *list_b[i])) return false;
    }
    return pair_.at(&a_.entry()) == &b_.entry() || differ("the entries are '{}' and '{}'", a_.entry().name(), b_.entry().name());
  }

 private:
  template <class... Args>
  bool differ(fmt::format_string<Args...> text, Args&&... args) {
    if (why_) *why_ = fmt::format(text, std::forward<Args>(args)...);
    return false;
  }

  static std::vector<const Computation*> written(const Module& module, const std::unordered_set<const Computation*>& implied) {
    std::vector<const Computation*> list;
    for (const ComputationRef& c : module.computations())
      if (!implied.contains(c.get())) list.push_back(c.get());
    return list;
  }

  bool configs() {
    const ModuleConfig &x = a_.config(), &y = b_.config();
    bool layouts = x.entry_layout.has_value() == y.entry_layout.has_value() &&
                   (!x.entry_layout || (same_(x.entry_layout->parameters, y.entry_layout->parameters) &&
                                        same_(x.entry_layout->result, y.entry_layout->result)));
    if (!layouts) return differ("entry_computation_layout differs");
    if (x.is_scheduled != y.is_scheduled) return differ("is_scheduled differs");
    if (x.aliases != y.aliases) return differ("input_output_alias differs");
    if (x.donors != y.donors) return differ("buffer_donor differs");
    if (x.alias_passthrough_params != y.alias_passthrough_params) return differ("alias_passthrough_params differs");
    if (x.replica_count != y.replica_count || x.num_partitions != y.num_partitions)
      return differ("replica_count or num_partitions differs");
    if (x.propagation_to_output != y.propagation_to_output || x.propagation_to_parameters != y.propagation_to_parameters)
      return differ("allow_spmd_sharding_propagation differs");
    if (x.frontend_attributes != y.frontend_attributes) return differ("the module's frontend_attributes differ");
    if (x.stack_frames != y.stack_frames) return differ("the stack frame tables differ");
    if (x.unknown != y.unknown) return differ("a provenance table differs");
    if (x.stablehlo_prologue != y.stablehlo_prologue) return differ("the text before the functions differs");
    return true;
  }

  bool computations(const Computation& x, const Computation& y) {
    if (x.size() != y.size()) return differ("computation '{}' has {} and {} instructions", x.name(), x.size(), y.size());
    if (x.root()->id != y.root()->id) return differ("the root of '{}' is '{}' and '{}'", x.name(), x.name(x.root()), y.name(y.root()));
    if (x.execution_thread() != y.execution_thread()) return differ("the execution thread of '{}' differs", x.name());
    for (size_t i = 0; i < x.size(); ++i)
      if (!instructions(x, x.instructions()[i], y, y.instructions()[i])) return false;
    return true;
  }

  bool instructions(const Computation& x, Value v, const Computation& y, Value w) {
    auto unlike = [&](std::string_view what) {
      return differ("{} in '{}' differs:\n  {}\n  {}", what, x.name(), to_string(x, v), to_string(y, w));
    };
    if (x.name(v) != y.name(w)) return differ("instruction {} of '{}' is named '{}' and '{}'", v->id, x.name(), x.name(v), y.name(w));
    if (v->op != w->op || v->flags != w->flags) return unlike("the op");
    if (!same_.types(v->type, w->type)) return unlike("the type");
    if (v->operand_count != w->operand_count || v->callee_count != w->callee_count) return unlike("the number of operands");
    for (uint32_t i = 0; i < v->operand_count; ++i)
      if (v->operand(i)->id != w->operand(i)->id) return unlike("an operand");
    if (!same_(*v->attr, *w->attr)) return unlike("an attribute");
    for (uint32_t i = 0; i < v->callee_count; ++i)
      if (!callees(v->callee(i), w->callee(i))) return why_ && why_->empty() ? unlike("a called computation") : false;
    if (!extras(v->extras, w->extras)) return unlike("sharding, configuration or another common attribute");
    const Metadata *m = x.location(v).metadata, *n = y.location(w).metadata;
    bool same_metadata = m == n || (m && n ? *m == *n : *(m ? m : n) == Metadata{});
    return same_metadata || unlike("the metadata");
  }

  bool callees(const Computation& x, const Computation& y) {
    auto it = pair_.find(&x);
    if (it != pair_.end()) return it->second == &y;
    if (!implied_a_.contains(&x) || !implied_b_.contains(&y)) return false;
    pair_.emplace(&x, &y);
    return computations(x, y);  // one deep: the computation of an OP-start
  }

  static bool extras(const Extras* x, const Extras* y) {
    if (!x || !y) return x == y;
    if (x->control_predecessors.size() != y->control_predecessors.size()) return false;
    for (size_t i = 0; i < x->control_predecessors.size(); ++i)
      if (x->control_predecessors[i]->id != y->control_predecessors[i]->id) return false;
    return x->sharding == y->sharding && x->frontend_attributes == y->frontend_attributes && x->backend_config == y->backend_config &&
           x->statistics == y->statistics && x->parameter_replication == y->parameter_replication && x->origin == y->origin &&
           x->unknown == y->unknown;
  }

  const Module &a_, &b_;
  std::string* why_;
  DeepEqual same_;
  std::unordered_set<const Computation*> implied_a_, implied_b_;
  std::unordered_map<const Computation*, const Computation*> pair_;
};

}  // namespace

bool equal(const Module& a, const Module& b, std::string* why) {
  if (why) why->clear();
  return ModuleComparison(a, b, why).run();
}

}  // namespace hloc::ir
