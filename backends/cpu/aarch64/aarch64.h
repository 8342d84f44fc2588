// From machine IR to A64 code (ARMv8-A with NEON).
//
//   legalise   instructions without a direct form become sequences of such that have one
//   allocate   machine/regalloc.h, with the register files of this target
//   emit       one function per kind of instruction, over the encoder's table
//
// `assemble` does all of it. A vector has 16 bytes; masks are vectors whose lanes are all ones or all zeros.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/cpu/machine/assembly.h"
#include "backends/cpu/machine/machine.h"
#include "backends/cpu/machine/object.h"
#include "backends/cpu/machine/regalloc.h"

namespace hloc::aarch64 {

constexpr int vector_bytes = 16;
// What allocation may use of the 32; the others are at the emitter's hand.
constexpr int vector_registers = 29;
constexpr uint64_t saved_by_callee_general = 0x1ff80000;  // x19 to x28

Result<void> legalise(machine::Function& f);
const machine::TargetRegs& target_regs();

// Takes the functions as they come from a Builder. Errors: kind `target` for wider vectors, and for a frame beyond 4 KiB.
Result<machine::ObjectCode> assemble(std::vector<machine::Function> functions, const machine::AssembleOptions& options = {});

}  // namespace hloc::aarch64
