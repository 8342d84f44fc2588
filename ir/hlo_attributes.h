// What HLO text calls the members of attribute structs. The rows stand in ir/hlo_attributes.def; the reader and the
// printer both expand that file, each with one function per form of value, so the two cannot drift apart.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "ir/attr.h"
#include "ir/op.h"

namespace hloc::ir {

// Whether the text must have an attribute, and whether the printer always writes it.
enum class HloPresence : uint8_t {
  required,  // must be there; always printed
  shown,     // may be absent; always printed
  optional,  // may be absent; printed when it differs from a default-constructed struct's
};

// The ops that a row is for; an empty list means every op with that struct.
struct HloOps {
  std::array<Op, 24> list{};
  size_t count = 0;
  constexpr bool contains(Op op) const {
    for (size_t i = 0; i < count; ++i)
      if (list[i] == op) return true;
    return count == 0;
  }
};

template <class... Os>
constexpr HloOps hlo_ops(Os... ops) {
  static_assert(sizeof...(ops) <= 24);
  return HloOps{{ops...}, sizeof...(ops)};
}

// Sets that several rows share.
namespace hlo_set {
inline constexpr HloOps any{};
inline constexpr HloOps approximated =
    hlo_ops(Op::Acos, Op::Acosh, Op::Asin, Op::Asinh, Op::Atanh, Op::Cbrt, Op::Cos, Op::Cosh, Op::Erf, Op::Exp, Op::Expm1,
            Op::Log, Op::Log1p, Op::Logistic, Op::Rsqrt, Op::Sin, Op::Sinh, Op::Sqrt, Op::Tan, Op::Tanh);
inline constexpr HloOps map = hlo_ops(Op::Map);
inline constexpr HloOps along_dims = hlo_ops(Op::Concatenate, Op::Reverse, Op::Transpose, Op::Reduce, Op::GetDimensionSize,
                                             Op::SetDimensionSize);
inline constexpr HloOps contractions = hlo_ops(Op::Dot, Op::ScaledDot);
inline constexpr HloOps gathering = hlo_ops(Op::AllGather, Op::AllGatherStart, Op::ReduceScatter);
inline constexpr HloOps exchanging = hlo_ops(Op::AllToAll, Op::RaggedAllToAll);
inline constexpr HloOps reducing = hlo_ops(Op::AllReduce, Op::AllReduceStart, Op::ReduceScatter);
inline constexpr HloOps constrained = hlo_ops(Op::AllReduce, Op::AllReduceStart, Op::ReduceScatter, Op::AllGather,
                                              Op::AllGatherStart, Op::AllToAll);
inline constexpr HloOps global_ids =
    hlo_ops(Op::AllReduce, Op::AllReduceStart, Op::ReduceScatter, Op::AllGather, Op::AllGatherStart);
inline constexpr HloOps collective_broadcast = hlo_ops(Op::CollectiveBroadcast);
inline constexpr HloOps applying = hlo_ops(Op::Map, Op::Reduce, Op::ReduceWindow, Op::Scan, Op::Scatter, Op::Sort, Op::Call,
                                           Op::AllReduce, Op::AllReduceStart, Op::ReduceScatter);
inline constexpr HloOps select_and_scatter = hlo_ops(Op::SelectAndScatter);
inline constexpr HloOps while_loop = hlo_ops(Op::While);
inline constexpr HloOps conditional = hlo_ops(Op::Conditional);
inline constexpr HloOps custom_call = hlo_ops(Op::CustomCall);
inline constexpr HloOps fusion = hlo_ops(Op::Fusion);
inline constexpr HloOps async_start = hlo_ops(Op::AsyncStart);
inline constexpr HloOps async_later = hlo_ops(Op::AsyncUpdate, Op::AsyncDone);
}  // namespace hlo_set

// Words that a string-valued attribute may have.
namespace hlo_word {
inline constexpr std::string_view padding_type[] = {"PADDING_INVALID", "PADDING_VALID", "PADDING_SAME"};
inline constexpr std::string_view schedule[] = {"SCHEDULE_NONE", "SCHEDULE_LATEST", "SCHEDULE_EARLIEST"};
inline constexpr std::string_view api_version[] = {"API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL",
                                                   "API_VERSION_STATUS_RETURNING",
                                                   "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"};
inline constexpr std::string_view group_mode[] = {"cross_replica", "cross_partition", "cross_replica_and_partition",
                                                  "flattened_id"};
inline constexpr std::string_view convolution_kind[] = {"unset", "fprop", "wgrad", "dgrad"};
}  // namespace hlo_word

// Words of enumerations, in the order of their enumerators; "" for one that text does not name.
template <class E>
struct HloWords;
template <>
struct HloWords<Direction> {
  static constexpr std::string_view list[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};
};
template <>
struct HloWords<CompareType> {
  static constexpr std::string_view list[] = {"", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"};
};
template <>
struct HloWords<FftType> {
  static constexpr std::string_view list[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
};
template <>
struct HloWords<TransposeKind> {
  static constexpr std::string_view list[] = {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
};
template <>
struct HloWords<RngDistribution> {
  static constexpr std::string_view list[] = {"rng_uniform", "rng_normal"};
};
template <>
struct HloWords<RngAlgorithm> {
  static constexpr std::string_view list[] = {"rng_default", "rng_three_fry", "rng_philox"};
};
template <>
struct HloWords<FusionKind> {
  static constexpr std::string_view list[] = {"kLoop", "kInput", "kOutput", "kCustom"};
};
template <>
struct HloWords<Precision> {
  static constexpr std::string_view list[] = {"default", "high", "highest"};
};
template <>
struct HloWords<AccuracyMode> {
  static constexpr std::string_view list[] = {"", "default", "highest", ""};
};
template <>
struct HloWords<DotAlgorithm> {
  static constexpr std::string_view list[] = {
      "unset", "dot_any_f8_any_f8_f32", "dot_any_f8_any_f8_f32_fast_accum", "dot_f16_f16_f16", "dot_f16_f16_f32",
      "dot_bf16_bf16_bf16", "dot_bf16_bf16_f32", "dot_bf16_bf16_f32_x3", "dot_bf16_bf16_f32_x6", "dot_bf16_bf16_f32_x9",
      "dot_tf32_tf32_f32", "dot_tf32_tf32_f32_x3", "dot_f32_f32_f32", "dot_f64_f64_f64"};
};
template <>
struct HloWords<Sharding::Kind> {
  static constexpr std::string_view list[] = {"replicated", "maximal", "manual", "unknown", "unreduced", "", "", ""};
};

// Forms: how a member's value is written.
namespace form {
struct Integer {};     // 3
struct Real {};        // 0.5
struct Flag {};        // true
struct Ints {};        // {0,1}
struct OneInt {};      // {0}, a single number
struct IntLists {};    // {{0,1},{2,3}}
struct Quoted {};      // "text"
template <const auto& words>
struct OneOf {};       // a word out of a list, kept as text
struct Word {};        // a word out of HloWords
struct Words {};       // {high,highest}, any case
struct Braced {};      // {…} as written
struct Accuracy {};    // {mode=highest}
struct Slices {};      // {[0:2], [1:9:3]}
struct Padding {};     // 0_0_0x1_1
struct Windows {};     // {size=3x3 pad=1_1x1_1}
struct DimLabels {};   // b01f_01io->b01f
struct CollectiveDims {};  // {0}, remembering whether it was written
struct Groups {};      // {{0,1},{2,3}}, [2,2]<=[4], mesh['x'=2] {'x'}
struct Aliases {};     // {{0}: (1, {})}
struct Shape {};       // f32[2]{0}
struct Shapes {};      // {f32[2]{0}, s32[]}
struct Constant {};    // f32[2]{0} {1, 2}
struct DomainText {};  // {kind="sharding", entry={…}, exit={…}}
// Of the module header.
struct EntryLayout {};     // {(f32[2]{0})->f32[]}
struct ModuleAliases {};   // { {0}: (1, {}, may-alias) }
struct Donors {};          // { (0, {}) }
struct Flags {};           // true, or {true,false}
struct Frontend {};        // {key="value"}
struct Unknown {};         // {…} kept with its name
}  // namespace form

// A called computation: which callee of the op an attribute names. Slot -1 is a list of all of them.
struct HloCallee {
  const HloOps* ops;
  std::string_view name;
  int slot;
  bool required;
};
inline constexpr HloCallee hlo_callees[] = {
    {&hlo_set::applying, "to_apply", 0, true},
    {&hlo_set::select_and_scatter, "select", 0, true},
    {&hlo_set::select_and_scatter, "scatter", 1, true},
    {&hlo_set::while_loop, "condition", 0, true},
    {&hlo_set::while_loop, "body", 1, true},
    {&hlo_set::conditional, "true_computation", 0, false},
    {&hlo_set::conditional, "false_computation", 1, false},
    {&hlo_set::conditional, "branch_computations", -1, false},
    {&hlo_set::fusion, "calls", 0, true},
    {&hlo_set::async_start, "calls", 0, true},
    {&hlo_set::async_later, "calls", 0, false},
    {&hlo_set::custom_call, "to_apply", 0, false},
    {&hlo_set::custom_call, "called_computations", -1, false},
};

// Attributes that any instruction may have; they are members of Extras or of its location.
inline constexpr std::string_view hlo_common_attributes[] = {
    "metadata", "sharding", "frontend_attributes", "backend_config", "control-predecessors", "statistics",
    "parameter_replication", "origin"};

// A default-constructed attribute struct of an op, as ops.def says.
Attr default_attr(Op op);

}  // namespace hloc::ir
