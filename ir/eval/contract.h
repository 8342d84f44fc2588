// Sums of products: the one loop under dot and convolution. Every sum runs over k ascending, one addition at a time, in
// the accumulator type; a product is rounded before it is added (the build says -ffp-contract=off).
#pragma once

#include <algorithm>
#include <memory>

#include "ir/eval/copy.h"
#include "ir/eval/kernel.h"

namespace hloc::ir::eval {

template <class A>
using Array = std::unique_ptr<A[]>;
template <class A>
Array<A> make_array(int64_t n) {
  return std::make_unique_for_overwrite<A[]>(static_cast<size_t>(n));
}

template <class A>
constexpr ElementType element_of() {
  if constexpr (std::is_same_v<A, bool>) return ElementType::pred;
  else if constexpr (std::is_same_v<A, uint32_t>) return ElementType::u32;
  else if constexpr (std::is_same_v<A, uint64_t>) return ElementType::u64;
  else if constexpr (std::is_same_v<A, float>) return ElementType::f32;
  else if constexpr (std::is_same_v<A, double>) return ElementType::f64;
  else if constexpr (std::is_same_v<A, std::complex<float>>) return ElementType::c64;
  else return ElementType::c128;
}

// Calls f with a value of the type that sums for results of type `t` are kept in.
template <class F>
decltype(auto) visit_accumulator(ElementType t, F&& f) {
  if (t == ElementType::pred) return f(bool{});
  if (t == ElementType::f64) return f(double{});
  if (t == ElementType::c64) return f(std::complex<float>{});
  if (t == ElementType::c128) return f(std::complex<double>{});
  if (is_float(t)) return f(float{});
  if (bit_width(t) > 32) return f(uint64_t{});
  return f(uint32_t{});
}

// A literal's elements as accumulators, its dimensions in another order. Where both are as they were, the literal's own.
template <class A>
class Reordered {
 public:
  Reordered(const Literal& in, std::span<const int64_t> order) : literal_(in) {
    const std::byte* from = in.bytes().data();
    int64_t count = in.type().count();
    ElementType element = in.type().element();
    int width = byte_width(element);
    bool moves = !std::ranges::is_sorted(order), converts = element != element_of<A>();
    Array<std::byte> moved;
    if (moves || converts) owned_ = make_array<A>(count);
    auto* to = reinterpret_cast<std::byte*>(owned_.get());
    if (moves) {
      if (converts) moved = make_array<std::byte>(count * width);
      std::byte* place = converts ? moved.get() : to;
      copy_transposed(place, from, in.type().sizes(), order, width);
      from = place;
    }
    if (converts) {
      Kernel k = converter(element, element_of<A>());
      k.run(k, &from, to, count);
    }
    data_ = owned_ ? owned_.get() : reinterpret_cast<const A*>(from);
  }
  const A* get() const { return data_; }

 private:
  Literal literal_;
  Array<A> owned_;
  const A* data_ = nullptr;
};

// The sums of a result: kept in the result itself when that has the accumulator's type, else rounded into it by finish().
template <class A>
class Sums {
 public:
  explicit Sums(Literal& out) : out_(out) {
    if (out.type().element() != element_of<A>()) own_ = make_array<A>(out.type().count());
  }
  A* get() { return own_ ? own_.get() : reinterpret_cast<A*>(out_.mutable_bytes().data()); }
  void finish() {
    int64_t count = out_.type().count();
    if (own_) {
      Kernel k = converter(element_of<A>(), out_.type().element());
      const auto* from = reinterpret_cast<const std::byte*>(own_.get());
      k.run(k, &from, out_.mutable_bytes().data(), count);
    } else if constexpr (!std::is_integral_v<A>) {
      A* sums = get();
      for (int64_t i = 0; i < count; ++i) sums[i] = narrow<A>(widen(sums[i]));  // canonical NaNs
    }
  }

 private:
  Literal& out_;
  Array<A> own_;
};

template <class A>
inline void add_product(A& sum, A a, A b) {
  if constexpr (std::is_same_v<A, bool>) {
    sum = sum || (a && b);
  } else if constexpr (is_complex_type<A>) {
    sum = A(sum.real() + (a.real() * b.real() - a.imag() * b.imag()),
            sum.imag() + (a.real() * b.imag() + a.imag() * b.real()));
  } else {
    sum += a * b;
  }
}

// sums[r][j] += sum over k of rows[r][k] * panel[k][j]; W is known to the compiler so that j becomes vectors.
template <class A, int R, int W>
void add_products(A (*sums)[W], const A* const* rows, const A* panel, int64_t depth) {
  for (int64_t k = 0; k < depth; ++k, panel += W)
    for (int r = 0; r < R; ++r) {
      A x = rows[r][k];
      for (int j = 0; j < W; ++j) add_product(sums[r][j], x, panel[j]);
    }
}

// Columns [first, first + W) of a matrix [depth][n] from `from`, zeros beyond `end`.
template <class A, int W>
void fill_panel(A* panel, const A* from, int64_t depth, int64_t n, int64_t first, int64_t end) {
  int64_t width = std::min<int64_t>(W, end - first);
  for (int64_t k = 0; k < depth; ++k)
    for (int64_t j = 0; j < W; ++j) panel[k * W + j] = j < width ? from[k * n + first + j] : A{};
}

// out[m][n] = lhs[m][depth] * rhs[depth][n], all row-major.
template <class A>
void multiply_matrices(A* out, const A* lhs, const A* rhs, int64_t m, int64_t depth, int64_t n);

}  // namespace hloc::ir::eval
