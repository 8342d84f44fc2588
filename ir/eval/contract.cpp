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

}  // namespace

template <class A>
void multiply_matrices(A* out, const A* lhs, const A* rhs, int64_t m, int64_t depth, int64_t n) {
  if (n >= 32) return multiply_in_panels<A, 64>(out, lhs, rhs, m, depth, n);
  if (n >= 4) return multiply_in_panels<A, 8>(out, lhs, rhs, m, depth, n);
  multiply_in_panels<A, 1>(out, lhs, rhs, m, depth, n);
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
