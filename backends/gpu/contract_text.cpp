// Contractions: tiles in shared memory, and inside other kernels the plain sum.
#include "backends/gpu/c_text.h"
#include "backends/gpu/kernel_text.h"
#include "backends/loops/walk.h"

namespace hloc::gpu {

using loops::Contract;
using loops::ContractDim;
using loops::DimRole;

namespace {

int64_t size_of(const Contract& c, DimRole role) {
  int64_t n = 1;
  for (const ContractDim& d : c.dims)
    if (d.role == role) n *= d.extent;
  return n;
}

// Neighbouring elements of memory lie along k rather than along the other dimension.
bool runs_along_k(const Contract& c, bool is_left) {
  const loops::Load* load = loops::plain_load(is_left ? c.lhs : c.rhs, is_left ? c.lhs_value : c.rhs_value);
  if (!load) return false;
  for (auto d = c.dims.rbegin(); d != c.dims.rend(); ++d)
    if (d->role == DimRole::k) return load->access.offset.coefficient(d->index) == 1;
  return false;
}

}  // namespace

// The indices of a role's dimensions from one number that counts through them, the last one fastest.
void KernelText::dims(const Contract& c, DimRole role, const std::string& all) {
  int64_t inner = size_of(c, role);
  bool is_first = true;
  for (const ContractDim& d : c.dims) {
    if (d.role != role) continue;
    inner /= d.extent;
    line("const {} {} = {};", index_type_, indices_[d.index], digit(all, is_first, d.extent, inner));
    is_first = false;
  }
}

std::string KernelText::converted(const Contract& c, loops::ValueId v) const {
  ElementType from = kernel_.type(v);
  if (from == c.accumulate) return value(v);
  return c_expression({loops::no_id, loops::ScalarOp::Convert, loops::Predicate::eq, {}}, from, c.accumulate, {value(v), "", ""});
}

void KernelText::product(const Contract& c, const std::string& sum, const std::string& a, const std::string& b) {
  if (c.accumulate == ElementType::f32) return line("{} = fmaf({}, {}, {});", sum, a, b, sum);
  if (c.accumulate == ElementType::f64) return line("{} = fma({}, {}, {});", sum, a, b, sum);
  std::string term = "(" + c_combination(loops::ScalarOp::Mul, c.accumulate, a, b) + ")";
  line("{} = {};", sum, c_combination(loops::ScalarOp::Add, c.accumulate, sum, term));
}

void KernelText::tile_operand(const Contract& c, bool is_left, const std::string& tile) {
  const Tile& t = launch_.tile;
  DimRole role = is_left ? DimRole::m : DimRole::n;
  int width = is_left ? t.m : t.n;
  std::string x = is_left ? "m" : "n";
  open(fmt::format("for (int e = threadIdx.x; e < {}; e += {})", width * t.k, launch_.threads));
  if (runs_along_k(c, is_left)) line("const {} k = k_from + e % {}, {} = {}_from + e / {};", index_type_, t.k, x, x, t.k);
  else line("const {} {} = {}_from + e % {}, k = k_from + e / {};", index_type_, x, x, width, width);
  line("{} element = 0;", c_type(c.accumulate));
  open(fmt::format("if ({} < {} && k < {})", x, size_of(c, role), size_of(c, DimRole::k)));
  dims(c, role, x);
  dims(c, DimRole::k, "k");
  block(is_left ? c.lhs : c.rhs);
  line("element = {};", converted(c, is_left ? c.lhs_value : c.rhs_value));
  close();
  line("{}[k - k_from][{} - {}_from] = element;", tile, x, x);
  close();
}

void KernelText::tile_sums(const Contract& c) {
  const Tile& t = launch_.tile;
  std::string_view type = c_type(c.accumulate);
  open(fmt::format("for (int k = 0; k < {}; ++k)", t.k));
  line("{} left[{}], right[{}];", type, t.thread_m, t.thread_n);
  line("for (int a = 0; a < {}; ++a) left[a] = left_tile[k][m_own + a * {}];", t.thread_m, t.m / t.thread_m);
  line("for (int b = 0; b < {}; ++b) right[b] = right_tile[k][n_own + b * {}];", t.thread_n, t.n / t.thread_n);
  line("for (int a = 0; a < {}; ++a)", t.thread_m);
  ++indent_;
  line("for (int b = 0; b < {}; ++b)", t.thread_n);
  ++indent_;
  product(c, "sums[a][b]", "left[a]", "right[b]");
  indent_ -= 2;
  close();
}

void KernelText::tile_epilogue(const Contract& c) {
  const Tile& t = launch_.tile;
  open(fmt::format("for (int a = 0; a < {}; ++a)", t.thread_m));
  open(fmt::format("for (int b = 0; b < {}; ++b)", t.thread_n));
  line("const {} m = m_from + m_own + a * {}, n = n_from + n_own + b * {};", index_type_, t.m / t.thread_m, t.n / t.thread_n);
  line("if (m >= {} || n >= {}) continue;", size_of(c, DimRole::m), size_of(c, DimRole::n));
  dims(c, DimRole::m, "m");
  dims(c, DimRole::n, "n");
  define(c.result, "result", "sums[a][b]");
  block(c.epilogue);
  close();
  close();
}

void KernelText::tiles(const Contract& c) {
  const Tile& t = launch_.tile;
  std::string_view type = c_type(c.accumulate);
  int64_t m = size_of(c, DimRole::m), n = size_of(c, DimRole::n), k = size_of(c, DimRole::k);
  int64_t down = (m + t.m - 1) / t.m, across = (n + t.n - 1) / t.n;
  line("// A block makes {} x {} of the {} x {} results, a thread {} x {} of these; {} of {} products at a time.", t.m, t.n, m, n,
       t.thread_m, t.thread_n, t.k, k);
  line("__shared__ {} left_tile[{}][{}];", type, t.k, t.m + 1);
  line("__shared__ {} right_tile[{}][{}];", type, t.k, t.n + 1);
  line("const {} m_from = blockIdx.x / {} % {} * {}, n_from = blockIdx.x % {} * {};", index_type_, across, down, t.m, across, t.n);
  line("const int m_own = threadIdx.x / {0}, n_own = threadIdx.x % {0};", t.n / t.thread_n);
  dims(c, DimRole::batch, fmt::format("({})blockIdx.x / {}", index_type_, down * across));
  line("{} sums[{}][{}] = {{}};", type, t.thread_m, t.thread_n);
  line("#pragma unroll 1");  // unrolled, the loads of several tiles are under way at once and registers run out
  open(fmt::format("for ({0} k_from = 0; k_from < {1}; k_from += {2})", index_type_, k, t.k));
  tile_operand(c, true, "left_tile");
  tile_operand(c, false, "right_tile");
  line("__syncthreads();");
  tile_sums(c);
  line("__syncthreads();");
  close();
  tile_epilogue(c);
}

// All threads of a block are here: each makes some of the results.
void KernelText::shared_contract(const Contract& c) {
  Touched touched = touched_by({&c.lhs, &c.rhs, &c.epilogue});
  wait_for(touched.reads, touched.writes);
  together_ = false;
  int64_t m = size_of(c, DimRole::m), n = size_of(c, DimRole::n);
  std::string e = unique("element"), k = unique("k");
  open(fmt::format("for ({0} {1} = threadIdx.x; {1} < {2}; {1} += {3})", index_type_, e, size_of(c, DimRole::batch) * m * n,
                   launch_.threads));
  dims(c, DimRole::batch, fmt::format("{} / {}", e, m * n));
  dims(c, DimRole::m, fmt::format("{} / {} % {}", e, n, m));
  dims(c, DimRole::n, fmt::format("{} % {}", e, n));
  std::string sum = unique("total");
  line("{} {} = 0;", c_type(c.accumulate), sum);
  open(fmt::format("for ({0} {1} = 0; {1} < {2}; ++{1})", index_type_, k, size_of(c, DimRole::k)));
  dims(c, DimRole::k, k);
  block(c.lhs);
  block(c.rhs);
  product(c, sum, converted(c, c.lhs_value), converted(c, c.rhs_value));
  close();
  define(c.result, "result", sum);
  block(c.epilogue);
  close();
  together_ = true;
}

}  // namespace hloc::gpu
