// Functions that generated code calls, as C++ that every device compiler and the host's take. No headers, no library.
#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "backends/gpu/c_text.h"

namespace hloc::gpu {
namespace {

struct HelperFunction {
  std::string_view name, text;
};

// Each uses only those before it.
constexpr HelperFunction helper_table[] = {
    {"bit_cast", R"(
// The same bits under another type.
template <class To, class From> __device__ To bit_cast(From x) {
  union { From from; To to; } both;
  both.from = x;
  return both.to;
})"},
    {"f16", R"(
struct f16 { unsigned short bits; };)"},
    {"bf16", R"(
struct bf16 { unsigned short bits; };)"},
    {"to_f32", R"(
// 5 bits of exponent, 10 of fraction.
__device__ inline float to_f32(f16 x) {
  unsigned int sign = (x.bits & 0x8000u) << 16, rest = x.bits & 0x7fffu;
  if (rest >= 0x7c00u) return bit_cast<float>(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
  if (rest >= 0x0400u) return bit_cast<float>(sign | ((rest << 13) + 0x38000000u));
  float small = (float)(int)rest * 0x1p-24f;
  return bit_cast<float>(sign | bit_cast<unsigned int>(small));
}
// The upper half of a float.
__device__ inline float to_f32(bf16 x) { return bit_cast<float>((unsigned int)x.bits << 16); })"},
    {"to_f16", R"(
// To nearest, ties to even.
__device__ inline f16 to_f16(float x) {
  unsigned int all = bit_cast<unsigned int>(x), sign = all >> 16 & 0x8000u, rest = all & 0x7fffffffu;
  if (rest > 0x7f800000u) return f16{(unsigned short)(sign | 0x7e00u)};
  if (rest >= 0x47800000u) return f16{(unsigned short)(sign | 0x7c00u)};
  if (rest < 0x38800000u) {
    float shifted = bit_cast<float>(rest) + 0.5f;  // the last bit of 0.5's fraction is worth 2^-24
    return f16{(unsigned short)(sign | (bit_cast<unsigned int>(shifted) - 0x3f000000u))};
  }
  rest += 0xfffu + (rest >> 13 & 1u);
  return f16{(unsigned short)(sign | ((rest - 0x38000000u) >> 13))};
})"},
    {"to_bf16", R"(
// To nearest, ties to even.
__device__ inline bf16 to_bf16(float x) {
  unsigned int all = bit_cast<unsigned int>(x);
  if ((all & 0x7fffffffu) > 0x7f800000u) return bf16{(unsigned short)(all >> 16 | 0x40u)};
  return bf16{(unsigned short)((all + 0x7fffu + (all >> 16 & 1u)) >> 16)};
})"},
    {"minimum", R"(
// A NaN wins; -0 is below +0.
__device__ inline float minimum(float a, float b) {
  if (a != a || b != b) return a + b;
  if (a == b) return bit_cast<float>(bit_cast<unsigned int>(a) | bit_cast<unsigned int>(b));
  return a < b ? a : b;
}
__device__ inline double minimum(double a, double b) {
  if (a != a || b != b) return a + b;
  if (a == b) return bit_cast<double>(bit_cast<unsigned long long>(a) | bit_cast<unsigned long long>(b));
  return a < b ? a : b;
})"},
    {"maximum", R"(
// A NaN wins; +0 is above -0.
__device__ inline float maximum(float a, float b) {
  if (a != a || b != b) return a + b;
  if (a == b) return bit_cast<float>(bit_cast<unsigned int>(a) & bit_cast<unsigned int>(b));
  return a > b ? a : b;
}
__device__ inline double maximum(double a, double b) {
  if (a != a || b != b) return a + b;
  if (a == b) return bit_cast<double>(bit_cast<unsigned long long>(a) & bit_cast<unsigned long long>(b));
  return a > b ? a : b;
})"},
    {"scaled", R"(
// a * 2^n for a whole n in two steps, 2^floor(n/2) and 2^ceil(n/2), of which only the second rounds. The addition puts n as an
// integer into the low bits.
__device__ inline float scaled(float a, float n) {
  unsigned int bits = bit_cast<unsigned int>(n + 0x1.8p23f), one = 0x3f800000u;
  unsigned int half = bits << 22 & 0xff800000u, rest = (bits << 23) - half;
  return a * bit_cast<float>(half + one) * bit_cast<float>(rest + one);
}
__device__ inline double scaled(double a, double n) {
  unsigned long long bits = bit_cast<unsigned long long>(n + 0x1.8p52), one = 0x3ff0000000000000ull;
  unsigned long long half = bits << 51 & 0xfff0000000000000ull, rest = (bits << 52) - half;
  return a * bit_cast<double>(half + one) * bit_cast<double>(rest + one);
})"},
    {"quotient", R"(
// Toward zero; x / 0 is all ones, lowest / -1 is lowest.
template <class T> __device__ T quotient(T a, T b) {
  if (b == 0) return (T)-1;
  if ((T)-1 < (T)0 && b == (T)-1) return (T)(0ull - (unsigned long long)a);
  return (T)(a / b);
})"},
    {"remainder_of", R"(
// Sign of the dividend; x rem 0 is x, lowest rem -1 is 0.
template <class T> __device__ T remainder_of(T a, T b) {
  if (b == 0) return a;
  if ((T)-1 < (T)0 && b == (T)-1) return 0;
  return (T)(a % b);
})"},
    {"unsigned_of", R"(
__device__ inline unsigned char unsigned_of(signed char x) { return (unsigned char)x; }
__device__ inline unsigned char unsigned_of(unsigned char x) { return x; }
__device__ inline unsigned short unsigned_of(short x) { return (unsigned short)x; }
__device__ inline unsigned short unsigned_of(unsigned short x) { return x; }
__device__ inline unsigned int unsigned_of(int x) { return (unsigned int)x; }
__device__ inline unsigned int unsigned_of(unsigned int x) { return x; }
__device__ inline unsigned long long unsigned_of(long long x) { return (unsigned long long)x; }
__device__ inline unsigned long long unsigned_of(unsigned long long x) { return x; })"},
    {"shift_left", R"(
// The amount is unsigned; the width or more gives 0.
template <class T> __device__ T shift_left(T x, T by) {
  return unsigned_of(by) >= 8 * sizeof(T) ? (T)0 : (T)((unsigned long long)x << unsigned_of(by));
})"},
    {"shift_right", R"(
// Zeros come in; the width or more gives 0.
template <class T> __device__ T shift_right(T x, T by) {
  return unsigned_of(by) >= 8 * sizeof(T) ? (T)0 : (T)(unsigned_of(x) >> unsigned_of(by));
})"},
    {"shift_right_signed", R"(
// Copies of the uppermost bit come in.
template <class T> __device__ T shift_right_signed(T x, T by) {
  unsigned int most = 8 * sizeof(T) - 1, amount = unsigned_of(by) > most ? most : (unsigned int)unsigned_of(by);
  long long all = (long long)((unsigned long long)x << (63 - most)) >> (63 - most);
  return (T)(all >> amount);
})"},
    {"count_ones", R"(
__device__ inline int count_ones(unsigned long long x) {
  x = x - (x >> 1 & 0x5555555555555555ull);
  x = (x & 0x3333333333333333ull) + (x >> 2 & 0x3333333333333333ull);
  x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0full;
  return (int)(x * 0x0101010101010101ull >> 56);
})"},
    {"bits_of", R"(
// How many bits the number has: 0 for 0.
__device__ inline int bits_of(unsigned long long x) {
  int n = 0;
  for (int half = 32; half > 0; half /= 2)
    if (x >> half) x >>= half, n += half;
  return n + (int)x;
})"},
    {"to_integer", R"(
// Toward zero; what lies outside [low, end) becomes the nearest integer there is, NaN becomes 0.
template <class T, class F> __device__ T to_integer(F x, F low, F end) {
  const T lowest = (T)-1 < (T)0 ? (T)(1ull << (8 * sizeof(T) - 1)) : (T)0;
  if (x != x) return 0;
  if (x < low) return lowest;
  return x >= end ? (T)~lowest : (T)x;
})"},
    {"clamped", R"(
// The integer as an index between both.
template <class T> __device__ long long clamped(T x, long long low, long long high) {
  if ((T)-1 > (T)0 && (unsigned long long)x > 0x7fffffffffffffffull) return high;
  return (long long)x < low ? low : (long long)x > high ? high : (long long)x;
})"},
    {"vector", R"(
// Neighbouring elements that are read or written at once.
template <class T, int n> struct alignas(sizeof(T) * n) vector { T at[n]; };)"},
    {"floor_div", R"(
template <class T> __device__ T floor_div(T a, T b) { return a / b - (a % b < 0); })"},
    {"shuffle_down", R"(
// The value of the thread `by` places further on in the wave.
template <class T> __device__ T shuffle_down(T x, int by) {
  union { T value; unsigned int words[(sizeof(T) + 3) / 4]; } both;
  both.words[0] = 0;
  both.value = x;
  for (unsigned int i = 0; i < (sizeof(T) + 3) / 4; ++i) both.words[i] = shuffle_down_word(both.words[i], by);
  return both.value;
})"},
    {"block_reduce", R"(
// The values of all `threads` threads of the block combined, always in one order: within waves, then wave by wave.
template <int threads, class T, class F> __device__ T block_reduce(T x, T* of_wave, F combine) {
  for (int by = wave / 2; by > 0; by /= 2) x = combine(x, shuffle_down(x, by));
  __syncthreads();
  if (threadIdx.x % wave == 0) of_wave[threadIdx.x / wave] = x;
  __syncthreads();
  T all = of_wave[0];
  for (int i = 1; i < threads / wave; ++i) all = combine(all, of_wave[i]);
  return all;
})"},
};

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

bool occurs(std::string_view text, std::string_view name) {
  for (size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    size_t end = at + name.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) return true;
  }
  return false;
}

}  // namespace

bool is_helper_function(std::string_view name) {
  return std::any_of(std::begin(helper_table), std::end(helper_table), [&](const HelperFunction& f) { return f.name == name; });
}

std::string helper_functions(std::string_view text) {
  std::vector<const HelperFunction*> used;
  for (auto it = std::rbegin(helper_table); it != std::rend(helper_table); ++it) {
    bool is_used = occurs(text, it->name);
    for (const HelperFunction* later : used) is_used |= occurs(later->text, it->name);
    if (is_used) used.push_back(&*it);
  }
  std::string out;
  for (auto it = used.rbegin(); it != used.rend(); ++it) out += std::string((*it)->text.substr(1)) + "\n\n";
  return out;
}

}  // namespace hloc::gpu
