// Tables and small facts of the loop IR: scalar ops, affine maps, ranges, constants.
#include "backends/loops/loops.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "ir/support/float_formats.h"

namespace hloc::loops {
namespace {

constexpr ResultRule same = ResultRule::same, pred = ResultRule::pred, other = ResultRule::other;
constexpr Level basic = Level::basic, halves = Level::halves, composite = Level::composite;

constexpr ScalarOpFacts scalar_op_table[] = {
#define HLOC_LOOP_OP(Name, text, operands, types, result, level) {#Name, text, operands, types, result, level},
#include "backends/loops/ops.def"
#undef HLOC_LOOP_OP
};

constexpr std::string_view predicate_names[] = {"eq", "ne", "lt", "le", "gt", "ge"};

char type_letter(ElementType type) {
  if (type == ElementType::pred) return 'p';
  if (type >= ElementType::s8 && type <= ElementType::s64) return 'i';
  if (type >= ElementType::u8 && type <= ElementType::u64) return 'u';
  if (is_half(type)) return 'h';
  if (type == ElementType::f32 || type == ElementType::f64) return 'f';
  return '?';
}

__extension__ typedef __int128 Wide128;

int64_t saturated(Wide128 x) {
  if (x > INT64_MAX) return INT64_MAX;
  if (x < INT64_MIN) return INT64_MIN;
  return static_cast<int64_t>(x);
}

}  // namespace

std::span<const ScalarOpFacts> all_scalar_ops() { return scalar_op_table; }

const ScalarOp* find_scalar_op(std::string_view text) {
  static constexpr auto ops = [] {
    std::array<ScalarOp, std::size(scalar_op_table)> all{};
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<ScalarOp>(i);
    return all;
  }();
  for (size_t i = 0; i < ops.size(); ++i)
    if (scalar_op_table[i].text == text) return &ops[i];
  return nullptr;
}

bool allows(ScalarOp op, ElementType type) {
  return facts(op).types.find(type_letter(type)) != std::string_view::npos;
}

std::string_view name_of(Predicate p) { return predicate_names[static_cast<size_t>(p)]; }

bool is_scalar_type(ElementType type) { return type_letter(type) != '?'; }

// ---- Affine maps ----

Affine Affine::of(IndexId index, int64_t coefficient) {
  Affine a;
  if (coefficient != 0) a.terms.push_back({index, coefficient});
  return a;
}

int64_t Affine::coefficient(IndexId index) const {
  for (const Term& t : terms)
    if (t.index == index) return t.coefficient;
  return 0;
}

Affine& Affine::operator+=(const Affine& other) {
  base += other.base;
  if (other.terms.empty()) return *this;
  std::vector<Term> sum;
  sum.reserve(terms.size() + other.terms.size());
  auto a = terms.begin();
  auto b = other.terms.begin();
  while (a != terms.end() || b != other.terms.end()) {
    if (b == other.terms.end() || (a != terms.end() && a->index < b->index)) {
      sum.push_back(*a++);
    } else if (a == terms.end() || b->index < a->index) {
      sum.push_back(*b++);
    } else {
      if (int64_t c = a->coefficient + b->coefficient; c != 0) sum.push_back({a->index, c});
      ++a, ++b;
    }
  }
  terms = std::move(sum);
  return *this;
}

Affine& Affine::operator*=(int64_t factor) {
  base *= factor;
  if (factor == 0) terms.clear();
  for (Term& t : terms) t.coefficient *= factor;
  return *this;
}

Range range_of(const Kernel& kernel, const Affine& affine) {
  Wide128 lo = affine.base, hi = affine.base;
  for (const Term& t : affine.terms) {
    const Range& r = kernel.indices[t.index].range;
    Wide128 a = Wide128{t.coefficient} * r.lo, b = Wide128{t.coefficient} * r.hi;
    lo += std::min(a, b);
    hi += std::max(a, b);
  }
  return {saturated(lo), saturated(hi)};
}

// ---- Constants ----

uint64_t constant_bits(ElementType type, double value) {
  if (type == ElementType::f64) return std::bit_cast<uint64_t>(value);
  if (type == ElementType::f32) return std::bit_cast<uint32_t>(static_cast<float>(value));
  if (type == ElementType::f16) return F16(value).bits;
  if (type == ElementType::bf16) return BF16(value).bits;
  if (type == ElementType::pred) return value != 0;
  return constant_bits(type, static_cast<int64_t>(value));
}

uint64_t constant_bits(ElementType type, int64_t value) {
  if (is_float(type)) return constant_bits(type, static_cast<double>(value));
  if (type == ElementType::pred) return value != 0;
  int bits = bit_width(type);
  auto low = static_cast<uint64_t>(value);
  return bits == 64 ? low : low & ((uint64_t{1} << bits) - 1);
}

uint64_t neutral_bits(ScalarOp op, ElementType type) {
  bool is_signed = is_signed_integer(type);
  int bits = type == ElementType::pred ? 1 : bit_width(type);
  uint64_t all_ones = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (op == ScalarOp::Add) return is_float(type) ? constant_bits(type, -0.0) : 0;
  if (op == ScalarOp::Or || op == ScalarOp::Xor) return 0;
  if (op == ScalarOp::Mul) return constant_bits(type, int64_t{1});
  if (op == ScalarOp::And) return all_ones;
  if (op == ScalarOp::Min) {
    if (is_float(type)) return constant_bits(type, infinity);
    return is_signed ? all_ones >> 1 : all_ones;
  }
  HLOC_CHECK(op == ScalarOp::Max, "not an accumulating op: " + std::string(facts(op).text));
  if (is_float(type)) return constant_bits(type, -infinity);
  return is_signed ? uint64_t{1} << (bits - 1) : 0;
}

}  // namespace hloc::loops
