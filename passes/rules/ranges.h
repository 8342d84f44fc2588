// Rules of integers whose values are known to lie between two numbers: counting, masked and clamped ones, remainders.
#pragma once

#include "passes/rewrite/range.h"
#include "passes/rules/dims.h"

namespace hloc::passes::rules {

// What the ranges of its operands make of the instruction in p: an operand, or a number everywhere.
inline ir::Value decided(const Match& m, Replacement& out) {
  std::array<MaybeRange, 3> ranges;
  size_t count = m[p]->operand_count;
  if (count > ranges.size()) return nullptr;
  for (size_t i = 0; i < count; ++i) ranges[i] = range_nearby(m[p]->operand(i));
  Decided known = decided_by_ranges(m[p], std::span(ranges).first(count));
  if (known.kind == Decided::nothing) return nullptr;
  if (known.kind == Decided::operand) {
    ir::Value operand = m[p]->operand(known.index);
    return operand->type == m.root->type ? operand : nullptr;
  }
  std::optional<ir::Literal> number = scalar_literal(m.context, m.root->type.element(), Special::number, known.value);
  return number ? out.splat(m.root->type, *std::move(number)) : nullptr;
}

ir::Value sample_ranged(Sampler& s, ir::Op op);
template <ir::Op op>
ir::Value sample_ranged_of(Sampler& s) {
  return sample_ranged(s, op);
}

inline constexpr Rule ranges[] = {
    {"compare-range", any(ir::Op::Compare, p), Build{"true or false, when the ranges of both sides decide it", decided}, sample_ranged_of<ir::Op::Compare>},
    {"max-range", any(ir::Op::Maximum, p), Build{"the side whose range lies above the other's", decided}, sample_ranged_of<ir::Op::Maximum>},
    {"min-range", any(ir::Op::Minimum, p), Build{"the side whose range lies below the other's", decided}, sample_ranged_of<ir::Op::Minimum>},
    {"clamp-range", any(ir::Op::Clamp, p), Build{"x, when its range lies between the bounds", decided}, sample_ranged_of<ir::Op::Clamp>},
    {"rem-range", any(ir::Op::Remainder, p), Build{"x, when it is never negative and below y", decided}, sample_ranged_of<ir::Op::Remainder>},
    {"and-range", any(ir::Op::And, p), Build{"x, when it has no bits but those of a mask 2^n - 1", decided}, sample_ranged_of<ir::Op::And>},
    {"abs-range", any(ir::Op::Abs, p), Build{"x, when it is never negative", decided}, sample_ranged_of<ir::Op::Abs>},
};

}  // namespace hloc::passes::rules
