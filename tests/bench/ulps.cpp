// The largest error of each function of compiled code, in units of the last place, one line each:
//
//   ulps                      all 2^32 numbers of f32 for each function (minutes each), samples of f64 and of pairs
//   ulps --step N             every N-th number of f32; N odd meets all exponents and both signs
//   ulps --target NAME        instead of native
//   ulps NAME…                these functions only
//
// The reference is the C library's f64 function for f32, its long double one for f64. The last line counts functions within
// their bound as passed.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "include/hloc/hloc.h"
#include "tests/harness/ulps.h"

namespace {

using hloc::test::error_in_ulps;
using hloc::test::Real;

// `bound32`, `bound64`: the largest error allowed, at least what README.md says.
struct Function {
  std::string_view name, op;  // op as HLO text
  double (*in_double)(double);
  Real (*in_real)(Real);
  double bound32, bound64;
};
#define HLOC_BOTH(expression) [](double x) -> double { return expression; }, [](Real x) -> Real { return expression; }
constexpr Function functions[] = {
    {"exp", "exponential", HLOC_BOTH(std::exp(x)), 2, 2},
    {"expm1", "exponential-minus-one", HLOC_BOTH(std::expm1(x)), 2, 2},
    {"log", "log", HLOC_BOTH(std::log(x)), 2, 2},
    {"log1p", "log-plus-one", HLOC_BOTH(std::log1p(x)), 2, 2},
    {"logistic", "logistic", HLOC_BOTH(1 / (1 + std::exp(-x))), 2, 2},
    {"tanh", "tanh", HLOC_BOTH(std::tanh(x)), 2, 2},
    {"sinh", "sinh", HLOC_BOTH(std::sinh(x)), 2, 2},
    {"cosh", "cosh", HLOC_BOTH(std::cosh(x)), 2, 2},
    {"sin", "sine", HLOC_BOTH(std::sin(x)), 2, 2},
    {"cos", "cosine", HLOC_BOTH(std::cos(x)), 2, 2},
    {"tan", "tan", HLOC_BOTH(std::tan(x)), 2, 2},
    {"asin", "asin", HLOC_BOTH(std::asin(x)), 2, 2},
    {"acos", "acos", HLOC_BOTH(std::acos(x)), 2, 2},
    {"asinh", "asinh", HLOC_BOTH(std::asinh(x)), 2, 2},
    {"acosh", "acosh", HLOC_BOTH(std::acosh(x)), 2, 2},
    {"atanh", "atanh", HLOC_BOTH(std::atanh(x)), 2, 2},
    {"sqrt", "sqrt", HLOC_BOTH(std::sqrt(x)), 0.5, 0.5},
    {"rsqrt", "rsqrt", HLOC_BOTH(1 / std::sqrt(x)), 2, 2},
    {"cbrt", "cbrt", HLOC_BOTH(std::cbrt(x)), 2, 2},
    {"erf", "erf", HLOC_BOTH(std::erf(x)), 2, 2},
};
#undef HLOC_BOTH

struct PairFunction {
  std::string_view name, op;
  Real (*in_real)(Real, Real);
  double bound32, bound64;
};
constexpr PairFunction pair_functions[] = {
    {"pow", "power", [](Real x, Real y) -> Real { return std::pow(x, y); }, 2, 2},
    {"atan2", "atan2", [](Real y, Real x) -> Real { return std::atan2(y, x); }, 2, 2},
};

constexpr int64_t lanes = 1 << 14;  // numbers a call

int passed = 0, failed = 0;

[[noreturn]] void give_up(const hloc::Diagnostic& d) {
  std::fputs(d.render().c_str(), stderr);
  std::exit(1);
}

// y = op(x…) on `lanes` numbers.
template <class T>
class Compiled {
 public:
  Compiled(std::string_view op, int operands, const std::string& target) : program_(make(op, operands, target)), out(lanes) {
    in.assign(static_cast<size_t>(operands), std::vector<T>(lanes));
  }
  void run() {
    std::vector<std::span<const std::byte>> inputs;
    for (const auto& x : in) inputs.push_back(std::as_bytes(std::span(x)));
    std::span<std::byte> outputs[] = {std::as_writable_bytes(std::span(out))};
    if (auto ok = program_.call(inputs, outputs); !ok) give_up(ok.error());
  }

 private:
  static hloc::Program make(std::string_view op, int operands, const std::string& target) {
    std::string type = (sizeof(T) == 4 ? "f32[" : "f64[") + std::to_string(lanes) + "]", text = "HloModule function\n\nENTRY e {\n";
    std::string arguments;
    for (int i = 0; i < operands; ++i) {
      std::string name = "x." + std::to_string(i);
      text += "  " + name + " = " + type + " parameter(" + std::to_string(i) + ")\n";
      arguments += (i == 0 ? "" : ", ") + name;
    }
    text += "  ROOT r = " + type + " " + std::string(op) + "(" + arguments + ")\n}\n";
    auto module = hloc::read(std::move(text), "function.hlo");
    if (!module) give_up(module.error());
    auto program = hloc::compile(*module, {.target = target});
    if (!program) give_up(program.error());
    if (program->stats().fallback_kernels) std::fputs("warning: not native code\n", stderr);
    return *std::move(program);
  }
  hloc::Program program_;

