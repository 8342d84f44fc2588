// Attributes: one small struct per shape of attribute, not per op. An `Attr` is one of them; it is interned in the Context,
// so an instruction holds one pointer and equal attributes are one object.
//
// Each struct lists its members once more in `fields()`: hashing, and whoever else walks members, uses that.
// Where a member can be absent in the text and an absent one differs from any value, it is an optional.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "ir/literal.h"
#include "ir/type.h"

namespace hloc::ir {

#define HLOC_FIELDS(...)                                 \
  auto fields() const { return std::tie(__VA_ARGS__); } \
  auto fields() { return std::tie(__VA_ARGS__); }

// Path of a leaf in a nested tuple; {} is the whole.
using ShapeIndex = Ints;

struct NoAttr {
  bool operator==(const NoAttr&) const = default;
  auto fields() const { return std::tuple<>(); }
  auto fields() { return std::tuple<>(); }
};

enum class AccuracyMode : uint8_t { unset, default_mode, highest, tolerance };
struct ResultAccuracy {
  AccuracyMode mode = AccuracyMode::unset;
  double atol = 0, rtol = 0;
  int64_t ulps = 0;
  bool operator==(const ResultAccuracy&) const = default;
  HLOC_FIELDS(mode, atol, rtol, ulps)
};
struct UnaryAttr {
  ResultAccuracy accuracy;
  bool operator==(const UnaryAttr&) const = default;
  HLOC_FIELDS(accuracy)
};

struct ParameterAttr {
  int64_t number = 0;
  bool operator==(const ParameterAttr&) const = default;
  HLOC_FIELDS(number)
};
struct ConstantAttr {
  Literal value;
  bool operator==(const ConstantAttr&) const = default;
  HLOC_FIELDS(value)
};
struct IotaAttr {
  int64_t dim = 0;
  bool operator==(const IotaAttr&) const = default;
  HLOC_FIELDS(dim)
};
struct DimsAttr {  // transpose, reverse, concatenate, reduce, map, get-dimension-size…
  Ints dims;
  bool operator==(const DimsAttr&) const = default;
  HLOC_FIELDS(dims)
};
struct BroadcastAttr {
  Ints dims;  // result position of each operand dimension
  bool operator==(const BroadcastAttr&) const = default;
  HLOC_FIELDS(dims)
};
struct DynamicBroadcastAttr {
  Ints dims, known_expanding, known_nonexpanding;
  bool operator==(const DynamicBroadcastAttr&) const = default;
  HLOC_FIELDS(dims, known_expanding, known_nonexpanding)
};
struct ReshapeAttr {
  int64_t inferred_dim = -1;
  bool operator==(const ReshapeAttr&) const = default;
  HLOC_FIELDS(inferred_dim)
};

enum class Direction : uint8_t { EQ, NE, GE, GT, LE, LT };
enum class CompareType : uint8_t { unset, FLOAT, TOTALORDER, SIGNED, UNSIGNED };  // unset: by the element type
struct CompareAttr {
  Direction direction = Direction::EQ;
  CompareType type = CompareType::unset;
  bool operator==(const CompareAttr&) const = default;
  HLOC_FIELDS(direction, type)
};

struct SliceAttr {
  Ints start, limit, stride;
  bool operator==(const SliceAttr&) const = default;
  HLOC_FIELDS(start, limit, stride)
};
struct DynamicSliceAttr {
  Ints sizes;
  bool operator==(const DynamicSliceAttr&) const = default;
  HLOC_FIELDS(sizes)
};
struct PadAttr {
  Ints low, high, interior;
  bool operator==(const PadAttr&) const = default;
  HLOC_FIELDS(low, high, interior)
};
struct ScanAttr {
  Ints dims;
  int64_t num_carries = 0;
  bool is_reverse = false, is_associative = false;
  bool operator==(const ScanAttr&) const = default;
  HLOC_FIELDS(dims, num_carries, is_reverse, is_associative)
};
struct SortAttr {
  int64_t dim = 0;
  bool is_stable = false;
  bool operator==(const SortAttr&) const = default;
  HLOC_FIELDS(dim, is_stable)
};
struct TopKAttr {
  int64_t k = 0;
  bool largest = true, is_stable = false;
  bool operator==(const TopKAttr&) const = default;
  HLOC_FIELDS(k, largest, is_stable)
};

struct WindowDim {
  int64_t size = 1, stride = 1, pad_low = 0, pad_high = 0, lhs_dilate = 1, rhs_dilate = 1;
  bool reversal = false;
  bool operator==(const WindowDim&) const = default;
  HLOC_FIELDS(size, stride, pad_low, pad_high, lhs_dilate, rhs_dilate, reversal)
};
using Window = std::vector<WindowDim>;
struct WindowAttr {
  Window window;
  bool operator==(const WindowAttr&) const = default;
  HLOC_FIELDS(window)
};

enum class Precision : uint8_t { default_precision, high, highest };
// A dot algorithm; HLO names it by one word, StableHLO by its parts (kept in words: HLO's).
enum class DotAlgorithm : uint8_t {
  unset, any_f8_any_f8_f32, any_f8_any_f8_f32_fast_accum, f16_f16_f16, f16_f16_f32, bf16_bf16_bf16, bf16_bf16_f32,
  bf16_bf16_f32_x3, bf16_bf16_f32_x6, bf16_bf16_f32_x9, tf32_tf32_f32, tf32_tf32_f32_x3, f32_f32_f32, f64_f64_f64,
};
struct DotAttr {
  Ints lhs_contracting, rhs_contracting, lhs_batch, rhs_batch;
  std::vector<Precision> precision;  // empty: not written
  DotAlgorithm algorithm = DotAlgorithm::unset;
  bool operator==(const DotAttr&) const = default;
  HLOC_FIELDS(lhs_contracting, rhs_contracting, lhs_batch, rhs_batch, precision, algorithm)
};
struct RaggedDotAttr {
  DotAttr dot;
  Ints lhs_ragged, rhs_group;
  bool operator==(const RaggedDotAttr&) const = default;
  HLOC_FIELDS(dot, lhs_ragged, rhs_group)
};
struct ConvDims {  // positions of batch, feature and the spatial dimensions; -1 or extra `?` dimensions are unknown
  int64_t input_batch = 0, input_feature = 1;
  Ints input_spatial;
  int64_t kernel_input_feature = 0, kernel_output_feature = 1;
  Ints kernel_spatial;
  int64_t output_batch = 0, output_feature = 1;
  Ints output_spatial;
  Ints input_unknown, kernel_unknown, output_unknown;
  bool operator==(const ConvDims&) const = default;
  HLOC_FIELDS(input_batch, input_feature, input_spatial, kernel_input_feature, kernel_output_feature, kernel_spatial,
              output_batch, output_feature, output_spatial, input_unknown, kernel_unknown, output_unknown)
};
struct ConvAttr {
  Window window;
  ConvDims dims;
  int64_t feature_group_count = 1, batch_group_count = 1;
  std::vector<Precision> precision;
  DotAlgorithm algorithm = DotAlgorithm::unset;
  std::string kind;      // convolution_kind, as written; empty: not written
  std::string sparsity;  // sparsity_config, as written with its braces; empty: not written
  bool operator==(const ConvAttr&) const = default;
  HLOC_FIELDS(window, dims, feature_group_count, batch_group_count, precision, algorithm, kind, sparsity)
};

struct GatherAttr {
  Ints offset_dims, collapsed_slice_dims, start_index_map, operand_batching_dims, start_indices_batching_dims;
  int64_t index_vector_dim = 0;
  Ints slice_sizes;
  bool indices_are_sorted = false;
  bool operator==(const GatherAttr&) const = default;
  HLOC_FIELDS(offset_dims, collapsed_slice_dims, start_index_map, operand_batching_dims, start_indices_batching_dims,
              index_vector_dim, slice_sizes, indices_are_sorted)
};
struct ScatterAttr {
  Ints update_window_dims, inserted_window_dims, scatter_dims_to_operand_dims, input_batching_dims,
      scatter_indices_batching_dims;
  int64_t index_vector_dim = 0;
  bool indices_are_sorted = false, unique_indices = false;
  bool operator==(const ScatterAttr&) const = default;
  HLOC_FIELDS(update_window_dims, inserted_window_dims, scatter_dims_to_operand_dims, input_batching_dims,
              scatter_indices_batching_dims, index_vector_dim, indices_are_sorted, unique_indices)
};

enum class FftType : uint8_t { FFT, IFFT, RFFT, IRFFT };
struct FftAttr {
  FftType type = FftType::FFT;
  Ints length;
  bool operator==(const FftAttr&) const = default;
  HLOC_FIELDS(type, length)
};
struct CholeskyAttr {
  bool lower = false;
  bool operator==(const CholeskyAttr&) const = default;
  HLOC_FIELDS(lower)
};
enum class TransposeKind : uint8_t { NO_TRANSPOSE, TRANSPOSE, ADJOINT };
struct TriangularSolveAttr {
  bool left_side = false, lower = false, unit_diagonal = false;
  TransposeKind transpose_a = TransposeKind::NO_TRANSPOSE;
  bool operator==(const TriangularSolveAttr&) const = default;
  HLOC_FIELDS(left_side, lower, unit_diagonal, transpose_a)
};
struct BatchNormAttr {
  double epsilon = 0;
  int64_t feature_index = 0;
  bool operator==(const BatchNormAttr&) const = default;
  HLOC_FIELDS(epsilon, feature_index)
};
enum class RngDistribution : uint8_t { uniform, normal };
struct RngAttr {
  RngDistribution distribution = RngDistribution::uniform;
  bool operator==(const RngAttr&) const = default;
  HLOC_FIELDS(distribution)
};
enum class RngAlgorithm : uint8_t { default_algorithm, three_fry, philox };
struct RngBitGeneratorAttr {
  RngAlgorithm algorithm = RngAlgorithm::default_algorithm;
  bool operator==(const RngBitGeneratorAttr&) const = default;
  HLOC_FIELDS(algorithm)
};
struct RngStateAttr {
  int64_t delta = 0;
  bool operator==(const RngStateAttr&) const = default;
  HLOC_FIELDS(delta)
};
struct ReducePrecisionAttr {
  int64_t exponent_bits = 0, mantissa_bits = 0;
  bool operator==(const ReducePrecisionAttr&) const = default;
  HLOC_FIELDS(exponent_bits, mantissa_bits)
};
struct TupleIndexAttr {
  int64_t index = 0;
  bool operator==(const TupleIndexAttr&) const = default;
  HLOC_FIELDS(index)
};

struct CallAttr {
  bool is_composite = false;
  bool operator==(const CallAttr&) const = default;
  HLOC_FIELDS(is_composite)
};
// Result leaf `output` shares its buffer with leaf `index` of operand `operand`.
struct OperandAlias {
  ShapeIndex output;
  int64_t operand = 0;
  ShapeIndex index;
  bool operator==(const OperandAlias&) const = default;
  HLOC_FIELDS(output, operand, index)
};
enum class FusionKind : uint8_t { kLoop, kInput, kOutput, kCustom };
struct FusionAttr {
  FusionKind kind = FusionKind::kLoop;
  std::vector<OperandAlias> aliases;
  bool operator==(const FusionAttr&) const = default;
  HLOC_FIELDS(kind, aliases)
};
struct CustomCallAttr {
  std::string target;
  std::optional<Window> window;
  std::optional<ConvDims> conv_dims;
  int64_t feature_group_count = 1, batch_group_count = 1;
  std::optional<std::vector<Type>> operand_layouts;
  std::optional<std::vector<Type>> result_layouts;  // StableHLO only
  bool has_side_effect = false;
  bool single_callee = false;   // the one callee is written to_apply=, not called_computations={}
  std::vector<OperandAlias> aliases;
  std::string padding_type;     // PADDING_VALID…; empty: not written
  Literal literal;              // empty: none
  std::vector<Precision> precision;
  std::string schedule;         // SCHEDULE_LATEST…; empty: not written
  std::string api_version;      // API_VERSION_TYPED_FFI…; empty: not written
  bool operator==(const CustomCallAttr&) const = default;
  HLOC_FIELDS(target, window, conv_dims, feature_group_count, batch_group_count, operand_layouts, result_layouts,
              has_side_effect, single_callee, aliases, padding_type, literal, precision, schedule, api_version)
};
struct CompositeAttr {
  std::string name;
  std::string attributes;  // the dictionary as written
  int64_t version = 0;
  bool operator==(const CompositeAttr&) const = default;
  HLOC_FIELDS(name, attributes, version)
};

struct AsyncAttr {
  std::string execution_thread;  // "main" when empty
  std::vector<OperandAlias> aliases;
  bool sugared = false;          // written as OP-start, OP-update, OP-done
  bool operator==(const AsyncAttr&) const = default;
  HLOC_FIELDS(execution_thread, aliases, sugared)
};
struct CopyStartAttr {
  std::optional<int64_t> prefetch_index;  // cross_program_prefetch_index
  bool operator==(const CopyStartAttr&) const = default;
  HLOC_FIELDS(prefetch_index)
};
struct InfeedAttr {
  std::string config;
  std::string layout;  // StableHLO's layout attribute, as written
  bool operator==(const InfeedAttr&) const = default;
  HLOC_FIELDS(config, layout)
};
struct OutfeedAttr {
  std::string config;
  Type shape;  // outfeed_shape=; null: not written
  bool operator==(const OutfeedAttr&) const = default;
  HLOC_FIELDS(config, shape)
};
struct ChannelAttr {
  std::optional<int64_t> channel_id;
  int64_t channel_type = 0;  // StableHLO's channel handle type
  bool is_host_transfer = false;
  std::vector<Ints> source_target_pairs;
  bool operator==(const ChannelAttr&) const = default;
  HLOC_FIELDS(channel_id, channel_type, is_host_transfer, source_target_pairs)
};

// Device numbers 0…n-1 reshaped to `reshape`, transposed by `transpose` (empty: identity), then shaped to `dims`.
struct IotaTile {
  Ints dims, reshape, transpose;
  bool operator==(const IotaTile&) const = default;
  HLOC_FIELDS(dims, reshape, transpose)
};
struct MeshAxis {
  std::string name;
  int64_t size = 0;  // 0 where an axis is only named; sub-axes are kept in `name`, as written
  bool operator==(const MeshAxis&) const = default;
  HLOC_FIELDS(name, size)
};
struct ReplicaGroups {
  enum Kind : uint8_t { absent, list, iota, mesh } kind = absent;
  std::vector<Ints> groups;  // list
  IotaTile tile;             // iota: dims are [groups, size]
  std::string mesh_text;     // mesh: as written
  bool operator==(const ReplicaGroups&) const = default;
  HLOC_FIELDS(kind, groups, tile, mesh_text)
};
struct CollectiveAttr {
  Ints dims;
  bool has_dims = false;
  ReplicaGroups groups;
  std::optional<int64_t> channel_id;
  int64_t channel_type = 0;
  bool constrain_layout = false, use_global_device_ids = false, has_dynamic_root = false;
  int64_t split_dim = -1, concat_dim = -1, split_count = 0;  // StableHLO all_to_all
  std::string mode;  // mode=, as written; empty: not written
  bool operator==(const CollectiveAttr&) const = default;
  HLOC_FIELDS(dims, has_dims, groups, channel_id, channel_type, constrain_layout, use_global_device_ids,
              has_dynamic_root, split_dim, concat_dim, split_count, mode)
};
struct PermuteAttr {
  std::vector<Ints> source_target_pairs, slice_sizes;
  std::optional<int64_t> channel_id;
  int64_t channel_type = 0;
  bool operator==(const PermuteAttr&) const = default;
  HLOC_FIELDS(source_target_pairs, slice_sizes, channel_id, channel_type)
};
struct DomainAttr {
  std::string text;  // as written, with braces
  bool operator==(const DomainAttr&) const = default;
  HLOC_FIELDS(text)
};
struct CheckAttr {  // check.expect_*
  Literal expected;  // empty: the second operand
  double tolerance = 0.001;
  int64_t min_ulps = 0, max_ulps = 3;
  std::string probe_id;
  int64_t iteration = 0;
  bool operator==(const CheckAttr&) const = default;
  HLOC_FIELDS(expected, tolerance, min_ulps, max_ulps, probe_id, iteration)
};
struct RawAttr {  // attributes of ops that hloc reads and prints but does not run, as written
  std::string text;
  bool operator==(const RawAttr&) const = default;
  HLOC_FIELDS(text)
};

// A value that lives elsewhere: copied with its holder, compared by what it is.
template <class T>
class Boxed {
 public:
  Boxed(T value) : at_(std::make_unique<T>(std::move(value))) {}
  Boxed(const Boxed& other) : at_(std::make_unique<T>(*other.at_)) {}
  Boxed(Boxed&&) = default;  // leaves a box that is only good for being assigned or destroyed
  Boxed& operator=(const Boxed& other) { return *this = Boxed(other); }
  Boxed& operator=(Boxed&&) = default;
  bool operator==(const Boxed& other) const { return *at_ == *other.at_; }
  T& operator*() { return *at_; }
  const T& operator*() const { return *at_; }

