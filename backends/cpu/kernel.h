// From one kernel of loop IR to one machine function: what every CPU shares above the encodings.
//
// The function is
//
//   void name(void* const* buffers, std::byte* scratch, int64_t begin, int64_t end)
//
// buffers[b] is the memory of the kernel's input and output buffers in their order. It does pieces [begin, end) of
// `pieces`; pieces write disjoint memory, need no order, and how many there are depends on the kernel alone, so results
// are the same for any number of threads. `scratch` has `scratch_bytes` bytes where the call does one piece, else
// `all_scratch_bytes`; 64-byte aligned, used by this call only.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/cpu/machine/machine.h"
#include "backends/loops/loops.h"
#include "include/hloc/result.h"
#include "ir/target.h"

namespace hloc::cpu {

// What lowering to machine IR depends on.
struct Machine {
  int vector_bytes = 32;        // 16, 32 or 64
  int vector_registers = 16;
  int masked_width = 4;         // bytes of the narrowest elements that masked memory access takes; more than 8: there is none
  bool has_gather = true;       // loads of lanes that lie apart
  int64_t l1_bytes = 32 << 10, l2_bytes = 512 << 10, l3_bytes = 8 << 20;
  int64_t streaming_bytes = 16 << 20;  // outputs of at least this size are stored past the caches
};

struct CompiledKernel {
  machine::Function function;
  int64_t pieces = 1;
  int64_t scratch_bytes = 0, all_scratch_bytes = 0;
};

// `kernel` has been verified and legalised. An error of kind `target` when it holds what this backend can't lower (then
// `supports` is wrong: the planner must not have made it). `in_place`: outputs that are the memory of an input.
Result<CompiledKernel> compile_kernel(const loops::Kernel& kernel, const Machine& machine, std::string name,
                                      const std::vector<loops::BufferId>& in_place = {});

// ---- Kernels inside other functions ----

// Statements that the kernel executes, up to INT64_MAX / 2; how many pieces it has; bytes of its local buffers.
int64_t statements_run(const loops::Kernel& kernel);
int64_t piece_count(const loops::Kernel& kernel);
int64_t local_bytes(const loops::Kernel& kernel);

// Contractions have code of their own and stay functions.
bool can_inline(const loops::Kernel& kernel);

struct BufferAddress {
  machine::Reg base;
  int32_t offset = 0;
};

// Appends all pieces of the kernel to a function. `buffers` as for the function of the kernel; `scratch` has local_bytes.
Result<void> emit_inline(machine::Builder& builder, const loops::Kernel& kernel, const Machine& machine, std::span<const BufferAddress> buffers,
                         machine::Reg scratch);

// Such a kernel as the whole body of a loop. Elements that a turn reads at known places stay in registers from turn to turn,
// as many as there are registers for, alone or as lanes of a vector (lower/superword.h); what a turn changes of them is stored
// when the loop is left. `apart`, by buffer: it has no byte in common with another one of the kernel.
class InlineBody {
 public:
  InlineBody(machine::Builder& builder, const loops::Kernel& kernel, const Machine& machine, std::vector<BufferAddress> buffers, machine::Reg scratch,
             const std::vector<bool>& apart);
  ~InlineBody();
  void enter();         // right before the loop's first turn
  Result<void> turn();  // appends one turn
  void leave();         // right after the last one

 private:
  struct Plan;
  machine::Builder& b_;
  const loops::Kernel& kernel_;
  const Machine& machine_;
  std::vector<BufferAddress> buffers_;
  machine::Reg scratch_;
  std::unique_ptr<Plan> plan_;
};

}  // namespace hloc::cpu
