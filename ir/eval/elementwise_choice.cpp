// compare, select and clamp, and the one look-up over all elementwise families.
#include "ir/eval/kernel.h"
#include "ir/eval/real_functions.h"

namespace hloc::ir::eval {
namespace {

template <class W>
using Comparison = bool (*)(W, W);

template <class W>
Comparison<W> ordering(Direction d) {
  if constexpr (std::is_same_v<W, Complex>) {
    return d == Direction::NE ? [](Complex a, Complex b) { return a != b; }
                              : [](Complex a, Complex b) { return a == b; };
  } else {
    switch (d) {
      case Direction::EQ: return [](W a, W b) { return a == b; };
      case Direction::NE: return [](W a, W b) { return a != b; };
      case Direction::GE: return [](W a, W b) { return a >= b; };
      case Direction::GT: return [](W a, W b) { return a > b; };
      case Direction::LE: return [](W a, W b) { return a <= b; };
      case Direction::LT: return [](W a, W b) { return a < b; };
    }
    HLOC_UNREACHABLE();
  }
}

// -NaN < -inf < … < -0 < +0 < … < inf < NaN: the bits as sign and magnitude.
int64_t total_order_key(double x) {
  auto bits = std::bit_cast<int64_t>(x);
  return bits < 0 ? bits ^ INT64_MAX : bits;
}

template <class T>
void run_compare(const Kernel& k, const std::byte* const* in, std::byte* out, int64_t n) {
  auto f = reinterpret_cast<Comparison<Wide<T>>>(k.function);
  for (int64_t i = 0; i < n; ++i) store<bool>(out, i, f(widen(load<T>(in[0], i)), widen(load<T>(in[1], i))));
}

template <class T>
void run_total_order(const Kernel& k, const std::byte* const* in, std::byte* out, int64_t n) {
  auto f = reinterpret_cast<Comparison<int64_t>>(k.function);
  for (int64_t i = 0; i < n; ++i)
    store<bool>(out, i, f(total_order_key(widen(load<T>(in[0], i))), total_order_key(widen(load<T>(in[1], i)))));
}

std::optional<Kernel> compare_kernel(const ElementwiseOp& e) {
  const auto& attr = get<CompareAttr>(e.attr);
  bool is_equality = attr.direction == Direction::EQ || attr.direction == Direction::NE;
  if (e.operands[0] != e.operands[1] || e.result != ElementType::pred) return std::nullopt;
  if (is_complex(e.operands[0]) && !is_equality) return std::nullopt;
  Kernel k;
  visit_element(e.operands[0], [&](auto tag) {
    using T = decltype(tag);
    if constexpr (is_float_type<T>) {
      if (attr.type == CompareType::TOTALORDER) {
        k.run = run_total_order<T>;
        k.function = reinterpret_cast<void (*)()>(ordering<int64_t>(attr.direction));
        return;
      }
    }
    k.run = run_compare<T>;
    k.function = reinterpret_cast<void (*)()>(ordering<Wide<T>>(attr.direction));
  });
  return k;
}

template <int W>
void run_select(const Kernel& k, const std::byte* const* in, std::byte* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    bool first = load<bool>(in[0], k.fixed[0] ? 0 : i);
    std::byte element[W];
    std::memcpy(element, (first ? in[1] : in[2]) + i * W, W);
    std::memcpy(out + i * W, element, W);
  }
}

std::optional<Kernel> select_kernel(const ElementwiseOp& e) {
  if (e.operands[0] != ElementType::pred || e.operands[1] != e.result || e.operands[2] != e.result)
    return std::nullopt;
  Kernel k;
  switch (byte_width(e.result)) {
    case 1: k.run = run_select<1>; break;
    case 2: k.run = run_select<2>; break;
    case 4: k.run = run_select<4>; break;
    case 8: k.run = run_select<8>; break;
    case 16: k.run = run_select<16>; break;
  }
  return k;
}

template <class W>
W clamped(W low, W x, W high) {
  if constexpr (std::is_same_v<W, double>) return min_of(max_of(low, x), high);
  else return std::min(std::max(low, x), high);
}

template <class T>
void run_clamp(const Kernel& k, const std::byte* const* in, std::byte* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    auto low = widen(load<T>(in[0], k.fixed[0] ? 0 : i)), high = widen(load<T>(in[2], k.fixed[2] ? 0 : i));
    store<T>(out, i, narrow<T>(clamped(low, widen(load<T>(in[1], i)), high)));
  }
}

// Complex numbers are clamped by maximum and minimum too: lexicographically.
template <class T>
void run_complex_clamp(const Kernel& k, const std::byte* const* in, std::byte* out, int64_t n) {
  auto less = [](Complex a, Complex b) { return a.real() < b.real() || (a.real() == b.real() && a.imag() < b.imag()); };
  for (int64_t i = 0; i < n; ++i) {
    Complex low = widen(load<T>(in[0], k.fixed[0] ? 0 : i)), high = widen(load<T>(in[2], k.fixed[2] ? 0 : i));
    Complex x = widen(load<T>(in[1], i));
    store<T>(out, i, narrow<T>(less(x, low) ? low : less(high, x) ? high : x));
  }
}

std::optional<Kernel> clamp_kernel(const ElementwiseOp& e) {
  for (ElementType t : e.operands)
    if (t != e.result) return std::nullopt;
  Kernel k;
  visit_element(e.result, [&k](auto tag) {
    using T = decltype(tag);
    if constexpr (is_complex_type<T>) k.run = run_complex_clamp<T>;
    else k.run = run_clamp<T>;
  });
  return k;
}

}  // namespace

std::optional<Kernel> choice_kernel(const ElementwiseOp& e) {
  if (e.op == Op::Compare && e.operands.size() == 2) return compare_kernel(e);
  if (e.op == Op::Select && e.operands.size() == 3) return select_kernel(e);
  if (e.op == Op::Clamp && e.operands.size() == 3) return clamp_kernel(e);
  return std::nullopt;
}

std::optional<Kernel> elementwise_kernel(const ElementwiseOp& e) {
  if (!is_elementwise(e.op) || e.op == Op::Map || e.operands.empty()) return std::nullopt;
  std::optional<Kernel> k = binary_kernel(e);
  if (!k) k = unary_kernel(e);
  if (!k) k = choice_kernel(e);
  if (!k) k = convert_kernel(e);
  if (!k) return k;
  k->bits = k->bits != 0 ? k->bits : bit_width(e.operands[0]);
  k->width = byte_width(e.result);
  return k;
}

}  // namespace hloc::ir::eval
