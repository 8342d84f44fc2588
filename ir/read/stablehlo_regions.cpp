// Regions to computations. HLO computations see nothing of the outside, so what a region uses of it is closed over:
// constants are repeated inside; other values become parameters, and how they get there is the op's business.
#include <algorithm>

#include <fmt/format.h>

#include "ir/print/print.h"
#include "ir/read/stablehlo_build.h"

namespace hloc::ir::mlir {

bool PieceBuilder::is_constant(Value v) const {
  if (v->op == Op::Broadcast) return v->operand(0)->op == Op::Constant;
  return v->op == Op::Constant || v->op == Op::Iota;
}

Value PieceBuilder::clone_constant(Value outer) {
  std::vector<Value> operands;
  for (Value o : outer->operands()) operands.push_back(builder_->make(o->op, o->type, {}, *o->attr));
  return builder_->make(outer->op, outer->type, operands, *outer->attr);
}

std::vector<ValueNumber> PieceBuilder::captures(std::span<const Region> regions) {
  std::vector<ValueNumber> out;
  std::unordered_set<ValueNumber> seen;
  for (const Region& region : regions)
    for (ValueNumber number : region.captures)
      if (!is_constant(values_[number]) && seen.insert(number).second) out.push_back(number);
  return out;
}

// The parameters for the region's arguments and captures, in order. With one parameter: the elements of that.
std::vector<Value> PieceBuilder::region_parameters(const Region& region, const RegionForm& form) {
  std::vector<Type> types;
  std::vector<std::string_view> names;
  for (ValueNumber number : region.arguments) {
    types.push_back(piece_.values[number].type);
    names.push_back(piece_.values[number].name);
  }
  for (ValueNumber number : form.captures) {
    types.push_back(piece_.values[number].type);
    names.push_back(piece_.values[number].name);
  }
  std::vector<Value> out;
  if (form.one_parameter && types.size() != 1) {
    Value all = builder_->parameter(0, context_->tuple(types));
    for (size_t i = 0; i < types.size(); ++i) out.push_back(element_of(all, static_cast<int64_t>(i)));
  } else {
    for (size_t i = 0; i < types.size(); ++i) out.push_back(builder_->parameter(static_cast<int64_t>(i), types[i]));
  }
  for (size_t i = 0; i < out.size(); ++i) name_value(out[i], names[i]);
  return out;
}

const Computation* PieceBuilder::region(const Region& region, std::string_view role, const RegionForm& form) {
  const Operation* end = terminator(region);
  if (!end) return fail(region.loc, "this region is empty; expected operations and 'stablehlo.return'"), nullptr;
  ComputationBuilder inner(context_, context_->string(unique_name(fmt::format("{}.{}", current_function_, role))));
  ComputationBuilder* outer = builder_;
  std::vector<std::pair<ValueNumber, Value>> saved;
  for (ValueNumber number : region.captures) saved.push_back({number, values_[number]});
  for (ValueNumber number : form.captures) saved.push_back({number, values_[number]});
  builder_ = &inner;
  std::vector<Value> parameters = region_parameters(region, form);
  for (ValueNumber number : region.captures)
    if (is_constant(values_[number])) values_[number] = clone_constant(values_[number]);
  for (size_t i = 0; i < region.arguments.size(); ++i) values_[region.arguments[i]] = parameters[i];
  for (size_t i = 0; i < form.captures.size(); ++i) values_[form.captures[i]] = parameters[region.arguments.size() + i];
  const Computation* built = nullptr;
  if (build_operations(region)) {
    std::vector<Value> results = operands(*end);
    if (form.return_captures)
      for (size_t i = 0; i < form.captures.size(); ++i) results.push_back(parameters[region.arguments.size() + i]);
    Value root = results.size() == 1 ? results[0] : tuple_of(results);
    built = module_.add(inner.finish(root));
  }
  builder_ = outer;
  for (auto it = saved.rbegin(); it != saved.rend(); ++it) values_[it->first] = it->second;
  return built;
}

// `order[i]` is the parameter of the region's i-th argument. A captured scalar has the parameters that are left over, in
// order, the first of each group being used; what its op feeds there is the captured value in every element.
const Computation* PieceBuilder::reducer(const Region& region, std::string_view role, std::span<const ValueNumber> captures,
                                         std::span<const size_t> order) {
  if (captures.empty()) return this->region(region, role, {});
  const Operation* end = terminator(region);
  if (!end) return fail(region.loc, "this region is empty; expected operations and 'stablehlo.return'"), nullptr;
  size_t arguments = region.arguments.size();
  size_t group = role == "map" ? 1 : 2;
  size_t total = arguments + group * captures.size();
  std::vector<bool> taken(total, false);
  for (size_t i : order) taken[i] = true;
  std::vector<size_t> rest;
  for (size_t i = 0; i < total; ++i)
    if (!taken[i]) rest.push_back(i);
  bool interleaved = role == "sort";
  ComputationBuilder inner(context_, context_->string(unique_name(fmt::format("{}.{}", current_function_, role))));
  ComputationBuilder* outer = builder_;
  std::vector<std::pair<ValueNumber, Value>> saved;
  for (ValueNumber number : region.captures) saved.push_back({number, values_[number]});
  std::vector<Value> passed;
  builder_ = &inner;
  for (size_t i = 0; i < arguments; ++i) {
    const ValueFacts& facts = piece_.values[region.arguments[i]];
    values_[region.arguments[i]] = inner.parameter(static_cast<int64_t>(order[i]), facts.type);
    name_value(values_[region.arguments[i]], facts.name);
  }
  for (ValueNumber number : region.captures)
    if (is_constant(values_[number])) values_[number] = clone_constant(values_[number]);
  for (size_t j = 0; j < captures.size(); ++j) {
    Type type = piece_.values[captures[j]].type;
    for (size_t g = 0; g < group; ++g) {
      size_t slot = interleaved ? j * group + g : j + g * captures.size();
      Value parameter = inner.parameter(static_cast<int64_t>(rest[slot]), type);
      if (g == 0) values_[captures[j]] = parameter, passed.push_back(parameter);
    }
  }
  const Computation* built = nullptr;
  if (build_operations(region)) {
    std::vector<Value> results = operands(*end);
    if (!interleaved && group == 2) results.insert(results.end(), passed.begin(), passed.end());
    built = module_.add(inner.finish(results.size() == 1 ? results[0] : tuple_of(results)));
  }
  builder_ = outer;
  for (auto it = saved.rbegin(); it != saved.rend(); ++it) values_[it->first] = it->second;
  return built;
}

bool PieceBuilder::inline_region(const Region& region, std::vector<Value>& results) {
  const Operation* end = terminator(region);
  if (!end) return fail(region.loc, "this region is empty");
  if (!build_operations(region)) return false;
  results = operands(*end);
  return true;
}

}  // namespace hloc::ir::mlir