 private:
  std::unique_ptr<T> at_;
};

template <class... A>
struct AttrList {
  static constexpr size_t size = sizeof...(A);
  template <class X>
  static constexpr bool contains = (std::is_same_v<X, A> || ...);
  template <class X>
  static constexpr size_t index_of() {
    size_t i = 0;
    (void)((std::is_same_v<X, A> || (++i, false)) || ...);
    return i;
  }
  // Programs have many different constants and few different convolutions: what is larger than a constant is boxed, so
  // that each of many attributes takes no more memory than a constant does.
  template <class X>
  static constexpr bool is_boxed = sizeof(X) > sizeof(ConstantAttr);
  using Stored = std::variant<std::conditional_t<is_boxed<A>, Boxed<A>, A>...>;
};
using AttrStructs = AttrList<NoAttr, UnaryAttr, ParameterAttr, ConstantAttr, IotaAttr, DimsAttr, BroadcastAttr, DynamicBroadcastAttr,
                             ReshapeAttr, CompareAttr, SliceAttr, DynamicSliceAttr, PadAttr, ScanAttr, SortAttr,
                             TopKAttr, WindowAttr, DotAttr, RaggedDotAttr, ConvAttr, GatherAttr, ScatterAttr,
                             FftAttr, CholeskyAttr, TriangularSolveAttr, BatchNormAttr, RngAttr, RngBitGeneratorAttr,
                             RngStateAttr, ReducePrecisionAttr, TupleIndexAttr, CallAttr, FusionAttr, CustomCallAttr,
                             CompositeAttr, AsyncAttr, CopyStartAttr, InfeedAttr, OutfeedAttr, ChannelAttr,
                             CollectiveAttr, PermuteAttr, DomainAttr, CheckAttr, RawAttr>;

// The position of the struct `A` in the list, which `Attr::index` gives.
template <class A>
constexpr size_t attr_index() {
  static_assert(AttrStructs::contains<A>);
  return AttrStructs::index_of<A>();
}

// One of the structs. `get<A>`, `get_if<A>`, `holds<A>` and `visit` look at it, as the functions of std::variant do.
class Attr {
 public:
  Attr() = default;
  template <class A>
    requires AttrStructs::contains<A>
  Attr(A value) : stored_(std::in_place_index<attr_index<A>()>, std::move(value)) {}

