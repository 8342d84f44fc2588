// Accuracy of the functions that legalising writes out, in units of the last place against long double.
//
// The tag [exhaustive] (not run by default) takes all 2^32 values of f32 for each function.
#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>
#include <limits>

#include "backends/loops/builder.h"
#include "backends/loops/lower.h"
#include "tests/harness/ulps.h"

namespace {

using namespace hloc;
using test::error_in_ulps;
using test::Real;

Real rsqrt_reference(Real x) { return 1 / std::sqrt(x); }
Real logistic_reference(Real x) { return 1 / (1 + std::exp(-x)); }
// `ulps32`, `ulps64`: the largest error allowed.
struct FunctionRow {
  loops::ScalarOp op;
  Real (*reference)(Real);
  double ulps32, ulps64;
};
constexpr FunctionRow functions[] = {
    {loops::ScalarOp::Exp, [](Real x) { return std::exp(x); }, 1.1, 1.1},
    {loops::ScalarOp::Expm1, [](Real x) { return std::expm1(x); }, 2, 2},
    {loops::ScalarOp::Log, [](Real x) { return std::log(x); }, 1, 1},
    {loops::ScalarOp::Log1p, [](Real x) { return std::log1p(x); }, 2, 2},
    {loops::ScalarOp::Logistic, logistic_reference, 2, 2},
    {loops::ScalarOp::Tanh, [](Real x) { return std::tanh(x); }, 2, 2},
    {loops::ScalarOp::Sinh, [](Real x) { return std::sinh(x); }, 0.6, 2},
    {loops::ScalarOp::Cosh, [](Real x) { return std::cosh(x); }, 0.6, 2},
    {loops::ScalarOp::Sin, [](Real x) { return std::sin(x); }, 0.6, 1},
    {loops::ScalarOp::Cos, [](Real x) { return std::cos(x); }, 0.6, 1},
    {loops::ScalarOp::Tan, [](Real x) { return std::tan(x); }, 0.6, 2},
    {loops::ScalarOp::Asin, [](Real x) { return std::asin(x); }, 0.6, 2},
    {loops::ScalarOp::Acos, [](Real x) { return std::acos(x); }, 0.6, 2},
    {loops::ScalarOp::Atan, [](Real x) { return std::atan(x); }, 0.6, 2},
    {loops::ScalarOp::Asinh, [](Real x) { return std::asinh(x); }, 0.6, 2},
    {loops::ScalarOp::Acosh, [](Real x) { return std::acosh(x); }, 0.6, 2},
    {loops::ScalarOp::Atanh, [](Real x) { return std::atanh(x); }, 0.6, 2},
    {loops::ScalarOp::Rsqrt, rsqrt_reference, 1.5, 1.5},
    {loops::ScalarOp::Cbrt, [](Real x) { return std::cbrt(x); }, 0.6, 1},
    {loops::ScalarOp::Erf, [](Real x) { return std::erf(x); }, 2, 2},
    {loops::ScalarOp::Erfc, [](Real x) { return std::erfc(x); }, 0.6, 4},
    {loops::ScalarOp::ErfInv, [](Real x) { return test::erf_inverse(x); }, 0.6, 8},
};

loops::Kernel unary_kernel(loops::ScalarOp op, ElementType type, int64_t n) {
  using namespace loops;
  KernelBuilder b("function");
  BufferId x = b.buffer("x", BufferRole::input, type, n), y = b.buffer("y", BufferRole::output, type, n);
  IndexId i = b.begin_loop(n, LoopKind::vector);
  b.store(y, Affine::of(i), b.make(op, {b.load(x, Affine::of(i))}));
  b.end_loop();
  return legalise(b.finish());
}

template <class T>
struct FunctionCheck {
  const FunctionRow& row;
  double allowed;
  loops::Kernel kernel;
  std::vector<T> in, out;
  double worst = 0;
  T worst_at = 0;

  FunctionCheck(const FunctionRow& r, ElementType type, double most, int64_t n)
      : row(r), allowed(most), kernel(unary_kernel(r.op, type, n)), in(static_cast<size_t>(n)), out(static_cast<size_t>(n)) {}

