// Attributes of StableHLO operations by name, and what becomes of those that no handler asks for.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "ir/read/hlo_sharding.h"
#include "ir/read/stablehlo_build.h"
#include "ir/read/stablehlo_dense.h"
#include "ir/support/braces.h"

namespace hloc::ir::mlir {
namespace {

constexpr int64_t longest_attribute = int64_t{1} << 24;  // elements of a splat that names dimensions

}  // namespace

const Attribute* PieceBuilder::find(const Operation& op, std::string_view name) {
  for (size_t i = 0; i < op.attributes.size(); ++i)
    if (op.attributes[i].name == name) {
      if (i < asked_.known.size()) asked_.known[i] = true;
      return &op.attributes[i].value;
    }
  asked_.missing.emplace_back(name);
  return nullptr;
}

const Attribute* PieceBuilder::require(const Operation& op, std::string_view name) {
  if (const Attribute* a = find(op, name)) return a;
  std::vector<std::string_view> given;
  for (size_t i = 0; i < op.attributes.size(); ++i)
    if (!asked_.known[i]) given.push_back(op.attributes[i].name);
  std::string_view near = nearest(name, given);
  if (near.empty()) return fail(op, fmt::format("'{}' needs the attribute '{}'", op.name, name)), nullptr;
  auto it = std::find_if(op.attributes.begin(), op.attributes.end(), [&](const NamedAttribute& a) { return a.name == near; });
  fail(it->loc, fmt::format("'{}' has no attribute '{}'{}", op.name, near, suggestion(name)));
  return nullptr;
}

bool PieceBuilder::ints_of(const Attribute& attribute, std::string_view name, Ints& out) {
  out.clear();
  if (attribute.kind == Attribute::ints) {
    out = attribute.integers;
    return true;
  }
  if (attribute.kind == Attribute::list) {
    for (const Attribute& element : attribute.elements) {
      if (element.kind != Attribute::integer && element.kind != Attribute::boolean) return fail(attribute.loc, fmt::format("'{}' must be a list of integers", name));
      out.push_back(element.integer_value);
    }
    return true;
  }
  if (attribute.kind == Attribute::dense && (is_integer(attribute.type.element()) || attribute.type.element() == ElementType::pred)) {
    if (attribute.type.count() > longest_attribute) return fail(attribute.loc, fmt::format("'{}' has too many entries", name));
    Literal value;
    if (!literal(attribute, value)) return false;
    ElementType type = attribute.type.element();
    size_t width = static_cast<size_t>(byte_width(type));
    for (size_t i = 0; i < value.size(); i += width) {
      uint64_t bits = 0;
      std::memcpy(&bits, value.bytes().data() + i, width);
      int shift = static_cast<int>(64 - 8 * width);
      out.push_back(is_signed_integer(type) ? static_cast<int64_t>(bits << shift) >> shift : static_cast<int64_t>(bits));
    }
    return true;
  }
  return fail(attribute.loc, fmt::format("'{}' must be a list of integers, such as array<i64: 0, 1>", name));
}

bool PieceBuilder::get_ints(const Operation& op, std::string_view name, Ints& out, bool required) {
  const Attribute* a = required ? require(op, name) : find(op, name);
  return a ? ints_of(*a, name, out) : !required;
}

bool PieceBuilder::get_int(const Operation& op, std::string_view name, int64_t& out, bool required) {
  const Attribute* a = required ? require(op, name) : find(op, name);
  if (!a) return !required;
  if (a->kind != Attribute::integer) return fail(a->loc, fmt::format("'{}' must be an integer, such as 1 : i64", name));
  out = a->integer_value;
  return true;
}

bool PieceBuilder::get_bool(const Operation& op, std::string_view name, bool& out) {
  const Attribute* a = find(op, name);
  if (!a) return true;
  if (a->kind == Attribute::unit) {
    out = true;
    return true;
  }
  if (a->kind != Attribute::boolean) return fail(a->loc, fmt::format("'{}' must be true or false", name));
  out = a->integer_value != 0;
  return true;
}

bool PieceBuilder::get_real(const Operation& op, std::string_view name, double& out, bool required) {
  const Attribute* a = required ? require(op, name) : find(op, name);
  if (!a) return !required;
  if (a->kind != Attribute::real && a->kind != Attribute::integer) return fail(a->loc, fmt::format("'{}' must be a number, such as 1.0e-5 : f32", name));
  out = a->real_value;
  return true;
}

bool PieceBuilder::get_string(const Operation& op, std::string_view name, std::string& out, bool required) {
  const Attribute* a = required ? require(op, name) : find(op, name);
  if (!a) return !required;
  if (a->kind != Attribute::string && a->kind != Attribute::symbol) return fail(a->loc, fmt::format("'{}' must be a string", name));
  out = a->text;
  return true;
}

bool PieceBuilder::get_word(const Operation& op, std::string_view name, std::span<const std::string_view> words, size_t& out, bool required) {
  const Attribute* a = required ? require(op, name) : find(op, name);
  if (!a) return !required;
  for (size_t i = 0; i < words.size(); ++i)
    if (a->text == words[i]) {
      out = i;
      return true;
    }
  std::string_view near = nearest(a->text, words);
  std::string list = fmt::format("{}", fmt::join(words, ", "));
  return fail(a->loc, fmt::format("'{}' is none of {}{}", a->text, list, suggestion(near)));
}

bool PieceBuilder::structure_ints(const Attribute& structure, std::string_view name, Ints& out) {
  const Attribute* a = structure.find(name);
  if (!a) {
    out.clear();
    return true;
  }
  return ints_of(*a, name, out);
}

bool PieceBuilder::structure_int(const Attribute& structure, std::string_view name, int64_t& out) {
  const Attribute* a = structure.find(name);
  if (!a) return true;
  if (a->kind != Attribute::integer) return fail(a->loc, fmt::format("'{}' must be an integer", name));
  out = a->integer_value;
  return true;
}

bool PieceBuilder::int_lists_of(const Attribute& a, std::string_view name, std::vector<Ints>& out) {
  out.clear();
  if (a.kind == Attribute::list || (a.kind == Attribute::ints && a.integers.empty())) {
    for (const Attribute& element : a.elements)
      if (!ints_of(element, name, out.emplace_back())) return false;
    return true;
  }
  if (a.kind != Attribute::dense || a.type.rank() != 2) return fail(a.loc, fmt::format("'{}' must be a list of lists of integers, such as dense<[[0, 1]]> : tensor<1x2xi64>", name));
  Ints flat;
  if (!ints_of(a, name, flat)) return false;
  size_t columns = static_cast<size_t>(a.type.dim(1));
  for (size_t row = 0; row < static_cast<size_t>(a.type.dim(0)); ++row)
    out.emplace_back(flat.begin() + static_cast<ptrdiff_t>(row * columns), flat.begin() + static_cast<ptrdiff_t>((row + 1) * columns));
  return true;
}

bool PieceBuilder::get_int_lists(const Operation& op, std::string_view name, std::vector<Ints>& out, bool required) {
  const Attribute* a = required ? require(op, name) : find(op, name);
  return a ? int_lists_of(*a, name, out) : !required;
}

std::string PieceBuilder::all_attributes(const Operation& op) {
  asked_.known.assign(op.attributes.size(), true);
  return op.attributes.empty() ? std::string() : to_text(op.attributes);
}

// ---- Attributes that no handler knows ----

// HLO's text of a sharding in a string. Some exporters write a binary form, which stays what it is.
bool PieceBuilder::read_sharding_text(const Attribute& attribute, std::optional<Sharding>& out) {
  Source text{"", attribute.text};
  HloLexer lexer(text);
  Sharding sharding;
  if (read_sharding(lexer, sharding) && (lexer.at_end() || lexer.expected("nothing after the sharding"))) {
    out = std::move(sharding);
    return true;
  }
  return fail(attribute.loc, "this is no sharding: " + lexer.take_error().message);
}

Extras PieceBuilder::extras_of(std::span<const NamedAttribute* const> attributes) {
  Extras extras;
  for (const NamedAttribute* a : attributes) {
    if (a->name == "mhlo.frontend_attributes" && a->value.kind == Attribute::dictionary) {
      for (const NamedAttribute& entry : a->value.entries) {
        const std::string& text = entry.value.text;
        extras.frontend_attributes.push_back({entry.name, entry.value.kind == Attribute::string ? text : to_text(entry.value), is_braced(text)});
      }
    } else if (a->name == "mhlo.sharding" && a->value.text.starts_with('{')) {
      read_sharding_text(a->value, extras.sharding);
    } else if (a->name == "mhlo.backend_config" && a->value.kind == Attribute::dictionary) {
      extras.backend_config = FrontendAttribute{"", to_text(a->value), true};
    } else if (a->name == "mhlo.backend_config" && a->value.kind == Attribute::string) {
      extras.backend_config = FrontendAttribute{"", a->value.text, is_braced(a->value.text)};
    } else {
      extras.unknown.emplace_back(a->name, to_text(a->value));
    }
  }
  return extras;
}

bool PieceBuilder::attach_rest(const Operation& op) {
  std::vector<const NamedAttribute*> rest;
  for (size_t i = 0; i < op.attributes.size(); ++i) {
    if (asked_.known[i]) continue;
    const NamedAttribute& a = op.attributes[i];
    if (a.name.find('.') == std::string::npos)
      if (std::string_view near = nearest(a.name, asked_.missing); !near.empty())
        return fail(a.loc, fmt::format("'{}' has no attribute '{}'{}", op.name, a.name, suggestion(near)));
    rest.push_back(&a);
  }
  if (rest.empty() || !asked_.main) return true;
  Extras extras = asked_.main->extras ? *asked_.main->extras : Extras{};
  Extras more = extras_of(rest);
  if (more.sharding) extras.sharding = more.sharding;
  extras.frontend_attributes.insert(extras.frontend_attributes.end(), more.frontend_attributes.begin(), more.frontend_attributes.end());
  if (more.backend_config) extras.backend_config = more.backend_config;
  extras.unknown.insert(extras.unknown.end(), more.unknown.begin(), more.unknown.end());
  builder_->set_extras(asked_.main, std::move(extras));
  return true;
}

void PieceBuilder::argument_attributes(const Function& function, size_t index, Value parameter, bool is_entry) {
  std::vector<const NamedAttribute*> rest;
  int64_t number = static_cast<int64_t>(index);
  for (const NamedAttribute& a : function.argument_attributes[index]) {
    if (is_entry && a.name == "tf.aliasing_output" && a.value.kind == Attribute::integer) {
      ShapeIndex output = function.result_types.size() == 1 ? ShapeIndex{} : ShapeIndex{a.value.integer_value};
      module_.config().aliases.push_back({output, number, {}, false, true});
    } else if (is_entry && a.name == "jax.buffer_donor" && a.value.integer_value != 0) {
      module_.config().donors.push_back({number, {}});
    } else {
      rest.push_back(&a);
    }
  }
  if (!rest.empty()) builder_->set_extras(parameter, extras_of(rest));
}

// The attributes of results stand at the root, as MLIR's generic form writes them.
void PieceBuilder::result_attributes(const Function& function, Value root) {
  bool any = false;
  std::string text = "[";
  for (size_t i = 0; i < function.result_attributes.size(); ++i) {
    any |= !function.result_attributes[i].empty();
    text += (i == 0 ? "" : ", ") + to_text(function.result_attributes[i]);
  }
  if (!any) return;
  Extras extras = root->extras ? *root->extras : Extras{};
  extras.unknown.emplace_back("res_attrs", text + "]");
  builder_->set_extras(root, std::move(extras));
}

void PieceBuilder::module_attributes() {
  ModuleConfig& config = module_.config();
  std::vector<NamedAttribute> rest;
  auto positive = [&](const Attribute& a, int64_t& out) {
    if (a.kind != Attribute::integer || a.integer_value < 1) return fail(a.loc, "expected a number of devices, at least 1");
    out = a.integer_value;
    return true;
  };
  for (const NamedAttribute& a : piece_.attributes) {
    if (a.name == "mhlo.num_partitions") positive(a.value, config.num_partitions);
    else if (a.name == "mhlo.num_replicas") positive(a.value, config.replica_count);
    else if (a.name == "mhlo.frontend_attributes" && a.value.kind == Attribute::dictionary)
      for (const NamedAttribute& entry : a.value.entries)
        config.frontend_attributes.push_back({entry.name, entry.value.kind == Attribute::string ? entry.value.text : to_text(entry.value), entry.value.text.starts_with('{')});
    else rest.push_back(a);
  }
  if (!rest.empty()) config.stablehlo_prologue = "attributes " + to_text(rest) + "\n";
  for (const std::string& other : piece_.others) config.stablehlo_prologue += other + "\n";
}

// ---- Locations ----

namespace {

// The next quoted string of a location's text, or nothing.
std::optional<std::string> location_string(std::string_view& text) {
  size_t begin = text.find('"');
  if (begin == std::string_view::npos) return std::nullopt;
  size_t end = begin + 1;
  while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
  if (end >= text.size()) return std::nullopt;
  std::string out;
  for (size_t i = begin + 1; i < end; ++i)
    if (text[i] != '\\' || ++i < end) out += text[i];
  text.remove_prefix(end + 1);
  return out;
}

int64_t location_number(std::string_view& text) {
  int64_t value = 0;
  if (!text.starts_with(':')) return 0;
  auto [end, code] = std::from_chars(text.data() + 1, text.data() + text.size(), value);
  if (code != std::errc()) return 0;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

}  // namespace

// "name"(…) gives the op's name, "file":line:column its place; aliases are followed, the innermost first.
const Metadata* PieceBuilder::metadata_of(const Attribute& location) {
  if (location.kind != Attribute::location) return nullptr;
  Metadata metadata;
  std::string_view text = location.text;
  for (int hops = 0; hops < 16; ++hops) {
    std::string_view before = text;
    if (auto name = location_string(text); name && before.find('"') < std::min(before.find('#'), before.size())) {
      if (text.starts_with(':')) {
        metadata.source_file = KeptText(context_->string(*name));
        metadata.source_line = location_number(text);
        metadata.source_column = location_number(text);
        break;
      }
      if (metadata.op_name.empty()) metadata.op_name = KeptText(context_->string(*name));
      if (!text.starts_with('(')) break;
      continue;
    }
    text = before;
    size_t hash = text.find('#');
    if (hash == std::string_view::npos) break;
    size_t end = hash + 1;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_' || text[end] == '.')) ++end;
    auto it = piece_.aliases.find(text.substr(hash + 1, end - hash - 1));
    if (it == piece_.aliases.end() || it->second.kind != Attribute::location) break;
    text = it->second.text;
  }
  if (metadata == Metadata{}) return nullptr;
  return context_->metadata(std::move(metadata));
}

}  // namespace hloc::ir::mlir
