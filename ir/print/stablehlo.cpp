// StableHLO text: the module, its functions, regions and names.
//
// HLO's nested computations become regions again where StableHLO has regions, functions elsewhere. A tuple that StableHLO
// has as several results is never made: its parts have names, and get-tuple-element of it is only another name. Where a
// tuple is needed as one value all the same, or the parts of one, they are made at the first such use.
#include <algorithm>

#include <fmt/format.h>

#include "ir/print/stablehlo_printer.h"

namespace hloc::ir {

Result<std::string> print_stablehlo(const Module& module, const PrintOptions& options) {
  StableHloPrinter printer(module, options);
  printer.module();
  if (printer.error) return *std::move(printer.error);
  return printer.take();
}

void StableHloPrinter::fail(Value v, std::string why) {
  if (error) return;
  const Loc& at = frame_->computation->location(v).text;
  if (module_.source() && at.end != 0) error = error_at(*module_.source(), at, std::move(why));
  else error = hloc::error(ErrorKind::input, fmt::format("in '{}': {}", frame_->computation->name(), why));
}

// ---- The module ----

namespace {

bool calls_functions(Op op) { return op == Op::Call || op == Op::CustomCall || op == Op::InterpreterRunParallel; }

}  // namespace

// Functions are the entry, what is called by name, and what nothing refers to.
void StableHloPrinter::find_functions() {
  std::unordered_set<const Computation*> referred;
  for (const ComputationRef& c : module_.computations())
    for (Value v : c->instructions())
      for (const Computation* callee : v->callees()) {
        referred.insert(callee);
        if (calls_functions(v->op)) functions_.insert(callee);
      }
  functions_.insert(&module_.entry());
  std::unordered_set<std::string> taken;
  auto name = [&](const Computation& c) {
    std::string wanted(c.name());
    if (&c != &module_.entry() && wanted == "main") wanted = "main_";  // that name would make it the entry
    std::string unique = wanted;
    for (int i = 0; !taken.insert(unique).second; ++i) unique = fmt::format("{}_{}", wanted, i);
    function_names_[&c] = unique;
  };
  name(module_.entry());
  for (const ComputationRef& c : module_.computations()) {
    if (!referred.contains(c.get())) functions_.insert(c.get());
    if (c.get() != &module_.entry() && functions_.contains(c.get())) name(*c);
  }
}

void StableHloPrinter::module_header() {
  const ModuleConfig& config = module_.config();
  std::string_view prologue = config.stablehlo_prologue;
  std::string attributes = fmt::format("mhlo.num_partitions = {} : i32, mhlo.num_replicas = {} : i32", config.num_partitions, config.replica_count);
  if (prologue.starts_with("attributes {")) {
    size_t end = prologue.find('\n');
    std::string_view inside = prologue.substr(0, end);
    inside.remove_prefix(std::string_view("attributes {").size());
    attributes += ", " + std::string(inside.substr(0, inside.rfind('}')));
    prologue = end == std::string_view::npos ? std::string_view() : prologue.substr(end + 1);
  }
  if (!config.frontend_attributes.empty()) {
    attributes += ", mhlo.frontend_attributes = {";
    for (size_t i = 0; i < config.frontend_attributes.size(); ++i) {
      const FrontendAttribute& a = config.frontend_attributes[i];
      attributes += fmt::format("{}{} = {}", i == 0 ? "" : ", ", mlir_quoted(a.key), mlir_quoted(a.value));
    }
    attributes += "}";
  }
  line(fmt::format("module {} attributes {{{}}} {{", mlir_symbol(module_.name()), attributes));
  ++indent_;
  while (!prologue.empty()) {
    size_t end = std::min(prologue.find('\n'), prologue.size());
    line(prologue.substr(0, end));
    prologue.remove_prefix(std::min(end + 1, prologue.size()));
  }
}

void StableHloPrinter::module() {
  find_functions();
  module_header();
  function(module_.entry(), true);
  for (const ComputationRef& c : module_.computations())
    if (c.get() != &module_.entry() && functions_.contains(c.get())) function(*c, false);
  --indent_;
  line("}");
}

// ---- Functions ----

bool StableHloPrinter::returns_parts(const Computation& c) const {
  Value root = c.root();
  return root->op == Op::Tuple ? (root->flags & Instruction::multi_result) != 0 || &c == &module_.entry() : &c == &module_.entry() && root->type.is_tuple();
}

std::vector<Type> StableHloPrinter::result_types(const Computation& c) const {
  if (!returns_parts(c)) return {c.result_type()};
  std::vector<Type> out;
  for (size_t i = 0; i < c.result_type().tuple_size(); ++i) out.push_back(c.result_type().element_type(i));
  return out;
}

std::string StableHloPrinter::argument_attributes(const Computation& c, Value parameter, bool is_entry) {
  std::vector<std::string> more;
  int64_t number = parameter->as<ParameterAttr>().number;
  if (is_entry) {
    for (const AliasEntry& alias : module_.config().aliases)
      if (alias.parameter == number && alias.index.empty() && alias.output.size() <= 1)
        more.push_back(fmt::format("tf.aliasing_output = {} : i32", alias.output.empty() ? 0 : alias.output[0]));
    for (const DonorEntry& donor : module_.config().donors)
      if (donor.parameter == number && donor.index.empty()) more.push_back("jax.buffer_donor = true");
  }
  (void)c;
  return dictionary(parameter, std::move(more));
}

// `res_attrs` of the root: [{a = 1}, {}].
std::vector<std::string> StableHloPrinter::result_attributes(Value root, size_t count) {
  std::vector<std::string> out(count);
  if (!root->extras) return out;
  for (const auto& [name, text] : root->extras->unknown) {
    if (name != "res_attrs") continue;
    int depth = 0;
    bool in_string = false;
    size_t begin = 0, index = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      char c = text[i];
      if (in_string) {
        if (c == '\\') ++i;
        else if (c == '"') in_string = false;
      } else if (c == '"') {
        in_string = true;
      } else if (c == '{' && depth++ == 0) {
        begin = i;
      } else if (c == '}' && --depth == 0 && index < count) {
        std::string entry = text.substr(begin, i + 1 - begin);
        out[index++] = entry == "{}" ? "" : " " + entry;
      }
    }
  }
  return out;
}

