// fft over the last dimensions: c64 in double, c128 in long double, rounded once.
//
// Lengths that are powers of two by Cooley-Tukey, short ones by the definition, others by Bluestein's chirp (a convolution
// whose length is a power of two).
#include <numbers>

#include <fmt/format.h>

#include "ir/eval/copy.h"
#include "ir/eval/ops.h"

namespace hloc::ir::eval {
namespace {

constexpr int64_t longest_by_definition = 64;

template <class R>
using Line = std::vector<std::complex<R>>;

template <class R>
std::complex<R> product_of(std::complex<R> a, std::complex<R> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// e^(sign * 2 pi i * k / n), exact at the multiples of a quarter turn.
template <class R>
std::complex<R> root_of_unity(int64_t k, int64_t n, int sign) {
  k %= n;
  if (4 * k % n == 0) {
    static constexpr int quarter[] = {1, 0, -1, 0};
    int64_t q = 4 * k / n;
    return {R(quarter[q]), R(sign * quarter[(q + 3) % 4])};
  }
  R angle = 2 * std::numbers::pi_v<R> * static_cast<R>(k) / static_cast<R>(n);
  return {std::cos(angle), sign * std::sin(angle)};
}

template <class R>
void fft_power_of_two(Line<R>& x, int sign) {
  auto n = static_cast<int64_t>(x.size());
  for (int64_t i = 1, j = 0; i < n; ++i) {  // bit reversal
    int64_t bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j |= bit;
    if (i < j) std::swap(x[static_cast<size_t>(i)], x[static_cast<size_t>(j)]);
  }
  Line<R> roots(static_cast<size_t>(n / 2));
  for (int64_t k = 0; k < n / 2; ++k) roots[static_cast<size_t>(k)] = root_of_unity<R>(k, n, sign);
  for (int64_t half = 1; half < n; half *= 2)
    for (int64_t begin = 0; begin < n; begin += 2 * half)
      for (int64_t k = 0; k < half; ++k) {
        auto& a = x[static_cast<size_t>(begin + k)];
        auto& b = x[static_cast<size_t>(begin + k + half)];
        auto t = product_of(b, roots[static_cast<size_t>(k * (n / (2 * half)))]);
        b = a - t;
        a = a + t;
      }
}

template <class R>
void fft_by_definition(Line<R>& x, int sign) {
  auto n = static_cast<int64_t>(x.size());
  Line<R> roots(x.size()), out(x.size());
  for (int64_t k = 0; k < n; ++k) roots[static_cast<size_t>(k)] = root_of_unity<R>(k, n, sign);
  for (int64_t k = 0; k < n; ++k)
    for (int64_t i = 0; i < n; ++i)
      out[static_cast<size_t>(k)] += product_of(x[static_cast<size_t>(i)], roots[static_cast<size_t>(i * k % n)]);
  x = std::move(out);
}

// i*k = (i*i + k*k - (k-i)*(k-i)) / 2 turns the transform into a convolution with a chirp.
template <class R>
void fft_by_chirp(Line<R>& x, int sign) {
  auto n = static_cast<int64_t>(x.size());
  int64_t m = 1;
  while (m < 2 * n - 1) m *= 2;
  Line<R> chirp(x.size()), a(static_cast<size_t>(m)), b(static_cast<size_t>(m));
  int64_t square = 0;  // k*k modulo 2n
  for (int64_t k = 0; k < n; ++k) {
    chirp[static_cast<size_t>(k)] = root_of_unity<R>(square, 2 * n, sign);
    square = (square + 2 * k + 1) % (2 * n);
    a[static_cast<size_t>(k)] = product_of(x[static_cast<size_t>(k)], chirp[static_cast<size_t>(k)]);
    b[static_cast<size_t>(k)] = std::conj(chirp[static_cast<size_t>(k)]);
    if (k != 0) b[static_cast<size_t>(m - k)] = b[static_cast<size_t>(k)];
  }
  fft_power_of_two(a, 1);
  fft_power_of_two(b, 1);
  for (size_t i = 0; i < a.size(); ++i) a[i] = product_of(a[i], b[i]);
  fft_power_of_two(a, -1);
  for (int64_t k = 0; k < n; ++k)
    x[static_cast<size_t>(k)] = product_of(a[static_cast<size_t>(k)], chirp[static_cast<size_t>(k)]) / R(m);
}

template <class R>
void fft_line(Line<R>& x, int sign) {
  auto n = static_cast<int64_t>(x.size());
  if ((n & (n - 1)) == 0) fft_power_of_two(x, sign);
  else if (n <= longest_by_definition) fft_by_definition(x, sign);
  else fft_by_chirp(x, sign);
  if (sign > 0)
    for (auto& value : x) value /= R(n);
}

// In place along dimension `dim` of a dense array.
template <class R>
void fft_along(Line<R>& x, const Ints& sizes, size_t dim, int sign) {
  Ints strides = strides_of(sizes), walked = sizes;
  walked[dim] = 1;
  Line<R> line(static_cast<size_t>(sizes[dim]));
  for (Odometer at(walked); at.valid(); at.next()) {
    auto base = static_cast<size_t>(at.dot(strides)), step = static_cast<size_t>(strides[dim]);
    for (size_t i = 0; i < line.size(); ++i) line[i] = x[base + i * step];
    fft_line(line, sign);
    for (size_t i = 0; i < line.size(); ++i) x[base + i * step] = line[i];
  }
}

// The full last dimension of a real signal from its first half: x[n - k] = conj(x[k]).
template <class R>
Line<R> mirrored(const Line<R>& half, Ints sizes, int64_t n, size_t first_dim) {
  Ints half_strides = strides_of(sizes), half_sizes = sizes;
  sizes.back() = n;
  Line<R> out(static_cast<size_t>(product(sizes)));
  size_t flat = 0;
  for (Odometer at(sizes); at.valid(); at.next(), ++flat) {
    Ints from = at.index();
    bool is_mirror = from.back() >= half_sizes.back();
    if (is_mirror) {  // the other transformed dimensions are mirrored with it
      from.back() = n - from.back();
      for (size_t d = first_dim; d + 1 < from.size(); ++d) from[d] = (sizes[d] - from[d]) % sizes[d];
    }
    int64_t place = 0;
    for (size_t d = 0; d < from.size(); ++d) place += from[d] * half_strides[d];
    auto value = half[static_cast<size_t>(place)];
    out[flat] = is_mirror ? std::conj(value) : value;
  }
  return out;
}

template <class R, class T>
Line<R> fft_input(const Literal& in) {
  Line<R> x(static_cast<size_t>(in.type().count()));
  for (size_t i = 0; i < x.size(); ++i) {
    if constexpr (is_complex_type<T>) {
      T value = load<T>(in.bytes().data(), static_cast<int64_t>(i));
      x[i] = {static_cast<R>(value.real()), static_cast<R>(value.imag())};
    } else {
      x[i] = static_cast<R>(load<T>(in.bytes().data(), static_cast<int64_t>(i)));
    }
  }
  return x;
}

// R: what is computed in; T: the real type of the elements.
template <class R, class T>
Literal fft_in(Call& c) {
  const auto& attr = c.attr<FftAttr>();
  bool real_in = attr.type == FftType::RFFT, real_out = attr.type == FftType::IRFFT;
  int sign = attr.type == FftType::FFT || real_in ? -1 : 1;
  Ints sizes = c.in[0].type().sizes(), out_sizes = c.type.sizes();
  size_t first = sizes.size() - attr.length.size();
  Line<R> x = real_in ? fft_input<R, T>(c.in[0]) : fft_input<R, std::complex<T>>(c.in[0]);
  if (real_out) {
    x = mirrored(x, sizes, out_sizes.back(), first);
    sizes.back() = out_sizes.back();
  }
  for (size_t d = first; d < sizes.size(); ++d) fft_along(x, sizes, d, sign);
  Literal out = c.eval.allocate(c.type);
  std::byte* to = out.mutable_bytes().data();
  Ints strides = strides_of(sizes);  // of x; rfft keeps the first half of its last dimension
  int64_t flat = 0;
  for (Odometer at(out_sizes); at.valid(); at.next(), ++flat) {
    auto value = x[static_cast<size_t>(at.dot(strides))];
    if (real_out) store<T>(to, flat, static_cast<T>(value.real()));
    else store<std::complex<T>>(to, flat, {static_cast<T>(value.real()), static_cast<T>(value.imag())});
  }
  return out;
}

}  // namespace

Result<Literal> eval_fft(Call& c) {
  if (c.type.count() == 0) return c.eval.allocate(c.type);
  if (c.in[0].type().count() == 0) return c.eval.zeros(c.type);
  ElementType t = c.in[0].type().element();
  bool is_double = t == ElementType::f64 || t == ElementType::c128;
  return is_double ? fft_in<long double, double>(c) : fft_in<double, float>(c);
}

}  // namespace hloc::ir::eval
