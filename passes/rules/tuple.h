// Rules of tuples and tokens.
#pragma once

#include "passes/rewrite/algebra.h"

namespace hloc::passes::rules {

inline ir::Value tuple_part(const Match& m, Replacement&) {
  return m[q]->operand(static_cast<size_t>(m[p]->as<ir::TupleIndexAttr>().index));
}

// tuple(x.0, x.1, …, all of x in order) is x.
inline ir::Value taken_apart(const Match& m, Replacement&) {
  ir::Value whole = nullptr;
  for (size_t i = 0; i < m[p]->operand_count; ++i) {
    ir::Value part = m[p]->operand(i);
    if (part->op != ir::Op::GetTupleElement || part->as<ir::TupleIndexAttr>().index != static_cast<int64_t>(i)) return nullptr;
    if (whole && part->operand(0) != whole) return nullptr;
    whole = part->operand(0);
  }
  return whole;
}

ir::Value sample_taken_apart(Sampler& s);

inline constexpr Rule tuples[] = {
    {"get-tuple-element-tuple", get_tuple_element(any(ir::Op::Tuple, q), p), Build{"that operand of the tuple", tuple_part}},
    {"tuple-of-elements", any(ir::Op::Tuple, p), Build{"x for (x.0, x.1, …), all of x in order", taken_apart}, sample_taken_apart},
    {"after-all-one", after_all(x), x},
};

}  // namespace hloc::passes::rules
