// Elementwise ops of one operand: a table of plain functions on wide values, and the loops that run them.
#include <bit>

#include "ir/eval/kernel.h"
#include "ir/eval/real_functions.h"

namespace hloc::ir::eval {
namespace {

struct UnaryFunctions {
  Op op;
  double (*real)(double) = nullptr;
  Complex (*complex)(Complex) = nullptr;
  int64_t (*signed_int)(int64_t, int bits) = nullptr;
  uint64_t (*unsigned_int)(uint64_t, int bits) = nullptr;
  bool (*pred)(bool) = nullptr;
};

uint64_t low_bits(uint64_t x, int bits) { return bits == 64 ? x : x & ((uint64_t{1} << bits) - 1); }
int64_t signed_popcount(int64_t x, int bits) { return std::popcount(low_bits(static_cast<uint64_t>(x), bits)); }
uint64_t unsigned_popcount(uint64_t x, int) { return static_cast<uint64_t>(std::popcount(x)); }
uint64_t leading_zeros(uint64_t x, int bits) {
  return static_cast<uint64_t>(std::countl_zero(low_bits(x, bits)) - (64 - bits));
}
int64_t signed_leading_zeros(int64_t x, int bits) {
  return static_cast<int64_t>(leading_zeros(static_cast<uint64_t>(x), bits));
}
int64_t wrapping_negate(int64_t x) { return static_cast<int64_t>(0 - static_cast<uint64_t>(x)); }

// A function of <complex>, run in long double.
#define HLOC_COMPLEX(name)                                                        \
  [](Complex z) {                                                                 \
    auto w = std::name(std::complex<long double>(z.real(), z.imag()));            \
    return Complex(static_cast<double>(w.real()), static_cast<double>(w.imag())); \
  }
#define HLOC_REAL(name) [](double x) { return std::name(x); }

constexpr UnaryFunctions unary_table[] = {
    {Op::Abs, HLOC_REAL(fabs), nullptr, [](int64_t x, int) { return x < 0 ? wrapping_negate(x) : x; },
     [](uint64_t x, int) { return x; }},
    {Op::Acos, HLOC_REAL(acos), HLOC_COMPLEX(acos)},
    {Op::Acosh, HLOC_REAL(acosh), HLOC_COMPLEX(acosh)},
    {Op::Asin, HLOC_REAL(asin), HLOC_COMPLEX(asin)},
    {Op::Asinh, HLOC_REAL(asinh), HLOC_COMPLEX(asinh)},
    {Op::Atanh, HLOC_REAL(atanh), HLOC_COMPLEX(atanh)},
    {Op::Cbrt, cbrt_of, cbrt_of},
    {Op::Ceil, HLOC_REAL(ceil)},
    {Op::Cos, HLOC_REAL(cos), HLOC_COMPLEX(cos)},
    {Op::Cosh, HLOC_REAL(cosh), HLOC_COMPLEX(cosh)},
    {Op::CountLeadingZeros, nullptr, nullptr, signed_leading_zeros, leading_zeros},
    {Op::Erf, HLOC_REAL(erf)},
    {Op::Exp, HLOC_REAL(exp), HLOC_COMPLEX(exp)},
    {Op::Expm1, HLOC_REAL(expm1), expm1_of},
    {Op::Floor, HLOC_REAL(floor)},
    {Op::Log, HLOC_REAL(log), log_of},
    {Op::Log1p, HLOC_REAL(log1p), log1p_of},
    {Op::Logistic, logistic_of, logistic_of},
    {Op::Negate, [](double x) { return -x; }, [](Complex z) { return -z; },
     [](int64_t x, int) { return wrapping_negate(x); }, [](uint64_t x, int) { return 0 - x; }},
    {Op::Not, nullptr, nullptr, [](int64_t x, int) { return ~x; }, [](uint64_t x, int) { return ~x; },
     [](bool x) { return !x; }},
    {Op::Popcnt, nullptr, nullptr, signed_popcount, unsigned_popcount},
    {Op::RoundAfz, HLOC_REAL(round)},
    {Op::RoundEven, round_even},
    {Op::Rsqrt, [](double x) { return 1 / std::sqrt(x); }, rsqrt_of},
    {Op::Sign, sign_of, sign_of, [](int64_t x, int) { return int64_t{x > 0} - int64_t{x < 0}; },
     [](uint64_t x, int) { return uint64_t{x > 0}; }},
    {Op::Sin, HLOC_REAL(sin), HLOC_COMPLEX(sin)},
    {Op::Sinh, HLOC_REAL(sinh), HLOC_COMPLEX(sinh)},
    {Op::Sqrt, HLOC_REAL(sqrt), sqrt_of},
    {Op::Tan, HLOC_REAL(tan), HLOC_COMPLEX(tan)},
    {Op::Tanh, HLOC_REAL(tanh), HLOC_COMPLEX(tanh)},
    {Op::ChloAtan, HLOC_REAL(atan), HLOC_COMPLEX(atan)},
    {Op::ChloBesselI1e, bessel_i1e_of},
    {Op::ChloConj, [](double x) { return x; }, [](Complex z) { return std::conj(z); }},
    {Op::ChloDigamma, digamma_of},
    {Op::ChloErfInv, erf_inv_of},
    {Op::ChloErfc, HLOC_REAL(erfc)},
    {Op::ChloLgamma, lgamma_of},
    {Op::ChloSquare, [](double x) { return x * x; }, [](Complex z) { return multiply_of(z, z); },
     [](int64_t x, int) { return static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(x)); },
     [](uint64_t x, int) { return x * x; }},
};
#undef HLOC_COMPLEX
#undef HLOC_REAL

template <class T>
void run_unary(const Kernel& k, const std::byte* const* in, std::byte* out, int64_t n) {
  using W = Wide<T>;
  if constexpr (std::is_same_v<W, double> || std::is_same_v<W, Complex> || std::is_same_v<W, bool>) {
    auto f = reinterpret_cast<W (*)(W)>(k.function);
    for (int64_t i = 0; i < n; ++i) store<T>(out, i, narrow<T>(f(widen(load<T>(in[0], i)))));
  } else {
    auto f = reinterpret_cast<W (*)(W, int)>(k.function);
    for (int64_t i = 0; i < n; ++i) store<T>(out, i, narrow<T>(f(widen(load<T>(in[0], i)), k.bits)));
  }
}

template <class T>
bool set_unary_function(Kernel& k, const UnaryFunctions& row) {
  using W = Wide<T>;
  auto set = [&k](auto f) { return k.function = reinterpret_cast<void (*)()>(f), f != nullptr; };
  if constexpr (std::is_same_v<W, double>) return set(row.real);
  else if constexpr (std::is_same_v<W, Complex>) return set(row.complex);
  else if constexpr (std::is_same_v<W, bool>) return set(row.pred);
  else if constexpr (std::is_same_v<W, int64_t>) return set(row.signed_int);
  else return set(row.unsigned_int);
}

// negate and abs of the formats that have a sign bit change that bit alone, NaN or not.
template <class T>
inline constexpr bool has_plain_sign = std::is_floating_point_v<T>;
template <class B, int E, int M, int Bias, FloatConvention C>
inline constexpr bool has_plain_sign<NarrowFloat<B, E, M, Bias, C>> =
    C == FloatConvention::ieee || C == FloatConvention::fn || C == FloatConvention::finite;

template <class T>
void run_sign_bit(const Kernel& k, const std::byte* const* in, std::byte* out, int64_t n) {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t,
                                  std::conditional_t<sizeof(T) == 4, uint32_t,
                                                     std::conditional_t<sizeof(T) == 2, uint16_t, uint8_t>>>;
  auto sign = static_cast<Bits>(Bits{1} << (k.bits - 1));
  for (int64_t i = 0; i < n; ++i) {
    auto bits = load<Bits>(in[0], i);
    store<Bits>(out, i, static_cast<Bits>(k.a != 0 ? bits & ~sign : bits ^ sign));
  }
}

// f: double -> bool on floats; finite integers answer as numbers do.
template <class T>
void run_test(const Kernel& k, const std::byte* const* in, std::byte* out, int64_t n) {
  auto f = reinterpret_cast<bool (*)(double)>(k.function);
  for (int64_t i = 0; i < n; ++i) store<bool>(out, i, f(static_cast<double>(widen(load<T>(in[0], i)))));
}

std::optional<Kernel> test_kernel(const ElementwiseOp& e) {
  struct Row {
    Op op;
    bool (*f)(double);
  };
  static constexpr Row rows[] = {
      {Op::IsFinite, [](double x) { return std::isfinite(x); }},
      {Op::ChloIsInf, [](double x) { return std::isinf(x); }},
      {Op::ChloIsNegInf, [](double x) { return std::isinf(x) && x < 0; }},
      {Op::ChloIsPosInf, [](double x) { return std::isinf(x) && x > 0; }},
  };
  for (const Row& row : rows) {
    if (row.op != e.op || !is_float(e.operands[0]) || e.result != ElementType::pred) continue;
    Kernel k;
    k.function = reinterpret_cast<void (*)()>(row.f);
    visit_element(e.operands[0], [&k](auto tag) {
      if constexpr (is_float_type<decltype(tag)>) k.run = run_test<decltype(tag)>;
    });
    return k;
  }
  return std::nullopt;
}

// Complex to its real type. Real operands of real and imag: themselves and zero.
template <class R>
void run_part(const Kernel& k, const std::byte* const* in, std::byte* out, int64_t n) {
  auto f = reinterpret_cast<double (*)(Complex)>(k.function);
  for (int64_t i = 0; i < n; ++i)
    store<R>(out, i, static_cast<R>(f(widen(load<std::complex<R>>(in[0], i)))));
}

std::optional<Kernel> part_kernel(const ElementwiseOp& e) {
  bool is_part = e.op == Op::Real || e.op == Op::Imag;
  if (!is_part && !(e.op == Op::Abs && is_complex(e.operands[0]))) return std::nullopt;
  Kernel k;
  if (!is_complex(e.operands[0])) {
    k = converter(e.operands[0], e.result);
    if (e.op == Op::Real || !is_float(e.operands[0])) return e.operands[0] == e.result ? std::optional(k) : std::nullopt;
    k.run = [](const Kernel& self, const std::byte* const*, std::byte* out, int64_t n) {
      std::memset(out, 0, static_cast<size_t>(n * self.width));
    };
    k.width = byte_width(e.result);
    return k;
  }
  double (*f)(Complex) = [](Complex z) { return std::hypot(z.real(), z.imag()); };
  if (e.op == Op::Real) f = [](Complex z) { return z.real(); };
  if (e.op == Op::Imag) f = [](Complex z) { return z.imag(); };
  k.function = reinterpret_cast<void (*)()>(f);
  k.run = e.operands[0] == ElementType::c64 ? run_part<float> : run_part<double>;
  return k;
}

}  // namespace

std::optional<Kernel> unary_kernel(const ElementwiseOp& e) {
  if (e.operands.size() != 1) return std::nullopt;
  if (auto k = test_kernel(e)) return k;
  if (auto k = part_kernel(e)) return k;
  for (const UnaryFunctions& row : unary_table) {
    if (row.op != e.op || e.operands[0] != e.result) continue;
    Kernel k;
    bool known = visit_element(e.result, [&](auto tag) {
      using T = decltype(tag);
      k.run = run_unary<T>;
      if constexpr (has_plain_sign<T>) {
        k.a = e.op == Op::Abs;
        if (e.op == Op::Abs || e.op == Op::Negate) k.run = run_sign_bit<T>;
      }
      return set_unary_function<T>(k, row);
    });
    return known ? std::optional(k) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace hloc::ir::eval