 public:
  std::vector<std::vector<T>> in;
  std::vector<T> out;
};

template <class T>
struct Worst {
  double error = 0;
  T x = 0, y = 0;
  uint64_t count = 0;
  void see(double e, T a, T b = 0) {
    if (e > error) error = e, x = a, y = b;
  }
};

template <class T>
void report(std::string_view name, const Worst<T>& worst, bool two, double bound, std::chrono::steady_clock::time_point start) {
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  char place[64] = "";
  if (worst.error > 0 && two) std::snprintf(place, sizeof place, "at %.17g, %.17g", static_cast<double>(worst.x), static_cast<double>(worst.y));
  else if (worst.error > 0) std::snprintf(place, sizeof place, "at %.17g", static_cast<double>(worst.x));
  bool fine = worst.error <= bound;
  std::printf("%-9.*s %s  %7.3f ulp %-46s %11llu numbers %7.2f s%s\n", static_cast<int>(name.size()), name.data(), sizeof(T) == 4 ? "f32" : "f64",
              worst.error, place, static_cast<unsigned long long>(worst.count), seconds, fine ? "" : "  BEYOND ITS BOUND");
  std::fflush(stdout);
  ++(fine ? passed : failed);
}

// A result that is the rounded f64 reference is within half a unit but for that reference's own error: not looked at further.
void measure_f32(const Function& f, uint64_t step, const std::string& target) {
  auto start = std::chrono::steady_clock::now();
  Compiled<float> compiled(f.op, 1, target);
  Worst<float> worst;
  for (uint64_t at = 0; at < uint64_t{1} << 32;) {
    for (float& x : compiled.in[0]) {
      auto bits = static_cast<uint32_t>(at);
      std::memcpy(&x, &bits, sizeof bits);
      at += step;
    }
    compiled.run();
    for (size_t i = 0; i < compiled.out.size(); ++i) {
      float x = compiled.in[0][i], got = compiled.out[i];
      double want = f.in_double(x);
      auto rounded = static_cast<float>(want);
      if (std::memcmp(&rounded, &got, sizeof got) == 0) worst.error == 0 ? worst.see(0.5, x) : void();
      else worst.see(error_in_ulps(got, want), x);
    }
    worst.count += compiled.out.size();
  }
  report(f.name, worst, false, f.bound32, start);
}

// All exponents of both signs; then numbers from 2^-4 to 2^4, where results are neither 0, 1 nor infinite.
void measure_f64(const Function& f, int64_t calls, const std::string& target) {
  auto start = std::chrono::steady_clock::now();
  Compiled<double> compiled(f.op, 1, target);
  Worst<double> worst;
  std::mt19937_64 random(1);
  for (int64_t call = 0; call < calls; ++call) {
    for (double& x : compiled.in[0]) {
      uint64_t bits = random();
      if (call % 2) bits = (bits & 0x800fffffffffffffu) | (0x3fb + (bits >> 52) % 8) << 52;
      std::memcpy(&x, &bits, sizeof bits);
    }
    compiled.run();
    for (size_t i = 0; i < compiled.out.size(); ++i) worst.see(error_in_ulps(compiled.out[i], f.in_real(compiled.in[0][i])), compiled.in[0][i]);
    worst.count += compiled.out.size();
  }
  report(f.name, worst, false, f.bound64, start);
}

// Of three calls one takes any numbers, one numbers around 1, one a base near 1.
template <class T, class Bits>
void measure_pairs(const PairFunction& f, double bound, int64_t calls, const std::string& target) {
  auto start = std::chrono::steady_clock::now();
  Compiled<T> compiled(f.op, 2, target);
  Worst<T> worst;
  std::mt19937_64 random(2);
  auto unit = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  for (int64_t call = 0; call < calls; ++call) {
    for (size_t i = 0; i < compiled.out.size(); ++i) {
      T x{}, y{};
      Bits a = static_cast<Bits>(random()), b = static_cast<Bits>(random());
      std::memcpy(&x, &a, sizeof x), std::memcpy(&y, &b, sizeof y);
      if (call % 3 == 1) x = static_cast<T>(std::exp2(unit() * 24 - 12)), y = static_cast<T>(unit() * 64 - 32);
      if (call % 3 == 2) x = static_cast<T>(1 + (unit() - 0.5) * std::exp2(unit() * -20)), y = static_cast<T>((unit() - 0.5) * std::exp2(unit() * 20));
      compiled.in[0][i] = x, compiled.in[1][i] = y;
    }
    compiled.run();
    for (size_t i = 0; i < compiled.out.size(); ++i) {
      T x = compiled.in[0][i], y = compiled.in[1][i];
      worst.see(error_in_ulps(compiled.out[i], f.in_real(x, y)), x, y);
    }
    worst.count += compiled.out.size();
  }
  report(f.name, worst, true, bound, start);
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t step = 1;
  std::string target = "native";
  std::vector<std::string_view> names;
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    if (word == "--step" && i + 1 < argc) step = std::max<uint64_t>(1, std::strtoull(argv[++i], nullptr, 10));
    else if (word == "--target" && i + 1 < argc) target = argv[++i];
    else if (word.starts_with("-")) return std::fputs("ulps [--step N] [--target NAME] [FUNCTION…]\n", stderr), 2;
    else names.push_back(word);
  }
  auto wanted = [&](std::string_view name) { return names.empty() || std::find(names.begin(), names.end(), name) != names.end(); };
  int64_t calls = std::clamp<int64_t>(static_cast<int64_t>((uint64_t{1} << 18) / step), 4, 256);
  for (const Function& f : functions) {
    if (!wanted(f.name)) continue;
    measure_f32(f, step, target);
    measure_f64(f, calls, target);
  }
  for (const PairFunction& f : pair_functions) {
    if (!wanted(f.name)) continue;
    measure_pairs<float, uint32_t>(f, f.bound32, calls * 3, target);
    measure_pairs<double, uint64_t>(f, f.bound64, calls * 3, target);
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
