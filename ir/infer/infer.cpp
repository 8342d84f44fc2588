// Which op has which shape rule, and what is the same for all: counts of operands and callees, kind of attribute.
#include "ir/infer/infer.h"

#include <algorithm>
#include <array>

#include "ir/infer/rules.h"

namespace hloc::ir::shapes {
namespace {

constexpr size_t attr_of_op[] = {
#define HLOC_OP(Name, hlo, stablehlo, min, max, attr, traits) attr_index<attr>(),
#include "ir/ops.def"
#undef HLOC_OP
};

// How many computations an op calls. Ops with the trait `calls` that are not here call exactly one; others none.
struct CalleeCount {
  Op op;
  size_t least, most;
};

constexpr CalleeCount callee_counts[] = {
    {Op::While, 2, 2},
    {Op::SelectAndScatter, 2, 2},
    {Op::Conditional, 1, SIZE_MAX},
    {Op::StableHloIf, 2, 2},
    {Op::CustomCall, 0, SIZE_MAX},
    {Op::Composite, 0, SIZE_MAX},
    {Op::AsyncStart, 0, 1},
    {Op::AsyncUpdate, 0, 1},
    {Op::AsyncDone, 0, 1},
    {Op::InterpreterRunParallel, 0, SIZE_MAX},
    {Op::ShapeAssuming, 0, SIZE_MAX},
    {Op::SdyManualComputation, 0, SIZE_MAX},
    {Op::SdyNamedComputation, 0, SIZE_MAX},
};

CalleeCount callee_count(Op op) {
  for (const CalleeCount& row : callee_counts)
    if (row.op == op) return row;
  size_t n = has(op, calls) ? 1 : 0;
  return {op, n, n};
}

Problem check_counts(const Site& s) {
  const OpFacts& f = facts(s.op);
  auto n = static_cast<int64_t>(s.operands.size());
  if (n < f.min_operands || (f.max_operands >= 0 && n > f.max_operands)) {
    std::string expected = f.max_operands == f.min_operands ? fmt::format("{}", f.min_operands)
                           : f.max_operands < 0             ? fmt::format("at least {}", f.min_operands)
                                                : fmt::format("{} to {}", f.min_operands, f.max_operands);
    return reject(s, "{} operand{} expected, but there {} {}", expected, expected == "1" ? " is" : "s are",
                  n == 1 ? "is" : "are", n);
  }
  CalleeCount c = callee_count(s.op);
  if (s.callees.size() < c.least || s.callees.size() > c.most)
    return reject(s, "{} called computation{} expected, but there {} {}", c.least, c.least == 1 ? " is" : "s are",
                  s.callees.size() == 1 ? "is" : "are", s.callees.size());
  return {};
}

// A switch without `default`: an op without a shape rule does not compile quietly.
Result<Type> apply_rule(const Site& s) {
  switch (s.op) {
    case Op::Parameter: return infer_anything(s);
    case Op::Constant: case Op::ChloConstant: case Op::SdyConstant: return infer_constant(s);
    case Op::Iota: return infer_iota(s);
    case Op::PartitionId: case Op::ReplicaId: return infer_device_id(s);

    case Op::Abs: case Op::Acos: case Op::Acosh: case Op::Asin: case Op::Asinh: case Op::Atanh: case Op::Cbrt:
    case Op::Ceil: case Op::Cos: case Op::Cosh: case Op::CountLeadingZeros: case Op::Erf: case Op::Exp: case Op::Expm1:
    case Op::Floor: case Op::Imag: case Op::IsFinite: case Op::Log: case Op::Log1p: case Op::Logistic: case Op::Negate:
    case Op::Not: case Op::Popcnt: case Op::Real: case Op::RoundAfz: case Op::RoundEven: case Op::Rsqrt: case Op::Sign:
    case Op::Sin: case Op::Sinh: case Op::Sqrt: case Op::Tan: case Op::Tanh: case Op::ChloAsinAcosKernel:
    case Op::ChloAtan: case Op::ChloBesselI1e: case Op::ChloConj: case Op::ChloDigamma: case Op::ChloErfInv:
    case Op::ChloErfc: case Op::ChloIsInf: case Op::ChloIsNegInf: case Op::ChloIsPosInf: case Op::ChloLgamma:
    case Op::ChloSquare:
      return infer_unary(s);
    case Op::Add: case Op::And: case Op::Atan2: case Op::Divide: case Op::Maximum: case Op::Minimum: case Op::MulHi:
    case Op::Multiply: case Op::Or: case Op::Power: case Op::Remainder: case Op::ShiftLeft:
    case Op::ShiftRightArithmetic: case Op::ShiftRightLogical: case Op::Subtract: case Op::Xor: case Op::ChloNextAfter:
    case Op::ChloPolygamma: case Op::ChloZeta:
      return infer_binary(s);
    case Op::Compare: return infer_compare(s);
    case Op::Complex: return infer_complex(s);
    case Op::Clamp: return infer_clamp(s);
    case Op::Select: return infer_select(s);
    case Op::Map: return infer_map(s);
    case Op::StochasticConvert: return infer_stochastic_convert(s);

    case Op::Convert: return infer_convert(s);
    case Op::BitcastConvert: return infer_bitcast_convert(s);
    case Op::Bitcast: return infer_bitcast(s);
    case Op::ReducePrecision: return infer_reduce_precision(s);
    case Op::UniformQuantize: return infer_quantize(s);
    case Op::UniformDequantize: return infer_dequantize(s);

    case Op::Broadcast: return infer_broadcast(s);
    case Op::Concatenate: return infer_concatenate(s);
    case Op::Copy: case Op::Domain: return infer_first_operand(s);
    case Op::DynamicSlice: return infer_dynamic_slice(s);
    case Op::DynamicUpdateSlice: return infer_dynamic_update_slice(s);
    case Op::Gather: case Op::DynamicGather: return infer_gather(s);
    case Op::Pad: return infer_pad(s);
    case Op::Reshape: return infer_reshape(s);
    case Op::Reverse: return infer_reverse(s);
    case Op::Slice: return infer_slice(s);
    case Op::Transpose: return infer_transpose(s);
    case Op::StableHloBroadcast: return infer_stablehlo_broadcast(s);

    case Op::Reduce: return infer_reduce(s);
    case Op::ReduceWindow: return infer_reduce_window(s);
    case Op::SelectAndScatter: return infer_select_and_scatter(s);
    case Op::Scan: return infer_scan(s);
    case Op::Scatter: return infer_scatter(s);
    case Op::Sort: return infer_sort(s);
    case Op::TopK: return infer_topk(s);

    case Op::Dot: return infer_dot(s);
    case Op::StableHloDot: return infer_plain_dot(s);
    case Op::RaggedDot: return infer_ragged_dot(s);
    case Op::ScaledDot: return infer_scaled_dot(s);
    case Op::Convolution: case Op::DynamicConv: return infer_convolution(s);
    case Op::Fft: return infer_fft(s);
    case Op::Cholesky: return infer_cholesky(s);
    case Op::TriangularSolve: return infer_triangular_solve(s);
    case Op::BatchNormTraining: case Op::BatchNormInference: case Op::BatchNormGrad: return infer_batch_norm(s);
    case Op::Rng: return infer_rng(s);
    case Op::RngBitGenerator: return infer_rng_bit_generator(s);
    case Op::RngGetAndUpdateState: return infer_rng_state(s);

    case Op::Tuple: return infer_tuple(s);
    case Op::GetTupleElement: return infer_get_tuple_element(s);
    case Op::AfterAll: case Op::StableHloCreateToken: return infer_token(s);
    case Op::AddDependency: return infer_add_dependency(s);
    case Op::OptBarrier: return infer_opt_barrier(s);
    case Op::Call: case Op::Fusion: case Op::Composite: return infer_call(s);
    case Op::While: return infer_while(s);
    case Op::Conditional: case Op::StableHloIf: return infer_conditional(s);
    case Op::CustomCall: return infer_custom_call(s);

    case Op::GetDimensionSize: return infer_get_dimension_size(s);
    case Op::SetDimensionSize: return infer_set_dimension_size(s);
    case Op::DynamicReshape: return infer_dynamic_reshape(s);
    case Op::DynamicBroadcast: return infer_dynamic_broadcast(s);
    case Op::DynamicIota: return infer_dynamic_iota(s);
    case Op::DynamicPad: return infer_dynamic_pad(s);
    case Op::RealDynamicSlice: return infer_real_dynamic_slice(s);

    case Op::AsyncStart: return infer_async_start(s);
    case Op::AsyncUpdate: return infer_async_update(s);
    case Op::AsyncDone: return infer_async_done(s);
    case Op::CopyStart: return infer_copy_start(s);
    case Op::CopyDone: return infer_copy_done(s);
    case Op::Infeed: return infer_infeed(s);
    case Op::Outfeed: return infer_outfeed(s);
    case Op::Send: return infer_send(s);
    case Op::SendDone: return infer_send_done(s);
    case Op::Recv: return infer_recv(s);
    case Op::RecvDone: return infer_recv_done(s);
    case Op::AllGather: return infer_all_gather(s);
    case Op::AllGatherStart: return infer_all_gather_start(s);
    case Op::AllGatherDone: case Op::CollectivePermuteDone: return infer_start_pair_done(s);
    case Op::AllReduce: case Op::AllReduceStart: case Op::CollectiveReduce: return infer_all_reduce(s);
    case Op::AllReduceDone: case Op::StableHloCrossReplicaSum: return infer_first_operand(s);
    case Op::AllToAll: return infer_all_to_all(s);
    case Op::RaggedAllToAll: return infer_ragged_all_to_all(s);
    case Op::ReduceScatter: return infer_reduce_scatter(s);
    case Op::CollectiveBroadcast: return infer_collective_broadcast(s);
    case Op::CollectivePermute: return infer_collective_permute(s);
    case Op::CollectivePermuteStart: return infer_collective_permute_start(s);

    case Op::CheckExpectEq: case Op::CheckExpectEqConst: case Op::CheckExpectAlmostEq:
    case Op::CheckExpectAlmostEqConst: case Op::CheckExpectClose: case Op::CheckExpectSerializedEq:
      return infer_check(s);

    // Read and printed, but their attributes are text: the declared type stands.
    case Op::ChloBroadcast: case Op::ChloConstantLike: case Op::StableHloTorchIndexSelect:
    case Op::StableHloUnaryEinsum: case Op::StableHloEinsum: case Op::StableHloReturn: case Op::FuncReturn:
    case Op::InterpreterRunParallel: case Op::InterpreterProbe: case Op::InterpreterPrint:
    case Op::ShapeAssuming: case Op::ShapeBroadcast: case Op::ShapeConcat: case Op::ShapeConstShape:
    case Op::ShapeCstrBroadcastable: case Op::ShapeGetExtent: case Op::ShapeNumElements: case Op::ShapeShapeOf:
    case Op::ShapeSplitAt: case Op::SdyAllGather: case Op::SdyAllReduce: case Op::SdyAllSlice: case Op::SdyAllToAll:
    case Op::SdyCollectivePermute: case Op::SdyDataFlowEdge: case Op::SdyManualComputation: case Op::SdyMesh:
    case Op::SdyNamedComputation: case Op::SdyPropagationBarrier: case Op::SdyReduceScatter: case Op::SdyReshard:
    case Op::SdyReturn: case Op::SdyShardingConstraint: case Op::SdyShardingGroup:
      return infer_anything(s);
  }
  HLOC_UNREACHABLE();
}

}  // namespace

Result<Type> infer_site(const Site& s) {
  if (Problem p = check_counts(s)) return *p;
  HLOC_CHECK(s.attr.index() == attr_of_op[static_cast<size_t>(s.op)],
             fmt::format("{} does not hold {}", name_of(s.op), facts(s.op).attr));
  return apply_rule(s);
}

namespace {

bool contracts(Op op) {
  return op == Op::Dot || op == Op::StableHloDot || op == Op::RaggedDot || op == Op::ScaledDot ||
         op == Op::Convolution || op == Op::DynamicConv;
}

bool has_reducer(Op op) {
  return op == Op::Reduce || op == Op::ReduceWindow || op == Op::SelectAndScatter || op == Op::Scatter ||
         op == Op::AllReduce || op == Op::AllReduceStart || op == Op::ReduceScatter || op == Op::CollectiveReduce;
}

// A contraction may be asked for in another element type: any float for floats, else one that is no narrower.
bool may_contract_to(Type from, Type to) {
  if (from->quant || to->quant) return true;
  if (class_of(from) == class_float) return class_of(to) == class_float;
  bool complex = class_of(from) == class_complex;
  return complex == (class_of(to) == class_complex) && bit_width(to.element()) >= bit_width(from.element());
}

bool agrees(const Site& s, Type inferred) {
  if (contracts(s.op))
    return s.declared.is_array() && fits_dims(s.declared, inferred) && may_contract_to(inferred, s.declared);
  return fits(s.declared, inferred, has_reducer(s.op) ? Elements::any_float : Elements::equal);
}

}  // namespace

}  // namespace hloc::ir::shapes

namespace hloc::ir {

Result<void> check_type(Context& context, Op op, std::span<const Type> operands, const Attr& attr,
                        std::span<const Computation* const> callees, Type declared) {
  shapes::Site s{context, op, operands, attr, callees, declared};
  auto inferred = shapes::infer_site(s);
  if (!inferred) return inferred.error();
  if (!*inferred || !declared || shapes::agrees(s, *inferred)) return {};
  return shapes::reject(s, "the result is declared {}, but it must be {}", shapes::shape_text(declared),
                        shapes::shape_text(*inferred));
}

Result<Type> infer(Context& context, Op op, std::span<const Type> operands, const Attr& attr,
                   std::span<const Computation* const> callees) {
  return shapes::infer_site({context, op, operands, attr, callees, Type()});
}

}  // namespace hloc::ir
