// HLO text of a module, in the style of XLA's dumps without '%'.
#include <fmt/format.h>

#include "ir/print/hlo_forms.h"
#include "ir/print/hlo_printer.h"
#include "ir/print/hlo_text.h"
#include "ir/read/read.h"

namespace hloc::ir {
namespace {

struct HloPrintRow {
  std::string_view name;
  HloPresence presence;
  const HloOps* ops;
  size_t attr;
  bool (*usual)(const Attr& attr);  // whether the member has its default value
  void (*print)(HloFormPrinter printer, const Attr& attr);
};

template <class Form, class T>
bool is_usual(Form, const T& value, const T& fallback) {
  return value == fallback;
}
bool is_usual(form::Padding, const PadAttr& value, const PadAttr&) { return value.low.empty(); }
bool is_usual(form::CollectiveDims, const CollectiveAttr& value, const CollectiveAttr&) {
  return !value.has_dims && value.split_dim < 0;
}

constexpr HloPrintRow hlo_print_rows[] = {
#define HLOC_HLO_ATTRIBUTE(Struct, text, member, form_type, presence, ops)                        \
  {text, HloPresence::presence, &hlo_set::ops, attr_index<Struct>(),                              \
   [](const Attr& attr) {                                                                         \
     auto of = [](const Struct& a) -> const auto& { return member; };                             \
     return is_usual(form_type{}, of(get<Struct>(attr)), of(Struct{}));                           \
   },                                                                                             \
   [](HloFormPrinter p, const Attr& attr) {                                                       \
     const auto& a = get<Struct>(attr);                                                      \
     p.print(form_type{}, member);                                                                \
   }},
#define HLOC_HLO_METADATA(text, member, form_type)
#define HLOC_HLO_MODULE(text, member, form_type)
#include "ir/hlo_attributes.def"
#undef HLOC_HLO_ATTRIBUTE
#undef HLOC_HLO_METADATA
#undef HLOC_HLO_MODULE
};

std::span<const HloPrintRow* const> hlo_print_rows_of(Op op) {
  static const auto by_op = [] {
    std::vector<std::vector<const HloPrintRow*>> table(all_ops().size());
    for (size_t i = 0; i < table.size(); ++i) {
      size_t attr = default_attr(static_cast<Op>(i)).index();
      for (const HloPrintRow& row : hlo_print_rows)
        if (row.attr == attr && row.ops->contains(static_cast<Op>(i))) table[i].push_back(&row);
    }
    return table;
  }();
  return by_op[static_cast<size_t>(op)];
}

// Appends `before` and `name=value` when the member differs from a default-constructed struct's.
template <class T, class Form>
void append_hlo_member(HloFormPrinter p, std::string_view before, std::string_view name, const T& value, const T& fallback, Form form) {
  if (value == fallback) return;
  p.out += before;
  p.out += name;
  p.out += '=';
  p.print(form, value);
}

void append_hlo_member(HloFormPrinter p, std::string_view before, std::string_view name,
                   const std::vector<std::pair<std::string, std::string>>& value,
                   const std::vector<std::pair<std::string, std::string>>&, form::Unknown) {
  for (const auto& [key, text] : value)
    if (key == name) fmt::format_to(std::back_inserter(p.out), "{}{}={}", before, key, text);
}

// Whether a start with this callee can be written as OP-start, whose computation is then implied.
bool implies_computation(Value start) {
  const auto& attr = start->as<AsyncAttr>();
  if (!attr.sugared || start->callee_count != 1) return false;
  const Computation& c = start->callee(0);
  Value root = c.root();
  // These have aliases of their own, under the same name.
  if (!attr.aliases.empty() && (root->op == Op::Fusion || root->op == Op::CustomCall)) return false;
  if (c.size() != start->operand_count + 1 || root->operand_count != start->operand_count || root->extras) return false;
  if (root->id + 1 != c.size() || facts(root->op).hlo.empty() || root->op == Op::Parameter) return false;
  if (c.execution_thread() != attr.execution_thread) return false;
  Type type = start->type;
  if (!type.is_tuple() || type.tuple_size() < 2 || !type.element_type(0).is_tuple() ||
      type.element_type(0).tuple_size() != start->operand_count || type.element_type(1) != root->type)
    return false;
  for (uint32_t i = 0; i < root->operand_count; ++i) {
    Value p = root->operand(i);
    if (p->op != Op::Parameter || p->id != i || p->as<ParameterAttr>().number != i || p->extras) return false;
    if (p->type != type.element_type(0).element_type(i)) return false;
  }
  return true;
}

Value async_start_of(Value v) {
  while (v->op != Op::AsyncStart && v->operand_count == 1 && (v->op == Op::AsyncUpdate || v->op == Op::AsyncDone)) v = v->operand(0);
  return v->op == Op::AsyncStart ? v : nullptr;
}

}  // namespace

void HloPrinter::type(Type type) {
  if (type.is_array() && type.dims().empty()) return append_type(out_, type);
  auto [it, is_new] = type_texts_.try_emplace(type.node());
  if (is_new) append_type(it->second, type);
  out_ += it->second;
}

void HloPrinter::use_names(const Computation& computation) {
  renamed_.clear();
  named_ = &computation;
  bool all_plain = true;
  for (Value v : computation.instructions()) all_plain &= classify_name(computation.name(v)) == HloNameKind::plain;
  if (all_plain) return;
  std::unordered_set<std::string> taken;
  for (Value v : computation.instructions()) taken.insert(std::string(computation.name(v)));
  for (Value v : computation.instructions()) {
    HloNameKind kind = classify_name(computation.name(v));
    if (kind == HloNameKind::plain) continue;
    bool other = kind == HloNameKind::illegal || (kind == HloNameKind::type_name && rename_types_);
    std::string wanted = kind == HloNameKind::type_name && other ? std::string(computation.name(v)) + '_' : legal_name(computation.name(v));
    std::string candidate = wanted;
    for (size_t i = 1; other && !taken.insert(candidate).second; ++i) candidate = fmt::format("{}.{}", wanted, i);
    renamed_.emplace(v, std::move(candidate));
  }
}

void HloPrinter::name(const Computation& computation, Value v) {
  if (named_ == &computation) {
    auto it = renamed_.empty() ? renamed_.end() : renamed_.find(v);
    if (it != renamed_.end()) out_ += it->second;
    else out_ += computation.name(v);
  } else {
    out_ += legal_name(computation.name(v));
  }
}

void HloPrinter::operands(const Computation& computation, Value v) {
  out_ += '(';
  if (v->op == Op::Parameter) append_integer(out_, v->as<ParameterAttr>().number);
  if (v->op == Op::Constant) append_literal(out_, v->as<ConstantAttr>().value, elide_above());
  bool first = true;
  for (Value operand : v->operands()) {
    if (!first) out_ += ", ";
    first = false;
    name(computation, operand);
  }
  out_ += ')';
}

Value HloPrinter::sugared_root(Value v) const {
  if (v->op != Op::AsyncStart && v->op != Op::AsyncUpdate && v->op != Op::AsyncDone) return nullptr;
  if (!v->as<AsyncAttr>().sugared) return nullptr;
  Value start = async_start_of(v);
  return start && start->callee_count == 1 && sugar_.contains(&start->callee(0)) ? start->callee(0).root() : nullptr;
}

void HloPrinter::instruction(const Computation& computation, Value v) {
  if (v == computation.root()) out_ += "ROOT ";
  name(computation, v);
  out_ += " = ";
  type(v->type);
  out_ += ' ';
  Value inner = sugared_root(v);
  if (inner) {
    out_ += name_of(inner->op);
    out_ += v->op == Op::AsyncStart ? "-start" : v->op == Op::AsyncUpdate ? "-update" : "-done";
  } else {
    out_ += name_of(v->op);
  }
  operands(computation, v);
  if (inner && v->op == Op::AsyncStart) {
    attributes(inner);
    callees(inner);
  }
  attributes(v);
  if (!inner) callees(v);
  if (v->extras) extras(computation, *v->extras);
  const Location& at = computation.location(v);
  if (options_.metadata && at.metadata) metadata(*at.metadata);
}

void HloPrinter::attributes(Value v) {
  for (const HloPrintRow* row : hlo_print_rows_of(v->op)) {
    if (row->presence == HloPresence::optional && row->usual(*v->attr)) continue;
    out_ += ", ";
    out_ += row->name;
    out_ += '=';
    row->print({out_, elide_above()}, *v->attr);
  }
}

// A conditional on a pred names its two branches; a custom call remembers how its computation was named.
void HloPrinter::callees(Value v) {
  if (v->callee_count == 0) return;
  bool as_list = v->op == Op::Conditional   ? v->operand(0)->type.element() != ElementType::pred
                 : v->op == Op::CustomCall ? !v->as<CustomCallAttr>().single_callee || v->callee_count != 1
                                           : false;
  for (const HloCallee& row : hlo_callees) {
    if (!row.ops->contains(v->op) || (row.slot < 0) != as_list) continue;
    if (row.slot >= static_cast<int>(v->callee_count)) continue;
    out_ += ", ";
    out_ += row.name;
    out_ += '=';
    if (!as_list) {
      out_ += hlo_computation_name(v->callee(static_cast<size_t>(row.slot)).name());
      continue;
    }
    out_ += '{';
    for (size_t i = 0; i < v->callee_count; ++i) {
      if (i > 0) out_ += ", ";
      out_ += hlo_computation_name(v->callee(i).name());
    }
    out_ += '}';
  }
}

void HloPrinter::extras(const Computation& computation, const Extras& e) {
  HloFormPrinter p{out_, elide_above()};
  if (e.sharding) {
    out_ += ", sharding=";
    append_sharding(out_, *e.sharding);
  }
  if (!e.parameter_replication.empty()) out_ += ", parameter_replication=" + e.parameter_replication;
  append_hlo_member(p, ", ", "frontend_attributes", e.frontend_attributes, {}, form::Frontend{});
  if (!e.control_predecessors.empty()) {
    out_ += ", control-predecessors={";
    for (size_t i = 0; i < e.control_predecessors.size(); ++i) {
      if (i > 0) out_ += ", ";
      name(computation, e.control_predecessors[i]);
    }
    out_ += '}';
  }
  if (!e.statistics.empty()) out_ += ", statistics=" + e.statistics;
  if (!e.origin.empty()) out_ += ", origin=" + e.origin;
  if (e.backend_config) {
    out_ += ", backend_config=";
    append_frontend_attribute(out_, {"", e.backend_config->value, e.backend_config->braced});
  }
}

void HloPrinter::metadata(const Metadata& a) {
  size_t before = out_.size();
  out_ += ", metadata={";
  size_t start = out_.size();
  HloFormPrinter p{out_, elide_above()};
  static const Metadata usual;
#define HLOC_HLO_ATTRIBUTE(Struct, text, member, form_type, presence, ops)
#define HLOC_HLO_METADATA(text, member, form_type)                                         \
  {                                                                                        \
    auto get = [](const Metadata& a) -> const auto& { return member; };                    \
    append_hlo_member(p, out_.size() == start ? "" : " ", text, get(a), get(usual), form_type{}); \
  }
#define HLOC_HLO_MODULE(text, member, form_type)
#include "ir/hlo_attributes.def"
#undef HLOC_HLO_ATTRIBUTE
#undef HLOC_HLO_METADATA
#undef HLOC_HLO_MODULE
  if (out_.size() == start) out_.resize(before);
  else out_ += '}';
}

void HloPrinter::computation(const Computation& computation, bool is_entry) {
  if (is_entry) out_ += "ENTRY ";
  out_ += hlo_computation_name(computation.name());
  out_ += " {\n";
  use_names(computation);
  for (Value v : computation.instructions()) {
    out_ += "  ";
    instruction(computation, v);
    out_ += '\n';
  }
  out_ += '}';
  if (!computation.execution_thread().empty()) {
    out_ += ", execution_thread=";
    append_quoted(out_, computation.execution_thread());
  }
  out_ += '\n';
}

void HloPrinter::header(const Module& module) {
  out_ += "HloModule ";
  out_ += hlo_computation_name(module.name());
  HloFormPrinter p{out_, elide_above()};
  static const ModuleConfig usual;
  const ModuleConfig& config = module.config();
#define HLOC_HLO_ATTRIBUTE(Struct, text, member, form_type, presence, ops)
#define HLOC_HLO_METADATA(text, member, form_type)
#define HLOC_HLO_MODULE(text, member, form_type)                             \
  {                                                                          \
    auto get = [](const ModuleConfig& a) -> const auto& { return member; };  \
    append_hlo_member(p, ", ", text, get(config), get(usual), form_type{});      \
  }
#include "ir/hlo_attributes.def"
#undef HLOC_HLO_ATTRIBUTE
#undef HLOC_HLO_METADATA
#undef HLOC_HLO_MODULE
  out_ += '\n';
  if (options_.metadata && !config.stack_frames.empty()) {
    out_ += '\n';
    out_ += config.stack_frames;
    out_ += '\n';
  }
}

void HloPrinter::find_sugar(const Module& module) {
  std::unordered_map<const Computation*, size_t> uses;
  std::vector<Value> starts;
  for (const ComputationRef& c : module.computations())
    for (Value v : c->instructions()) {
      for (const Computation* callee : v->callees()) ++uses[callee];
      if (v->op == Op::AsyncStart && implies_computation(v)) starts.push_back(v);
    }
  for (Value start : starts)
    if (uses[&start->callee(0)] == 1 && &start->callee(0) != &module.entry()) sugar_.insert(&start->callee(0));
}

void HloPrinter::module(const Module& module) {
  rename_types_ = !module.source() || file_kind(module.source()->text) != FileKind::hlo_text;
  find_sugar(module);
  header(module);
  for (const ComputationRef& c : module.computations()) {
    if (sugar_.contains(c.get())) continue;
    out_ += '\n';
    computation(*c, c.get() == &module.entry());
  }
}

std::string hlo_computation_name(std::string_view name) { return legal_name(name); }

Result<std::string> print_hlo(const Module& module, const PrintOptions& options) {
  if (auto why = unprintable_as_hlo(module)) return *std::move(why);
  HloPrinter printer(options);
  printer.module(module);
  return std::move(printer.out());
}

}  // namespace hloc::ir
