// Scalar operations on runs of elements. Halves compute in double and are rounded once: 53 bits are more than twice the
// bits of f16, bf16 and f32 plus two, so that + - * / sqrt come out as if rounded directly.
#include "backends/loops/scalar.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "ir/support/float_formats.h"
#include "ir/support/check.h"

namespace hloc::loops {
namespace {

template <class T>
inline constexpr bool is_whole = std::is_integral_v<T> && !std::is_same_v<T, bool>;
template <class T>
inline constexpr bool is_real = std::is_floating_point_v<T>;

template <class T>
struct Run {
  T* out;
  const T *a, *b, *c;
  size_t n;

  template <class F>
  bool each1(F f) const {
    for (size_t i = 0; i < n; ++i) out[i] = static_cast<T>(f(a[i]));
    return true;
  }
  template <class F>
  bool each2(F f) const {
    for (size_t i = 0; i < n; ++i) out[i] = static_cast<T>(f(a[i], b[i]));
    return true;
  }
};

template <class T>
using Bits = std::make_unsigned_t<T>;

template <class T>
T wrapped_mul(T x, T y) {
  return static_cast<T>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
}

template <class T>
T whole_div(T x, T y) {
  if (y == 0) return static_cast<T>(-1);
  if constexpr (std::is_signed_v<T>)
    if (y == -1) return static_cast<T>(0 - static_cast<uint64_t>(x));
  return static_cast<T>(x / y);
}

template <class T>
T whole_rem(T x, T y) {
  if (y == 0) return x;
  if constexpr (std::is_signed_v<T>)
    if (y == -1) return 0;
  return static_cast<T>(x % y);
}

template <class T>
T whole_pow(T base, T exponent) {
  if constexpr (std::is_signed_v<T>)
    if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  T result = 1;
  for (auto e = static_cast<Bits<T>>(exponent); e != 0; e = static_cast<Bits<T>>(e >> 1), base = wrapped_mul(base, base))
    if (e & 1) result = wrapped_mul(result, base);
  return result;
}

__extension__ typedef __int128 Wide128s;
__extension__ typedef unsigned __int128 Wide128u;

template <class T>
T whole_mulhi(T x, T y) {
  using Wide = std::conditional_t<std::is_signed_v<T>, Wide128s, Wide128u>;
  return static_cast<T>((Wide{x} * Wide{y}) >> (sizeof(T) * 8));
}

template <class T>
T real_min(T x, T y) {
  if (x != x) return x;
  if (y != y) return y;
  return x < y ? x : y < x ? y : std::signbit(x) ? x : y;
}
template <class T>
T real_max(T x, T y) {
  if (x != x) return x;
  if (y != y) return y;
  return x > y ? x : y > x ? y : std::signbit(x) ? y : x;
}

template <class T>
bool arithmetic(ScalarOp op, const Run<T>& r) {
  if constexpr (is_whole<T>) {
    if (op == ScalarOp::Add) return r.each2([](T x, T y) { return static_cast<uint64_t>(x) + static_cast<uint64_t>(y); });
    if (op == ScalarOp::Sub) return r.each2([](T x, T y) { return static_cast<uint64_t>(x) - static_cast<uint64_t>(y); });
    if (op == ScalarOp::Mul) return r.each2(wrapped_mul<T>);
    if (op == ScalarOp::Div) return r.each2(whole_div<T>);
    if (op == ScalarOp::Rem) return r.each2(whole_rem<T>);
    if (op == ScalarOp::Neg) return r.each1([](T x) { return 0 - static_cast<uint64_t>(x); });
    if (op == ScalarOp::Abs) return r.each1([](T x) { return x < 0 ? 0 - static_cast<uint64_t>(x) : static_cast<uint64_t>(x); });
    if (op == ScalarOp::Sign) return r.each1([](T x) { return (x > 0) - (x < 0); });
    if (op == ScalarOp::Pow) return r.each2(whole_pow<T>);
    if (op == ScalarOp::MulHi) return r.each2(whole_mulhi<T>);
  }
  if constexpr (is_real<T>) {
    if (op == ScalarOp::Add) return r.each2([](T x, T y) { return x + y; });
    if (op == ScalarOp::Sub) return r.each2([](T x, T y) { return x - y; });
    if (op == ScalarOp::Mul) return r.each2([](T x, T y) { return x * y; });
    if (op == ScalarOp::Div) return r.each2([](T x, T y) { return x / y; });
    if (op == ScalarOp::Rem) return r.each2([](T x, T y) { return std::fmod(x, y); });
    if (op == ScalarOp::Neg) return r.each1([](T x) { return -x; });
    if (op == ScalarOp::Abs) return r.each1([](T x) { return std::fabs(x); });
    if (op == ScalarOp::Sign) return r.each1([](T x) { return x > 0 ? T{1} : x < 0 ? T{-1} : x; });
    if (op == ScalarOp::Min) return r.each2(real_min<T>);
    if (op == ScalarOp::Max) return r.each2(real_max<T>);
    if (op == ScalarOp::Lesser) return r.each2([](T x, T y) { return x < y ? x : y; });
    if (op == ScalarOp::Greater) return r.each2([](T x, T y) { return x > y ? x : y; });
  } else {
    if (op == ScalarOp::Min) return r.each2([](T x, T y) { return x < y ? x : y; });
    if (op == ScalarOp::Max) return r.each2([](T x, T y) { return x > y ? x : y; });
  }
  return false;
}

template <class T>
bool bits(ScalarOp op, const Run<T>& r) {
  if constexpr (!is_real<T>) {
    if (op == ScalarOp::And) return r.each2([](T x, T y) { return x & y; });
    if (op == ScalarOp::Or) return r.each2([](T x, T y) { return x | y; });
    if (op == ScalarOp::Xor) return r.each2([](T x, T y) { return x ^ y; });
    if constexpr (std::is_same_v<T, bool>) {
      if (op == ScalarOp::Not) return r.each1([](T x) { return !x; });
    } else {
      constexpr size_t width = sizeof(T) * 8;
      using U = Bits<T>;
      using S = std::make_signed_t<T>;
      if (op == ScalarOp::Not) return r.each1([](T x) { return ~x; });
      if (op == ScalarOp::Shl)
        return r.each2([](T x, T y) { return static_cast<U>(y) >= width ? U{0} : static_cast<U>(static_cast<uint64_t>(x) << static_cast<U>(y)); });
      if (op == ScalarOp::ShrLogic)
        return r.each2([](T x, T y) { return static_cast<U>(y) >= width ? U{0} : static_cast<U>(static_cast<U>(x) >> static_cast<U>(y)); });
      if (op == ScalarOp::ShrArith)
        return r.each2([](T x, T y) { return static_cast<S>(x) >> (static_cast<U>(y) >= width ? width - 1 : static_cast<U>(y)); });
      if (op == ScalarOp::Popcnt) return r.each1([](T x) { return std::popcount(static_cast<U>(x)); });
      if (op == ScalarOp::Clz) return r.each1([](T x) { return std::countl_zero(static_cast<U>(x)); });
    }
  }
  return false;
}

template <class T>
T total_order_key(T x) {  // for the integer of x's bits
  return x < 0 ? static_cast<T>(x ^ std::numeric_limits<T>::max()) : x;
}

template <class T>
bool roots_and_rounding(ScalarOp op, const Run<T>& r) {
  if (op == ScalarOp::Sqrt) return r.each1([](T x) { return std::sqrt(x); });
  if (op == ScalarOp::Floor) return r.each1([](T x) { return std::floor(x); });
  if (op == ScalarOp::Ceil) return r.each1([](T x) { return std::ceil(x); });
  if (op == ScalarOp::Trunc) return r.each1([](T x) { return std::trunc(x); });
  if (op == ScalarOp::RoundAfz) return r.each1([](T x) { return std::round(x); });
  // Adding and taking away 2^23 (2^52) rounds to an integer; larger numbers are integers already.
  if (op == ScalarOp::RoundEven)
    return r.each1([](T x) {
      constexpr T magic = std::is_same_v<T, float> ? T{0x1p23} : T{0x1p52};
      T m = std::fabs(x);
      volatile T up = m + magic;
      return m < magic ? std::copysign(up - magic, x) : x;
    });
  if (op == ScalarOp::Scale) return r.each2([](T x, T n) { return n == n ? std::scalbn(x, static_cast<int>(n)) : x + n; });
  if (op == ScalarOp::Fma) {
    for (size_t i = 0; i < r.n; ++i) r.out[i] = std::fma(r.a[i], r.b[i], r.c[i]);
    return true;
  }
  return false;
}

// Newton's method in long double, on erfc where erf has no digits left.
double erf_inverse(double y) {
  long double a = std::fabs(y);
  if (!(a <= 1)) return std::numeric_limits<double>::quiet_NaN();
  if (a == 1) return std::copysign(std::numeric_limits<double>::infinity(), y);
  long double w = -std::log((1 - a) * (1 + a)), t = 4.3307467508L + w / -2;  // Winitzki's start
  long double x = std::sqrt(std::sqrt(t * t + w / 0.147L) - t);
  for (int step = 0; step < 6 && a != 0; ++step) {
    long double error = a < 0.5L ? std::erf(x) - a : (1 - a) - std::erfc(x);
    long double delta = error / (std::exp(-x * x) * 1.12837916709551257390L);
    x -= delta / (1 + x * delta);
  }
  return std::copysign(static_cast<double>(x), y);
}

// Through double, which rounds f32 results once more; the evaluator does the same.
template <class T>
bool functions(ScalarOp op, const Run<T>& r) {
  using D = double;
  if (op == ScalarOp::Exp) return r.each1([](D x) { return std::exp(x); });
  if (op == ScalarOp::Expm1) return r.each1([](D x) { return std::expm1(x); });
  if (op == ScalarOp::Log) return r.each1([](D x) { return std::log(x); });
  if (op == ScalarOp::Log1p) return r.each1([](D x) { return std::log1p(x); });
  if (op == ScalarOp::Logistic) return r.each1([](D x) { return 1 / (1 + std::exp(-x)); });
  if (op == ScalarOp::Tanh) return r.each1([](D x) { return std::tanh(x); });
  if (op == ScalarOp::Sinh) return r.each1([](D x) { return std::sinh(x); });
  if (op == ScalarOp::Cosh) return r.each1([](D x) { return std::cosh(x); });
  if (op == ScalarOp::Sin) return r.each1([](D x) { return std::sin(x); });
  if (op == ScalarOp::Cos) return r.each1([](D x) { return std::cos(x); });
  if (op == ScalarOp::Tan) return r.each1([](D x) { return std::tan(x); });
  if (op == ScalarOp::Asin) return r.each1([](D x) { return std::asin(x); });
  if (op == ScalarOp::Acos) return r.each1([](D x) { return std::acos(x); });
  if (op == ScalarOp::Atan) return r.each1([](D x) { return std::atan(x); });
  if (op == ScalarOp::Erfc) return r.each1([](D x) { return std::erfc(x); });
  if (op == ScalarOp::ErfInv) return r.each1(erf_inverse);
  if (op == ScalarOp::Asinh) return r.each1([](D x) { return std::asinh(x); });
  if (op == ScalarOp::Acosh) return r.each1([](D x) { return std::acosh(x); });
  if (op == ScalarOp::Atanh) return r.each1([](D x) { return std::atanh(x); });
  if (op == ScalarOp::Rsqrt) return r.each1([](D x) { return 1 / std::sqrt(x); });
  if (op == ScalarOp::Cbrt) return r.each1([](D x) { return std::cbrt(x); });
  if (op == ScalarOp::Erf) return r.each1([](D x) { return std::erf(x); });
  if (op == ScalarOp::Atan2) return r.each2([](D x, D y) { return std::atan2(x, y); });
  if (op == ScalarOp::Pow) return r.each2([](D x, D y) { return std::pow(x, y); });
  return false;
}

template <class T>
void compare_run(Predicate p, const T* a, const T* b, bool* out, size_t n) {
  auto each = [&](auto f) {
    for (size_t i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
  };
  switch (p) {
    case Predicate::eq: return each([](T x, T y) { return x == y; });
    case Predicate::ne: return each([](T x, T y) { return x != y; });
    case Predicate::lt: return each([](T x, T y) { return x < y; });
    case Predicate::le: return each([](T x, T y) { return x <= y; });
    case Predicate::gt: return each([](T x, T y) { return x > y; });
    case Predicate::ge: return each([](T x, T y) { return x >= y; });
  }
}

template <class To, class From>
To convert_one(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From{};
  } else if constexpr (is_real<From> && is_whole<To>) {
    if (x != x) return 0;
    // 2^width as the first number that is too large; both are exact in From.
    constexpr From beyond = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * From{2};
    if (x >= beyond) return std::numeric_limits<To>::max();
    if (x <= static_cast<From>(std::numeric_limits<To>::lowest())) return std::numeric_limits<To>::lowest();
    return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

// Calls f(tag, tag) with the C++ types in memory.
template <class F>
void visit_scalar(ElementType e, F&& f) {
  if (e == ElementType::pred) return f(bool{});
  if (e == ElementType::s8) return f(int8_t{});
  if (e == ElementType::s16) return f(int16_t{});
  if (e == ElementType::s32) return f(int32_t{});
  if (e == ElementType::s64) return f(int64_t{});
  if (e == ElementType::u8) return f(uint8_t{});
  if (e == ElementType::u16) return f(uint16_t{});
  if (e == ElementType::u32) return f(uint32_t{});
  if (e == ElementType::u64) return f(uint64_t{});
  if (e == ElementType::f16) return f(F16{});
  if (e == ElementType::bf16) return f(BF16{});
  if (e == ElementType::f32) return f(float{});
  if (e == ElementType::f64) return f(double{});
  HLOC_UNREACHABLE();
}

template <class H>
double widened(H x) {
  return static_cast<double>(static_cast<float>(x));
}
template <class H>
H narrowed(double x) {
  return H(x);
}

// A double whose rounding to a half is that of the integer: beyond 53 bits, cut with the lowest bit set.
template <class T>
double to_odd_double(T x) {
  auto d = static_cast<double>(x);
  if (static_cast<Wide128s>(d) == static_cast<Wide128s>(x)) return d;
  auto bits = std::bit_cast<uint64_t>(d);
  bool up = d > 0 ? static_cast<Wide128s>(d) > static_cast<Wide128s>(x) : static_cast<Wide128s>(d) < static_cast<Wide128s>(x);
  return std::bit_cast<double>((up ? bits - 1 : bits) | 1);
}

template <class From, class To>
void convert_run(const From* in, To* out, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    if constexpr (is_narrow_float<From> && is_narrow_float<To>) out[i] = narrowed<To>(widened(in[i]));
    else if constexpr (is_narrow_float<From>) out[i] = convert_one<To>(widened(in[i]));
    else if constexpr (is_narrow_float<To> && sizeof(From) == 8 && is_whole<From>) out[i] = narrowed<To>(to_odd_double(in[i]));
    else if constexpr (is_narrow_float<To>) out[i] = narrowed<To>(static_cast<double>(in[i]));
    else out[i] = convert_one<To>(in[i]);
  }
}

// Halves: widen, run in double, narrow; comparisons and keys on the way.
constexpr size_t chunk = 128;

template <class H>
void apply_half(const Compute& c, const void* const* args, void* out, size_t n);

template <class T>
void apply_native(const Compute& c, const void* const* args, void* out, size_t n) {
  Run<T> r{static_cast<T*>(out), static_cast<const T*>(args[0]), static_cast<const T*>(args[1]), static_cast<const T*>(args[2]), n};
  if (c.op == ScalarOp::Compare) return compare_run(c.predicate, r.a, r.b, static_cast<bool*>(out), n);
  if (arithmetic(c.op, r) || bits(c.op, r)) return;
  if (c.op == ScalarOp::Clamp) {
    for (size_t i = 0; i < n; ++i) {
      if constexpr (is_real<T>) r.out[i] = real_min(real_max(r.b[i], r.a[i]), r.c[i]);
      else r.out[i] = std::min(std::max(r.b[i], r.a[i]), r.c[i]);
    }
    return;
  }
  if constexpr (is_real<T>) {
    if (roots_and_rounding(c.op, r) || functions(c.op, r)) return;
    if (c.op == ScalarOp::IsFinite) {
      for (size_t i = 0; i < n; ++i) static_cast<bool*>(out)[i] = std::isfinite(r.a[i]);
      return;
    }
    if (c.op == ScalarOp::TotalOrder) {
      using S = std::conditional_t<std::is_same_v<T, float>, int32_t, int64_t>;
      for (size_t i = 0; i < n; ++i) static_cast<S*>(out)[i] = total_order_key(std::bit_cast<S>(r.a[i]));
      return;
    }
  }
  HLOC_CHECK(false, std::string(facts(c.op).text) + " has no meaning on its operands");
}

template <class H>
void apply_half(const Compute& c, const void* const* args, void* out, size_t n) {
  if (c.op == ScalarOp::TotalOrder) {
    for (size_t i = 0; i < n; ++i)
      static_cast<int16_t*>(out)[i] = total_order_key(static_cast<int16_t>(static_cast<const H*>(args[0])[i].bits));
    return;
  }
  if (c.op == ScalarOp::Neg || c.op == ScalarOp::Abs) {  // NaN bits stay
    for (size_t i = 0; i < n; ++i) {
      unsigned b = static_cast<const H*>(args[0])[i].bits;
      static_cast<H*>(out)[i].bits = static_cast<uint16_t>(c.op == ScalarOp::Neg ? b ^ 0x8000u : b & 0x7fffu);
    }
    return;
  }
  double wide[3][chunk], result[chunk];
  const void* wide_args[] = {wide[0], wide[1], wide[2]};
  bool to_pred = facts(c.op).result == ResultRule::pred;
  for (size_t from = 0; from < n; from += chunk) {
    size_t m = std::min(chunk, n - from);
    for (size_t k = 0; k < facts(c.op).operands; ++k)
      for (size_t i = 0; i < m; ++i) wide[k][i] = widened(static_cast<const H*>(args[k])[from + i]);
    if (to_pred) {
      apply_native<double>(c, wide_args, static_cast<bool*>(out) + from, m);
      continue;
    }
    apply_native<double>(c, wide_args, result, m);
    for (size_t i = 0; i < m; ++i) static_cast<H*>(out)[from + i] = narrowed<H>(result[i]);
  }
}

template <class T>
void select_run(const bool* which, const void* yes, const void* no, void* out, size_t n) {
  for (size_t i = 0; i < n; ++i)
    static_cast<T*>(out)[i] = which[i] ? static_cast<const T*>(yes)[i] : static_cast<const T*>(no)[i];
}

void apply_select(size_t width, const void* const* args, void* out, size_t n) {
  auto which = static_cast<const bool*>(args[0]);
  if (width == 1) return select_run<uint8_t>(which, args[1], args[2], out, n);
  if (width == 2) return select_run<uint16_t>(which, args[1], args[2], out, n);
  if (width == 4) return select_run<uint32_t>(which, args[1], args[2], out, n);
  select_run<uint64_t>(which, args[1], args[2], out, n);
}

}  // namespace

void apply(const Compute& c, ElementType operand, ElementType result, const void* const* args, void* out, size_t n) {
  if (c.op == ScalarOp::Select) return apply_select(static_cast<size_t>(byte_width(operand)), args, out, n);
  if (c.op == ScalarOp::Bitcast) {
    std::memcpy(out, args[0], n * static_cast<size_t>(byte_width(operand)));
    return;
  }
  if (c.op == ScalarOp::Convert) {
    visit_scalar(operand, [&](auto from) {
      visit_scalar(result, [&](auto to) {
        convert_run(static_cast<const decltype(from)*>(args[0]), static_cast<decltype(to)*>(out), n);
      });
    });
    return;
  }
  visit_scalar(operand, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (is_narrow_float<T>) apply_half<T>(c, args, out, n);
    else apply_native<T>(c, args, out, n);
  });
}

void fold(ScalarOp op, ElementType type, void* acc, const void* in, size_t n) {
  size_t width = static_cast<size_t>(byte_width(type));
  Compute c{no_id, op, Predicate::eq, {no_id, no_id, no_id}};
  std::byte result[8];
  for (size_t i = 0; i < n; ++i) {
    const void* args[] = {acc, static_cast<const std::byte*>(in) + i * width, nullptr};
    apply(c, type, type, args, result, 1);
    std::memcpy(acc, result, width);
  }
}

void multiply_add(ElementType type, void* acc, const void* a, const void* b, size_t n) {
  visit_scalar(type, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (is_real<T>) {
      T sum = *static_cast<T*>(acc);
      for (size_t i = 0; i < n; ++i) sum += static_cast<const T*>(a)[i] * static_cast<const T*>(b)[i];
      *static_cast<T*>(acc) = sum;
    } else if constexpr (is_whole<T>) {
      T sum = *static_cast<T*>(acc);
      for (size_t i = 0; i < n; ++i)
        sum = static_cast<T>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(wrapped_mul(static_cast<const T*>(a)[i], static_cast<const T*>(b)[i])));
      *static_cast<T*>(acc) = sum;
    } else {
      HLOC_CHECK(false, "a contraction adds up in f32, f64 or integers");
    }
  });
}

}  // namespace hloc::loops
