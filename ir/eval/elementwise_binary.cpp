// Elementwise ops of two operands: a table of plain functions on wide values, and the loops that run them.
#include "ir/eval/kernel.h"
#include "ir/eval/real_functions.h"

namespace hloc::ir::eval {
namespace {

struct BinaryFunctions {
  Op op;
  double (*real)(double, double) = nullptr;
  Complex (*complex)(Complex, Complex) = nullptr;
  int64_t (*signed_int)(int64_t, int64_t, int bits) = nullptr;
  uint64_t (*unsigned_int)(uint64_t, uint64_t, int bits) = nullptr;
  bool (*pred)(bool, bool) = nullptr;
};

// Integers wrap: computed modulo 2^64, cut to the type's width when stored.
template <class F>
int64_t wrapping(int64_t a, int64_t b, F f) {
  return static_cast<int64_t>(f(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
}

int64_t signed_divide(int64_t a, int64_t b, int) {
  if (b == 0) return -1;
  if (b == -1) return wrapping(0, a, std::minus<>());  // INT64_MIN / -1 wraps to itself
  return a / b;
}
uint64_t unsigned_divide(uint64_t a, uint64_t b, int) { return b == 0 ? ~uint64_t{0} : a / b; }
int64_t signed_remainder(int64_t a, int64_t b, int) { return b == 0 ? a : b == -1 ? 0 : a % b; }
uint64_t unsigned_remainder(uint64_t a, uint64_t b, int) { return b == 0 ? a : a % b; }

uint64_t unsigned_power(uint64_t base, uint64_t exponent, int) {
  uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1, base *= base)
    if (exponent & 1) result *= base;
  return result;
}
int64_t signed_power(int64_t base, int64_t exponent, int bits) {
  if (exponent >= 0)
    return static_cast<int64_t>(unsigned_power(static_cast<uint64_t>(base), static_cast<uint64_t>(exponent), bits));
  return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
}

// A shift amount is unsigned in its own width, so a negative one is too large.
bool too_far(uint64_t amount, int bits) { return amount >= static_cast<uint64_t>(bits); }
uint64_t shifted_left(uint64_t a, uint64_t b, int bits) { return too_far(b, bits) ? 0 : a << b; }
uint64_t shifted_right(uint64_t a, uint64_t b, int bits) {
  uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  return too_far(b, bits) ? 0 : (a & mask) >> b;
}
int64_t shifted_right_signed(int64_t a, int64_t b, int bits) {
  return a >> (too_far(static_cast<uint64_t>(b), bits) ? 63 : b);
}
// On unsigned types the top bit of the width is the sign.
uint64_t shifted_right_arithmetic(uint64_t a, uint64_t b, int bits) {
  auto as_signed = static_cast<int64_t>(a << (64 - bits)) >> (64 - bits);
  return static_cast<uint64_t>(shifted_right_signed(as_signed, static_cast<int64_t>(b), bits));
}

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 Uint128;
int64_t signed_high(int64_t a, int64_t b, int bits) { return static_cast<int64_t>((static_cast<Int128>(a) * b) >> bits); }
uint64_t unsigned_high(uint64_t a, uint64_t b, int bits) {
  return static_cast<uint64_t>((static_cast<Uint128>(a) * b) >> bits);
}

bool lexicographically_less(Complex a, Complex b) {
  return a.real() < b.real() || (a.real() == b.real() && a.imag() < b.imag());
}
bool has_nan(Complex z) { return std::isnan(z.real()) || std::isnan(z.imag()); }
Complex complex_max(Complex a, Complex b) {
  return has_nan(a) ? a : has_nan(b) ? b : lexicographically_less(a, b) ? b : a;
}
Complex complex_min(Complex a, Complex b) {
  return has_nan(a) ? a : has_nan(b) ? b : lexicographically_less(b, a) ? b : a;
}
// The angle of b + i*a for complex a and b.
Complex complex_atan2(Complex a, Complex b) {
  Complex direction = divide_of(b + multiply_of({0, 1}, a), sqrt_of(multiply_of(b, b) + multiply_of(a, a)));
  Complex log = log_of(direction);
  return {log.imag(), -log.real()};
}

#define HLOC_WRAPPING(op)                                                                                      \
  [](int64_t a, int64_t b, int) { return wrapping(a, b, [](uint64_t x, uint64_t y) { return x op y; }); }, \
      [](uint64_t a, uint64_t b, int) { return a op b; }

constexpr BinaryFunctions binary_table[] = {
    {Op::Add, [](double a, double b) { return a + b; }, [](Complex a, Complex b) { return a + b; }, HLOC_WRAPPING(+),
     [](bool a, bool b) { return a || b; }},
    {Op::And, nullptr, nullptr, HLOC_WRAPPING(&), [](bool a, bool b) { return a && b; }},
    {Op::Atan2, [](double a, double b) { return std::atan2(a, b); }, complex_atan2},
    {Op::Divide, [](double a, double b) { return a / b; }, divide_of, signed_divide, unsigned_divide},
    {Op::Maximum, max_of, complex_max, [](int64_t a, int64_t b, int) { return a > b ? a : b; },
     [](uint64_t a, uint64_t b, int) { return a > b ? a : b; }, [](bool a, bool b) { return a || b; }},
    {Op::Minimum, min_of, complex_min, [](int64_t a, int64_t b, int) { return a < b ? a : b; },
     [](uint64_t a, uint64_t b, int) { return a < b ? a : b; }, [](bool a, bool b) { return a && b; }},
    {Op::MulHi, nullptr, nullptr, signed_high, unsigned_high},
    {Op::Multiply, [](double a, double b) { return a * b; }, multiply_of, HLOC_WRAPPING(*),
     [](bool a, bool b) { return a && b; }},
    {Op::Or, nullptr, nullptr, HLOC_WRAPPING(|), [](bool a, bool b) { return a || b; }},
    {Op::Power, [](double a, double b) { return std::pow(a, b); }, power_of, signed_power, unsigned_power},
    {Op::Remainder, fmod_of, nullptr, signed_remainder, unsigned_remainder},
    {Op::ShiftLeft, nullptr, nullptr,
     [](int64_t a, int64_t b, int bits) {
       return static_cast<int64_t>(shifted_left(static_cast<uint64_t>(a), static_cast<uint64_t>(b), bits));
     },
     shifted_left},
    {Op::ShiftRightArithmetic, nullptr, nullptr, shifted_right_signed, shifted_right_arithmetic},
    {Op::ShiftRightLogical, nullptr, nullptr,
     [](int64_t a, int64_t b, int bits) {
       return static_cast<int64_t>(shifted_right(static_cast<uint64_t>(a), static_cast<uint64_t>(b), bits));
     },
     shifted_right},
    {Op::Subtract, [](double a, double b) { return a - b; }, [](Complex a, Complex b) { return a - b; },
     HLOC_WRAPPING(-)},
    {Op::Xor, nullptr, nullptr, HLOC_WRAPPING(^), [](bool a, bool b) { return a != b; }},
    {Op::ChloPolygamma, polygamma_of},
    {Op::ChloZeta, zeta_of},
};
#undef HLOC_WRAPPING

// k.function bound to its bits where it takes them.
template <class T>
auto bound_binary(const Kernel& k) {
  using W = Wide<T>;
  if constexpr (std::is_same_v<W, double> || std::is_same_v<W, Complex> || std::is_same_v<W, bool>) {
    return reinterpret_cast<W (*)(W, W)>(k.function);
  } else {
    return [f = reinterpret_cast<W (*)(W, W, int)>(k.function), bits = k.bits](W a, W b) { return f(a, b, bits); };
  }
}

template <class T>
void run_binary(const Kernel& k, const std::byte* const* in, std::byte* out, int64_t n) {
  auto f = bound_binary<T>(k);
  for (int64_t i = 0; i < n; ++i)
    store<T>(out, i, narrow<T>(f(widen(load<T>(in[0], i)), widen(load<T>(in[1], i)))));
}

template <class T>
void fold_binary(const Kernel& k, std::byte* acc, const std::byte* in, int64_t n) {
  auto f = bound_binary<T>(k);
  T value = load<T>(acc);
  for (int64_t i = 0; i < n; ++i) value = narrow<T>(f(widen(value), widen(load<T>(in, i))));
  store<T>(acc, 0, value);
}

// The ops that dominate real graphs on f32, without the call for each element. The same results.
template <class F>
void run_float(const Kernel&, const std::byte* const* in, std::byte* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) store<float>(out, i, canonical(F()(load<float>(in[0], i), load<float>(in[1], i))));
}
template <class F>
void fold_float(const Kernel&, std::byte* acc, const std::byte* in, int64_t n) {
  auto value = load<float>(acc);
  for (int64_t i = 0; i < n; ++i) value = F()(value, load<float>(in, i));
  store<float>(acc, 0, canonical(value));
}
template <class F>
void use_float_loops(Kernel& k) {
  k.run = run_float<F>;
  k.fold = fold_float<F>;
}
struct FloatMax {
  float operator()(float a, float b) const { return static_cast<float>(max_of(a, b)); }
};

void use_fast_float(Op op, Kernel& k) {
  if (op == Op::Add) use_float_loops<std::plus<float>>(k);
  if (op == Op::Subtract) use_float_loops<std::minus<float>>(k);
  if (op == Op::Multiply) use_float_loops<std::multiplies<float>>(k);
  if (op == Op::Divide) use_float_loops<std::divides<float>>(k);
  if (op == Op::Maximum) use_float_loops<FloatMax>(k);
}

template <class T>
bool set_binary_function(Kernel& k, const BinaryFunctions& row) {
  using W = Wide<T>;
  auto set = [&k](auto f) { return k.function = reinterpret_cast<void (*)()>(f), f != nullptr; };
  if constexpr (std::is_same_v<W, double>) return set(row.real);
  else if constexpr (std::is_same_v<W, Complex>) return set(row.complex);
  else if constexpr (std::is_same_v<W, bool>) return set(row.pred);
  else if constexpr (std::is_same_v<W, int64_t>) return set(row.signed_int);
  else return set(row.unsigned_int);
}

template <class R>
void run_complex(const Kernel&, const std::byte* const* in, std::byte* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) store(out, i, std::complex<R>(load<R>(in[0], i), load<R>(in[1], i)));
}

std::optional<Kernel> complex_kernel(const ElementwiseOp& e) {
  Kernel k;
  if (e.operands[0] == ElementType::f32 && e.result == ElementType::c64) k.run = run_complex<float>;
  else if (e.operands[0] == ElementType::f64 && e.result == ElementType::c128) k.run = run_complex<double>;
  else return std::nullopt;
  return k;
}

}  // namespace

std::optional<Kernel> binary_kernel(const ElementwiseOp& e) {
  if (e.operands.size() != 2 || e.operands[0] != e.operands[1]) return std::nullopt;
  if (e.op == Op::Complex) return complex_kernel(e);
  for (const BinaryFunctions& row : binary_table) {
    if (row.op != e.op || e.operands[0] != e.result) continue;
    Kernel k;
    bool known = visit_element(e.result, [&](auto tag) {
      k.run = run_binary<decltype(tag)>;
      k.fold = fold_binary<decltype(tag)>;
      return set_binary_function<decltype(tag)>(k, row);
    });
    if (e.result == ElementType::f32) use_fast_float(e.op, k);
    return known ? std::optional(k) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace hloc::ir::eval
