// StableHLO text of operations without regions.
#include <algorithm>

#include <fmt/format.h>

#include "ir/print/stablehlo_printer.h"

namespace hloc::ir {
namespace {

constexpr std::string_view direction_words[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};
constexpr std::string_view compare_words[] = {"", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"};

std::string_view compare_word(const CompareAttr& attr, ElementType element) {
  if (attr.type != CompareType::unset) return compare_words[static_cast<size_t>(attr.type)];
  if (is_float(element) || is_complex(element)) return "FLOAT";
  return is_signed_integer(element) ? "SIGNED" : "UNSIGNED";
}

std::string accuracy_text(const ResultAccuracy& a) {
  constexpr std::string_view words[] = {"DEFAULT", "DEFAULT", "HIGHEST", "TOLERANCE"};
  std::string numbers;
  if (a.mode == AccuracyMode::tolerance) numbers = fmt::format("atol = {:e}, rtol = {:e}, ulps = {}, ", a.atol, a.rtol, a.ulps);
  return fmt::format("result_accuracy = #stablehlo.result_accuracy<{}mode = #stablehlo.result_accuracy_mode<{}>>", numbers, words[static_cast<size_t>(a.mode)]);
}

std::string slice_text(const SliceAttr& a) {
  std::string out;
  for (size_t i = 0; i < a.start.size(); ++i) {
    out += fmt::format("{}{}:{}", i == 0 ? "" : ", ", a.start[i], a.limit[i]);
    if (a.stride[i] != 1) out += fmt::format(":{}", a.stride[i]);
  }
  return " [" + out + "]";
}

std::string gather_text(const GatherAttr& a, bool dynamic) {
  std::string sizes = dynamic ? "" : ", slice_sizes = " + mlir_array(a.slice_sizes);
  return fmt::format("dimension_numbers = #stablehlo.gather<offset_dims = {}, collapsed_slice_dims = {}, operand_batching_dims = {}, "
                     "start_indices_batching_dims = {}, start_index_map = {}, index_vector_dim = {}>, indices_are_sorted = {}{}",
                     mlir_list(a.offset_dims), mlir_list(a.collapsed_slice_dims), mlir_list(a.operand_batching_dims),
                     mlir_list(a.start_indices_batching_dims), mlir_list(a.start_index_map), a.index_vector_dim, a.indices_are_sorted, sizes);
}

std::string dot_text(const DotAttr& a) {
  std::string out;
  if (!a.lhs_batch.empty()) out += fmt::format(", batching_dims = {} x {}", mlir_list(a.lhs_batch), mlir_list(a.rhs_batch));
  out += fmt::format(", contracting_dims = {} x {}", mlir_list(a.lhs_contracting), mlir_list(a.rhs_contracting));
  if (!a.precision.empty()) out += fmt::format(", precision = [{}]", mlir_precision(a.precision));
  if (a.algorithm != DotAlgorithm::unset) out += ", algorithm = " + mlir_algorithm(a.algorithm);
  return out;
}

std::string ragged_text(const RaggedDotAttr& a) {
  std::string precision;
  for (Precision p : a.dot.precision.empty() ? std::vector<Precision>(2, Precision::default_precision) : a.dot.precision)
    precision += fmt::format("{}#chlo<precision {}>", precision.empty() ? "" : ", ", mlir_precision({p}));
  return fmt::format("precision_config = [{}], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = {}, rhs_batching_dimensions = {}, "
                     "lhs_contracting_dimensions = {}, rhs_contracting_dimensions = {}, lhs_ragged_dimensions = {}, rhs_group_dimensions = {}>",
                     precision, mlir_list(a.dot.lhs_batch), mlir_list(a.dot.rhs_batch), mlir_list(a.dot.lhs_contracting), mlir_list(a.dot.rhs_contracting),
                     mlir_list(a.lhs_ragged), mlir_list(a.rhs_group));
}

std::string pad_text(const PadAttr& a) {
  return fmt::format(", low = {}, high = {}, interior = {}", mlir_list(a.low), mlir_list(a.high), mlir_list(a.interior));
}

std::string fft_text(const FftAttr& a) {
  constexpr std::string_view words[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
  return fmt::format(", type = {}, length = {}", words[static_cast<size_t>(a.type)], mlir_list(a.length));
}

std::string rng_bits_text(const RngBitGeneratorAttr& a) {
  constexpr std::string_view words[] = {"DEFAULT", "THREE_FRY", "PHILOX"};
  return fmt::format(", algorithm = {}", words[static_cast<size_t>(a.algorithm)]);
}

std::string triangular_text(const TriangularSolveAttr& a) {
  constexpr std::string_view words[] = {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
  return fmt::format("left_side = {}, lower = {}, transpose_a = #stablehlo<transpose {}>, unit_diagonal = {}", a.left_side, a.lower,
                     words[static_cast<size_t>(a.transpose_a)], a.unit_diagonal);
}

std::string batch_norm_text(Value v) {
  return fmt::format("epsilon = {:.9e} : f32, feature_index = {} : i64", v->as<BatchNormAttr>().epsilon, v->as<BatchNormAttr>().feature_index);
}

struct TextRow {
  Op op;
  std::string (*text)(Value);
};

std::string no_text(Value) { return {}; }
std::string dims_text(Value v) { return ", dims = " + mlir_list(v->as<DimsAttr>().dims); }
std::string dim_text(Value v) { return fmt::format(", dim = {}", v->as<DimsAttr>().dims[0]); }

// What stands after the operands of the ops that print as `op %a, %b<text> : (…) -> R`.
constexpr TextRow middle_rows[] = {
    {Op::Iota, [](Value v) { return fmt::format("dim = {}", v->as<IotaAttr>().dim); }},
    {Op::DynamicIota, [](Value v) { return fmt::format(", dim = {}", v->as<IotaAttr>().dim); }},
    {Op::Broadcast, [](Value v) { return ", dims = " + mlir_list(v->as<BroadcastAttr>().dims); }},
    {Op::DynamicBroadcast, [](Value v) { return ", dims = " + mlir_list(v->as<DynamicBroadcastAttr>().dims); }},
    {Op::Transpose, dims_text},
    {Op::Reverse, dims_text},
    {Op::Concatenate, dim_text},
    {Op::GetDimensionSize, dim_text},
    {Op::SetDimensionSize, dim_text},
    {Op::Slice, [](Value v) { return slice_text(v->as<SliceAttr>()); }},
    {Op::DynamicSlice, [](Value v) { return ", sizes = " + mlir_list(v->as<DynamicSliceAttr>().sizes); }},
    {Op::Pad, [](Value v) { return pad_text(v->as<PadAttr>()); }},
    {Op::Dot, [](Value v) { return dot_text(v->as<DotAttr>()); }},
    {Op::Fft, [](Value v) { return fft_text(v->as<FftAttr>()); }},
    {Op::Cholesky, [](Value v) { return fmt::format(", lower = {}", v->as<CholeskyAttr>().lower); }},
    {Op::RngBitGenerator, [](Value v) { return rng_bits_text(v->as<RngBitGeneratorAttr>()); }},
    {Op::ReducePrecision,
     [](Value v) { return fmt::format(", format = e{}m{}", v->as<ReducePrecisionAttr>().exponent_bits, v->as<ReducePrecisionAttr>().mantissa_bits); }},
    {Op::Reshape, no_text},
    {Op::DynamicReshape, no_text},
    {Op::DynamicUpdateSlice, no_text},
    {Op::DynamicPad, no_text},
    {Op::RealDynamicSlice, no_text},
    {Op::BitcastConvert, no_text},
    {Op::UniformQuantize, no_text},
    {Op::UniformDequantize, no_text},
};

// Properties of the ops that StableHLO prints in generic form only.
constexpr TextRow property_rows[] = {
    {Op::Gather, [](Value v) { return gather_text(v->as<GatherAttr>(), false); }},
    {Op::DynamicGather, [](Value v) { return gather_text(v->as<GatherAttr>(), true); }},
    {Op::RaggedDot, [](Value v) { return ragged_text(v->as<RaggedDotAttr>()); }},
    {Op::TriangularSolve, [](Value v) { return triangular_text(v->as<TriangularSolveAttr>()); }},
    {Op::BatchNormTraining, batch_norm_text},
    {Op::BatchNormInference, batch_norm_text},
    {Op::BatchNormGrad, batch_norm_text},
};

const TextRow* find_text(std::span<const TextRow> rows, Op op) {
  auto it = std::find_if(rows.begin(), rows.end(), [&](const TextRow& row) { return row.op == op; });
  return it == rows.end() ? nullptr : &*it;
}

}  // namespace

// ---- One instruction ----

void StableHloPrinter::op_plain(Value v, std::string middle) {
  std::string operands = uses(v->operands()), extra = dictionary(v);
  if (const auto* unary = get_if<UnaryAttr>(v->attr); unary && unary->accuracy.mode != AccuracyMode::unset)
    extra = dictionary(v, {accuracy_text(unary->accuracy)});
  if (v->op == Op::DynamicBroadcast) {
    std::vector<std::string> more;
    const DynamicBroadcastAttr& a = v->as<DynamicBroadcastAttr>();
    if (!a.known_expanding.empty()) more.push_back("known_expanding_dimensions = " + mlir_array(a.known_expanding));
    if (!a.known_nonexpanding.empty()) more.push_back("known_nonexpanding_dimensions = " + mlir_array(a.known_nonexpanding));
    extra = dictionary(v, std::move(more));
  }
  std::string signature = v->operand_count == 0 ? type(v->type) : function_type(v->operands(), v->type);
  std::string prefix = define(v);
  line(fmt::format("{}{} {}{}{} : {}{}", prefix, facts(v->op).stablehlo, operands, middle, extra, signature, location(v)));
}

// One type says it all, or a function type does; chlo writes `T -> R`.
void StableHloPrinter::op_elementwise(Value v) {
  std::string_view name = facts(v->op).stablehlo;
  std::string operands = uses(v->operands());
  std::vector<std::string> more;
  if (const auto* unary = get_if<UnaryAttr>(v->attr); unary && unary->accuracy.mode != AccuracyMode::unset) more.push_back(accuracy_text(unary->accuracy));
  std::string extra = dictionary(v, std::move(more)), lead, tail;
  std::string signature = type(v->type);
  bool same = std::all_of(v->operands().begin(), v->operands().end(), [&](Value o) { return mlir_type(o->type) == signature; });
  if (name.starts_with("chlo.")) {
    signature = types(v->operands()) + " -> " + signature;
  } else if (v->op == Op::Compare) {
    const CompareAttr& a = v->as<CompareAttr>();
    lead = std::string(direction_words[static_cast<size_t>(a.direction)]) + ", ";
    tail = fmt::format(", {}", compare_word(a, v->operand(0)->type.element()));
    signature = function_type(v->operands(), v->type);
  } else if (v->op == Op::Select && mlir_type(v->operand(1)->type) == signature && mlir_type(v->operand(2)->type) == signature) {
    signature = type(v->operand(0)->type) + ", " + signature;
  } else if (v->op != Op::Complex && !same) {
    signature = function_type(v->operands(), v->type);
  }
  std::string prefix = define(v);
  line(fmt::format("{}{} {}{}{}{} : {}{}", prefix, name, lead, operands, tail, extra, signature, location(v)));
}

void StableHloPrinter::op_generic(Value v, std::string_view name, std::string properties) {
  std::string operands = uses(v->operands()), extra = dictionary(v);
  std::string signature = function_type(v->operands(), v->type);
  std::string prefix = define(v);
  if (!properties.empty()) properties = " <{" + properties + "}>";
  line(fmt::format("{}\"{}\"({}){}{} : {}{}", prefix, name, operands, properties, extra, signature, location(v)));
}

// ---- Tuples, tokens, renamings ----

void StableHloPrinter::op_tuple(Value v) {
  if (v->op == Op::GetTupleElement) {
    Value from = v->operand(0);
    size_t index = static_cast<size_t>(v->as<TupleIndexAttr>().index);
    Written& source = written(from);
    bool transfer = from->op == Op::Infeed || from->op == Op::RecvDone;
    if (transfer) {  // (data…, token) stands for ((data…), token)
      size_t data = source.parts.size() - 1;
      Written& w = written(v);
      if (index == 1) {
        w.name = source.parts[data];
      } else if (v->type.is_tuple()) {
        w.parts.assign(source.parts.begin(), source.parts.begin() + static_cast<ptrdiff_t>(data));
        w.has_parts = true;
      } else {
        w.name = source.parts[0];
      }
    } else if (source.has_parts && !(from->op == Op::Tuple && !source.name.empty())) {
      written(v).name = source.parts[index];
    } else {
      std::string whole = use(from), extra = dictionary(v), prefix = fresh(v);
      written(v).name = prefix;
      line(fmt::format("{} = stablehlo.get_tuple_element {}[{}]{} : ({}) -> {}{}", prefix, whole, index, extra, type(from->type), type(v->type), location(v)));
    }
    return;
  }
  std::vector<std::string> parts;
  for (Value o : v->operands()) parts.push_back(use(o));
  Written& w = written(v);
  w.parts = std::move(parts);
  w.has_parts = true;
  if ((v->flags & Instruction::multi_result) != 0 || v == frame_->computation->root()) return;
  // Written as a tuple, so that it prints as one.
  std::string operands = uses(v->operands()), extra = dictionary(v);
  w.name = fresh(v);
  line(fmt::format("{} = stablehlo.tuple{}{} : {}{}", w.name, operands.empty() ? "" : " " + operands, extra, type(v->type), location(v)));
}

// A bitcast that keeps bits and order is a reshape or a bitcast_convert.
void StableHloPrinter::op_bitcast(Value v) {
  Type from = v->operand(0)->type, to = v->type;
  if (!from.layout().is_row_major() || !to.layout().is_row_major() || from.count() != to.count() || bit_width(from.element()) != bit_width(to.element()))
    return fail(v, "a bitcast between layouts has no form in StableHLO");
  std::string operand = use(v->operand(0));
  Type middle = from;
  if (from.element() != to.element()) {
    Type same = v->type;
    std::string name = fresh(v);
    bool reshape = from.dims().size() != to.dims().size() || !std::equal(from.dims().begin(), from.dims().end(), to.dims().begin());
    std::string converted = type(from);
    size_t at = converted.rfind(mlir_name_of(from.element()));
    converted.replace(at, mlir_name_of(from.element()).size(), mlir_name_of(to.element()));
    line(fmt::format("{} = stablehlo.bitcast_convert {} : ({}) -> {}{}", name, operand, type(from), reshape ? converted : type(same), location(v)));
    if (!reshape) {
      written(v).name = name;
      return;
    }
    std::string shaped = fresh(v);
    line(fmt::format("{} = stablehlo.reshape {} : ({}) -> {}{}", shaped, name, converted, type(to), location(v)));
    written(v).name = shaped;
    return;
  }
  written(v).name = fresh(v);
  line(fmt::format("{} = stablehlo.reshape {} : ({}) -> {}{}", written(v).name, operand, type(middle), type(to), location(v)));
}

// ---- Contractions, random numbers, dynamic shapes ----

std::string StableHloPrinter::window_properties(const Window& window, bool sizes) const {
  Ints size, stride, base, dilation;
  std::vector<Ints> padding;
  for (const WindowDim& d : window) {
    size.push_back(d.size);
    stride.push_back(d.stride);
    base.push_back(d.lhs_dilate);
    dilation.push_back(d.rhs_dilate);
    padding.push_back({d.pad_low, d.pad_high});
  }
  std::string pads = window.empty() ? "dense<> : tensor<0x2xi64>" : mlir_pairs(padding);
  if (!sizes) return fmt::format("padding = {}, window_dimensions = {}, window_strides = {}", pads, mlir_array(size), mlir_array(stride));
  return fmt::format("base_dilations = {}, padding = {}, window_dilations = {}, window_dimensions = {}, window_strides = {}", mlir_array(base), pads,
                     mlir_array(dilation), mlir_array(size), mlir_array(stride));
}

void StableHloPrinter::op_contraction(Value v) {
  const ConvAttr& a = v->as<ConvAttr>();
  if (!a.sparsity.empty() || a.algorithm != DotAlgorithm::unset) return fail(v, "a convolution with sparsity or an algorithm has no form in StableHLO");
  Ints stride, lhs, rhs;
  std::vector<Ints> pads;
  std::string reverse;
  bool has_stride = false, has_lhs = false, has_rhs = false, has_pad = false, has_reverse = false;
  for (const WindowDim& d : a.window) {
    stride.push_back(d.stride), lhs.push_back(d.lhs_dilate), rhs.push_back(d.rhs_dilate), pads.push_back({d.pad_low, d.pad_high});
    reverse += fmt::format("{}{}", reverse.empty() ? "" : ", ", d.reversal);
    has_stride |= d.stride != 1, has_lhs |= d.lhs_dilate != 1, has_rhs |= d.rhs_dilate != 1, has_pad |= d.pad_low != 0 || d.pad_high != 0, has_reverse |= d.reversal;
  }
  std::vector<std::string> precision;
  std::string config = a.precision.empty() ? "" : "precision_config = " + mlir_precision_attributes(a.precision);
  if (v->op == Op::DynamicConv) {
    std::string text = fmt::format("batch_group_count = {} : i64, dimension_numbers = #stablehlo.conv<{}>, feature_group_count = {} : i64, "
                                   "lhs_dilation = {}, rhs_dilation = {}, window_strides = {}",
                                   a.batch_group_count, mlir_conv_dims(a.dims), a.feature_group_count, mlir_array(lhs), mlir_array(rhs), mlir_array(stride));
    if (!config.empty()) text += ", " + config;
    return op_generic(v, "stablehlo.dynamic_conv", text);
  }
  std::vector<std::string> window;
  if (has_stride) window.push_back("stride = " + mlir_list(stride));
  if (has_pad) {
    std::string text;
    for (const Ints& p : pads) text += (text.empty() ? "" : ", ") + mlir_list(p);
    window.push_back("pad = [" + text + "]");
  }
  if (has_lhs) window.push_back("lhs_dilate = " + mlir_list(lhs));
  if (has_rhs) window.push_back("rhs_dilate = " + mlir_list(rhs));
  if (has_reverse) window.push_back("reverse = [" + reverse + "]");
  std::vector<std::string> more = {fmt::format("batch_group_count = {} : i64", a.batch_group_count), fmt::format("feature_group_count = {} : i64", a.feature_group_count)};
  if (!config.empty()) more.push_back(config);
  std::string operands = uses(v->operands()), signature = function_type(v->operands(), v->type), extra = dictionary(v, std::move(more)), prefix = define(v);
  line(fmt::format("{}stablehlo.convolution({}) dim_numbers = {}, window = {{{}}}{} : {}{}", prefix, operands, mlir_conv_dims(a.dims), fmt::join(window, ", "), extra, signature, location(v)));
}

// StableHLO takes the shape as an operand.
void StableHloPrinter::op_rng(Value v) {
  std::string operands = uses(v->operands()), list = types(v->operands());
  if (v->operand_count == 2) {
    if (!v->type.is_static()) return fail(v, "rng with a dynamic result needs its shape as an operand");
    std::string shape = fresh("shape");
    std::string shape_type = fmt::format("tensor<{}xi64>", v->type.rank());
    line(fmt::format("{} = stablehlo.constant dense<{}> : {}", shape, v->type.rank() == 0 ? "" : mlir_list(v->type.sizes()), shape_type));
    operands += ", " + shape;
    list += ", " + shape_type;
  }
  std::string extra = dictionary(v), prefix = define(v);
  bool normal = v->as<RngAttr>().distribution == RngDistribution::normal;
  line(fmt::format("{}stablehlo.rng {}, distribution = {}{} : ({}) -> {}{}", prefix, operands, normal ? "NORMAL" : "UNIFORM", extra, list, type(v->type), location(v)));
}

// ---- Checks and kept text ----

void StableHloPrinter::op_check(Value v) {
  const CheckAttr& a = v->as<CheckAttr>();
  std::string operands = uses(v->operands()), name(facts(v->op).stablehlo);
  written(v).has_parts = true;
  std::string tolerance = a.tolerance == 1e-4 ? "" : fmt::format("tolerance = {:.17e} : f64", a.tolerance);
  std::string list = types(v->operands());
  if (v->op == Op::CheckExpectEqConst || v->op == Op::CheckExpectAlmostEqConst) {
    if (list == type(a.expected.type()))
      line(fmt::format("{} {}, {}{}{}", name, operands, constant(a.expected), tolerance.empty() ? "" : " {" + tolerance + "}", location(v)));
    else
      line(fmt::format("\"{}\"({}) <{{{}{}value = {}}}> : ({}) -> (){}", name, operands, tolerance, tolerance.empty() ? "" : ", ", constant(a.expected), list, location(v)));
    return;
  }
  std::string middle;
  if (v->op == Op::CheckExpectAlmostEq && !tolerance.empty()) middle = ", " + tolerance.substr(0, tolerance.find(" :"));
  if (v->op == Op::CheckExpectClose) middle = fmt::format(", max_ulp_difference = {}, min_ulp_difference = {}", a.max_ulps, a.min_ulps);
  if (v->op == Op::CheckExpectSerializedEq) middle = fmt::format(", probe_id = {}, iter = {}", mlir_quoted(a.probe_id), a.iteration);
  line(fmt::format("{} {}{} : {}{}", name, operands, middle, list, location(v)));
}

// Ops whose attributes were kept as text; in Shardy's, % marks the operand's place.
void StableHloPrinter::op_raw(Value v) {
  const std::string& text = v->as<RawAttr>().text;
  std::string_view name = facts(v->op).stablehlo;
  bool pretty = name.starts_with("sdy.") && text.find('%') != std::string::npos;
  std::string operands = uses(v->operands()), extra = dictionary(v), signature = function_type(v->operands(), v->type);
  bool no_result = v->type.is_tuple() && v->type.tuple_size() == 0;
  std::string prefix = define(v);
  if (!pretty) {
    line(fmt::format("{}\"{}\"({}){}{} : {}{}", prefix, name, operands, text.empty() ? "" : " <" + text + ">", extra, signature, location(v)));
    return;
  }
  std::string filled;
  bool in_string = false;
  for (char c : text) {
    if (c == '"') in_string = !in_string;
    if (c == '%' && !in_string) filled += operands;
    else filled += c;
  }
  if (no_result || mlir_type(v->operand(0)->type) == mlir_type(v->type)) signature = types(v->operands());
  line(fmt::format("{}{} {}{} : {}{}", prefix, name, filled, extra, signature, location(v)));
}

// ---- Which form an op has ----

namespace {

using PrintForm = void (StableHloPrinter::*)(Value);
struct PrintRow {
  Op op;
  PrintForm form;
};

// Whether StableHLO has a spelling for everything in a type.
bool has_spelling(Type type) {
  std::vector<Type> todo{type};
  while (!todo.empty()) {
    Type t = todo.back();
    todo.pop_back();
    if (t.kind() == TypeKind::opaque || (t.is_array() && mlir_name_of(t.element()).empty())) return false;
    for (size_t i = 0; i < t.tuple_size(); ++i) todo.push_back(t.element_type(i));
  }
  return true;
}

}  // namespace

void StableHloPrinter::nothing(Value) {}
void StableHloPrinter::op_alias(Value v) { alias(v, v->operand(0)); }

void StableHloPrinter::op_copy_start(Value v) {
  written(v).parts.assign(v->type.tuple_size(), use(v->operand(0)));
  written(v).has_parts = true;
}

void StableHloPrinter::op_copy_done(Value v) { written(v).name = use_parts(v->operand(0))[0]; }

// `op %a, %b : T`, T being the result's type alone.
void StableHloPrinter::op_result_type(Value v) {
  std::string operands = uses(v->operands()), extra = dictionary(v), prefix = define(v);
  line(fmt::format("{}{}{}{}{} : {}{}", prefix, facts(v->op).stablehlo, operands.empty() ? "" : " ", operands, extra, type(v->type), location(v)));
}

void StableHloPrinter::instruction(Value v) {
  static constexpr PrintRow rows[] = {
      {Op::Parameter, &StableHloPrinter::nothing},
      {Op::Constant, &StableHloPrinter::op_constant},
      {Op::Tuple, &StableHloPrinter::op_tuple},
      {Op::GetTupleElement, &StableHloPrinter::op_tuple},
      {Op::Copy, &StableHloPrinter::op_alias},
      {Op::Domain, &StableHloPrinter::op_alias},
      {Op::AddDependency, &StableHloPrinter::op_alias},
      {Op::AllReduceDone, &StableHloPrinter::op_alias},
      {Op::CopyStart, &StableHloPrinter::op_copy_start},
      {Op::CopyDone, &StableHloPrinter::op_copy_done},
      {Op::Bitcast, &StableHloPrinter::op_bitcast},
      {Op::Convolution, &StableHloPrinter::op_contraction},
      {Op::DynamicConv, &StableHloPrinter::op_contraction},
      {Op::Rng, &StableHloPrinter::op_rng},
      {Op::While, &StableHloPrinter::op_while},
      {Op::Conditional, &StableHloPrinter::op_conditional},
      {Op::Call, &StableHloPrinter::op_call},
      {Op::CustomCall, &StableHloPrinter::op_custom_call},
      {Op::OptBarrier, &StableHloPrinter::op_barrier},
      {Op::Reduce, &StableHloPrinter::op_reducer},
      {Op::ReduceWindow, &StableHloPrinter::op_reducer},
      {Op::SelectAndScatter, &StableHloPrinter::op_reducer},
      {Op::Scatter, &StableHloPrinter::op_reducer},
      {Op::Sort, &StableHloPrinter::op_reducer},
      {Op::Map, &StableHloPrinter::op_reducer},
      {Op::Scan, &StableHloPrinter::op_reducer},
      {Op::TopK, &StableHloPrinter::op_top_k},
      {Op::Infeed, &StableHloPrinter::op_transfer},
      {Op::Outfeed, &StableHloPrinter::op_transfer},
      {Op::Send, &StableHloPrinter::op_transfer},
      {Op::SendDone, &StableHloPrinter::op_transfer},
      {Op::Recv, &StableHloPrinter::op_transfer},
      {Op::RecvDone, &StableHloPrinter::op_transfer},
      {Op::AsyncStart, &StableHloPrinter::op_async},
      {Op::AsyncDone, &StableHloPrinter::op_async},
      {Op::AllGatherDone, &StableHloPrinter::op_collective},
      {Op::CollectivePermuteDone, &StableHloPrinter::op_collective},
      {Op::SdyManualComputation, &StableHloPrinter::op_sdy_region},
      {Op::SdyNamedComputation, &StableHloPrinter::op_sdy_region},
      {Op::PartitionId, &StableHloPrinter::op_result_type},
      {Op::ReplicaId, &StableHloPrinter::op_result_type},
      {Op::AfterAll, &StableHloPrinter::op_result_type},
  };
  if (!has_spelling(v->type)) return fail(v, fmt::format("{} has no form in StableHLO", to_string(v->type)));
  // A scalar constant that only splats use is printed inside them.
  if (v->op == Op::Constant && v->type.is_scalar() && use_count(v) > 0 && frame_->plain_uses[v->id] == 0) return;
  if (is_splat(v)) return op_constant(v);
  if (const TextRow* row = find_text(middle_rows, v->op)) return op_plain(v, row->text(v));
  if (const TextRow* row = find_text(property_rows, v->op)) return op_generic(v, facts(v->op).stablehlo, row->text(v));
  for (const PrintRow& row : rows)
    if (row.op == v->op) return (this->*row.form)(v);
  if (holds<CheckAttr>(*v->attr)) return op_check(v);
  if (holds<CollectiveAttr>(*v->attr) || holds<PermuteAttr>(*v->attr)) return op_collective(v);
  if (holds<RawAttr>(*v->attr)) return op_raw(v);
  if (facts(v->op).stablehlo.empty()) return fail(v, fmt::format("'{}' has no form in StableHLO", name_of(v->op)));
  op_elementwise(v);
}

}  // namespace hloc::ir