  size_t index() const { return stored_.index(); }
  bool operator==(const Attr&) const = default;

  template <class A>
  friend const A& get(const Attr& attr) {
    const A* a = get_if<A>(&attr);
    HLOC_CHECK(a, "an attribute is of another kind");
    return *a;
  }
  template <class A>
  friend A& get(Attr& attr) {
    return const_cast<A&>(get<A>(static_cast<const Attr&>(attr)));
  }
  template <class A>
  friend const A* get_if(const Attr* attr) {
    const auto* stored = std::get_if<attr_index<A>()>(&attr->stored_);
    if constexpr (AttrStructs::is_boxed<A>) return stored ? &**stored : nullptr;
    else return stored;
  }
  template <class A>
  friend A* get_if(Attr* attr) {
    return const_cast<A*>(get_if<A>(static_cast<const Attr*>(attr)));
  }
  template <class A>
  friend bool holds(const Attr& attr) {
    return attr.index() == attr_index<A>();
  }
  template <class F>
  friend decltype(auto) visit(F&& f, const Attr& attr) {
    return std::visit(
        [&]<class S>(const S& stored) -> decltype(auto) {
          if constexpr (AttrStructs::contains<S>) return f(stored);
          else return f(*stored);
        },
        attr.stored_);
  }

 private:
  AttrStructs::Stored stored_;
};

uint64_t hash(const Attr& attr);

// A sharding, in any of HLO's forms.
struct Sharding {
  enum Kind : uint8_t { replicated, maximal, manual, unknown, unreduced, tiled, tuple, named } kind = replicated;
  int64_t device = 0;          // maximal
  Ints tile;                   // tiled: the grid
  Ints devices;                // tiled: the list; empty when `iota` says it
  bool is_iota = false;
  IotaTile iota;
  bool replicate_last = false;            // last_tile_dim_replicate
  std::vector<Kind> last_tile_dims;       // last_tile_dims={manual, replicated}
  int64_t shard_as = -1, shard_like = -1;
  std::string metadata;        // as written, with braces; empty: none
  std::string named_text;      // named: as written
  std::vector<Sharding> parts; // tuple
  bool operator==(const Sharding&) const = default;
};

// Text that lives as long as the context: a part of a source that it keeps, or what Context::string returned. Not made
// from a std::string by accident.
struct KeptText : std::string_view {
  constexpr KeptText() = default;
  constexpr explicit KeptText(std::string_view kept) : std::string_view(kept) {}
};

// metadata={...} of an instruction: where it came from in the user's program.
struct Metadata {
  KeptText op_type, op_name, source_file, deduplicated_name, scheduling_name;
  int64_t source_line = 0, source_end_line = 0, source_column = 0, source_end_column = 0, stack_frame_id = 0;
  Ints profile_type;
  KeptText payload;  // metadata_payload
  bool operator==(const Metadata&) const = default;
  HLOC_FIELDS(op_type, op_name, source_file, deduplicated_name, scheduling_name, source_line, source_end_line,
              source_column, source_end_column, stack_frame_id, profile_type, payload)
};

}  // namespace hloc::ir
