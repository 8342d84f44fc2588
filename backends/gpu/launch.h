// How a kernel of loop IR runs on a machine of blocks of threads: as one launch after the other.
//
//   threads   one thread per iteration of the grid's loops (and a guard at the tail), or for a few neighbouring ones that it
//             reads and writes by vectors
//   squares   one block per square of iterations of two of the grid's loops, each thread does some rows' element; what lies
//             side by side along the outer one of the loops is read so, by way of shared memory
//   parts     some blocks per iteration: each does a part of one loop over many elements, and leaves what it collected
//   block     one block per iteration: statements are executed by all its threads alike, loops over many elements are
//             shared by them, stores outside those are one thread's
//   tiles     a contraction: one block per tile of the result, tiles of both operands in shared memory
//
// A launch sees all stores of the launches before it. Plain statements of the kernel's own block are repeated in each
// launch that needs them. What is left of the kernel's block between launches of its own (loops that carry something,
// stores) is a launch of one thread, or of one block when it has loops to share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/loops/loops.h"
#include "include/hloc/result.h"
#include "passes/plan.h"

namespace hloc::gpu {

enum class Mapping : uint8_t { threads, squares, parts, block, tiles };

// Statements that run before the next level's loop, and that loop, whose iterations are the grid's.
struct GridLevel {
  std::vector<const loops::Statement*> statements;
  const loops::Loop* loop = nullptr;
};

// Elements of the result that one block makes, and one thread; steps of the sum between two barriers.
struct Tile {
  int m = 64, n = 64, k = 16, thread_m = 4, thread_n = 4;
  int threads() const { return m / thread_m * (n / thread_n); }
};

// Of shared memory: what a launch may have on every device, and its local buffers or squares of that; the rest is for tiles
// and sums.
inline constexpr int64_t most_block_bytes = 48 << 10, most_shared_bytes = 32 << 10;

// Threads of a wave on the devices where it has the fewest.
inline constexpr int least_wave = 32;

// Iterations along each side of a square, and how many rows of it a block's threads do at a time.
inline constexpr int square_side = 32, square_rows = 8;

// Where a local buffer lives.
enum class Place : uint8_t {
  none,        // not used by this launch
  registers,   // an array of one thread
  shared,      // one for each block
  per_thread,  // scratch in global memory, a part for each thread
  per_block,   // … for each block
  global,      // scratch in global memory, for all launches of the kernel
};

// A loop over many elements that a launch of its own has dealt out to some blocks for each iteration. What these collected
// is in `sums`, a buffer for each accumulator (in the order of collected_by) of iterations × parts elements.
struct Spread {
  const loops::Loop* loop = nullptr;
  int64_t parts = 1;
  std::vector<loops::BufferId> sums;
};

struct Launch {
  std::string name;
  Mapping mapping = Mapping::threads;
  std::vector<GridLevel> grid;                  // outermost first; empty: one iteration
  std::vector<const loops::Statement*> body;    // of one iteration
  std::vector<Spread> spread;                   // parts: the loop that it does; block: those that launches before have done
  const loops::Contract* contract = nullptr;    // tiles: of the kernel's own block; `body` is what it needs before
  Tile tile;
  int64_t iterations = 1;
  int lanes = 1;                                // neighbouring iterations of the grid's innermost loop that a thread does
  size_t square_level = 0;                      // squares: the other side is the grid's innermost loop
  int64_t blocks = 1;
  int threads = 1;                              // of a block
  bool is_cooperative = false;                  // threads of a block wait for each other
  std::vector<loops::BufferId> buffers;         // that are parameters of the function, in order
  std::vector<Place> places;                    // by buffer; inputs and outputs: none
  bool is_wide = false;                         // indices need 64 bits
};

struct GpuKernel {
  std::unique_ptr<loops::Kernel> kernel;        // launches point into it
  const plan::KernelStep* step = nullptr;
  std::vector<Launch> launches;
  std::vector<int64_t> scratch_offsets;         // by buffer; -1: not in global scratch
  int64_t scratch_bytes = 0;
  std::vector<bool> is_in_place;                // by buffer: an input that an output overwrites
};

struct GpuProgram {
  std::shared_ptr<const plan::Program> plan;
  std::vector<GpuKernel> kernels;               // in order of the plan's text
  int64_t scratch_bytes = 0;                    // kernels use it one after the other
};

// Errors: a fusion that cannot be lowered.
Result<GpuProgram> gpu_program(std::shared_ptr<const plan::Program> plan);

// Fills launches, scratch_offsets and scratch_bytes; the kernel gets a local buffer for each sum of parts.
void map_kernel(GpuKernel& kernel);

// Accumulators from outside that the loop adds to.
struct Collected {
  loops::AccId acc;
  loops::ScalarOp op;
};
std::vector<Collected> collected_by(const loops::Loop& loop);

// Null: the launch does the loop itself.
const Spread* spread_of(const Launch& launch, const loops::Loop* loop);

// Mapping `squares`: whether the loop of a level of the grid is one of the square's sides, and how many blocks lie along it.
bool is_side(const Launch& launch, size_t level);
int64_t blocks_along(const Launch& launch, size_t level);

// By buffer: one number for an input and the output that overwrites it.
std::vector<loops::BufferId> memories_of(const GpuKernel& kernel);

// Whether the iterations of a loop that all threads of a block reach together can be dealt out to them, and whether that is
// worth while: there are many, or nothing inside could be.
bool is_shareable(const loops::Kernel& kernel, const loops::Loop& loop);
bool is_shared_loop(const loops::Kernel& kernel, const loops::Loop& loop);

}  // namespace hloc::gpu
