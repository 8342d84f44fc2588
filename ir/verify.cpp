// The verifier: types by the rules of ir/infer, then what holds for computations and the module as a whole.
#include "ir/verify.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "ir/infer/infer.h"
#include "ir/infer/site.h"

namespace hloc::ir::shapes {
namespace {

constexpr size_t deepest_nesting = 512;  // of computations that call computations

class Verifier {
 public:
  explicit Verifier(const Module& module) : module_(module) {}

  Problem run() {
    if (module_.computations().empty()) return error(ErrorKind::input, "the module has no computations");
    for (const ComputationRef& c : module_.computations()) {
      if (Problem p = check_computation(*c)) return p;
      if (!depth_.emplace(c.get(), depth_of(*c)).second)
        return error(ErrorKind::input, fmt::format("computation {} is in the module twice", c->name()));
    }
    if (!depth_.contains(&module_.entry()))
      return error(ErrorKind::input, fmt::format("the entry {} is not in the module", module_.entry().name()));
    return check_config();
  }

 private:
  // An error at an instruction: in the source where it came from there, by name else.
  Diagnostic at(const Computation& c, Value v, std::string message) const {
    Loc loc = c.location(v).text;
    if (module_.source() && loc.end > loc.begin) return error_at(*module_.source(), loc, std::move(message));
    return error(ErrorKind::input, fmt::format("computation {}, instruction {}: {}", c.name(), c.name(v), message));
  }

  // Called computations stand before c, so their depths are known.
  size_t depth_of(const Computation& c) const {
    size_t depth = 0;
    for (Value v : c.instructions())
      for (const Computation* callee : v->callees()) depth = std::max(depth, depth_.at(callee));
    return depth + 1;
  }

  Problem check_computation(const Computation& c);
  Problem check_instruction(const Computation& c, Value v);
  Problem check_callees(const Computation& c, Value v) const;
  Problem check_types(const Computation& c, Type type, Value v);
  Problem check_parameters_dense(const Computation& c) const;

  Problem check_config();
  Problem check_entry_layout(const ModuleConfig::EntryLayout& layout) const;
  Problem check_alias_tables() const;
  Type parameter_part(int64_t parameter, const ShapeIndex& index) const;
  // Module-wide attributes have no place of their own; the instruction that they speak of has.
  Diagnostic at_parameter(int64_t parameter, std::string message) const;
  Diagnostic at_root(std::string message) const { return at(module_.entry(), module_.entry().root(), std::move(message)); }

