// fold: what depends on constants only is computed now, by the evaluator.
//
//   what is known      a constant; one value everywhere (a broadcast scalar); an iota; a broadcast constant; a tuple of these
//   never folded       elided constants, effects, random numbers, devices' answers, barriers
//   stays as it is     broadcasts and iotas by themselves: they are smaller as code than as data
//   one value          an elementwise op on uniform operands is computed once, as a scalar, and broadcast again
//
// Bounded three ways: bytes of one result, element operations of one instruction, and of the whole pass. A result may
// be larger than the first bound when it is smaller than what it was made from.
#include "passes/fold.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "ir/eval/eval.h"
#include "passes/rebuild.h"
#include "passes/rewrite/scalar.h"

namespace hloc::passes {
namespace {

using ir::Computation;
using ir::Literal;
using ir::Op;
using ir::Value;

constexpr int64_t largest_result = 64 << 10;     // bytes
constexpr int64_t largest_code_result = 64;      // elements, where no operand is data yet
constexpr double most_work = 4e6, most_total_work = 16e6;  // element operations
constexpr int64_t most_total_bytes = 16 << 20;   // of new constants
constexpr double callee_cost = 8;                // an element through a called computation against one through a loop

int64_t type_bytes(ir::Type type) {
  int64_t sum = 0;
  for (ir::Type leaf : ir::leaves(type))
    if (leaf.is_array()) sum += std::min(leaf.byte_size(), INT64_MAX / 4 - sum);
  return sum;
}

double type_elements(ir::Type type) {
  double sum = 0;
  for (ir::Type leaf : ir::leaves(type))
    if (leaf.is_array()) sum += static_cast<double>(leaf.count());
  return sum;
}

// Element operations of an instruction, roughly; a loop counts as one turn.
class WorkEstimate {
 public:
  double of(Value v) const {
    double in = 0, out = type_elements(v->type), inside = 0;
    for (Value operand : v->operands()) in += type_elements(operand->type);
    for (const Computation* callee : v->callees()) inside += of(*callee);
    if (v->op == Op::Dot) return dot(v, out);
    if (v->op == Op::Convolution) return out * type_elements(v->operand(1)->type);
    if (v->op == Op::While || v->op == Op::Conditional || v->op == Op::Call || v->op == Op::Fusion) return in + out + inside;
    if (v->op == Op::ReduceWindow || v->op == Op::SelectAndScatter) {
      double window = 1;
      for (const ir::WindowDim& w : v->as<ir::WindowAttr>().window) window *= static_cast<double>(w.size);
      return (in + out) * window * (callee_cost + inside);
    }
    if (v->op == Op::Sort) return in * (2 + std::log2(in + 2)) * (callee_cost + inside);
    if (v->op == Op::Cholesky || v->op == Op::TriangularSolve || v->op == Op::Fft || v->op == Op::TopK) return in * std::sqrt(in + out);
    return (in + out) * (v->callees().empty() ? 1 : callee_cost + inside);
  }

  double of(const Computation& computation) const {
    auto [it, fresh] = known_.try_emplace(&computation, 0);
    if (!fresh) return it->second;
    double sum = 0;  // callees are nested at most as deep as computations are
    for (Value v : computation.instructions()) sum += of(v);
    return known_[&computation] = sum;
  }

 private:
  static double dot(Value v, double out) {
    double depth = 1;
    for (int64_t d : v->as<ir::DotAttr>().lhs_contracting) depth *= static_cast<double>(v->operand(0)->type.dim(d));
    return out * (depth + 1);
  }

  mutable std::unordered_map<const Computation*, double> known_;
};

// Ops that are no function of their operands' values, or that are better left as code.
constexpr Op kept_ops[] = {
    Op::Parameter, Op::Constant, Op::Iota, Op::Broadcast, Op::Tuple, Op::Rng, Op::RngBitGenerator,
    Op::RngGetAndUpdateState, Op::StochasticConvert, Op::PartitionId, Op::ReplicaId, Op::OptBarrier, Op::AddDependency,
    Op::AfterAll, Op::Domain, Op::CustomCall, Op::Composite};
constexpr Op impure_ops[] = {Op::Rng, Op::RngBitGenerator, Op::RngGetAndUpdateState, Op::StochasticConvert,
                             Op::PartitionId, Op::ReplicaId, Op::OptBarrier, Op::CustomCall};

class Folder {
 public:
  explicit Folder(const ir::ModuleRef& module, PassContext& pass) : context_(module->context()), pass_(pass) {}

