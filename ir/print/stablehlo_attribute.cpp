// Attributes in StableHLO's spelling.
#include <algorithm>

#include <fmt/format.h>

#include "ir/print/hlo_forms.h"
#include "ir/print/stablehlo_printer.h"
#include "ir/read/stablehlo_dot.h"
#include "ir/read/stablehlo_tree.h"
#include "ir/support/braces.h"

namespace hloc::ir {

std::string mlir_list(const Ints& values) { return fmt::format("[{}]", fmt::join(values, ", ")); }

std::string mlir_array(const Ints& values) {
  return values.empty() ? "array<i64>" : fmt::format("array<i64: {}>", fmt::join(values, ", "));
}

// Short rows are filled up with -1, as replica groups of different sizes are.
std::string mlir_pairs(const std::vector<Ints>& rows) {
  size_t width = 0;
  for (const Ints& row : rows) width = std::max(width, row.size());
  if (rows.empty()) return "dense<> : tensor<0x2xi64>";
  std::string out = "dense<[";
  for (size_t i = 0; i < rows.size(); ++i) {
    Ints row = rows[i];
    row.resize(width, -1);
    out += (i == 0 ? "" : ", ") + mlir_list(row);
  }
  return out + fmt::format("]> : tensor<{}x{}xi64>", rows.size(), width);
}

std::string mlir_quoted(std::string_view text) { return mlir::quoted(text); }
std::string mlir_symbol(std::string_view name) { return "@" + mlir::symbol_text(name); }

namespace {

std::string conv_side_text(int64_t first, int64_t second, std::string_view letters, const Ints& spatial, const Ints& unknown) {
  size_t rank = spatial.size() + unknown.size() + (first >= 0) + (second >= 0);
  std::vector<std::string> entries(rank, "?");
  auto put = [&](int64_t at, std::string text) {
    if (at >= 0 && static_cast<size_t>(at) < rank) entries[static_cast<size_t>(at)] = std::move(text);
  };
  put(first, std::string(letters.substr(0, 1)));
  put(second, std::string(letters.substr(1, 1)));
  for (size_t i = 0; i < spatial.size(); ++i) put(spatial[i], std::to_string(i));
  return fmt::format("[{}]", fmt::join(entries, ", "));
}

constexpr std::string_view precision_words[] = {"DEFAULT", "HIGH", "HIGHEST"};

}  // namespace

std::string mlir_conv_dims(const ConvDims& d) {
  return conv_side_text(d.input_batch, d.input_feature, "bf", d.input_spatial, d.input_unknown) + "x" +
         conv_side_text(d.kernel_input_feature, d.kernel_output_feature, "io", d.kernel_spatial, d.kernel_unknown) + "->" +
         conv_side_text(d.output_batch, d.output_feature, "bf", d.output_spatial, d.output_unknown);
}

std::string mlir_algorithm(DotAlgorithm algorithm) {
  const mlir::DotParts& parts = mlir::dot_algorithms[static_cast<size_t>(algorithm)];
  return fmt::format(
      "<lhs_precision_type = {}, rhs_precision_type = {}, accumulation_type = {}, lhs_component_count = 1, rhs_component_count = 1, "
      "num_primitive_operations = {}, allow_imprecise_accumulation = {}>",
      parts.operand, parts.operand, parts.accumulation, parts.operations, parts.imprecise);
}

std::string mlir_precision(const std::vector<Precision>& precision) {
  std::string out;
  for (Precision p : precision) out += fmt::format("{}{}", out.empty() ? "" : ", ", precision_words[static_cast<size_t>(p)]);
  return out;
}

std::string mlir_precision_attributes(const std::vector<Precision>& precision) {
  std::string out;
  for (Precision p : precision) out += fmt::format("{}#stablehlo<precision {}>", out.empty() ? "" : ", ", precision_words[static_cast<size_t>(p)]);
  return "[" + out + "]";
}

// A dictionary as it is; JSON, which MLIR does not read, and text as a string.
std::string mlir_backend_config(const FrontendAttribute& config) {
  return config.braced && is_mlir_dictionary(config.value) ? config.value : mlir_quoted(config.value);
}

// What is no part of the op itself: extras, and `more` entries in front. Empty when there is nothing to say.
std::string StableHloPrinter::dictionary(Value v, std::vector<std::string> entries) {
  if (const Extras* e = v->extras) {
    bool composite = v->op == Op::Call && v->as<CallAttr>().is_composite;
    std::string frontend;
    for (const FrontendAttribute& a : e->frontend_attributes) {
      if (composite && a.key.starts_with("composite.")) continue;
      frontend += fmt::format("{}{} = {}", frontend.empty() ? "" : ", ", mlir::symbol_text(a.key), mlir_quoted(a.value));
    }
    if (e->backend_config && v->op != Op::CustomCall)
      entries.push_back("mhlo.backend_config = " + mlir_backend_config(*e->backend_config));
    if (!frontend.empty()) entries.push_back("mhlo.frontend_attributes = {" + frontend + "}");
    if (e->sharding) {
      std::string text;
      append_sharding(text, *e->sharding);
      entries.push_back("mhlo.sharding = " + mlir_quoted(text));
    }
    for (const auto& [name, text] : e->unknown)
      if (name != "res_attrs") entries.push_back(text == "unit" ? mlir::symbol_text(name) : mlir::symbol_text(name) + " = " + text);
  }
  return entries.empty() ? std::string() : fmt::format(" {{{}}}", fmt::join(entries, ", "));
}

std::string StableHloPrinter::location(Value v) const {
  if (!options_.metadata) return {};
  const Metadata* m = frame_->computation->location(v).metadata;
  if (!m) return {};
  std::string file = m->source_file.empty() ? "" : fmt::format("{}:{}:{}", mlir_quoted(m->source_file), m->source_line, m->source_column);
  if (m->op_name.empty()) return file.empty() ? "" : " loc(" + file + ")";
  return " loc(" + mlir_quoted(m->op_name) + (file.empty() ? "" : "(" + file + ")") + ")";
}

}  // namespace hloc::ir