  const Module& module_;
  std::unordered_map<const Computation*, size_t> depth_;  // of the computations checked so far
  std::unordered_set<const TypeNode*> good_types_;
  std::vector<Type> operand_types_;
};

bool belongs(const Computation& c, Value v, uint32_t before) {
  return v && v->id < before && c.instructions()[v->id] == v;
}

// ---- Types ----

bool is_permutation_of_rank(const Ints& order, size_t rank) {
  if (order.size() != rank) return false;
  std::vector<bool> seen(rank);
  for (int64_t d : order) {
    if (d < 0 || static_cast<uint64_t>(d) >= rank || seen[static_cast<size_t>(d)]) return false;
    seen[static_cast<size_t>(d)] = true;
  }
  return true;
}

// Storage range inside the storage type, scales positive and finite, zero points in the range, one scale for each
// element along the axis.
std::string quant_problem(Type type) {
  const QuantParams& q = *type->quant;
  int bits = bit_width(q.storage);
  bool is_signed = is_signed_integer(q.storage);
  if (!is_integer(q.storage) || bits > 32) return "the storage of a quantised type must be an integer of at most 32 bits";
  int64_t low = is_signed ? -(int64_t{1} << (bits - 1)) : 0;
  int64_t high = (int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
  if (!is_float(q.expressed)) return "a quantised type must express a float";
  if (q.storage_min < low || q.storage_max > high || q.storage_min >= q.storage_max)
    return fmt::format("the storage range {}:{} does not fit into {}", q.storage_min, q.storage_max, name_of(q.storage));
  for (double scale : q.scales)
    if (!(scale > 0) || !std::isfinite(scale)) return fmt::format("the scale {} must be positive and finite", scale);
  for (int64_t zero : q.zero_points)
    if (zero < q.storage_min || zero > q.storage_max)
      return fmt::format("the zero point {} is outside of {}:{}", zero, q.storage_min, q.storage_max);
  if (q.scales.empty() || q.zero_points.size() != q.scales.size()) return "a scale needs a zero point";
  if (q.axis < 0) return q.scales.size() == 1 ? "" : "a quantised type without an axis has one scale";
  if (q.axis >= type.rank()) return fmt::format("the quantisation axis {} is out of range", q.axis);
  Dim along = type.dims()[static_cast<size_t>(q.axis)];
  if (!fits(along, Dim::of(static_cast<int64_t>(q.scales.size()))))
    return fmt::format("there are {} scales for the {} elements along axis {}", q.scales.size(), dim_text(along), q.axis);
  return "";
}

// "" when the array type alone is good.
std::string array_problem(Type type) {
  if (type.element() == ElementType::invalid) return "an array needs an element type";
  Checked bytes = byte_width(type.element());
  bool empty = std::ranges::any_of(type.dims(), [](Dim d) { return d.kind != Dim::unknown && d.size == 0; });
  for (Dim d : type.dims()) {
    if (d.kind == Dim::unknown) continue;
    if (d.size < 0) return fmt::format("{} has a negative size", shape_text(type));
    if (!empty) bytes = bytes * d.size;
  }
  if (!bytes.ok) return fmt::format("{} has more bytes than 63 bits can count", shape_text(type));
  if (!is_permutation_of_rank(type.layout().minor_to_major, type.dims().size()))
    return fmt::format("the layout {} of {} must name each of its {} dimensions once",
                       list_text(type.layout().minor_to_major), shape_text(type), type.rank());
  return type->quant ? quant_problem(type) : "";
}

Problem Verifier::check_types(const Computation& c, Type type, Value v) {
  if (!type) return at(c, v, fmt::format("{}: the instruction has no type", name_of(v->op)));
  std::vector<const TypeNode*> todo{type.node()};
  while (!todo.empty()) {
    const TypeNode* node = todo.back();
    todo.pop_back();
    if (!good_types_.insert(node).second) continue;
    if (node->kind == TypeKind::array)
      if (std::string problem = array_problem(Type(node)); !problem.empty())
        return at(c, v, fmt::format("{}: {}", name_of(v->op), problem));
    todo.insert(todo.end(), node->elements.begin(), node->elements.end());
  }
  return {};
}

// ---- Instructions and computations ----

Problem Verifier::check_callees(const Computation& c, Value v) const {
  for (const Computation* callee : v->callees()) {
    if (!callee) return at(c, v, fmt::format("{}: a called computation is missing", name_of(v->op)));
    auto found = depth_.find(callee);
    if (found == depth_.end())
      return at(c, v, fmt::format("{}: computation {} must stand before its caller {} in the module", name_of(v->op),
                                  callee->name(), c.name()));
    if (found->second >= deepest_nesting)
      return at(c, v, fmt::format("{}: computations call one another more than {} deep", name_of(v->op), deepest_nesting));
  }
  return {};
}

Problem Verifier::check_instruction(const Computation& c, Value v) {
  if (Problem p = check_types(c, v->type, v)) return p;
  operand_types_.clear();
  for (Value operand : v->operands()) {
    if (!belongs(c, operand, v->id))
      return at(c, v, fmt::format("{}: operand {} must be an instruction of computation {} that stands before",
                                  name_of(v->op), operand_types_.size(), c.name()));
    operand_types_.push_back(operand->type);
  }
  if (v->extras)
    for (Value before : v->extras->control_predecessors)
      if (!belongs(c, before, v->id))
        return at(c, v, fmt::format("{}: control-predecessors must be instructions of computation {} that stand before",
                                    name_of(v->op), c.name()));
  if (Problem p = check_callees(c, v)) return p;
  auto checked = check_type(*module_.context(), v->op, operand_types_, *v->attr, v->callees(), v->type);
  if (!checked) return at(c, v, checked.error().message);
  return {};
}

Problem Verifier::check_parameters_dense(const Computation& c) const {
  auto parameters = c.parameters();
  for (Value v : c.instructions()) {
    if (v->op != Op::Parameter) continue;
    int64_t number = v->as<ParameterAttr>().number;
    if (number < 0 || static_cast<uint64_t>(number) >= parameters.size() || parameters[static_cast<size_t>(number)] != v)
      return at(c, v, fmt::format("parameter: the {} parameters of computation {} must have the numbers 0 to {}, each once",
                                  parameters.size(), c.name(), static_cast<int64_t>(parameters.size()) - 1));
  }
  return {};
}

Problem Verifier::check_computation(const Computation& c) {
  for (size_t i = 0; i < c.size(); ++i) {
    Value v = c.instructions()[i];
    HLOC_CHECK(v && v->id == i, fmt::format("instruction {} of computation {}", i, c.name()));
    if (Problem p = check_instruction(c, v)) return p;
  }
  if (Problem p = check_parameters_dense(c)) return p;
  if (!c.root() || !belongs(c, c.root(), static_cast<uint32_t>(c.size())))
    return error(ErrorKind::input, fmt::format("computation {} has no root", c.name()));
  return {};
}

// ---- The module ----

Diagnostic Verifier::at_parameter(int64_t parameter, std::string message) const {
  auto parameters = module_.entry().parameters();
  if (parameter < 0 || static_cast<uint64_t>(parameter) >= parameters.size()) return at_root(std::move(message));
  return at(module_.entry(), parameters[static_cast<size_t>(parameter)], std::move(message));
}

Problem Verifier::check_entry_layout(const ModuleConfig::EntryLayout& layout) const {
  auto parameters = module_.entry().parameters();
  if (layout.parameters.size() != parameters.size())
    return at_root(fmt::format("entry_computation_layout has {} parameters, but the entry has {}",
                               layout.parameters.size(), parameters.size()));
  for (size_t i = 0; i < parameters.size(); ++i)
    if (!fits(layout.parameters[i], parameters[i]->type))
      return at(module_.entry(), parameters[i],
                fmt::format("entry_computation_layout gives parameter {} as {}, but it is {}", i,
                            shape_text(layout.parameters[i]), shape_text(parameters[i]->type)));
  Type result = module_.entry().result_type();
  if (layout.result && !fits(layout.result, result))
    return at_root(fmt::format("entry_computation_layout gives the result as {}, but it is {}", shape_text(layout.result),
                               shape_text(result)));
  return {};
}

// No type: there is no such parameter, or no such part of it.
Type Verifier::parameter_part(int64_t parameter, const ShapeIndex& index) const {
  auto parameters = module_.entry().parameters();
  if (parameter < 0 || static_cast<uint64_t>(parameter) >= parameters.size()) return Type();
  return part_at(parameters[static_cast<size_t>(parameter)]->type, index);
}

// A buffer can be given away once, to one output.
struct BufferName {
  int64_t parameter;
  ShapeIndex index;
  auto operator<=>(const BufferName&) const = default;
};

template <class T>
bool has_repetition(std::vector<T> items, T& repeated) {
  std::ranges::sort(items);
  auto at = std::ranges::adjacent_find(items);
  if (at == items.end()) return false;
  repeated = *at;
  return true;
}

Problem Verifier::check_alias_tables() const {
  const ModuleConfig& config = module_.config();
  Type result = module_.entry().result_type();
  std::vector<ShapeIndex> outputs;
  std::vector<BufferName> given;
  for (const AliasEntry& a : config.aliases) {
    Type out = part_at(result, a.output), in = parameter_part(a.parameter, a.index);
    if (!out)
      return at_root(fmt::format("input_output_alias: the result is {} and has no part {}", shape_text(result),
                                 list_text(a.output)));
    if (!in)
      return at_parameter(a.parameter, fmt::format("input_output_alias: there is no parameter {} with a part {}",
                                                   a.parameter, list_text(a.index)));
    bool dynamic = !in.is_static() || !out.is_static();
    bool same_bytes = in.is_array() && out.is_array() && in.byte_size() == out.byte_size();
    if (!dynamic && !same_bytes && !fits(in, out))
      return at_parameter(a.parameter,
                          fmt::format("input_output_alias: result part {} is {}, but parameter {} part {} is {}",
                                      list_text(a.output), shape_text(out), a.parameter, list_text(a.index),
                                      shape_text(in)));
    outputs.push_back(a.output);
    given.push_back({a.parameter, a.index});
  }
  for (const DonorEntry& d : config.donors) {
    if (!parameter_part(d.parameter, d.index))
      return at_parameter(d.parameter, fmt::format("buffer_donor: there is no parameter {} with a part {}", d.parameter,
                                                   list_text(d.index)));
    given.push_back({d.parameter, d.index});
  }
  if (ShapeIndex twice; has_repetition(std::move(outputs), twice))
    return at_root(fmt::format("input_output_alias: result part {} is aliased twice", list_text(twice)));
  if (BufferName twice; has_repetition(std::move(given), twice))
    return at_parameter(twice.parameter, fmt::format("parameter {} part {} is given away twice by input_output_alias or "
                                                     "buffer_donor", twice.parameter, list_text(twice.index)));
  return {};
}

Problem Verifier::check_config() {
  const ModuleConfig& config = module_.config();
  if (config.entry_layout)
    if (Problem p = check_entry_layout(*config.entry_layout)) return p;
  if (config.replica_count < 1)
    return at_root(fmt::format("replica_count={} must be at least 1", config.replica_count));
  if (config.num_partitions < 1)
    return at_root(fmt::format("num_partitions={} must be at least 1", config.num_partitions));
  return check_alias_tables();
}

}  // namespace
}  // namespace hloc::ir::shapes

namespace hloc::ir {

Result<void> verify(const Module& module) {
  if (auto problem = shapes::Verifier(module).run()) return *std::move(problem);
  return {};
}

}  // namespace hloc::ir