void StableHloPrinter::open_frame(Frame& frame, const Computation& c) {
  frame.computation = &c;
  frame.values.resize(c.size());
  frame.uses = use_counts(c);
  frame.plain_uses = frame.uses;
  for (Value v : c.instructions())
    if (is_splat(v)) --frame.plain_uses[v->operand(0)->id];
}

void StableHloPrinter::function(const Computation& c, bool is_entry) {
  names_.clear();
  name_counts_.clear();
  Frame frame;
  open_frame(frame, c);
  frame_ = &frame;
  std::string arguments;
  for (Value p : c.parameters()) {
    written(p).name = fresh(p);
    arguments += fmt::format("{}{}: {}{}", arguments.empty() ? "" : ", ", written(p).name, type(p->type), argument_attributes(c, p, is_entry));
  }
  std::vector<Type> results = result_types(c);
  std::vector<std::string> attributes = result_attributes(c.root(), results.size());
  std::string text;
  for (size_t i = 0; i < results.size(); ++i) text += (i == 0 ? "" : ", ") + type(results[i]) + attributes[i];
  bool plain = results.size() == 1 && attributes[0].empty();
  if (!plain) text = "(" + text + ")";
  line(fmt::format("func.func {} {}({}){} {{", is_entry ? "public" : "private", mlir_symbol(function_names_[&c]), arguments, results.empty() ? "" : " -> " + text));
  ++indent_;
  body(c, "return", returns_parts(c));
  --indent_;
  line("}");
  frame_ = nullptr;
}

// The instructions and the end of a region; `spread`: a tuple root is several values.
void StableHloPrinter::body(const Computation& c, std::string_view terminator, bool spread) {
  for (Value v : c.instructions()) {
    if (error) return;
    if (v->type->depth > deepest_stablehlo_type)
      return fail(v, fmt::format("StableHLO with types nested deeper than {} is not supported", deepest_stablehlo_type));
    instruction(v);
  }
  Value root = c.root();
  std::string names, list;
  if (spread) {
    for (const std::string& part : use_parts(root)) names += (names.empty() ? "" : ", ") + part;
    std::vector<Type> parts;
    for (size_t i = 0; i < root->type.tuple_size(); ++i) parts.push_back(root->type.element_type(i));
    list = type_list(parts);
  } else {
    names = use(root);
    list = type(root->type);
  }
  line(names.empty() ? std::string(terminator) : fmt::format("{} {} : {}", terminator, names, list));
}