  ir::ComputationRef run(const Computation& old, const CalleeMap& callees) {
    if (!callees.touches(old) && std::ranges::none_of(old.instructions(), looks_foldable)) return nullptr;
    std::vector<bool> live = live_instructions(old);
    Rebuild rebuild(old, callees, context_);
    for (Value v : old.instructions()) {
      if (!live[v->id]) continue;
      size_t before = rebuild.builder().size();
      Value folded = fold(v, rebuild);
      if (!folded) {
        rebuild.copy(v);
        continue;
      }
      if (folded->id >= before) rebuild.name_after(folded, v);
      rebuild.replace(v, folded);
      if (pass_.remarks)
        pass_.remarks->push_back({"fold", std::string(ir::name_of(v->op)), std::string(old.name()),
                                  std::string(old.name(v)), "computed at compile time"});
    }
    return rebuild.finish();
  }

 private:
  enum class Known : uint8_t { no, code, uniform, data };

  static Known known(Value v) {
    if (v->op == Op::Constant)
      return v->as<ir::ConstantAttr>().value.is_elided() || v->type->quant ? Known::no : Known::data;
    if (!uniform_bytes(v).empty()) return Known::uniform;
    if (v->op == Op::Iota) return Known::code;
    if (v->op == Op::Broadcast && v->operand(0)->op == Op::Constant && known(v->operand(0)) == Known::data)
      return Known::code;
    if (v->op != Op::Tuple || v->operand_count == 0) return Known::no;
    for (Value part : v->operands())  // tuples of tuples are not worth a walk
      if (part->op == Op::Tuple || known(part) == Known::no) return Known::no;
    return Known::data;
  }

  static bool is_kept(Value v) {
    return v->operand_count == 0 || std::ranges::find(kept_ops, v->op) != std::end(kept_ops);
  }

  // Where folding starts: everything that it reaches later depends on such an instruction.
  static bool looks_foldable(Value v) {
    return !is_kept(v) && std::ranges::all_of(v->operands(), [](Value operand) { return known(operand) != Known::no; });
  }

  // The value that stands for `v` in the new computation, or null.
  Value fold(Value v, Rebuild& rebuild) {
    if (v->op == Op::GetTupleElement) {
      Value tuple = rebuild.mapped(v->operand(0));
      if (tuple->op != Op::Tuple || known(tuple) == Known::no) return nullptr;
      return tuple->operand(static_cast<size_t>(v->as<ir::TupleIndexAttr>().index));
    }
    if (is_kept(v)) return nullptr;
    std::span<const Value> operands = rebuild.operands(v);
    bool any_data = false, all_uniform = true;
    for (Value operand : operands) {
      Known k = known(operand);
      if (k == Known::no) return nullptr;
      any_data |= k == Known::data && !(operand->type.is_scalar());
      all_uniform &= k == Known::uniform || operand->type.is_scalar();
    }
    if (!may_fold(v)) return nullptr;
    if (all_uniform && ir::is_elementwise(v->op) && v->callees().empty() && v->type.rank() > 0)
      return fold_uniform(v, operands, rebuild.builder());
    bool only_scalars = std::ranges::all_of(operands, [](Value o) { return o->type.is_scalar(); });
    if (!any_data && !only_scalars && type_elements(v->type) > static_cast<double>(largest_code_result)) return nullptr;
    return fold_data(v, operands, rebuild.builder());
  }

  bool may_fold(Value v) {
    if (ir::has(v->op, ir::collective) || ir::has_effect(v)) return false;
    if (!v->type.is_static() || (v->extras && !v->extras->control_predecessors.empty())) return false;
    for (ir::Type leaf : ir::leaves(v->type))
      if (!leaf.is_array() || leaf->quant) return false;
    for (const Computation* callee : v->callees())
      if (!is_pure(*callee)) return false;
    return ir::can_evaluate(v);
  }

  bool is_pure(const Computation& computation) {
    auto [it, fresh] = pure_.try_emplace(&computation, true);
    if (!fresh) return it->second;
    for (const Computation* inner : ir::reachable(computation))
      for (Value v : inner->instructions())
        if (std::ranges::find(impure_ops, v->op) != std::end(impure_ops) || ir::has_effect(v) ||
            (v->op == Op::Constant && v->as<ir::ConstantAttr>().value.is_elided()))
          return pure_[&computation] = false;
    return true;
  }

  Value fold_uniform(Value v, std::span<const Value> operands, ir::ComputationBuilder& builder) {
    ir::ComputationBuilder scratch(context_, "scalar");
    std::vector<Value> parameters;
    std::vector<Literal> arguments;
    for (Value operand : operands) {
      ElementType element = operand->type.element();
      parameters.push_back(scratch.parameter(static_cast<int64_t>(parameters.size()), context_->scalar(element)));
      arguments.push_back(scalar_from_bytes(*context_, element, uniform_bytes(operand)));
    }
    Value scalar = scratch.make(v->op, context_->scalar(v->type.element()), parameters, *v->attr);
    if (!ir::can_evaluate(scalar)) return nullptr;
    Result<Literal> value = ir::evaluate(scalar, arguments);
    if (!value) return nullptr;
    return builder.make(Op::Broadcast, v->type, {builder.constant(*std::move(value))}, ir::BroadcastAttr{});
  }

