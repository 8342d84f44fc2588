// StableHLO operations that compute with more than one element: reductions, windows, sorting, contractions, linear
// algebra, random numbers.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "ir/print/print.h"
#include "ir/read/stablehlo_dot.h"
#include "ir/read/stablehlo_ops.h"

namespace hloc::ir::mlir {
namespace {

// The element type of `scalar` in the shape of `like`.
Type shaped_like(PieceBuilder& b, Type like, Value scalar) { return b.context().with_element(like, scalar->type.element()); }

// Emits an op with one result or, with several, one tuple; results beyond those of the op stem from captures.
bool emit_results(PieceBuilder& b, const Operation& op, Op hlo, std::span<const Type> results, std::span<const Value> operands, Attr attr,
                  std::initializer_list<const Computation*> callees) {
  bool tuple = results.size() != 1;
  Type type = tuple ? b.context().tuple(results) : results[0];
  Value v = b.emit(op, hlo, type, operands, std::move(attr), std::span(callees.begin(), callees.size()), tuple ? Instruction::multi_result : 0);
  if (v && tuple && op.result_types.size() == 1) v = b.element_of(v, 0);
  return b.finish(op, v);
}

// Inputs and initial values with the captured scalars behind each; the reducer's parameters move accordingly.
struct Folded {
  std::vector<Value> operands;
  std::vector<ValueNumber> captured;
  std::vector<Type> extra_results;
  const Computation* body = nullptr;
};

bool fold_operands(PieceBuilder& b, const Operation& op, std::string_view role, Folded& out) {
  if (!b.expect_regions(op, 1) || !scalar_captures(b, op, op.regions, out.captured)) return false;
  if (op.operands.empty() || op.operands.size() % 2 != 0) return b.fail(op, fmt::format("'{}' takes as many initial values as inputs", op.name));
  size_t inputs = op.operands.size() / 2;
  if (!b.expect_results(op, inputs)) return false;
  if (op.regions[0].arguments.size() != 2 * inputs)
    return b.fail(op.regions[0].loc, fmt::format("the reducer of {} input{} takes {} arguments, but has {}", inputs, inputs == 1 ? "" : "s", 2 * inputs, op.regions[0].arguments.size()));
  std::vector<Value> all = b.operands(op);
  out.operands.assign(all.begin(), all.begin() + static_cast<ptrdiff_t>(inputs));
  for (ValueNumber number : out.captured) {
    out.operands.push_back(b.broadcast_scalar(b.value(number), all[0]->type));
    out.extra_results.push_back(shaped_like(b, op.result_types[0], b.value(number)));
  }
  out.operands.insert(out.operands.end(), all.begin() + static_cast<ptrdiff_t>(inputs), all.end());
  for (ValueNumber number : out.captured) out.operands.push_back(b.value(number));
  std::vector<size_t> order;
  for (size_t i = 0; i < 2 * inputs; ++i) order.push_back(i < inputs ? i : i + out.captured.size());
  out.body = b.reducer(op.regions[0], role, out.captured, order);
  return out.body != nullptr;
}

}  // namespace

bool scalar_captures(PieceBuilder& b, const Operation& op, std::span<const Region> regions, std::vector<ValueNumber>& out) {
  out = b.captures(regions);
  for (ValueNumber number : out)
    if (!b.value(number)->type.is_scalar())
      return b.fail(op, fmt::format("the body of '{}' uses '%{}' of type {} from outside; only scalars and constants can be used so", op.name,
                                    b.piece().values[number].name, mlir_type(b.value(number)->type)));
  return true;
}

// ---- Reductions and windows ----

bool read_reduce(PieceBuilder& b, const Operation& op) {
  DimsAttr attr;
  Folded f;
  if (!b.get_ints(op, "dimensions", attr.dims) || !fold_operands(b, op, "reduce", f)) return false;
  std::vector<Type> results = op.result_types;
  results.insert(results.end(), f.extra_results.begin(), f.extra_results.end());
  return emit_results(b, op, Op::Reduce, results, f.operands, attr, {f.body});
}

bool get_window(PieceBuilder& b, const Operation& op, size_t rank, Window& out) {
  Ints strides, base, dilations, reversal;
  std::vector<Ints> padding;
  if (!b.get_ints(op, "window_strides", strides, false) || !b.get_ints(op, op.find("base_dilations") ? "base_dilations" : "lhs_dilation", base, false) ||
      !b.get_ints(op, op.find("window_dilations") ? "window_dilations" : "rhs_dilation", dilations, false) ||
      !b.get_ints(op, "window_reversal", reversal, false))
    return false;
  if (const Attribute* pad = b.find(op, "padding")) {
    if (pad->kind == Attribute::dense && pad->type.rank() == 1) {  // `dense<0> : tensor<0xi64>` and the like
      if (pad->type.count() != 0) return b.fail(pad->loc, "'padding' must be a list of pairs");
    } else if (!b.int_lists_of(*pad, "padding", padding)) {
      return false;
    }
  }
  out.assign(rank, WindowDim{});
  // One exporter of dynamic convolutions writes two strides for one dimension: equal ones do no harm.
  bool repeated = op.name == "stablehlo.dynamic_conv" && strides.size() > rank && std::all_of(strides.begin(), strides.end(), [&](int64_t s) { return s == strides[0]; });
  if (repeated) strides.resize(rank);
  auto check = [&](size_t length, std::string_view what) {
    return length == 0 || length == rank ||
           b.fail(op, fmt::format("'{}' has {} entr{}, but there {} {} window dimension{}", what, length, length == 1 ? "y" : "ies", rank == 1 ? "is" : "are", rank, rank == 1 ? "" : "s"));
  };
  if (!check(strides.size(), "window_strides") || !check(base.size(), "base_dilations") || !check(dilations.size(), "window_dilations") ||
      !check(reversal.size(), "window_reversal") || !check(padding.size(), "padding"))
    return false;
  for (size_t i = 0; i < rank; ++i) {
    if (!strides.empty()) out[i].stride = strides[i];
    if (!base.empty()) out[i].lhs_dilate = base[i];
    if (!dilations.empty()) out[i].rhs_dilate = dilations[i];
    if (!reversal.empty()) out[i].reversal = reversal[i] != 0;
    if (padding.empty()) continue;
    if (padding[i].size() != 2) return b.fail(op, "'padding' must be a list of pairs, low and high");
    out[i].pad_low = padding[i][0];
    out[i].pad_high = padding[i][1];
  }
  return true;
}

bool read_reduce_window(PieceBuilder& b, const Operation& op) {
  Ints sizes;
  WindowAttr attr;
  if (!b.get_ints(op, "window_dimensions", sizes) || !get_window(b, op, sizes.size(), attr.window)) return false;
  for (size_t i = 0; i < sizes.size(); ++i) attr.window[i].size = sizes[i];
  Folded f;
  if (!fold_operands(b, op, "reduce_window", f)) return false;
  std::vector<Type> results = op.result_types;
  results.insert(results.end(), f.extra_results.begin(), f.extra_results.end());
  return emit_results(b, op, Op::ReduceWindow, results, f.operands, attr, {f.body});
}

bool read_select_and_scatter(PieceBuilder& b, const Operation& op) {
  Ints sizes;
  WindowAttr attr;
  if (!b.expect_operands(op, 3, 3) || !b.expect_results(op, 1) || !b.expect_regions(op, 2)) return false;
  Type x = b.operand(op, 0)->type;
  if (!b.get_ints(op, "window_dimensions", sizes, false)) return false;
  if (sizes.empty() && x.is_array()) sizes.assign(static_cast<size_t>(x.rank()), 1);
  if (!get_window(b, op, sizes.size(), attr.window)) return false;
  for (size_t i = 0; i < sizes.size(); ++i) attr.window[i].size = sizes[i];
  if (std::vector<ValueNumber> captured = b.captures(op.regions); !captured.empty())
    return b.fail(op, fmt::format("the bodies of 'stablehlo.select_and_scatter' may use constants from outside, but not '%{}'", b.piece().values[captured[0]].name));
  const Computation* select = b.region(op.regions[0], "select", {});
  const Computation* scatter = select ? b.region(op.regions[1], "scatter", {}) : nullptr;
  if (!scatter) return false;
  return b.finish(op, b.emit(op, Op::SelectAndScatter, op.result_types[0], b.operands(op), attr, std::array{select, scatter}));
}

// ---- Sorting, map, scan ----

bool read_sort(PieceBuilder& b, const Operation& op) {
  SortAttr attr;
  attr.dim = -1;
  size_t inputs = op.operands.size();
  if (!b.expect_operands(op, 1, SIZE_MAX) || !b.expect_results(op, inputs) || !b.expect_regions(op, 1) || !b.get_int(op, "dimension", attr.dim) ||
      !b.get_bool(op, "is_stable", attr.is_stable))
    return false;
  std::vector<Value> operands = b.operands(op);
  if (attr.dim < 0 && operands[0]->type.is_array()) attr.dim += operands[0]->type.rank();
  std::vector<ValueNumber> captured;
  if (!scalar_captures(b, op, op.regions, captured)) return false;
  std::vector<Type> results = op.result_types;
  for (ValueNumber number : captured) {
    operands.push_back(b.broadcast_scalar(b.value(number), operands[0]->type));
    results.push_back(operands.back()->type);
  }
  std::vector<size_t> order;
  for (size_t i = 0; i < op.regions[0].arguments.size(); ++i) order.push_back(i);
  const Computation* comparator = b.reducer(op.regions[0], "sort", captured, order);
  return comparator && emit_results(b, op, Op::Sort, results, operands, attr, {comparator});
}

bool read_map(PieceBuilder& b, const Operation& op) {
  DimsAttr attr;
  if (!b.expect_operands(op, 1, SIZE_MAX) || !b.expect_results(op, 1) || !b.expect_regions(op, 1) || !b.get_ints(op, "dimensions", attr.dims)) return false;
  std::vector<ValueNumber> captured;
  if (!scalar_captures(b, op, op.regions, captured)) return false;
  std::vector<Value> operands = b.operands(op);
  for (ValueNumber number : captured) operands.push_back(b.broadcast_scalar(b.value(number), operands[0]->type));
  std::vector<size_t> order;
  for (size_t i = 0; i < op.regions[0].arguments.size(); ++i) order.push_back(i);
  const Computation* body = b.reducer(op.regions[0], "map", captured, order);
  return body && b.finish(op, b.emit(op, Op::Map, op.result_types[0], operands, attr, std::array{body}));
}

// Captured values of any type ride along as carries.
bool read_scan(PieceBuilder& b, const Operation& op) {
  ScanAttr attr;
  int64_t dim = 0, inputs = -1;
  if (!b.expect_regions(op, 1) || !b.get_int(op, "dimension", dim, true) || !b.get_int(op, "inputs", inputs) ||
      !b.get_bool(op, "is_reverse", attr.is_reverse) || !b.get_bool(op, "is_associative", attr.is_associative))
    return false;
  if (inputs < 0) {  // generic form: operandSegmentSizes = array<i32: inputs, inits>
    Ints sizes;
    if (!b.get_ints(op, op.find("operand_segment_sizes") ? "operand_segment_sizes" : "operandSegmentSizes", sizes)) return false;
    inputs = sizes.empty() ? 0 : sizes[0];
  }
  b.find(op, "resultSegmentSizes");
  b.find(op, "result_segment_sizes");
  if (inputs < 0 || static_cast<uint64_t>(inputs) > op.operands.size()) return b.fail(op, "the number of inputs is larger than the number of operands");
  attr.dims = {dim};
  std::vector<ValueNumber> captured = b.captures(op.regions);
  attr.num_carries = static_cast<int64_t>(op.operands.size() + captured.size()) - inputs;
  std::vector<Value> operands = b.operands(op);
  std::vector<Type> results = op.result_types;
  for (ValueNumber number : captured) {
    operands.push_back(b.value(number));
    results.push_back(operands.back()->type);
  }
  const Computation* body = b.region(op.regions[0], "scan", {captured, false, true});
  if (!body) return false;
  bool tuple = body->result_type().is_tuple();
  Type type = tuple ? b.context().tuple(results) : results[0];
  return b.finish(op, b.emit(op, Op::Scan, type, operands, attr, std::array{body}, tuple ? Instruction::multi_result : 0));
}

bool read_top_k(PieceBuilder& b, const Operation& op) {
  TopKAttr attr;
  attr.is_stable = false;
  if (!b.expect_operands(op, 1, 1) || !b.expect_results(op, 2) || !b.get_int(op, "k", attr.k, true) || !b.get_bool(op, "largest", attr.largest) ||
      !b.get_bool(op, "is_stable", attr.is_stable))
    return false;
  return emit_results(b, op, Op::TopK, op.result_types, b.operands(op), attr, {});
}

// ---- Contractions ----

bool get_precision(PieceBuilder& b, const Operation& op, std::vector<Precision>& out) {
  const Attribute* list = b.find(op, "precision_config");
  if (!list) return true;
  constexpr std::string_view words[] = {"DEFAULT", "HIGH", "HIGHEST"};
  bool any = false;
  for (const Attribute& element : list->elements) {
    auto word = std::find(std::begin(words), std::end(words), element.text);
    if (word == std::end(words)) return b.fail(list->loc, fmt::format("'{}' is no precision; there are DEFAULT, HIGH and HIGHEST", element.text));
    out.push_back(static_cast<Precision>(word - std::begin(words)));
    any |= out.back() != Precision::default_precision;
  }
  if (!any) out.clear();  // as if not written
  return true;
}

namespace {

bool get_algorithm(PieceBuilder& b, const Operation& op, DotAlgorithm& out) {
  const Attribute* a = b.find(op, "algorithm");
  if (!a || a->entries.empty()) return true;
  auto type_word = [&](std::string_view name) {
    const Attribute* t = a->find(name);
    return !t ? std::string() : t->type ? std::string(mlir_name_of(t->type.element())) : t->text;
  };
  int64_t lhs_components = 1, rhs_components = 1, operations = 1;
  if (!b.structure_int(*a, "lhs_component_count", lhs_components) || !b.structure_int(*a, "rhs_component_count", rhs_components) ||
      !b.structure_int(*a, "num_primitive_operations", operations))
    return false;
  const Attribute* imprecise = a->find("allow_imprecise_accumulation");
  std::string lhs = type_word("lhs_precision_type"), rhs = type_word("rhs_precision_type"), accumulation = type_word("accumulation_type");
  for (size_t i = 1; i < std::size(dot_algorithms); ++i) {
    const DotParts& row = dot_algorithms[i];
    bool f8 = row.operand == "f8E5M2" && lhs.starts_with("f8") && rhs.starts_with("f8");
    if (((row.operand == lhs && lhs == rhs) || f8) && row.accumulation == accumulation && row.operations == operations &&
        row.imprecise == (imprecise && imprecise->integer_value != 0)) {
      out = static_cast<DotAlgorithm>(i);
      return true;
    }
  }
  return b.fail(a->loc, fmt::format("there is no dot algorithm of {} and {} with {} in {} operation{}", lhs, rhs, accumulation, operations, operations == 1 ? "" : "s"));
}

bool get_dot_dims(PieceBuilder& b, const Attribute& numbers, DotAttr& attr) {
  return b.structure_ints(numbers, "lhs_batching_dimensions", attr.lhs_batch) && b.structure_ints(numbers, "rhs_batching_dimensions", attr.rhs_batch) &&
         b.structure_ints(numbers, "lhs_contracting_dimensions", attr.lhs_contracting) &&
         b.structure_ints(numbers, "rhs_contracting_dimensions", attr.rhs_contracting);
}

}  // namespace

bool read_dot_general(PieceBuilder& b, const Operation& op) {
  DotAttr attr;
  const Attribute* numbers = b.require(op, "dot_dimension_numbers");
  if (!numbers || !b.expect_operands(op, 2, 2) || !b.expect_results(op, 1) || !get_dot_dims(b, *numbers, attr) || !get_precision(b, op, attr.precision) ||
      !get_algorithm(b, op, attr.algorithm))
    return false;
  return b.finish(op, b.emit(op, Op::Dot, op.result_types[0], b.operands(op), attr));
}

// The older op: vectors and matrices, the last dimension with the first.
bool read_dot(PieceBuilder& b, const Operation& op) {
  DotAttr attr;
  if (!b.expect_operands(op, 2, 2) || !b.expect_results(op, 1) || !get_precision(b, op, attr.precision)) return false;
  Type lhs = b.operand(op, 0)->type, rhs = b.operand(op, 1)->type;
  bool ranks = lhs.is_array() && rhs.is_array() && lhs.rank() >= 1 && lhs.rank() <= 2 && rhs.rank() >= 1 && rhs.rank() <= 2;
  if (!ranks) return b.fail(op, fmt::format("'stablehlo.dot' takes vectors and matrices, not {} and {}; use 'stablehlo.dot_general'", mlir_type(lhs), mlir_type(rhs)));
  attr.lhs_contracting = {lhs.rank() - 1};
  attr.rhs_contracting = {0};
  return b.finish(op, b.emit(op, Op::Dot, op.result_types[0], b.operands(op), attr));
}

bool read_ragged_dot(PieceBuilder& b, const Operation& op) {
  RaggedDotAttr attr;
  const Attribute* numbers = b.require(op, "ragged_dot_dimension_numbers");
  if (!numbers || !b.expect_operands(op, 3, 3) || !b.expect_results(op, 1) || !get_dot_dims(b, *numbers, attr.dot) ||
      !b.structure_ints(*numbers, "lhs_ragged_dimensions", attr.lhs_ragged) || !b.structure_ints(*numbers, "rhs_group_dimensions", attr.rhs_group) ||
      !get_precision(b, op, attr.dot.precision))
    return false;
  return b.finish(op, b.emit(op, Op::RaggedDot, op.result_types[0], b.operands(op), attr));
}

namespace {

// One bracket of [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]: positions of the two letters and of the spatial dimensions.
bool conv_side(PieceBuilder& b, const Attribute& side, std::string_view letters, int64_t& first, int64_t& second, Ints& spatial, Ints& unknown) {
  first = second = -1;
  size_t count = 0;
  for (const Attribute& e : side.elements) count += e.kind == Attribute::integer;
  spatial.assign(count, -1);
  for (size_t i = 0; i < side.elements.size(); ++i) {
    const Attribute& e = side.elements[i];
    int64_t position = static_cast<int64_t>(i);
    if (e.kind == Attribute::integer) {
      if (e.integer_value < 0 || static_cast<size_t>(e.integer_value) >= count || spatial[static_cast<size_t>(e.integer_value)] >= 0)
        return b.fail(e.loc, "the spatial dimensions must be numbered 0, 1, … without gaps, each once");
      spatial[static_cast<size_t>(e.integer_value)] = position;
    } else if (e.text == letters.substr(0, 1) && first < 0) {
      first = position;
    } else if (e.text == letters.substr(1, 1) && second < 0) {
      second = position;
    } else if (e.text == "?") {
      unknown.push_back(position);
    } else {
      return b.fail(e.loc, fmt::format("'{}' cannot stand here; this side has '{}' and '{}' once each, and numbers", e.text, letters[0], letters[1]));
    }
  }
  if (first < 0 || second < 0) return b.fail(side.loc, fmt::format("this side of the dimension numbers needs '{}' and '{}'", letters[0], letters[1]));
  return true;
}

bool conv_numbers(PieceBuilder& b, const Attribute& a, ConvDims& out) {
  const Attribute *input = a.find("input"), *kernel = a.find("kernel"), *output = a.find("output");
  if (input && kernel && output)
    return conv_side(b, *input, "bf", out.input_batch, out.input_feature, out.input_spatial, out.input_unknown) &&
           conv_side(b, *kernel, "io", out.kernel_input_feature, out.kernel_output_feature, out.kernel_spatial, out.kernel_unknown) &&
           conv_side(b, *output, "bf", out.output_batch, out.output_feature, out.output_spatial, out.output_unknown);
  return b.structure_int(a, "input_batch_dimension", out.input_batch) && b.structure_int(a, "input_feature_dimension", out.input_feature) &&
         b.structure_ints(a, "input_spatial_dimensions", out.input_spatial) && b.structure_int(a, "kernel_input_feature_dimension", out.kernel_input_feature) &&
         b.structure_int(a, "kernel_output_feature_dimension", out.kernel_output_feature) && b.structure_ints(a, "kernel_spatial_dimensions", out.kernel_spatial) &&
         b.structure_int(a, "output_batch_dimension", out.output_batch) && b.structure_int(a, "output_feature_dimension", out.output_feature) &&
         b.structure_ints(a, "output_spatial_dimensions", out.output_spatial);
}

}  // namespace

bool read_convolution(PieceBuilder& b, const Operation& op) {
  bool dynamic = op.name == "stablehlo.dynamic_conv";
  ConvAttr attr;
  const Attribute* numbers = b.require(op, "dimension_numbers");
  size_t operands = dynamic ? 3 : 2;
  if (!numbers || !b.expect_operands(op, operands, operands) || !b.expect_results(op, 1) || !conv_numbers(b, *numbers, attr.dims)) return false;
  Type kernel = b.operand(op, 1)->type;
  size_t spatial = attr.dims.kernel_spatial.size();
  if (!get_window(b, op, spatial, attr.window) || !b.get_int(op, "feature_group_count", attr.feature_group_count) ||
      !b.get_int(op, "batch_group_count", attr.batch_group_count) || !get_precision(b, op, attr.precision))
    return false;
  for (size_t i = 0; i < spatial; ++i) {
    int64_t position = attr.dims.kernel_spatial[i];
    if (!kernel.is_array() || position < 0 || position >= kernel.rank())
      return b.fail(numbers->loc, fmt::format("the dimension numbers do not fit the kernel {}", mlir_type(kernel)));
    attr.window[i].size = kernel.dim(position);
  }
  return b.finish(op, b.emit(op, dynamic ? Op::DynamicConv : Op::Convolution, op.result_types[0], b.operands(op), attr));
}

// ---- Transforms, linear algebra, normalization, random numbers ----

bool read_fft(PieceBuilder& b, const Operation& op) {
  constexpr std::string_view words[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
  FftAttr attr;
  size_t type = 0;
  if (!b.expect_operands(op, 1, 1) || !b.expect_results(op, 1) || !b.get_word(op, "fft_type", words, type, true) || !b.get_ints(op, "fft_length", attr.length)) return false;
  attr.type = static_cast<FftType>(type);
  return b.finish(op, b.emit(op, Op::Fft, op.result_types[0], b.operands(op), attr));
}

bool read_cholesky(PieceBuilder& b, const Operation& op) {
  CholeskyAttr attr;
  if (!b.expect_operands(op, 1, 1) || !b.expect_results(op, 1) || !b.get_bool(op, "lower", attr.lower)) return false;
  return b.finish(op, b.emit(op, Op::Cholesky, op.result_types[0], b.operands(op), attr));
}

bool read_triangular_solve(PieceBuilder& b, const Operation& op) {
  constexpr std::string_view words[] = {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT", "TRANSPOSE_INVALID"};
  TriangularSolveAttr attr;
  size_t transpose = 0;
  if (!b.expect_operands(op, 2, 2) || !b.expect_results(op, 1) || !b.get_bool(op, "left_side", attr.left_side) || !b.get_bool(op, "lower", attr.lower) ||
      !b.get_bool(op, "unit_diagonal", attr.unit_diagonal) || !b.get_word(op, "transpose_a", words, transpose))
    return false;
  if (transpose == 3) return b.fail(op, "'transpose_a' is one of NO_TRANSPOSE, TRANSPOSE, ADJOINT");
  attr.transpose_a = static_cast<TransposeKind>(transpose);
  return b.finish(op, b.emit(op, Op::TriangularSolve, op.result_types[0], b.operands(op), attr));
}

bool read_batch_norm(PieceBuilder& b, const Operation& op) {
  bool inference = op.name.ends_with("inference"), training = op.name.ends_with("training");
  BatchNormAttr attr;
  size_t operands = training ? 3 : 5;
  if (!b.expect_operands(op, operands, operands) || !b.expect_results(op, inference ? 1 : 3) || !b.get_real(op, "epsilon", attr.epsilon, true) ||
      !b.get_int(op, "feature_index", attr.feature_index, true))
    return false;
  Op hlo = inference ? Op::BatchNormInference : training ? Op::BatchNormTraining : Op::BatchNormGrad;
  return emit_results(b, op, hlo, op.result_types, b.operands(op), attr, {});
}

// HLO takes the shape from the type, so the third operand goes.
bool read_rng(PieceBuilder& b, const Operation& op) {
  constexpr std::string_view words[] = {"UNIFORM", "NORMAL"};
  size_t distribution = 0;
  if (!b.expect_operands(op, 3, 3) || !b.expect_results(op, 1) || !b.get_word(op, "rng_distribution", words, distribution, true)) return false;
  RngAttr attr{static_cast<RngDistribution>(distribution)};
  std::vector<Value> operands = b.operands(op);
  if (op.result_types[0].is_static()) operands.pop_back();
  return b.finish(op, b.emit(op, Op::Rng, op.result_types[0], operands, attr));
}

bool read_rng_bit_generator(PieceBuilder& b, const Operation& op) {
  constexpr std::string_view words[] = {"DEFAULT", "THREE_FRY", "PHILOX"};
  size_t algorithm = 0;
  if (!b.expect_operands(op, 1, 1) || !b.expect_results(op, 2) || !b.get_word(op, "rng_algorithm", words, algorithm, true)) return false;
  return emit_results(b, op, Op::RngBitGenerator, op.result_types, b.operands(op), RngBitGeneratorAttr{static_cast<RngAlgorithm>(algorithm)}, {});
}

}  // namespace hloc::ir::mlir
