// Attributes of the StableHLO tree as text, and looking them up.
#include "ir/read/stablehlo_tree.h"

#include <fmt/format.h>

#include "ir/print/print.h"

namespace hloc::ir::mlir {

namespace {

Attribute attribute_of(Attribute::Kind kind) {
  Attribute out;
  out.kind = kind;
  return out;
}
Attribute attribute_of(Attribute::Kind kind, std::string_view text) {
  Attribute out = attribute_of(kind);
  out.text = text;
  return out;
}

}  // namespace

Attribute integer_attribute(int64_t value) {
  Attribute out = attribute_of(Attribute::integer);
  out.integer_value = value;
  return out;
}
Attribute string_attribute(std::string_view value) { return attribute_of(Attribute::string, value); }
Attribute word_attribute(std::string_view value) { return attribute_of(Attribute::enumeration, value); }
Attribute structure_attribute(std::string_view name) { return attribute_of(Attribute::structure, name); }
Attribute type_attribute(Type value) {
  Attribute out = attribute_of(Attribute::type_value);
  out.type = value;
  return out;
}
Attribute ints_attribute(Ints value) {
  Attribute out = attribute_of(Attribute::ints);
  out.integers = std::move(value);
  return out;
}

const Attribute* find_attribute(const std::vector<NamedAttribute>& list, std::string_view name) {
  for (const NamedAttribute& entry : list)
    if (entry.name == name) return &entry.value;
  return nullptr;
}

const Attribute* Attribute::find(std::string_view name) const { return find_attribute(entries, name); }

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    unsigned char byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte >= 0x7f) {
      out += fmt::format("\\{:02X}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

namespace {

bool is_tree_word_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_tree_word(std::string_view text) {
  if (text.empty() || !is_tree_word_start(text[0])) return false;
  for (char c : text)
    if (!is_tree_word_start(c) && !(c >= '0' && c <= '9') && c != '.' && c != '$') return false;
  return true;
}

std::string joined_entries(const std::vector<NamedAttribute>& entries) {
  std::string out;
  for (const NamedAttribute& entry : entries) {
    if (!out.empty()) out += ", ";
    out += is_tree_word(entry.name) ? entry.name : quoted(entry.name);
    if (entry.value.kind != Attribute::unit) out += " = " + to_text(entry.value);
  }
  return out;
}

}  // namespace

std::string symbol_text(std::string_view name) { return is_tree_word(name) ? std::string(name) : quoted(name); }

std::string to_text(const std::vector<NamedAttribute>& dictionary) { return "{" + joined_entries(dictionary) + "}"; }

std::string to_text(const Attribute& a) {
  auto or_written = [&](std::string made) { return a.written.empty() ? made : std::string(a.written); };
  switch (a.kind) {
    case Attribute::unit: return "unit";
    case Attribute::boolean: return a.integer_value != 0 ? "true" : "false";
    case Attribute::integer: return or_written(fmt::format("{} : i64", a.integer_value));
    case Attribute::real: return or_written(fmt::format("{:e} : f64", a.real_value));
    case Attribute::string: return quoted(a.text);
    case Attribute::symbol: return "@" + symbol_text(a.text);
    case Attribute::ints: return or_written(fmt::format("array<i64{}{}>", a.integers.empty() ? "" : ": ", fmt::join(a.integers, ", ")));
    case Attribute::list: {
      std::string out = "[";
      for (size_t i = 0; i < a.elements.size(); ++i) out += (i == 0 ? "" : ", ") + to_text(a.elements[i]);
      return out + "]";
    }
    case Attribute::dictionary: return to_text(a.entries);
    case Attribute::type_value: return or_written(a.type ? mlir_type(a.type) : "none");
    case Attribute::dense: return or_written(fmt::format("dense<{}> : {}", a.content, mlir_type(a.type)));
    case Attribute::resource: return or_written(fmt::format("dense_resource<{}> : {}", a.content, mlir_type(a.type)));
    case Attribute::enumeration: return or_written(quoted(a.text));
    case Attribute::structure: return or_written(fmt::format("#stablehlo.{}<{}>", a.text, joined_entries(a.entries)));
    case Attribute::opaque: return or_written(a.text);
    case Attribute::location: return or_written("loc(" + a.text + ")");
  }
  return {};
}

}  // namespace hloc::ir::mlir
