// Profitable rules: cheaper ops on machines with vector units. They ask the target's facts.
#pragma once

#include <bit>

#include "ir/target.h"
#include "passes/rewrite/algebra.h"

namespace hloc::passes::rules {

// The exponent of c when c is a power of two above 1.
inline std::optional<int64_t> log2_of(const Match& m) {
  std::optional<int64_t> value = uniform_int(m[c]);
  if (!value || *value < 2 || !std::has_single_bit(static_cast<uint64_t>(*value))) return std::nullopt;
  return std::countr_zero(static_cast<uint64_t>(*value));
}

// Vector units have no integer division, and multiply wide integers slowly; they all shift.
inline bool has_vectors(const Match& m) { return m.target.vector_bytes > static_cast<int64_t>(sizeof(int64_t)); }

inline ir::Value with_number(const Match& m, Replacement& out, ir::Op op, int64_t number) {
  std::optional<ir::Literal> scalar = scalar_literal(m.context, m.root->type.element(), Special::number, number);
  return scalar ? out.make(op, m.root->type, {m[x], out.splat(m.root->type, *std::move(scalar))}) : nullptr;
}

inline ir::Value shifted_left(const Match& m, Replacement& out) {
  std::optional<int64_t> log = log2_of(m);
  if (!log || !has_vectors(m) || bit_width(m.root->type.element()) < 32) return nullptr;
  return with_number(m, out, ir::Op::ShiftLeft, *log);
}
inline ir::Value shifted_right(const Match& m, Replacement& out) {
  std::optional<int64_t> log = log2_of(m);
  if (!log || !has_vectors(m) || !is_unsigned_integer(m.root->type.element())) return nullptr;
  return with_number(m, out, ir::Op::ShiftRightLogical, *log);
}
inline ir::Value masked(const Match& m, Replacement& out) {
  std::optional<int64_t> log = log2_of(m);
  if (!log || !has_vectors(m) || !is_unsigned_integer(m.root->type.element())) return nullptr;
  return with_number(m, out, ir::Op::And, (int64_t{1} << *log) - 1);
}

inline constexpr Rule strength[] = {
    {"mul-power-of-two", x * c, Build{"x << log2(c), c a power of two", shifted_left}, Valid::integers},
    {"div-unsigned-power-of-two", x / c, Build{"x >> log2(c), c a power of two", shifted_right}, Valid::integers},
    {"rem-unsigned-power-of-two", x % c, Build{"x & (c - 1), c a power of two", masked}, Valid::integers},
};

}  // namespace hloc::passes::rules
