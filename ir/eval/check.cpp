// check.expect_*: equal values (-0 equals 0, any NaN any NaN), almost equal ones, or few units in the last place apart.
#include "ir/eval/check.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/eval/copy.h"
#include "ir/eval/ops.h"
#include "ir/literal_text.h"

namespace hloc::ir::eval {
namespace {

bool within(double got, double want, double tolerance) {
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want);
  return got == want || std::fabs(got - want) <= tolerance;
}

// The magnitude of a float as a number that counts representable values.
template <class T>
uint64_t magnitude_code(T x) {
  uint64_t bits = 0;
  std::memcpy(&bits, &x, sizeof(T));
  return bits & ~(uint64_t{1} << (sizeof(T) * 8 - 1));
}

template <class T>
bool ulps_between(T got, T want, int64_t least, int64_t most) {
  double a = widen(got), b = widen(want);
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  uint64_t x = magnitude_code(got), y = magnitude_code(want);
  uint64_t distance = std::signbit(a) != std::signbit(b) ? x + y : std::max(x, y) - std::min(x, y);
  return distance >= static_cast<uint64_t>(least) && distance <= static_cast<uint64_t>(most);
}

template <class T>
bool agrees(T got, T want, const Closeness& c) {
  if constexpr (is_complex_type<T>) {
    return agrees(got.real(), want.real(), c) && agrees(got.imag(), want.imag(), c);
  } else if constexpr (is_float_type<T>) {
    if (c.kind == Closeness::almost) return within(widen(got), widen(want), c.tolerance);
    if (c.kind == Closeness::ulps) return ulps_between(got, want, c.min_ulps, c.max_ulps);
    return within(widen(got), widen(want), 0);
  } else {
    return widen(got) == widen(want);
  }
}

std::string index_text(Type type, int64_t flat) {
  Ints strides = strides_of(type.sizes());
  std::string out;
  for (size_t d = 0; d < strides.size(); ++d) {
    out += fmt::format("{}{}", d == 0 ? "" : ", ", strides[d] == 0 ? 0 : flat / strides[d]);
    if (strides[d] != 0) flat %= strides[d];
  }
  return out;
}

std::string element_text(const Literal& in, int64_t i) {
  std::string out;
  append_element(out, in.type().element(), in.bytes().data() + i * byte_width(in.type().element()));
  return out;
}

Result<Literal> expect(Call& c, const Closeness& closeness) {
  const Literal& constant = c.attr<CheckAttr>().expected;
  bool has_operand = c.in.size() > 1;
  if (!has_operand && !constant.type()) return c.eval.fail("the check has no expected value");
  std::string difference = first_difference(c.in[0], has_operand ? c.in[1] : constant, closeness);
  if (!difference.empty()) return c.eval.fail(fmt::format("{} failed: {}", name_of(c.v->op), difference));
  return eval_token(c);
}

}  // namespace

std::string first_difference(const Literal& got, const Literal& want, const Closeness& closeness) {
  if (want.is_elided()) return "the expected value is elided";
  if (!got.type().is_array() || !want.type().is_array() || !same_shape(got.type(), want.type()))
    return "the value and the expected one have different types";
  return visit_element(got.type().element(), [&](auto tag) -> std::string {
    using T = decltype(tag);
    for (int64_t i = 0; i < got.type().count(); ++i) {
      if (agrees(load<T>(got.bytes().data(), i), load<T>(want.bytes().data(), i), closeness)) continue;
      return fmt::format("element [{}] is {}, expected {}", index_text(got.type(), i), element_text(got, i),
                         element_text(want, i));
    }
    return {};
  });
}

Result<Literal> eval_expect_eq(Call& c) { return expect(c, {}); }

Result<Literal> eval_expect_almost_eq(Call& c) {
  return expect(c, {Closeness::almost, c.attr<CheckAttr>().tolerance, 0, 0});
}

Result<Literal> eval_expect_close(Call& c) {
  const auto& attr = c.attr<CheckAttr>();
  return expect(c, {Closeness::ulps, 0, attr.min_ulps, attr.max_ulps});
}

}  // namespace hloc::ir::eval
