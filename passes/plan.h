// The hand-over from the middle to the backends: a program as a tree of steps over buffers.
//
// A fused, scheduled module becomes:
//   kernel   a `fusion` instruction whose every op the target supports
//   host     any other computing instruction; the evaluator runs it on dense row-major buffers
//   copy     bytes from one buffer to another
//   while_   runs `condition`, reads a pred, runs `body`, again
//   branch   runs one of several blocks, chosen by a pred or an s32
// Tuples, get-tuple-element, parameters and constants are no steps: they only name buffers. Calls are inlined before.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "include/hloc/result.h"
#include "ir/graph.h"
#include "ir/target.h"

namespace hloc::plan {

using BufferId = uint32_t;

enum class Storage : uint8_t {
  parameter,  // `index` is the parameter leaf: leaves of all parameters, depth first
  result,     // `index` is the result leaf
  constant,   // `index` into Program::constants
  arena,      // `offset` into the arena
};

// A dense array in memory. Layouts of types have been honoured before: bytes are logical row-major, one element after
// the other, sub-byte elements one byte each.
struct Buffer {
  Storage storage = Storage::arena;
  uint32_t index = 0;
  int64_t offset = 0;
  ir::Type type;
  std::string name;      // of the instruction (and tuple index) that made it
  // First and last position (see Step::position) at which it holds a value; for explain and tests. In between it may be
  // free for a while and hold others' bytes.
  uint32_t first = 0, last = 0;

  int64_t bytes() const { return type.byte_size(); }
};

struct Step;
using Block = std::vector<Step>;

struct KernelStep {
  ir::Value fusion = nullptr;          // Op::Fusion; its computation is fusion->callee(0)
  std::vector<BufferId> inputs;        // one per parameter of the fused computation
  std::vector<BufferId> outputs;       // one per leaf of its result; never overlapping an input unless listed below
  // outputs[in_place.second] is the same memory as inputs[in_place.first]: every access to that input is the output's
  // identity map, so each element is read before it is written.
  std::vector<std::pair<uint32_t, uint32_t>> in_place;
};
struct HostStep {
  ir::Value instruction = nullptr;
  std::vector<BufferId> inputs;   // leaves of the operands that are arrays, in order, depth first
  std::vector<BufferId> outputs;  // leaves of the result that are arrays; never overlapping an input
};
struct CopyStep {
  BufferId from = 0, to = 0;  // the caller may have made them one memory: see Alias
};
// A carry and the array that holds its next value, of equal size and apart: after each turn of the body they change
// places, which renews the carry without a copy. Each list has the buffers that are this one array, under several types.
struct Exchange {
  std::vector<BufferId> carry, next;
};
struct WhileStep {
  Block condition;
  BufferId predicate = 0;  // pred[]
  Block body;              // ends with the copies that renew the carries
  // What change places between a turn and the next test. When the loop ends, every array is in its own place again: a
  // carry that is not there then is copied back, and `next` has no meaning any more. No array is in two exchanges.
  std::vector<Exchange> exchanges;
};
struct BranchStep {
  BufferId selector = 0;   // pred[] (true: branches[0]) or s32[] (out of range: the last)
  std::vector<Block> branches;
};

struct Step {
  std::variant<KernelStep, HostStep, CopyStep, WhileStep, BranchStep> what;
  ir::Value origin = nullptr;                    // the instruction it is for
  const ir::Computation* computation = nullptr;  // where that stands
  // When it runs, for live ranges: positions count from 1 through the tree in order of the text. Copies that belong
  // together (the carries of a loop, the results of a branch) have one position.
  uint32_t position = 0;
};

// By input_output_alias one memory may serve for parameter leaf `parameter` and result leaf `result`: every step reads
// what it needs of the parameter before a step writes the result.
struct Alias {
  uint32_t parameter = 0, result = 0;
  bool must = false;
};

struct Program {
  ir::ModuleRef module;              // fused and scheduled; owns every Value and Computation named here
  std::vector<Buffer> buffers;
  std::vector<ir::Literal> constants;
  std::vector<BufferId> parameters;  // one per parameter leaf that is an array
  std::vector<BufferId> results;     // one per result leaf that is an array; each has Storage::result
  std::vector<Alias> aliases;
  Block steps;
  int64_t arena_bytes = 0;
  int64_t arena_lower_bound = 0;     // most bytes alive at one moment
};

// Counts over the whole tree, each step once.
struct Counts {
  int64_t kernels = 0, host_steps = 0, copies = 0;
};
Counts count_steps(const Program& program);

// Buffers and steps for a module that the `fuse` and `schedule` passes have left. Errors: an element count that does not fit, a dynamic
// dimension, an elided constant.
Result<std::shared_ptr<const Program>> make_program(const ir::ModuleRef& module, const ir::Target& target);

// The tree as text: buffers with offsets and live ranges, steps indented; for `--emit plan` and tests.
std::string to_string(const Program& program);

}  // namespace hloc::plan
