// How a contraction is cut: which dimension is n, what is packed, block sizes, pieces.
#include <algorithm>

#include "backends/cpu/contract/contract.h"
#include "backends/loops/rename.h"

namespace hloc::cpu {
namespace {

using loops::Contract;
using loops::ContractDim;
using loops::DimRole;

// Tiles, the better first. An AVX-512 core starts two 16-lane fma a cycle with 4 cycles latency, so 8 accumulators would do;
// more of them save loads: rows * vectors fma for rows + vectors loads. Those that need more registers than there are stand
// for what they become on a small result; of the others, 28, 24 and 12 accumulators leave registers for the rhs vectors and
// one broadcast.
constexpr Tile tile_table[] = {{14, 2}, {8, 3}, {28, 1}, {4, 6}, {1, 16}, {6, 2}, {4, 3}, {12, 1}, {2, 5}, {1, 7}};

bool is_legal(Tile t, int registers) { return t.rows * t.vectors + t.vectors + 1 <= registers; }

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t extent_of(const std::vector<ContractDim>& dims) {
  int64_t n = 1;
  for (const ContractDim& d : dims) n *= d.extent;
  return n;
}

// The step in elements of a plain load along a dimension; nothing for anything else.
std::optional<int64_t> stride_along(const loops::Block& block, loops::ValueId value, const std::vector<ContractDim>& dims) {
  const loops::Load* load = loops::plain_load(block, value);
  if (!load || dims.size() > 1) return {};
  return dims.empty() ? 0 : load->access.offset.coefficient(dims[0].index);
}

// Do both sides load the same from one buffer, lhs by m and rhs by n? And is there much below the diagonal?
bool is_symmetric(const ContractPlan& p, const Contract& c) {
  if (p.m.size() != 1 || p.n.size() != 1 || p.rows != p.columns) return false;
  if (p.rows < 4 * std::max<int64_t>(p.tile.rows, int64_t{p.tile.vectors} * p.lanes)) return false;
  const loops::Load *lhs = loops::plain_load(c.lhs, c.lhs_value), *rhs = loops::plain_load(c.rhs, c.rhs_value);
  if (!lhs || !rhs || lhs->access.buffer != rhs->access.buffer) return false;
  loops::IndexId m = p.m[0].index, n = p.n[0].index;
  if (p.swapped) std::swap(m, n);
  return rhs->access.offset == loops::replaced(lhs->access.offset, m, loops::Affine::of(n));
}

bool fits_displacement(int64_t bytes) { return bytes < (INT64_C(1) << 29) && bytes > -(INT64_C(1) << 29); }

}  // namespace

Tile choose_tile(const Machine& machine, int64_t m, int64_t n, int lanes) {
  // Work done per element of the result that exists: small shapes want a tile that fits them.
  Tile best{1, 1};
  double best_score = 0;
  for (Tile t : tile_table) {
    t.rows = static_cast<int>(std::min<int64_t>(t.rows, m));
    t.vectors = static_cast<int>(std::min<int64_t>(t.vectors, ceil_div(n, lanes)));
    if (!is_legal(t, machine.vector_registers)) continue;
    double fma = t.rows * t.vectors, loads = t.rows + t.vectors;
    double latency = std::min(1.0, fma / 8);
    double speed = latency * std::min(1.0, fma / loads / 1.5);
    double padded = static_cast<double>(ceil_div(m, t.rows) * t.rows) * static_cast<double>(ceil_div(n, t.vectors * lanes) * t.vectors * lanes);
    double score = speed * static_cast<double>(m) * static_cast<double>(n) / padded;
    if (score > best_score * 1.02) best = t, best_score = score;
  }
  return best;
}

namespace {

struct Grid {
  int64_t columns = 1, rows = 1;
};

// Vector operations that a grid costs: the products, and the packing that each piece does for itself. Packing an element
// is a load and a store of a lane, mostly from an outer cache.
double cost_of(const ContractPlan& p, Grid g) {
  constexpr double packing = 8;  // multiply-adds of a lane
  double depth = static_cast<double>(std::max<int64_t>(p.depth, 1)), rows = static_cast<double>(p.rows), columns = static_cast<double>(p.columns);
  double packed = (p.pack_lhs ? static_cast<double>(g.columns) * rows : 0) + (p.pack_rhs ? static_cast<double>(g.rows) * columns : 0);
  return depth * (rows * columns + packing * packed);
}

// Pieces: a grid over batches, columns and rows. More than one only where a piece has enough to do, and only so many that
// one thread alone hardly notices: each piece packs its own rows and columns.
void cut_pieces(ContractPlan& p) {
  constexpr double least_work = 1 << 20;  // multiply-adds, some tens of microseconds
  constexpr int64_t most = 8;
  constexpr double tolerated = 1.08;
  double work = static_cast<double>(p.batches) * static_cast<double>(p.rows) * static_cast<double>(p.columns) * static_cast<double>(std::max<int64_t>(p.depth, 1));
  auto wanted = std::clamp<int64_t>(static_cast<int64_t>(work / least_work), 1, most);
  int64_t tile_columns = int64_t{p.tile.vectors} * p.lanes;
  p.grid_batches = std::min(wanted, p.batches);
  int64_t rest = ceil_div(wanted, p.grid_batches);
  int64_t panels_n = std::max<int64_t>(ceil_div(p.columns, tile_columns), 1), panels_m = std::max<int64_t>(ceil_div(p.rows, p.tile.rows), 1);
  Grid best;
  for (int64_t rows = 1; rows <= std::min(rest, panels_m); ++rows) {
    for (int64_t columns = 1; columns <= std::min(rest / rows, panels_n); ++columns) {
      Grid g{columns, rows};
      if (cost_of(p, g) > tolerated * cost_of(p, {})) continue;
      int64_t pieces = rows * columns, before = best.rows * best.columns;
      if (pieces > before || (pieces == before && cost_of(p, g) < cost_of(p, best))) best = g;
    }
  }
  p.piece_batches = std::max<int64_t>(ceil_div(p.batches, p.grid_batches), 1);
  p.piece_columns = ceil_div(panels_n, best.columns) * tile_columns;
  p.piece_rows = ceil_div(panels_m, best.rows) * p.tile.rows;
  p.grid_batches = std::max<int64_t>(ceil_div(p.batches, p.piece_batches), 1);
  p.grid_columns = std::max<int64_t>(ceil_div(p.columns, p.piece_columns), 1);
  p.grid_rows = std::max<int64_t>(ceil_div(p.rows, p.piece_rows), 1);
  p.pieces = p.grid_batches * p.grid_columns * p.grid_rows;
}

void choose_packing(ContractPlan& p, const loops::Kernel& kernel, const Contract& c, const Machine& machine) {
  int64_t size = byte_width(c.accumulate);
  const loops::Block& lhs = p.swapped ? c.rhs : c.lhs;
  const loops::Block& rhs = p.swapped ? c.lhs : c.rhs;
  loops::ValueId lhs_value = p.swapped ? c.rhs_value : c.lhs_value, rhs_value = p.swapped ? c.lhs_value : c.rhs_value;
  int64_t tile_columns = int64_t{p.tile.vectors} * p.lanes;
  auto lhs_k = stride_along(lhs, lhs_value, p.k), lhs_m = stride_along(lhs, lhs_value, p.m);
  bool lhs_direct = kernel.type(lhs_value) == c.accumulate && lhs_k && lhs_m && fits_displacement(*lhs_m * size * p.tile.rows) &&
                    fits_displacement(*lhs_k * size * 4);
  // Rows far apart by a power of two fall into few cache sets; a copy of the panel, used for many columns, is cheaper.
  bool lhs_reused = p.columns >= 4 * tile_columns && p.tile.rows > 1;
  p.pack_lhs = !lhs_direct || (lhs_reused && *lhs_k == 1);

  auto rhs_k = stride_along(rhs, rhs_value, p.k), rhs_n = stride_along(rhs, rhs_value, p.n);
  bool partial = p.columns % p.lanes != 0;
  bool rhs_direct = kernel.type(rhs_value) == c.accumulate && rhs_k && rhs_n && *rhs_n == 1 && fits_displacement(*rhs_k * size * 4) &&
                    (!partial || size >= machine.masked_width);
  int64_t step = rhs_k ? std::abs(*rhs_k) * size : 0;
  p.prefetch_rhs = rhs_k && rhs_n && *rhs_n == 1 && p.k.size() == 1 && step >= 256 && fits_displacement(step * 32);
  // Packing reads and writes every element once; direct use pays by cache misses each time a panel is used again. Rows a
  // multiple of a page apart fall into few cache sets, so there a panel is read from far again and again. Where the outer
  // private cache holds rhs, but not its copy and what else passes through as well, prefetched rows are the cheaper ones
  // (f32 on a core with 2 MiB: 512^3 gains 15 % by it, 256^3 would lose as much).
  int64_t bytes = p.depth * p.columns * size;
  bool alone_fits = p.prefetch_rhs && step % 4096 != 0 && bytes > machine.l2_bytes / 4 && bytes <= machine.l2_bytes / 5 * 4;
  p.pack_rhs = !rhs_direct || (!alone_fits && p.rows > (step % 4096 == 0 ? 3 : 8) * p.tile.rows);
}

// Blocks of columns that stay in the outer private cache while all rows pass over them, and memory for what is packed.
void choose_blocks(ContractPlan& p, const Contract& c, const Machine& machine) {
  int64_t size = byte_width(c.accumulate), tile_columns = int64_t{p.tile.vectors} * p.lanes;
  p.block_columns = p.piece_columns * p.grid_columns;
  if (p.pack_rhs) {
    int64_t budget = machine.l2_bytes / 2;  // rows of lhs and results pass through it, too
    int64_t fit = budget / std::max<int64_t>(p.depth * size, 1) / tile_columns * tile_columns;
    p.block_columns = std::clamp(fit, tile_columns, p.block_columns);
  }
  p.lhs_row_stride = ceil_div(p.depth, p.lanes) * p.lanes + 64 / size;
  int64_t lhs_bytes = p.pack_lhs ? p.tile.rows * p.lhs_row_stride * size : 0;
  p.spare_bytes = (p.symmetric ? ceil_div(p.tile.rows, p.lanes) * p.lanes : p.tile.rows) * tile_columns * size;
  auto scratch = [&](int64_t columns) {
    int64_t rhs_bytes = p.pack_rhs ? columns * std::max<int64_t>(p.depth, 1) * size : 0;
    return (lhs_bytes + 63) / 64 * 64 + (rhs_bytes + 63) / 64 * 64 + p.spare_bytes;
  };
  p.scratch_bytes = scratch(std::min(p.block_columns, p.piece_columns));
  p.all_scratch_bytes = scratch(p.block_columns);
}

}  // namespace

std::optional<ContractPlan> plan_contract(const loops::Kernel& kernel, const Contract& c, const Machine& machine) {
  ContractPlan p;
  for (const ContractDim& d : c.dims) {
    std::vector<ContractDim>* lists[] = {&p.batch, &p.m, &p.n, &p.k};
    lists[static_cast<size_t>(d.role)]->push_back(d);
  }
  p.batches = extent_of(p.batch), p.rows = extent_of(p.m), p.columns = extent_of(p.n), p.depth = extent_of(p.k);
  if (p.batches == 0 || p.rows == 0 || p.columns == 0) return {};
  auto k_step = [&](const loops::Block& block, loops::ValueId v) { return stride_along(block, v, p.k).value_or(0); };
  bool both_along_k = k_step(c.lhs, c.lhs_value) == 1 && k_step(c.rhs, c.rhs_value) == 1;
  if ((p.rows == 1 || p.columns == 1) && both_along_k) return {};
  bool swap = p.n.size() != 1 || (p.columns == 1 && p.rows > 1);
  if (swap) {
    if (p.m.size() != 1) return {};
    std::swap(p.m, p.n);
    std::swap(p.rows, p.columns);
    p.swapped = true;
  }
  if (p.depth == 0) return {};
  int widest = std::max({byte_width(c.accumulate), widest_element(kernel, c.epilogue), widest_element(kernel, c.lhs), widest_element(kernel, c.rhs)});
  p.lanes = machine.vector_bytes / widest;
  while (p.lanes > 1 && p.lanes / 2 >= p.columns) p.lanes /= 2;
  p.tile = choose_tile(machine, p.rows, p.columns, p.lanes);
  p.symmetric = is_symmetric(p, c);
  choose_packing(p, kernel, c, machine);
  cut_pieces(p);
  choose_blocks(p, c, machine);
  return p;
}

}  // namespace hloc::cpu
