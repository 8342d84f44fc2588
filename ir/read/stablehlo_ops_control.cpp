// StableHLO operations that call, branch and loop, and those on tuples.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "ir/print/print.h"
#include "ir/read/stablehlo_ops.h"
#include "ir/support/braces.h"

namespace hloc::ir::mlir {
namespace {

bool check_call(PieceBuilder& b, const Operation& op, const Function& f) {
  auto list = [](const std::vector<Type>& types) {
    std::string out;
    for (Type t : types) out += (out.empty() ? "" : ", ") + mlir_type(t);
    return "(" + out + ")";
  };
  std::vector<Type> arguments;
  for (Value v : b.operands(op)) arguments.push_back(v->type);
  if (arguments != f.argument_types)
    return b.fail(op, fmt::format("'@{}' takes {}, but {} is given", f.name, list(f.argument_types), list(arguments)));
  if (op.result_types != f.result_types)
    return b.fail(op, fmt::format("'@{}' returns {}, but {} is written", f.name, list(f.result_types), list(op.result_types)));
  return true;
}

}  // namespace

bool read_call(PieceBuilder& b, const Operation& op) {
  std::string name;
  if (!b.get_string(op, "callee", name, true)) return false;
  const Computation* callee = b.function(op, name);
  if (!callee || !check_call(b, op, *b.function_named(name))) return false;
  return b.finish(op, b.emit(op, Op::Call, b.result_type(op), b.operands(op), CallAttr{}, std::array{callee}, b.result_flags(op)));
}

// A call of the decomposition that remembers, as HLO does, what it stands for.
bool read_composite(PieceBuilder& b, const Operation& op) {
  std::string name, decomposition;
  int64_t version = 0;
  if (!b.get_string(op, "name", name, true) || !b.get_string(op, "decomposition", decomposition, true) || !b.get_int(op, "version", version)) return false;
  const Attribute* attributes = b.find(op, "composite_attributes");
  if (!op.regions.empty()) return b.fail(op, "composites with regions are not supported");
  const Computation* callee = b.function(op, decomposition);
  if (!callee || !check_call(b, op, *b.function_named(decomposition))) return false;
  Value v = b.emit(op, Op::Call, b.result_type(op), b.operands(op), CallAttr{true}, std::array{callee}, b.result_flags(op));
  if (!v) return false;
  Extras extras;
  extras.frontend_attributes.push_back({"composite.attributes", attributes ? to_text(*attributes) : "{}", true});
  extras.frontend_attributes.push_back({"composite.name", name, false});
  extras.frontend_attributes.push_back({"composite.version", std::to_string(version), false});
  b.builder().set_extras(v, std::move(extras));
  return b.finish(op, v);
}

namespace {

// operand_layouts = [dense<[1, 0]> : tensor<2xindex>]: the types with these layouts.
bool custom_call_layouts(PieceBuilder& b, const Operation& op, std::string_view name, std::span<const Type> types, std::optional<std::vector<Type>>& out) {
  const Attribute* list = b.find(op, name);
  if (!list) return true;
  if (list->kind == Attribute::ints) {
    if (!list->integers.empty()) return b.fail(list->loc, fmt::format("'{}' must be a list of layouts", name));
  } else if (list->elements.size() != types.size()) {
    return b.fail(list->loc, fmt::format("'{}' has {} entries, but there are {} values", name, list->elements.size(), types.size()));
  }
  out.emplace();
  for (size_t i = 0; i < list->elements.size(); ++i) {
    Ints order;
    if (!b.ints_of(list->elements[i], name, order)) return false;
    if (!types[i].is_array()) {
      out->push_back(types[i]);
      continue;
    }
    if (static_cast<int64_t>(order.size()) != types[i].rank()) return b.fail(list->elements[i].loc, fmt::format("a layout of {} needs {} numbers", mlir_type(types[i]), types[i].rank()));
    std::vector<bool> seen(order.size(), false);
    for (int64_t d : order) {
      if (d < 0 || static_cast<size_t>(d) >= order.size() || seen[static_cast<size_t>(d)]) return b.fail(list->elements[i].loc, "a layout names each dimension once");
      seen[static_cast<size_t>(d)] = true;
    }
    Layout layout;
    layout.minor_to_major = std::move(order);
    out->push_back(b.context().with_layout(types[i], std::move(layout)));
  }
  return true;
}

bool custom_call_aliases(PieceBuilder& b, const Operation& op, std::vector<OperandAlias>& out) {
  const Attribute* list = b.find(op, "output_operand_aliases");
  if (!list) return true;
  for (const Attribute& element : list->elements) {
    OperandAlias alias;
    if (!b.structure_ints(element, "output_tuple_indices", alias.output) || !b.structure_int(element, "operand_index", alias.operand) ||
        !b.structure_ints(element, "operand_tuple_indices", alias.index))
      return false;
    out.push_back(std::move(alias));
  }
  return true;
}

bool custom_call_callees(PieceBuilder& b, const Operation& op, std::vector<const Computation*>& out) {
  const Attribute* list = b.find(op, "called_computations");
  if (!list) return true;
  for (const Attribute& element : list->elements) {
    if (element.kind != Attribute::symbol) return b.fail(list->loc, "'called_computations' is a list of functions, such as [@f]");
    const Computation* callee = b.function(op, element.text);
    if (!callee) return false;
    out.push_back(callee);
  }
  return true;
}

// A string, or (typed FFI) a dictionary; `mhlo.backend_config` says the same in older text.
bool custom_call_config(PieceBuilder& b, const Operation& op, std::optional<FrontendAttribute>& out) {
  for (std::string_view name : {"mhlo.backend_config", "backend_config"}) {
    const Attribute* config = b.find(op, name);
    if (!config || out) continue;
    if (config->kind == Attribute::dictionary) out = FrontendAttribute{"", to_text(config->entries), true};
    else if (config->kind != Attribute::string) return b.fail(config->loc, "'backend_config' must be a string or a dictionary");
    else if (!config->text.empty()) out = FrontendAttribute{"", config->text, is_braced(config->text)};
  }
  return true;
}

}  // namespace

bool read_custom_call(PieceBuilder& b, const Operation& op) {
  constexpr std::string_view versions[] = {"API_VERSION_UNSPECIFIED", "", "API_VERSION_STATUS_RETURNING", "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"};
  CustomCallAttr attr;
  int64_t version = 1;
  if (!b.get_string(op, "call_target_name", attr.target, true) || !b.get_int(op, "api_version", version) || !b.get_bool(op, "has_side_effect", attr.has_side_effect)) return false;
  if (version < 0 || version >= static_cast<int64_t>(std::size(versions))) return b.fail(op, fmt::format("there is no api_version {}; it is from 0 to 4", version));
  attr.api_version = versions[version];
  // What StableHLO's portable text says of ops of its sister dialect.
  if (attr.target == "mhlo.erf" && op.operands.size() == 1 && op.result_types.size() == 1) {
    b.find(op, "mhlo.attributes");
    b.find(op, "mhlo.version");
    b.find(op, "backend_config");
    return b.finish(op, b.emit(op, Op::Erf, op.result_types[0], b.operands(op), UnaryAttr{}));
  }
  std::vector<Type> operand_types;
  for (Value v : b.operands(op)) operand_types.push_back(v->type);
  std::vector<const Computation*> callees;
  std::optional<FrontendAttribute> config;
  if (!custom_call_layouts(b, op, "operand_layouts", operand_types, attr.operand_layouts) ||
      !custom_call_layouts(b, op, "result_layouts", op.result_types, attr.result_layouts) || !custom_call_aliases(b, op, attr.aliases) ||
      !custom_call_callees(b, op, callees) || !custom_call_config(b, op, config))
    return false;
  Value v = b.emit(op, Op::CustomCall, b.result_type(op), b.operands(op), std::move(attr), callees, b.result_flags(op));
  if (!v) return false;
  if (config) {
    Extras extras;
    extras.backend_config = std::move(config);
    b.builder().set_extras(v, std::move(extras));
  }
  return b.finish(op, v);
}

// ---- Branches and loops ----

namespace {

// HLO gives each branch one parameter: all that any branch uses from outside.
bool read_branches(PieceBuilder& b, const Operation& op, std::string_view role) {
  PieceBuilder::RegionForm form;
  form.captures = b.captures(op.regions);
  form.one_parameter = true;
  std::vector<const Computation*> branches;
  for (const Region& region : op.regions) {
    if (!region.arguments.empty()) return b.fail(region.loc, fmt::format("the regions of '{}' take no arguments", op.name));
    const Computation* branch = b.region(region, role, form);
    if (!branch) return false;
    branches.push_back(branch);
  }
  std::vector<Value> captured;
  for (ValueNumber number : form.captures) captured.push_back(b.value(number));
  Value argument = captured.size() == 1 ? captured[0] : b.tuple_of(captured);
  std::vector<Value> operands = {b.operand(op, 0)};
  operands.resize(branches.size() + 1, argument);
  return b.finish(op, b.emit(op, Op::Conditional, b.result_type(op), operands, NoAttr{}, branches, b.result_flags(op)));
}

}  // namespace

bool read_if(PieceBuilder& b, const Operation& op) {
  if (!b.expect_operands(op, 1, 1) || !b.expect_regions(op, 2)) return false;
  Type type = b.operand(op, 0)->type;
  if (!type.is_scalar() || type.element() != ElementType::pred) return b.fail(op, fmt::format("'stablehlo.if' chooses by a tensor<i1>, not by a {}", mlir_type(type)));
  return read_branches(b, op, "if");
}

bool read_case(PieceBuilder& b, const Operation& op) {
  if (!b.expect_operands(op, 1, 1)) return false;
  if (op.regions.empty()) return b.fail(op, "'stablehlo.case' needs at least one region");
  Type type = b.operand(op, 0)->type;
  if (!type.is_scalar() || type.element() != ElementType::s32) return b.fail(op, fmt::format("'stablehlo.case' chooses by a tensor<i32>, not by a {}", mlir_type(type)));
  return read_branches(b, op, "case");
}

// What the regions use from outside is carried along unchanged.
bool read_while(PieceBuilder& b, const Operation& op) {
  if (!b.expect_regions(op, 2) || !b.expect_results(op, op.operands.size())) return false;
  for (const Region& region : op.regions)
    if (region.arguments.size() != op.operands.size())
      return b.fail(region.loc, fmt::format("the regions of 'stablehlo.while' take {} arguments, but this one has {}", op.operands.size(), region.arguments.size()));
  PieceBuilder::RegionForm form;
  form.captures = b.captures(op.regions);
  form.one_parameter = true;
  const Computation* condition = b.region(op.regions[0], "while_cond", form);
  if (!condition) return false;
  form.return_captures = true;
  const Computation* body = b.region(op.regions[1], "while_body", form);
  if (!body) return false;
  std::vector<Value> carried = b.operands(op);
  for (ValueNumber number : form.captures) carried.push_back(b.value(number));
  bool tuple = carried.size() != 1;
  Value init = tuple ? b.tuple_of(carried) : carried[0];
  Value v = b.emit(op, Op::While, init->type, {init}, NoAttr{}, {condition, body}, tuple ? Instruction::multi_result : 0);
  if (!v) return false;
  if (tuple && op.result_types.size() == 1) v = b.element_of(v, 0);
  return b.finish(op, v);
}

// ---- Tuples and tokens ----

bool read_tuple(PieceBuilder& b, const Operation& op) {
  if (!b.expect_results(op, 1)) return false;
  return b.finish(op, b.emit(op, Op::Tuple, op.result_types[0], b.operands(op)));
}

bool read_get_tuple_element(PieceBuilder& b, const Operation& op) {
  TupleIndexAttr attr;
  if (!b.expect_operands(op, 1, 1) || !b.expect_results(op, 1) || !b.get_int(op, "index", attr.index, true)) return false;
  return b.finish(op, b.emit(op, Op::GetTupleElement, op.result_types[0], b.operands(op), attr));
}

bool read_optimization_barrier(PieceBuilder& b, const Operation& op) {
  if (!b.expect_results(op, op.operands.size())) return false;
  std::vector<Value> operands = b.operands(op);
  Value all = operands.size() == 1 ? operands[0] : b.tuple_of(operands);
  return b.finish(op, b.emit(op, Op::OptBarrier, all->type, {all}, NoAttr{}, {}, b.result_flags(op)));
}

bool read_after_all(PieceBuilder& b, const Operation& op) {
  if (!b.expect_results(op, 1)) return false;
  return b.finish(op, b.emit(op, Op::AfterAll, op.result_types[0], b.operands(op)));
}

}  // namespace hloc::ir::mlir
