// The state of printing StableHLO text. Files:
//   stablehlo.cpp            the module, functions, regions, names
//   stablehlo_constant.cpp   dense<…>
//   stablehlo_attribute.cpp  attributes of ops as text
//   stablehlo_ops.cpp        pretty forms, one function per family
//   stablehlo_regions.cpp    ops with regions, calls
//   stablehlo_type.cpp       types
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/graph.h"
#include "ir/print/print.h"

namespace hloc::ir {

class StableHloPrinter {
 public:
  StableHloPrinter(const Module& module, const PrintOptions& options) : module_(module), options_(options) {}

  std::optional<Diagnostic> error;
  std::string take() { return std::move(out_); }
  void module();

 private:
  // How a value is written: one name, or the names of its parts (a tuple that StableHLO has as several results).
  struct Written {
    std::string name;
    std::vector<std::string> parts;
    bool has_parts = false;
  };
  struct Frame {
    const Computation* computation = nullptr;
    std::vector<Written> values;
    std::vector<uint32_t> uses, plain_uses;  // plain: uses other than by splats that print it inside
  };

  void fail(Value v, std::string why);

  // Functions and regions
  void find_functions();
  void module_header();
  void function(const Computation& c, bool is_entry);
  std::string argument_attributes(const Computation& c, Value parameter, bool is_entry);
  std::vector<std::string> result_attributes(Value root, size_t count);
  bool returns_parts(const Computation& c) const;
  std::vector<Type> result_types(const Computation& c) const;
  void open_frame(Frame& frame, const Computation& c);
  void body(const Computation& c, std::string_view terminator, bool spread);
  void instruction(Value v);

  // Names
  std::string fresh(std::string_view wanted);
  std::string fresh(Value v) { return fresh(frame_->computation->name(v)); }
  Written& written(Value v) { return frame_->values[v->id]; }
  const std::string& use(Value v);                      // as one value
  const std::vector<std::string>& use_parts(Value v);  // as its parts
  std::string uses(std::span<const Value> values);     // "%a, %b"
  void alias(Value v, Value same);
  // `%x = `, `%x:2 = ` or nothing; makes the names of v. Operands must have been used before.
  std::string define(Value v);
  void define_parts(Written& w, std::string_view wanted, size_t count, std::string& prefix);
  void line(std::string_view text);

  // Pieces of text
  std::string type(Type t) const { return mlir_type(t); }
  std::string types(std::span<const Value> values) const;
  std::string type_list(std::span<const Type> list) const;
  std::string function_type(std::span<const Value> operands, Type result, bool spread = true) const;
  std::string dictionary(Value v, std::vector<std::string> more = {});  // ` {a = 1}` or nothing
  std::string location(Value v) const;
  std::string dense(const Literal& literal) const;       // dense<…>
  std::string constant(const Literal& literal) const;    // dense<…> : type

  // Ops
  void op_constant(Value v);
  void constant_value(const Literal& literal, Written& w, std::string_view wanted, const std::string& tail);
  bool is_splat(Value v) const;
  uint32_t use_count(Value v) const { return frame_->uses[v->id]; }
  void op_elementwise(Value v);
  void op_plain(Value v, std::string middle);  // `op %a, %b<middle> : (T) -> R`
  void op_generic(Value v, std::string_view name, std::string properties);
  void op_tuple(Value v);
  void op_bitcast(Value v);
  void op_contraction(Value v);
  void op_rng(Value v);
  void op_check(Value v);
  void op_raw(Value v);
  void op_alias(Value v);
  void op_copy_start(Value v);
  void op_copy_done(Value v);
  void op_result_type(Value v);
  void nothing(Value v);

  // Regions
  void op_while(Value v);
  void op_conditional(Value v);
  void op_reducer(Value v);
  void op_sdy_region(Value v);
  void op_top_k(Value v);
  void op_call(Value v);
  std::string call_results(Value v, bool parts);
  void op_barrier(Value v);
  void op_custom_call(Value v);
  void op_collective(Value v);
  void op_transfer(Value v);
  void op_async(Value v);
  void region_of_arguments(const Computation& c, bool label);
  void region_of_parts(const Computation& c, const std::vector<std::string>& arguments);
  std::string collective_properties(Value v);
  std::string window_properties(const Window& window, bool sizes) const;

  const Module& module_;
  PrintOptions options_;
  std::string out_;
  int indent_ = 0;
  Frame* frame_ = nullptr;
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, int> name_counts_;
  std::unordered_set<const Computation*> functions_;
  std::unordered_map<const Computation*, std::string> function_names_;
};

// Attribute text.
std::string mlir_list(const Ints& values);                            // [0, 1]
std::string mlir_array(const Ints& values);                           // array<i64: 0, 1>
std::string mlir_pairs(const std::vector<Ints>& rows);                // dense<[[0, 1]]> : tensor<1x2xi64>
std::string mlir_quoted(std::string_view text);
std::string mlir_backend_config(const FrontendAttribute& config);     // {a = 1 : i32} or "…"
std::string mlir_symbol(std::string_view name);                       // @name, @"odd name"
std::string mlir_conv_dims(const ConvDims& dims);                        // [b, 0, f]x[0, i, o]->[b, 0, f]
std::string mlir_algorithm(DotAlgorithm algorithm);                   // <lhs_precision_type = …>
std::string mlir_precision(const std::vector<Precision>& precision);  // HIGH, DEFAULT
std::string mlir_precision_attributes(const std::vector<Precision>& precision);  // [#stablehlo<precision HIGH>, …]

}  // namespace hloc::ir
