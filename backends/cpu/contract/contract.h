// Contractions (the `Contract` statement of loop IR) as blocked, packed matrix products in registers, in the BLIS way
// (Van Zee & van de Geijn, "BLIS: A Framework for Rapidly Instantiating BLAS Functionality", 2015):
//
//   for each piece (a range of batches, rows m and columns n)
//     for blocks of NC columns:            pack them to panels of NR columns, k by k, unless rhs is good as it is
//       for panels of MR rows:             pack them row by row, unless lhs is good as it is
//         for the block's panels of NR columns:   MR × NR accumulators in registers over all of k; epilogue on them
//
// A matrix times its own transpose is symmetric: register blocks that lie below the diagonal are left out, and each of the
// others does the epilogue for what is opposite, too.
//
// k is summed in ascending order in one go, so a result depends neither on pieces nor on threads. Extents are known when
// the code is made: edges have code of their own.
//
// What is no matrix product (a vector times a matrix along contiguous k, no single n dimension) becomes plain loops:
// see expand.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/cpu/kernel.h"
#include "backends/cpu/lower/emit_block.h"

namespace hloc::cpu {

// The register block of the micro-kernel: `rows` accumulator rows of `vectors` vectors.
struct Tile {
  int rows = 1, vectors = 1;
};

// The best tile that fits: accumulators, one vector of rhs per column vector, one broadcast of lhs.
Tile choose_tile(const Machine& machine, int64_t m, int64_t n, int lanes);

struct ContractPlan {
  std::vector<loops::ContractDim> batch, m, n, k;
  int64_t batches = 1, rows = 1, columns = 1, depth = 1;
  bool swapped = false;         // lhs plays rhs: m and n changed places so that n is one dimension
  bool symmetric = false;       // result (m, n) = result (n, m), and worth it
  int lanes = 1;
  Tile tile;
  bool pack_lhs = true, pack_rhs = true;
  bool prefetch_rhs = false;    // rows of rhs lie too far apart for the hardware to see them coming
  int64_t block_columns = 0;    // NC, a multiple of the tile's columns
  int64_t piece_batches = 1, piece_rows = 0, piece_columns = 0;  // extents of one piece
  int64_t grid_batches = 1, grid_rows = 1, grid_columns = 1;     // pieces along each
  int64_t pieces = 1;           // independent parts
  int64_t scratch_bytes = 0;    // packed panels of a call that does one piece
  int64_t all_scratch_bytes = 0;  // … of a call that does several
  int64_t spare_bytes = 0;      // of those for a tile on its way through memory; columns of it are read in whole vectors
  int64_t lhs_row_stride = 0;   // elements between rows of a packed lhs panel
};

// Nothing when the contraction is better (or only) done as plain loops.
std::optional<ContractPlan> plan_contract(const loops::Kernel& kernel, const loops::Contract& contract, const Machine& machine);

// Appends the code for pieces [begin, end) (general registers). `scratch`: a general register, 64-byte aligned memory.
// What can't be lowered is left in emitter.failure.
void emit_contract(BlockEmitter& emitter, const loops::Contract& contract, const ContractPlan& plan, Reg scratch, Reg begin, Reg end);

}  // namespace hloc::cpu
