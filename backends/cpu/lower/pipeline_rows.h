// Software pipelining of rows: loops that walk a row one after the other become one loop, in which each works on another row.
//
//   for i in n { for j { m max= x[i,j] }; for j { row[j] = e = exp(x[i,j] - m); s += e }; for j { r[i,j] = row[j] / s } }
//     → for b in n / 64 {
//         for q in 64 + 2 {                         rows of the stages: i = q, k = q - 1, l = q - 2, all within 0 … 63
//           for j { old = row[j]
//                   m max= x[64 b + i, j]
//                   row[j] = e = exp(x[64 b + k, j] - m of row k); s += e
//                   r[64 b + l, j] = old / s of row l }
//         }
//       }
//
// A division, a maximum and a multiplication take different units of a processor, and loading from memory and storing to it
// take none of them; but loops that follow one another overlap little, since each is longer than a processor looks ahead.
// What the first turns of a block compute from nothing, later ones compute again: row 0 is stored three times, last its result.
// (Lam, "Software pipelining", PLDI 1988, with rows for iterations; Fog, "Instruction tables", for the units.)
#pragma once

#include <optional>
#include <vector>

#include "backends/cpu/kernel.h"

namespace hloc::cpu {

// What does the same as a loop over rows of the kernel's own block.
struct RowPipeline {
  loops::Loop loop;
  int64_t rows = 1;                       // of the other loop in an iteration of this one
  std::vector<loops::BufferId> streamed;  // outputs that it stores past the caches if they begin at whole vectors

  const loops::Loop& row_loop() const;  // the one over the elements of a row
};

// A pipeline for `rows` where there can be one and it pays; the names it needs are added to the kernel's. Results are the
// same; only sums may be taken in another order, which depends on the kernel and the machine alone. `in_place`: outputs that
// are the memory of an input. `worth_streaming`: see streamed_outputs in memory_traffic.h.
std::optional<RowPipeline> pipeline_rows(loops::Kernel& kernel, const loops::Loop& rows, const Machine& machine, const std::vector<loops::BufferId>& in_place,
                                         const std::vector<bool>& worth_streaming);

}  // namespace hloc::cpu