  Value fold_data(Value v, std::span<const Value> operands, ir::ComputationBuilder& builder) {
    // A reshape of data is the same bytes.
    if (v->op == Op::Reshape && operands[0]->op == Op::Constant)
      return builder.constant(operands[0]->as<ir::ConstantAttr>().value.with_type(v->type));
    int64_t bytes = type_bytes(v->type), from = 0;
    for (Value operand : operands) from += operand->op == Op::Constant || operand->op == Op::Tuple ? type_bytes(operand->type) : 0;
    if (bytes > largest_result && bytes >= from) return nullptr;
    double work = estimate_.of(v);
    if (work > most_work || total_work_ + work > most_total_work || total_bytes_ + bytes > most_total_bytes) return nullptr;

    std::vector<Literal> arguments;
    for (Value operand : operands) {
      std::optional<Literal> value = materialised(operand);
      if (!value) return nullptr;
      arguments.push_back(*std::move(value));
    }
    ir::EvalOptions options;
    options.max_bytes = int64_t{256} << 20;
    options.max_steps = most_steps(v, work);
    Result<Literal> value = ir::evaluate(v, arguments, options);
    total_work_ += value ? work : most_work;  // a loop that did not end in time has cost all that it may
    if (!value) return nullptr;
    total_bytes_ += bytes;
    return constant(*value, v->type, builder);
  }

  // Instructions that the evaluator may run inside `v`, so that loops cost at most `most_work` in all.
  static int64_t most_steps(Value v, double work) {
    double steps = 16;
    for (const Computation* callee : v->callees())
      for (const Computation* inner : ir::reachable(*callee)) steps += static_cast<double>(inner->size());
    if (v->op == Op::While || v->op == Op::Conditional || v->op == Op::Call || v->op == Op::Fusion)
      return static_cast<int64_t>(steps * std::max(1.0, most_work / std::max(work, steps * 50)));
    return INT64_MAX;
  }

  // The literal of a known value.
  std::optional<Literal> materialised(Value v) {
    if (v->op == Op::Constant) return v->as<ir::ConstantAttr>().value;
    if (type_elements(v->type) > most_work) return std::nullopt;
    std::vector<Literal> parts;
    if (v->op == Op::Tuple) {
      for (Value operand : v->operands()) {
        std::optional<Literal> part = materialised(operand);
        if (!part) return std::nullopt;
        parts.push_back(*std::move(part));
      }
      return Literal::tuple(v->type, std::move(parts));
    }
    if (std::span<const std::byte> one = uniform_bytes(v); !one.empty()) {
      Literal out = Literal::uninitialized(v->type);
      std::span<std::byte> bytes = out.mutable_bytes();
      for (size_t i = 0; i < bytes.size(); i += one.size()) std::memcpy(bytes.data() + i, one.data(), one.size());
      return out;
    }
    for (Value operand : v->operands()) parts.push_back(operand->as<ir::ConstantAttr>().value);
    Result<Literal> value = ir::evaluate(v, parts);
    if (!value) return std::nullopt;
    return *std::move(value);
  }

  Value constant(const Literal& value, ir::Type type, ir::ComputationBuilder& builder) {
    if (!type.is_tuple()) return normal_constant(builder, value.type() == type ? value : value.with_type(type));
    std::vector<const Literal*> values = ir::leaves(value);
    size_t next = 0;
    return ir::build_up<Value>(type, [&](ir::Type leaf) { return constant(*values[next++], leaf, builder); },
                               [&](ir::Type tuple, const std::vector<Value>& parts) { return builder.make(Op::Tuple, tuple, parts); });
  }

  ir::ContextRef context_;
  PassContext& pass_;
  WorkEstimate estimate_;
  std::unordered_map<const Computation*, bool> pure_;
  double total_work_ = 0;
  int64_t total_bytes_ = 0;
};

Result<ir::ModuleRef> run_fold(const ir::ModuleRef& module, PassContext& pass) {
  Folder folder(module, pass);
  return rebuild_module(module, [&](const Computation& old, const CalleeMap& callees) { return folder.run(old, callees); });
}

}  // namespace

const Pass fold_pass{"fold", "what depends on constants only is computed now", run_fold};

}  // namespace hloc::passes
