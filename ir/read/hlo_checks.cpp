// What an instruction's text can get wrong by itself: the rules without which it would have no meaning at all. Shapes are
// the verifier's business.
#include "ir/read/hlo_reader.h"

#include <fmt/format.h>

#include "ir/print/print.h"

namespace hloc::ir {

bool HloReader::check_instruction(const HloOpen& open, const Attr& attr, std::span<const Value> operands,
                                  std::span<const Computation* const> callees) {
  auto refuse = [&](std::string message) { return lex_.fail_at(open.opcode, std::move(message)); };
  if (const auto* index = get_if<TupleIndexAttr>(&attr)) {
    Type tuple = operands[0]->type;
    if (!tuple.is_tuple()) return refuse(fmt::format("'{}' takes a tuple, not {}", open.opcode, to_string(tuple)));
    if (index->index < 0 || static_cast<size_t>(index->index) >= tuple.tuple_size())
      return refuse(fmt::format("there is no element {}: the tuple has {}", index->index, tuple.tuple_size()));
    return true;
  }
  if (const auto* pad = get_if<PadAttr>(&attr)) {
    Type type = operands[0]->type;
    if (!type.is_array() || pad->low.size() != static_cast<size_t>(type.rank()))
      return refuse(fmt::format("'pad' needs one padding for each dimension of {}, but has {}", to_string(type), pad->low.size()));
    return true;
  }
  if (const auto* permute = get_if<PermuteAttr>(&attr)) {
    for (const Ints& pair : permute->source_target_pairs)
      if (pair.size() != 2) return refuse("'source_target_pairs' is a list of pairs, such as {{0,1},{1,0}}");
    return true;
  }
  if (open.op == Op::Conditional) return check_conditional(open, operands, callees.size());
  if (open.op == Op::GetDimensionSize || open.op == Op::SetDimensionSize) {
    const Ints& dims = get<DimsAttr>(attr).dims;
    Type type = operands[0]->type;
    if (dims.size() != 1) return refuse(fmt::format("'{}' names one dimension, such as dimensions={{0}}", open.opcode));
    if (!type.is_array() || dims[0] < 0 || dims[0] >= type.rank())
      return refuse(fmt::format("{} has no dimension {}", to_string(type), dims[0]));
  }
  if (open.op == Op::Infeed || open.op == Op::Recv || open.op == Op::Send) {
    if (!open.type.is_tuple() || open.type.tuple_size() == 0)
      return refuse(fmt::format("'{}' has a tuple type that is not empty, not {}", open.opcode, to_string(open.type)));
  }
  if (open.op == Op::AsyncUpdate || open.op == Op::AsyncDone) {
    Op before = operands[0]->op;
    if (before != Op::AsyncStart && before != Op::AsyncUpdate)
      return refuse(fmt::format("'{}' continues an async-start or async-update, not '{}'", open.opcode, name_of(before)));
  }
  return true;
}

bool HloReader::check_conditional(const HloOpen& open, std::span<const Value> operands, size_t callees) {
  auto refuse = [&](std::string message) { return lex_.fail_at(open.opcode, std::move(message)); };
  Type selector = operands[0]->type;
  bool by_pred = selector.is_scalar() && selector.element() == ElementType::pred;
  bool by_index = selector.is_scalar() && selector.element() == ElementType::s32;
  if (!by_pred && !by_index)
    return refuse(fmt::format("the first operand of 'conditional' is a scalar, pred[] or s32[], not {}", to_string(selector)));
  uint64_t list = 0, pair = 0;
  for (size_t i = 0; i < std::size(hlo_callees); ++i)
    if (hlo_callees[i].ops == &hlo_set::conditional) (hlo_callees[i].slot < 0 ? list : pair) |= uint64_t{1} << i;
  uint64_t seen = scopes_.back()->seen_callees;
  if (by_pred && (seen & (list | pair)) != pair)
    return refuse("a conditional on pred[] has true_computation and false_computation");
  if (by_index && (seen & (list | pair)) != list) return refuse("a conditional on s32[] has branch_computations");
  if (callees + 1 != operands.size())
    return refuse(fmt::format("'conditional' has one operand for each branch after the first, but {} branches and {} such operands",
                              callees, operands.size() - 1));
  return true;
}

}  // namespace hloc::ir