// ---- Names ----

void StableHloPrinter::line(std::string_view text) {
  out_.append(static_cast<size_t>(2 * indent_), ' ');
  out_ += text;
  out_ += '\n';
}

std::string StableHloPrinter::fresh(std::string_view wanted) {
  std::string base = "%";
  for (char c : wanted) {
    bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-' || c == '$';
    base += fits ? c : '_';
  }
  bool number = base.size() > 1 && base[1] >= '0' && base[1] <= '9' && base.find_first_not_of("0123456789", 1) != std::string::npos;
  if (number) base.insert(1, "_");
  if (names_.insert(base).second) return base;
  for (int& count = name_counts_[base];;) {
    std::string tried = fmt::format("{}_{}", base, count++);
    if (names_.insert(tried).second) return tried;
  }
}

const std::string& StableHloPrinter::use(Value v) {
  Written& w = written(v);
  if (!w.name.empty()) return w.name;
  if (!w.has_parts) {
    fail(v, fmt::format("'{}' has no form in StableHLO", name_of(v->op)));
    return w.name;
  }
  std::string parts;
  for (const std::string& part : w.parts) parts += (parts.empty() ? "" : ", ") + part;
  w.name = fresh("tuple");
  line(fmt::format("{} = stablehlo.tuple{} : {}", w.name, parts.empty() ? "" : " " + parts, type(v->type)));
  return w.name;
}

const std::vector<std::string>& StableHloPrinter::use_parts(Value v) {
  if (!written(v).has_parts) {
    std::string whole = use(v);
    std::vector<std::string> parts;
    for (size_t i = 0; i < v->type.tuple_size(); ++i) {
      parts.push_back(fresh("element"));
      line(fmt::format("{} = stablehlo.get_tuple_element {}[{}] : ({}) -> {}", parts.back(), whole, i, type(v->type), type(v->type.element_type(i))));
    }
    written(v).parts = std::move(parts);
    written(v).has_parts = true;
  }
  return written(v).parts;
}

std::string StableHloPrinter::uses(std::span<const Value> values) {
  std::string out;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string& name = use(values[i]);
    out += (i == 0 ? "" : ", ") + name;
  }
  return out;
}

void StableHloPrinter::alias(Value v, Value same) { written(v) = written(same); }

void StableHloPrinter::define_parts(Written& w, std::string_view wanted, size_t count, std::string& prefix) {
  w.has_parts = true;
  if (count == 0) return;
  std::string name = fresh(wanted);
  prefix = count == 1 ? name + " = " : fmt::format("{}:{} = ", name, count);
  for (size_t i = 0; i < count; ++i) w.parts.push_back(count == 1 ? name : fmt::format("{}#{}", name, i));
}

std::string StableHloPrinter::define(Value v) {
  Written& w = written(v);
  std::string prefix;
  if (v->type.is_tuple()) {
    define_parts(w, frame_->computation->name(v), v->type.tuple_size(), prefix);
    return prefix;
  }
  w.name = fresh(v);
  return w.name + " = ";
}

// ---- Types and dictionaries ----

std::string StableHloPrinter::types(std::span<const Value> values) const {
  std::string out;
  for (size_t i = 0; i < values.size(); ++i) out += (i == 0 ? "" : ", ") + type(values[i]->type);
  return out;
}

std::string StableHloPrinter::type_list(std::span<const Type> list) const {
  std::string out;
  for (size_t i = 0; i < list.size(); ++i) out += (i == 0 ? "" : ", ") + type(list[i]);
  return out;
}

std::string StableHloPrinter::function_type(std::span<const Value> operands, Type result, bool spread) const {
  std::string out = "(" + types(operands) + ") -> ";
  if (!result.is_tuple() || !spread) return out + type(result);
  std::vector<Type> parts;
  for (size_t i = 0; i < result.tuple_size(); ++i) parts.push_back(result.element_type(i));
  return parts.size() == 1 ? out + type_list(parts) : out + "(" + type_list(parts) + ")";
}

}  // namespace hloc::ir
