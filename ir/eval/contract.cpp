#include "ir/eval/contract.h"

namespace hloc::ir::eval {
namespace {

constexpr int contract_rows = 4;

template <class A, int W>
void multiply_in_panels(A* out, const A* lhs, const A* rhs, int64_t m, int64_t depth, int64_t n) {
  auto panel = make_array<A>(depth * W);
  for (int64_t j0 = 0; j0 < n; j0 += W) {
    int64_t width = std::min<int64_t>(W, n - j0);
    fill_panel<A, W>(panel.get(), rhs, depth, n, j0, n);
    for (int64_t i0 = 0; i0 < m; i0 += contract_rows) {
      A sums[contract_rows][W] = {};
      const A* rows[contract_rows];
      int64_t count = std::min<int64_t>(contract_rows, m - i0);
      for (int64_t r = 0; r < contract_rows; ++r) rows[r] = lhs + (i0 + std::min(r, count - 1)) * depth;
      add_products<A, contract_rows, W>(sums, rows, panel.get(), depth);
      for (int64_t r = 0; r < count; ++r)
        for (int64_t j = 0; j < width; ++j) out[(i0 + r) * n + j0 + j] = sums[r][j];
    }
  }
}

template <class A>
Array<A> transposed(const A* in, int64_t rows, int64_t columns) {
  auto out = make_array<A>(rows * columns);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) out[static_cast<size_t>(j * rows + i)] = in[i * columns + j];
  return out;
}

}  // namespace

template <class A>
void multiply_matrices(A* out, const A* lhs, const A* rhs, int64_t m, int64_t depth, int64_t n) {
  if (n >= 32) return multiply_in_panels<A, 64>(out, lhs, rhs, m, depth, n);
  if (m <= n) return n >= 4 ? multiply_in_panels<A, 8>(out, lhs, rhs, m, depth, n)
                            : multiply_in_panels<A, 1>(out, lhs, rhs, m, depth, n);
  // Tall and narrow: the transposed product has the same sums.
  Array<A> left = transposed(rhs, depth, n), right = transposed(lhs, m, depth), result = make_array<A>(m * n);
  if (m >= 32) multiply_in_panels<A, 64>(result.get(), left.get(), right.get(), n, depth, m);
  else multiply_in_panels<A, 8>(result.get(), left.get(), right.get(), n, depth, m);
  Array<A> back = transposed(result.get(), n, m);
  std::copy_n(back.get(), m * n, out);
}

template void multiply_matrices(bool*, const bool*, const bool*, int64_t, int64_t, int64_t);
template void multiply_matrices(float*, const float*, const float*, int64_t, int64_t, int64_t);
template void multiply_matrices(double*, const double*, const double*, int64_t, int64_t, int64_t);
template void multiply_matrices(uint32_t*, const uint32_t*, const uint32_t*, int64_t, int64_t, int64_t);
template void multiply_matrices(uint64_t*, const uint64_t*, const uint64_t*, int64_t, int64_t, int64_t);
template void multiply_matrices(std::complex<float>*, const std::complex<float>*, const std::complex<float>*, int64_t,
                                int64_t, int64_t);
template void multiply_matrices(std::complex<double>*, const std::complex<double>*, const std::complex<double>*, int64_t,
                                int64_t, int64_t);

}  // namespace hloc::ir::eval
