#include "passes/rewrite/scalar.h"

#include <cmath>
#include <cstring>

#include "ir/support/float_formats.h"

namespace hloc::passes {

using ir::Literal;
using ir::Op;
using ir::Value;

std::span<const std::byte> uniform_bytes(Value v) {
  // Canonical graphs have one broadcast at most; the bound only guards against long chains as written.
  for (int step = 0; step < 8 && v->type.is_array(); ++step) {
    if (v->type->quant) return {};
    if (v->op == Op::Constant) {
      const Literal& value = v->as<ir::ConstantAttr>().value;
      if (value.is_elided() || v->type.count() != 1) return {};
      return value.bytes();
    }
    if ((v->op != Op::Broadcast && v->op != Op::Reshape) || v->type.count() == 0) return {};
    v = v->operand(0);
  }
  return {};
}

namespace {

template <class T>
T load_scalar(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

template <class T>
Literal make_scalar(ir::Context& context, ElementType element, T value) {
  Literal out = Literal::uninitialized(context.scalar(element));
  std::memcpy(out.mutable_bytes().data(), &value, sizeof value);
  return out;
}

template <class T>
double as_double(T value) {
  return static_cast<double>(value);
}

template <class T>
std::optional<T> special_int(Special special, int64_t number, ElementType element) {
  int bits = bit_width(element);
  auto from = [](uint64_t n) { return static_cast<T>(static_cast<int64_t>(n)); };
  uint64_t all = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  uint64_t top = uint64_t{1} << (bits - 1);
  bool is_signed = is_signed_integer(element);
  switch (special) {
    case Special::number: {
      auto value = from(static_cast<uint64_t>(number));
      bool fits = static_cast<int64_t>(value) == number || (number == -1 && !is_signed);  // -1 wraps to all ones
      return fits ? std::optional<T>(value) : std::nullopt;
    }
    case Special::minus_zero: return std::nullopt;
    case Special::lowest: return from(is_signed ? top : 0);
    case Special::highest: return from(is_signed ? top - 1 : all);
    case Special::ones: return from(all);
  }
  return std::nullopt;
}

template <class T>
std::optional<T> special_float(Special special, int64_t number) {
  auto exactly = [](double want) -> std::optional<T> {
    auto value = static_cast<T>(want);
    double got = as_double(value);
    if (got != want || std::signbit(got) != std::signbit(want)) return std::nullopt;
    return value;
  };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  switch (special) {
    case Special::number: return exactly(static_cast<double>(number));
    case Special::minus_zero: return exactly(-0.0);
    case Special::lowest: return exactly(-infinity);
    case Special::highest: return exactly(infinity);
    case Special::ones: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Literal> scalar_literal(ir::Context& context, ElementType element, Special special, int64_t number) {
  return visit_element(element, [&](auto tag) -> std::optional<Literal> {
    using T = decltype(tag);
    if constexpr (std::is_same_v<T, bool>) {
      if (special == Special::minus_zero) return std::nullopt;
      if (special == Special::number && number != 0 && number != 1) return std::nullopt;
      bool value = special == Special::number ? number == 1 : special != Special::lowest;
      return make_scalar(context, element, value);
    } else if constexpr (is_int_type<T>) {
      if (std::optional<T> value = special_int<T>(special, number, element)) return make_scalar(context, element, *value);
    } else if constexpr (is_complex_type<T>) {
      using Part = typename T::value_type;
      if (special == Special::number) return make_scalar(context, element, T(static_cast<Part>(number), 0));
    } else {
      if (std::optional<T> value = special_float<T>(special, number)) return make_scalar(context, element, *value);
    }
    return std::nullopt;
  });
}

std::optional<Literal> scalar_from_double(ir::Context& context, ElementType element, double value) {
  return visit_element(element, [&](auto tag) -> std::optional<Literal> {
    using T = decltype(tag);
    if constexpr (is_float_type<T>) {
      auto rounded = static_cast<T>(value);
      if (as_double(rounded) == value) return make_scalar(context, element, rounded);
    }
    return std::nullopt;
  });
}

Literal scalar_from_bytes(ir::Context& context, ElementType element, std::span<const std::byte> bytes) {
  Literal out = Literal::uninitialized(context.scalar(element));
  HLOC_CHECK(out.size() == bytes.size(), "the bytes are one element");
  std::memcpy(out.mutable_bytes().data(), bytes.data(), bytes.size());
  return out;
}

std::optional<int64_t> uniform_int(Value v) {
  std::span<const std::byte> bytes = uniform_bytes(v);
  if (bytes.empty()) return std::nullopt;
  return visit_element(v->type.element(), [&](auto tag) -> std::optional<int64_t> {
    using T = decltype(tag);
    if constexpr (std::is_same_v<T, bool>) {
      return load_scalar<uint8_t>(bytes) != 0;
    } else if constexpr (is_int_type<T>) {
      T value = load_scalar<T>(bytes);
      if constexpr (std::is_same_v<T, uint64_t>) {
        if (value > INT64_MAX) return std::nullopt;
      }
      return static_cast<int64_t>(value);
    }
    return std::nullopt;
  });
}

std::optional<int64_t> element_int(ir::Value v, int64_t index) {
  if (std::optional<int64_t> all = uniform_int(v)) return all;
  if (v->op != ir::Op::Constant || !is_integer(v->type.element())) return std::nullopt;
  const ir::Literal& literal = v->as<ir::ConstantAttr>().value;
  if (literal.is_elided()) return std::nullopt;
  return visit_element(v->type.element(), [&](auto tag) -> std::optional<int64_t> {
    using T = decltype(tag);
    if constexpr (is_int_type<T>) {
      auto value = static_cast<int64_t>(literal.data<T>()[static_cast<size_t>(index)]);
      if (value >= 0 || is_signed_integer(v->type.element())) return value;  // what 63 bits do not hold is not known
    }
    return std::nullopt;
  });
}

std::optional<double> uniform_double(Value v) {
  std::span<const std::byte> bytes = uniform_bytes(v);
  if (bytes.empty()) return std::nullopt;
  return visit_element(v->type.element(), [&](auto tag) -> std::optional<double> {
    using T = decltype(tag);
    if constexpr (is_float_type<T>) return as_double(load_scalar<T>(bytes));
    return std::nullopt;
  });
}

FloatRange float_range(ElementType element) {
  return visit_element(element, [](auto tag) -> FloatRange {
    using T = decltype(tag);
    if constexpr (std::is_floating_point_v<T>) {
      using Limits = std::numeric_limits<T>;
      return {Limits::digits, Limits::max_exponent - 1, Limits::min_exponent - Limits::digits, true};
    } else if constexpr (is_narrow_float<T>) {
      constexpr FloatFormat f = T::format;
      int top = (1 << f.exponent_bits) - 1 - f.bias - (f.convention == FloatConvention::ieee ? 1 : 0);
      return {f.mantissa_bits + 1, top, 1 - f.bias - f.mantissa_bits, f.convention == FloatConvention::ieee};
    }
    return {};
  });
}

}  // namespace hloc::passes
