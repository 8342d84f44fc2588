// StableHLO text of operations with regions, of calls, and of transfers between devices and hosts.
#include <algorithm>

#include <fmt/format.h>

#include "ir/print/stablehlo_printer.h"
#include "ir/support/braces.h"

namespace hloc::ir {

// ---- Regions ----

// The computation as a region whose block has its parameters as arguments. `{` is written already.
void StableHloPrinter::region_of_arguments(const Computation& c, bool label) {
  Frame frame, *outer = frame_;
  open_frame(frame, c);
  frame_ = &frame;
  std::string arguments;
  for (Value p : c.parameters()) {
    written(p).name = fresh(p);
    arguments += fmt::format("{}{}: {}", arguments.empty() ? "" : ", ", written(p).name, type(p->type));
  }
  if (label && !arguments.empty()) line(fmt::format("^bb0({}):", arguments));
  ++indent_;
  body(c, "stablehlo.return", c.result_type().is_tuple());
  --indent_;
  frame_ = outer;
}

// The computation's one parameter is known by these names: its parts, or (not a tuple) itself.
void StableHloPrinter::region_of_parts(const Computation& c, const std::vector<std::string>& arguments) {
  Frame frame, *outer = frame_;
  open_frame(frame, c);
  frame_ = &frame;
  Value p = c.parameters()[0];
  if (p->type.is_tuple()) {
    written(p).parts = arguments;
    written(p).has_parts = true;
  } else {
    written(p).name = arguments[0];
  }
  ++indent_;
  body(c, "stablehlo.return", c.result_type().is_tuple());
  --indent_;
  frame_ = outer;
}

namespace {

std::vector<Type> parts_or_one(Type type) {
  if (!type.is_tuple()) return {type};
  std::vector<Type> out;
  for (size_t i = 0; i < type.tuple_size(); ++i) out.push_back(type.element_type(i));
  return out;
}

}  // namespace

void StableHloPrinter::op_while(Value v) {
  Value init = v->operand(0);
  std::vector<std::string> first = init->type.is_tuple() ? use_parts(init) : std::vector<std::string>{use(init)};
  std::vector<Type> list = parts_or_one(init->type);
  std::string extra = dictionary(v), prefix = define(v), carried;
  std::vector<std::string> arguments;
  for (size_t i = 0; i < first.size(); ++i) {
    arguments.push_back(fresh("iterArg"));
    carried += fmt::format("{}{} = {}", i == 0 ? "" : ", ", arguments.back(), first[i]);
  }
  line(fmt::format("{}stablehlo.while({}){}{}", prefix, carried, list.empty() ? "" : " : " + type_list(list), extra.empty() ? "" : " attributes" + extra));
  line("cond {");
  region_of_parts(v->callee(0), arguments);
  line("} do {");
  region_of_parts(v->callee(1), arguments);
  line("}" + location(v));
}

void StableHloPrinter::op_conditional(Value v) {
  Value which = v->operand(0);
  bool by_pred = which->type.element() == ElementType::pred;
  std::string selector = use(which);
  std::vector<std::vector<std::string>> arguments;
  for (Value o : v->operands().subspan(1)) arguments.push_back(o->type.is_tuple() ? use_parts(o) : std::vector<std::string>{use(o)});
  std::string extra = dictionary(v), prefix = define(v);
  line(fmt::format("{}\"stablehlo.{}\"({}) ({{", prefix, by_pred ? "if" : "case", selector));
  for (size_t i = 0; i < v->callee_count; ++i) {
    if (i != 0) line("}, {");
    region_of_parts(v->callee(i), arguments[i]);
  }
  line(fmt::format("}}){} : {}{}", extra, function_type(std::array{which}, v->type), location(v)));
}

// ---- Reductions, sorting, scatter, map, scan ----

void StableHloPrinter::op_reducer(Value v) {
  std::string properties, name(facts(v->op).stablehlo);
  if (const auto* dims = get_if<DimsAttr>(v->attr)) properties = "dimensions = " + mlir_array(dims->dims);
  if (const auto* window = get_if<WindowAttr>(v->attr)) properties = window_properties(window->window, v->op == Op::ReduceWindow);
  if (const auto* sort = get_if<SortAttr>(v->attr)) properties = fmt::format("dimension = {} : i64, is_stable = {}", sort->dim, sort->is_stable);
  if (const auto* s = get_if<ScatterAttr>(v->attr))
    properties = fmt::format("indices_are_sorted = {}, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = {}, inserted_window_dims = {}, "
                             "input_batching_dims = {}, scatter_indices_batching_dims = {}, scatter_dims_to_operand_dims = {}, index_vector_dim = {}>, unique_indices = {}",
                             s->indices_are_sorted, mlir_list(s->update_window_dims), mlir_list(s->inserted_window_dims), mlir_list(s->input_batching_dims),
                             mlir_list(s->scatter_indices_batching_dims), mlir_list(s->scatter_dims_to_operand_dims), s->index_vector_dim, s->unique_indices);
  if (const auto* scan = get_if<ScanAttr>(v->attr)) {
    int64_t inputs = static_cast<int64_t>(v->operand_count) - scan->num_carries;
    properties = fmt::format("dimension = {} : i64, inputs = {} : i64, is_reverse = {}, is_associative = {}", scan->dims.empty() ? 0 : scan->dims[0], inputs, scan->is_reverse, scan->is_associative);
  }
  if (v->op == Op::Map && v->as<DimsAttr>().dims.empty()) {  // HLO may leave them out
    Ints all;
    for (int64_t d = 0; d < v->type.rank(); ++d) all.push_back(d);
    properties = "dimensions = " + mlir_array(all);
  }
  std::string operands = uses(v->operands()), extra = dictionary(v);
  std::string signature = function_type(v->operands(), v->type), prefix = define(v);
  // `applies`: a body of one op on its two parameters.
  const Computation& first = v->callee(0);
  Value root = first.root();
  bool applies = v->op == Op::Reduce && v->operand_count == 2 && first.size() == 3 && is_elementwise(root->op) && root->operand_count == 2 &&
                 root->operand(0) == first.parameters()[0] && root->operand(1) == first.parameters()[1] && holds<NoAttr>(*root->attr) &&
                 root->type == first.parameters()[0]->type && root->type == first.parameters()[1]->type && root->type == v->operand(1)->type && !root->extras &&
                 !facts(root->op).stablehlo.empty();
  if (applies) {
    line(fmt::format("{}stablehlo.reduce({} init: {}) applies {} across dimensions = {}{} : {}{}", prefix, use(v->operand(0)), use(v->operand(1)), facts(root->op).stablehlo,
                     mlir_list(v->as<DimsAttr>().dims), extra, signature, location(v)));
    return;
  }
  line(fmt::format("{}\"{}\"({}) <{{{}}}> ({{", prefix, name, operands, properties));
  for (size_t i = 0; i < v->callee_count; ++i) {
    if (i != 0) line("}, {");
    region_of_arguments(v->callee(i), true);
  }
  line(fmt::format("}}){} : {}{}", extra, signature, location(v)));
}

void StableHloPrinter::op_top_k(Value v) {
  const TopKAttr& a = v->as<TopKAttr>();
  std::string operand = use(v->operand(0)), extra = dictionary(v), signature = type(v->operand(0)->type) + " -> (" + type_list(parts_or_one(v->type)) + ")", prefix = define(v);
  line(fmt::format("{}chlo.top_k({}, k = {}{}{}){} : {}{}", prefix, operand, a.k, a.largest ? "" : ", largest = false", a.is_stable ? ", is_stable = true" : "", extra, signature, location(v)));
}

// ---- Calls ----

void StableHloPrinter::op_call(Value v) {
  const Computation& callee = v->callee(0);
  std::string operands = uses(v->operands());
  bool parts = returns_parts(callee);
  std::string signature = function_type(v->operands(), v->type, parts), name = mlir_symbol(function_names_[&callee]), prefix;
  if (v->as<CallAttr>().is_composite) {
    std::vector<std::string> more;
    std::string composite = "composite", version = "0";
    if (v->extras)
      for (const FrontendAttribute& a : v->extras->frontend_attributes) {
        if (a.key == "composite.attributes" && a.value != "{}") {
          if (!is_mlir_dictionary(a.value)) return fail(v, "the frontend attribute composite.attributes is no MLIR dictionary");
          more.push_back("composite_attributes = " + a.value);
        }
        if (a.key == "composite.name") composite = a.value;
        if (a.key == "composite.version") version = a.value;
      }
    more.push_back("decomposition = " + name);
    if (version != "0") more.push_back(fmt::format("version = {} : i32", version));
    std::string extra = dictionary(v, std::move(more));
    prefix = call_results(v, parts);
    line(fmt::format("{}stablehlo.composite {}{}{}{} : {}{}", prefix, mlir_quoted(composite), operands.empty() ? "" : " ", operands, extra, signature, location(v)));
    return;
  }
  std::string extra = dictionary(v);
  prefix = call_results(v, parts);
  line(fmt::format("{}func.call {}({}){} : {}{}", prefix, name, operands, extra, signature, location(v)));
}

// Results as parts, or one value of a tuple type.
std::string StableHloPrinter::call_results(Value v, bool parts) {
  if (parts || !v->type.is_tuple()) return define(v);
  written(v).name = fresh(v);
  return written(v).name + " = ";
}

void StableHloPrinter::op_barrier(Value v) {
  Value all = v->operand(0);
  std::vector<std::string> parts = all->type.is_tuple() ? use_parts(all) : std::vector<std::string>{use(all)};
  std::vector<Type> list = parts_or_one(all->type);
  std::string extra = dictionary(v), prefix = define(v);
  if (parts.empty()) return line(fmt::format("stablehlo.optimization_barrier(){}", extra));
  line(fmt::format("{}stablehlo.optimization_barrier {}{} : {}{}", prefix, fmt::join(parts, ", "), extra, type_list(list), location(v)));
}

void StableHloPrinter::op_custom_call(Value v) {
  constexpr std::string_view versions[] = {"API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING", "API_VERSION_STATUS_RETURNING_UNIFIED",
                                           "API_VERSION_TYPED_FFI"};
  const CustomCallAttr& a = v->as<CustomCallAttr>();
  if (a.window || a.conv_dims || !a.padding_type.empty() || a.literal.type() || !a.precision.empty() || !a.schedule.empty())
    return fail(v, "a custom call with window, dim_labels, padding_type, literal, operand_precision or schedule has no form in StableHLO");
  std::vector<std::string> more;
  auto version = std::find(std::begin(versions), std::end(versions), a.api_version);
  if (version != std::end(versions) && version != versions + 1) more.push_back(fmt::format("api_version = {} : i32", version - std::begin(versions)));
  if (v->extras && v->extras->backend_config)
    more.push_back("backend_config = " + mlir_backend_config(*v->extras->backend_config));
  if (v->callee_count != 0) {
    std::string list;
    for (const Computation* c : v->callees()) list += (list.empty() ? "" : ", ") + mlir_symbol(function_names_[c]);
    more.push_back("called_computations = [" + list + "]");
  }
  if (a.has_side_effect) more.push_back("has_side_effect = true");
  auto layouts = [&](const char* name, const std::optional<std::vector<Type>>& types) {
    if (!types) return;
    std::string list;
    for (Type t : *types) {
      if (!list.empty()) list += ", ";
      if (t.is_array() && t.rank() > 0) list += fmt::format("dense<{}> : tensor<{}xindex>", mlir_list(t.layout().minor_to_major), t.rank());
      else list += "dense<> : tensor<0xindex>";
    }
    more.push_back(fmt::format("{} = [{}]", name, list));
  };
  layouts("operand_layouts", a.operand_layouts);
  if (!a.aliases.empty()) {
    std::string list;
    for (const OperandAlias& alias : a.aliases)
      list += fmt::format("{}#stablehlo.output_operand_alias<output_tuple_indices = {}, operand_index = {}, operand_tuple_indices = {}>", list.empty() ? "" : ", ",
                          mlir_list(alias.output), alias.operand, mlir_list(alias.index));
    more.push_back("output_operand_aliases = [" + list + "]");
  }
  layouts("result_layouts", a.result_layouts);
  std::string operands = uses(v->operands()), extra = dictionary(v, std::move(more)), signature = function_type(v->operands(), v->type), prefix = define(v);
  line(fmt::format("{}stablehlo.custom_call {}({}){} : {}{}", prefix, mlir_symbol(a.target), operands, extra, signature, location(v)));
}

void StableHloPrinter::op_sdy_region(Value v) {
  const std::string& text = v->as<RawAttr>().text;
  std::string operands = uses(v->operands()), extra = dictionary(v), signature = function_type(v->operands(), v->type), prefix = define(v);
  const Computation& c = v->callee(0);
  bool manual = v->op == Op::SdyManualComputation;
  Frame frame, *outer = frame_;
  open_frame(frame, c);
  frame_ = &frame;
  std::string arguments;
  for (Value p : c.parameters()) {
    written(p).name = fresh(p);
    arguments += fmt::format("{}{}: {}", arguments.empty() ? "" : ", ", written(p).name, type(p->type));
  }
  if (manual) line(fmt::format("{}sdy.manual_computation({}) {} ({}) {{", prefix, operands, text, arguments));
  else line(fmt::format("{}sdy.named_computation{}({}) ({}) {{", prefix, text, operands, arguments));
  ++indent_;
  body(c, "sdy.return", c.result_type().is_tuple());
  --indent_;
  frame_ = outer;
  line(fmt::format("}}{} : {}{}", extra, signature, location(v)));
}

// ---- Collectives ----

namespace {

std::string groups_text(const ReplicaGroups& g) {
  switch (g.kind) {
    case ReplicaGroups::absent: return "dense<> : tensor<0x0xi64>";
    case ReplicaGroups::mesh: return g.mesh_text;
    case ReplicaGroups::list: {
      std::string text = mlir_pairs(g.groups);
      return g.groups.empty() ? "dense<> : tensor<0x0xi64>" : text;
    }
    case ReplicaGroups::iota: break;
  }
  // Numbers 0…n-1 reshaped, transposed, reshaped again.
  const IotaTile& t = g.tile;
  Ints strides(t.reshape.size(), 1), order = t.transpose;
  for (size_t i = t.reshape.size(); i-- > 1;) strides[i - 1] = strides[i] * t.reshape[i];
  if (order.empty())
    for (size_t i = 0; i < t.reshape.size(); ++i) order.push_back(static_cast<int64_t>(i));
  Ints flat, index(order.size(), 0);
  int64_t count = t.dims[0] * t.dims[1];
  for (int64_t n = 0; n < count; ++n) {
    int64_t device = 0;
    for (size_t i = 0; i < order.size(); ++i) device += index[i] * strides[static_cast<size_t>(order[i])];
    flat.push_back(device);
    for (size_t i = order.size(); i-- > 0;) {
      if (++index[i] < t.reshape[static_cast<size_t>(order[i])]) break;
      index[i] = 0;
    }
  }
  std::vector<Ints> rows;
  for (int64_t r = 0; r < t.dims[0]; ++r) rows.emplace_back(flat.begin() + r * t.dims[1], flat.begin() + (r + 1) * t.dims[1]);
  return mlir_pairs(rows);
}

std::string channel_text(const std::optional<int64_t>& id, int64_t type) {
  return id ? fmt::format("channel_handle = #stablehlo.channel_handle<handle = {}, type = {}>", *id, type) : "";
}

}  // namespace

std::string StableHloPrinter::collective_properties(Value v) {
  std::vector<std::string> out;
  auto add = [&](std::string text) {
    if (!text.empty()) out.push_back(std::move(text));
  };
  if (const auto* p = get_if<PermuteAttr>(v->attr)) {
    add(channel_text(p->channel_id, p->channel_type));
    add("source_target_pairs = " + mlir_pairs(p->source_target_pairs));
    return fmt::format("{}", fmt::join(out, ", "));
  }
  const CollectiveAttr& a = v->as<CollectiveAttr>();
  int64_t dim = a.dims.empty() ? 0 : a.dims[0];
  if (v->op == Op::AllGather || v->op == Op::AllGatherStart) add(fmt::format("all_gather_dim = {} : i64", dim));
  add(channel_text(a.channel_id, a.channel_type));
  if (a.has_dynamic_root) add("has_dynamic_root");
  if (v->op == Op::AllToAll) add(fmt::format("concat_dimension = {} : i64", dim));
  add("replica_groups = " + groups_text(a.groups));
  if (v->op == Op::ReduceScatter) add(fmt::format("scatter_dimension = {} : i64", dim));
  if (v->op == Op::AllToAll) {
    int64_t count = a.split_count;
    if (a.groups.kind == ReplicaGroups::list && !a.groups.groups.empty()) count = static_cast<int64_t>(a.groups.groups[0].size());
    if (a.groups.kind == ReplicaGroups::iota) count = a.groups.tile.dims[1];
    if (count <= 0) count = std::max<int64_t>(module_.config().num_partitions, module_.config().replica_count);
    add(fmt::format("split_count = {} : i64, split_dimension = {} : i64", count, dim));
  }
  if (a.use_global_device_ids) add("use_global_device_ids");
  return fmt::format("{}", fmt::join(out, ", "));
}

void StableHloPrinter::op_collective(Value v) {
  if (v->op == Op::AllGatherDone || v->op == Op::CollectivePermuteDone) {
    written(v).name = use_parts(v->operand(0))[1];
    return;
  }
  if (v->op == Op::RaggedAllToAll) return fail(v, "'ragged-all-to-all' has no form in StableHLO");
  if (const auto* c = get_if<CollectiveAttr>(v->attr); c && v->op == Op::AllToAll && !c->has_dims) return fail(v, "an all-to-all of tuples has no form in StableHLO");
  if (const auto* p = get_if<PermuteAttr>(v->attr); p && !p->slice_sizes.empty()) return fail(v, "a collective-permute in place has no form in StableHLO");
  std::string name(facts(v->op).stablehlo);
  bool start = v->op == Op::AllGatherStart || v->op == Op::CollectivePermuteStart;
  if (start) name = v->op == Op::AllGatherStart ? "stablehlo.all_gather" : "stablehlo.collective_permute";
  if (v->op == Op::AllReduceStart) name = "stablehlo.all_reduce";
  if (start && v->operand_count != 1) return fail(v, fmt::format("'{}' of several operands has no form in StableHLO", name_of(v->op)));
  std::string operands = uses(v->operands()), extra = dictionary(v), properties = collective_properties(v), prefix;
  Type result = start ? v->type.element_type(1) : v->type;
  std::string signature = function_type(v->operands(), result);
  if (start) {
    std::string name_of_result = fresh(v);
    written(v).parts.assign(v->type.tuple_size(), name_of_result);
    written(v).parts[0] = use(v->operand(0));
    written(v).has_parts = true;
    prefix = name_of_result + " = ";
  } else {
    prefix = define(v);
  }
  if (v->callee_count == 0) {
    line(fmt::format("{}\"{}\"({}) <{{{}}}>{} : {}{}", prefix, name, operands, properties, extra, signature, location(v)));
    return;
  }
  line(fmt::format("{}\"{}\"({}) <{{{}}}> ({{", prefix, name, operands, properties));
  region_of_arguments(v->callee(0), true);
  line(fmt::format("}}){} : {}{}", extra, signature, location(v)));
}

// ---- The host, asynchrony ----

void StableHloPrinter::op_transfer(Value v) {
  if (v->op == Op::SendDone) {  // send printed its token
    written(v).name = use_parts(v->operand(0)).back();
    return;
  }
  if (v->op == Op::RecvDone) return alias(v, v->operand(0));
  std::string properties;
  if (const auto* c = get_if<ChannelAttr>(v->attr)) {
    properties = fmt::format("channel_handle = #stablehlo.channel_handle<handle = {}, type = {}>, is_host_transfer = {}", c->channel_id.value_or(0), c->channel_type, c->is_host_transfer);
    if (!c->source_target_pairs.empty()) properties += ", source_target_pairs = " + mlir_pairs(c->source_target_pairs);
  }
  if (const auto* i = get_if<InfeedAttr>(v->attr)) {
    properties = "infeed_config = " + mlir_quoted(i->config);
    if (!i->layout.empty()) properties += ", layout = " + i->layout;
  }
  if (const auto* o = get_if<OutfeedAttr>(v->attr)) properties = "outfeed_config = " + mlir_quoted(o->config);
  // Operands: data (a tuple is several), then the token.
  std::vector<std::string> names;
  std::vector<Type> operand_types, result_types;
  for (Value o : v->operands()) {
    std::vector<std::string> parts = o->type.is_tuple() ? use_parts(o) : std::vector<std::string>{use(o)};
    names.insert(names.end(), parts.begin(), parts.end());
    for (Type t : parts_or_one(o->type)) operand_types.push_back(t);
  }
  bool receives = v->op == Op::Infeed || v->op == Op::Recv;
  if (receives) result_types = parts_or_one(v->type.element_type(0));
  Type token = operand_types.back();
  result_types.push_back(token);
  std::string extra = dictionary(v), prefix;
  Written& w = written(v);
  if (v->op == Op::Outfeed) prefix = define(v);
  else define_parts(w, frame_->computation->name(v), result_types.size(), prefix);
  std::string results = result_types.size() == 1 ? type(result_types[0]) : "(" + type_list(result_types) + ")";
  line(fmt::format("{}\"{}\"({}) <{{{}}}>{} : ({}) -> {}{}", prefix, facts(v->op).stablehlo, fmt::join(names, ", "), properties, extra, type_list(operand_types), results, location(v)));
}

void StableHloPrinter::op_async(Value v) {
  bool start = v->op == Op::AsyncStart;
  Type future = start ? v->type : v->operand(0)->type;
  if (future.kind() != TypeKind::future) return fail(v, "asynchronous operations of HLO have no form in StableHLO");
  std::string operands = uses(v->operands()), extra = dictionary(v), signature = function_type(v->operands(), v->type), prefix = define(v);
  if (!start) return line(fmt::format("{}\"stablehlo.async_done\"({}){} : {}{}", prefix, operands, extra, signature, location(v)));
  line(fmt::format("{}\"stablehlo.async_start\"({}) ({{", prefix, operands));
  region_of_arguments(v->callee(0), true);
  line(fmt::format("}}){} : {}{}", extra, signature, location(v)));
}

}  // namespace hloc::ir