  void run() {
    std::span<std::byte> memory[] = {std::as_writable_bytes(std::span(in)), std::as_writable_bytes(std::span(out))};
    auto ok = loops::interpret(kernel, memory);
    if (!ok) FAIL(ok.error().message);
    for (size_t i = 0; i < in.size(); ++i) {
      double e = error_in_ulps(out[i], row.reference(in[i]));
      if (e > worst) worst = e, worst_at = in[i];
    }
  }
  void judge() {
    INFO(loops::facts(row.op).text << " of " << (sizeof(T) == 4 ? "f32" : "f64") << ": " << worst << " ulps at " << worst_at);
    CHECK(worst <= allowed);
  }
};

template <class T>
void fill_special(std::vector<T>& in) {
  using L = std::numeric_limits<T>;
  const T special[] = {0, 1, 0.5, 2, 3, 8, 27, 90, 100, 710, 1000, L::min(), L::denorm_min(), L::max(), L::infinity(), L::quiet_NaN(), L::epsilon()};
  for (size_t i = 0; i < std::size(special); ++i) in[2 * i] = special[i], in[2 * i + 1] = -special[i];
}

// Bit patterns `step` apart.
template <class T, class Bits>
void sample(const FunctionRow& row, ElementType type, double allowed, uint64_t first, uint64_t step, uint64_t count) {
  constexpr int64_t n = 4096;
  FunctionCheck<T> check(row, type, allowed, n);
  fill_special(check.in);
  check.run();
  uint64_t at = first;
  for (uint64_t done = 0; done < count; done += n) {
    for (T& x : check.in) {
      auto bits = static_cast<Bits>(at);
      std::memcpy(&x, &bits, sizeof bits);
      at += step;
    }
    check.run();
  }
  check.judge();
}

}  // namespace

TEST_CASE("functions of f32 are accurate") {
  for (const FunctionRow& row : functions) sample<float, uint32_t>(row, ElementType::f32, row.ulps32, 0, 104729, 1 << 15);
}

TEST_CASE("functions of f64 are accurate") {
  // All exponents; then around 1, where results are neither 0, 1 nor infinite.
  for (const FunctionRow& row : functions) sample<double, uint64_t>(row, ElementType::f64, row.ulps64, 12345, 0x0001000f3a5b7c91u, 1 << 15);
  for (const FunctionRow& row : functions) sample<double, uint64_t>(row, ElementType::f64, row.ulps64, 0x3f80000000000000u, 0x000000f13a5b7c91u, 1 << 15);
  for (const FunctionRow& row : functions) sample<double, uint64_t>(row, ElementType::f64, row.ulps64, 0xbf80000000000000u, 0x000000f13a5b7c91u, 1 << 15);
}

TEST_CASE("all f32 values of each function", "[.][exhaustive]") {
  for (const FunctionRow& row : functions) sample<float, uint32_t>(row, ElementType::f32, row.ulps32, 0, 1, uint64_t{1} << 32);
}

namespace {

template <class T>
void check_two(loops::ScalarOp op, ElementType type, Real (*reference)(Real, Real), double allowed) {
  using namespace loops;
  using L = std::numeric_limits<T>;
  const T some[] = {0, 1, 2, 3, 0.5, 0.1, 1.5, 2.5, 10, 1e-3, 33, 1e10, 1e-10, 1 + L::epsilon(), 1 - L::epsilon(), L::min(), L::denorm_min(), L::max(), L::infinity(), L::quiet_NaN(), 7, 700, 0.999, 1.001};
  std::vector<T> a, b;
  for (T x : some)
    for (T y : some)
      for (int s = 0; s < 4; ++s) a.push_back(s & 1 ? -x : x), b.push_back(s & 2 ? -y : y);
  for (int i = 0; i < 4000; ++i) a.push_back(static_cast<T>(std::exp(std::sin(i * 1.3) * 8))), b.push_back(static_cast<T>(std::cos(i * 0.7) * 20));
  auto n = static_cast<int64_t>(a.size());
  KernelBuilder k("two");
  BufferId x = k.buffer("x", BufferRole::input, type, n), y = k.buffer("y", BufferRole::input, type, n), z = k.buffer("z", BufferRole::output, type, n);
  IndexId i = k.begin_loop(n, LoopKind::vector);
  k.store(z, Affine::of(i), k.make(op, {k.load(x, Affine::of(i)), k.load(y, Affine::of(i))}));
  k.end_loop();
  Kernel kernel = legalise(k.finish());
  std::vector<T> out(a.size());
  std::span<std::byte> memory[] = {std::as_writable_bytes(std::span(a)), std::as_writable_bytes(std::span(b)), std::as_writable_bytes(std::span(out))};
  REQUIRE(interpret(kernel, memory).ok());
  double worst = 0;
  size_t at = 0;
  for (size_t j = 0; j < a.size(); ++j)
    if (double e = error_in_ulps(out[j], reference(a[j], b[j])); e > worst) worst = e, at = j;
  INFO(facts(op).text << ": " << worst << " ulps at " << a[at] << ", " << b[at] << " -> " << out[at]);
  CHECK(worst <= allowed);
}

Real pow_reference(Real x, Real y) { return std::pow(x, y); }
Real atan2_reference(Real y, Real x) { return std::atan2(y, x); }

}  // namespace

TEST_CASE("pow and atan2 are accurate") {
  check_two<float>(loops::ScalarOp::Pow, ElementType::f32, pow_reference, 0.6);
  check_two<double>(loops::ScalarOp::Pow, ElementType::f64, pow_reference, 2);
  check_two<float>(loops::ScalarOp::Atan2, ElementType::f32, atan2_reference, 0.6);
  check_two<double>(loops::ScalarOp::Atan2, ElementType::f64, atan2_reference, 2);
}
