// cholesky and triangular-solve on the last two dimensions, computed in double.
#include <fmt/format.h>

#include "ir/eval/copy.h"
#include "ir/eval/ops.h"

namespace hloc::ir::eval {
namespace {

double conjugate(double x) { return x; }
Complex conjugate(Complex z) { return std::conj(z); }
double real_part(double x) { return x; }
double real_part(Complex z) { return z.real(); }

// Elements of one matrix as wide values, and back with one rounding.
template <class W>
std::vector<W> wide_matrix(const Literal& in, int64_t first, int64_t count) {
  std::vector<W> out(static_cast<size_t>(count));
  ElementType t = in.type().element();
  Kernel k = converter(t, std::is_same_v<W, double> ? ElementType::f64 : ElementType::c128);
  const std::byte* from = in.bytes().data() + first * byte_width(t);
  k.run(k, &from, reinterpret_cast<std::byte*>(out.data()), count);
  return out;
}
template <class W>
void store_matrix(Literal& out, int64_t first, const std::vector<W>& values) {
  ElementType t = out.type().element();
  Kernel k = converter(std::is_same_v<W, double> ? ElementType::f64 : ElementType::c128, t);
  const auto* from = reinterpret_cast<const std::byte*>(values.data());
  k.run(k, &from, out.mutable_bytes().data() + first * byte_width(t), static_cast<int64_t>(values.size()));
}

// a = l l^H, row by row; only the lower (or the upper) half of `a` is read. The other half of the result is zero. A matrix
// that is not positive definite gives NaN everywhere.
template <class W>
void cholesky_factor(std::vector<W>& a, int64_t n, bool lower) {
  auto at = [&](int64_t i, int64_t j) -> W& { return a[static_cast<size_t>(lower ? i * n + j : j * n + i)]; };
  bool failed = false;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j <= i; ++j) {
      W sum = at(i, j);
      for (int64_t k = 0; k < j; ++k) sum -= lower ? at(i, k) * conjugate(at(j, k)) : conjugate(at(j, k)) * at(i, k);
      if (i == j) {
        failed |= !(real_part(sum) > 0);
        at(i, i) = std::sqrt(real_part(sum));
      } else {
        at(i, j) = sum / at(j, j);
      }
    }
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = i + 1; j < n; ++j) at(i, j) = W(0);
  if (failed) std::fill(a.begin(), a.end(), W(std::numeric_limits<double>::quiet_NaN()));
}

// Solves t x = b for one column of b (`step` elements apart), where t(i, j) reads a triangle.
template <class W, class Triangle>
void substitute(Triangle t, int64_t n, bool lower, bool unit, W* b, int64_t step) {
  for (int64_t r = 0; r < n; ++r) {
    int64_t i = lower ? r : n - 1 - r;
    W sum = b[i * step];
    for (int64_t s = 0; s < r; ++s) {
      int64_t j = lower ? s : n - 1 - s;
      sum -= t(i, j) * b[j * step];
    }
    b[i * step] = unit ? sum : sum / t(i, i);
  }
}

template <class W>
void solve_triangular(const TriangularSolveAttr& attr, const std::vector<W>& a, int64_t n, std::vector<W>& b,
                      int64_t rows, int64_t columns) {
  bool transposed = attr.transpose_a != TransposeKind::NO_TRANSPOSE;
  bool conjugated = attr.transpose_a == TransposeKind::ADJOINT;
  auto op_a = [&](int64_t i, int64_t j) {
    W x = a[static_cast<size_t>(transposed ? j * n + i : i * n + j)];
    return conjugated ? conjugate(x) : x;
  };
  bool lower = attr.lower != transposed;
  if (attr.left_side) {
    for (int64_t j = 0; j < columns; ++j) substitute(op_a, n, lower, attr.unit_diagonal, b.data() + j, columns);
  } else {  // x op(a) = b: each row is a column of op(a)^T x^T = b^T
    auto flipped = [&](int64_t i, int64_t j) { return op_a(j, i); };
    for (int64_t i = 0; i < rows; ++i) substitute(flipped, n, !lower, attr.unit_diagonal, b.data() + i * columns, 1);
  }
}

template <class W>
Literal cholesky_in(Call& c) {
  Literal out = c.eval.allocate(c.type);
  int64_t n = c.type.dim(c.type.rank() - 1);
  for (int64_t first = 0; n > 0 && first < c.type.count(); first += n * n) {
    auto a = wide_matrix<W>(c.in[0], first, n * n);
    cholesky_factor(a, n, c.attr<CholeskyAttr>().lower);
    store_matrix(out, first, a);
  }
  return out;
}

template <class W>
Literal triangular_solve_in(Call& c) {
  Literal out = c.eval.allocate(c.type);
  int64_t n = c.in[0].type().dim(c.in[0].type().rank() - 1);
  int64_t rows = c.type.dim(c.type.rank() - 2), columns = c.type.dim(c.type.rank() - 1);
  int64_t matrix = rows * columns;
  for (int64_t i = 0; matrix > 0 && i < c.type.count() / matrix; ++i) {
    auto a = wide_matrix<W>(c.in[0], i * n * n, n * n);
    auto b = wide_matrix<W>(c.in[1], i * matrix, matrix);
    solve_triangular(c.attr<TriangularSolveAttr>(), a, n, b, rows, columns);
    store_matrix(out, i * matrix, b);
  }
  return out;
}

}  // namespace

Result<Literal> eval_cholesky(Call& c) {
  return is_complex(c.type.element()) ? cholesky_in<Complex>(c) : cholesky_in<double>(c);
}

Result<Literal> eval_triangular_solve(Call& c) {
  return is_complex(c.type.element()) ? triangular_solve_in<Complex>(c) : triangular_solve_in<double>(c);
}

}  // namespace hloc::ir::eval
