// From machine IR to x86-64 code.
//
//   legalise        instructions without a direct form become sequences of such that have one
//   fold_operands   loads and constants with one user become memory operands of it
//   allocate        machine/regalloc.h, with the register files of this target
//   emit            one function per kind of instruction; AVX2 + FMA (x86-64-v3) or AVX-512 (x86-64-v4) encodings
//
// `assemble` does all of it.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "backends/cpu/machine/assembly.h"
#include "backends/cpu/machine/machine.h"
#include "backends/cpu/machine/object.h"
#include "backends/cpu/machine/regalloc.h"

namespace hloc::x86 {

// What the code may use. v3: AVX2, FMA, BMI1/2, F16C, LZCNT, MOVBE. v4: AVX-512 F, BW, CD, DQ, VL besides.
struct Features {
  bool v3 = false, v4 = false;
  bool avx_vnni = false, avx512_vnni = false, avx512_bf16 = false, avx512_fp16 = false, avx512_vbmi = false;
  bool avx512_vpopcntdq = false, avx512_bitalg = false;
  bool amx_tile = false, amx_int8 = false, amx_bf16 = false;

  int vector_bytes() const { return v4 ? 64 : 32; }
};

// Of the machine that this runs on: what the CPU has and the operating system has switched on.
Features detect();
// By target name: `native`, `x86-64-v3`, `x86-64-v4`; an error of kind `target` for `native` below v3 and of kind
// `usage` for other names. Says nothing about whether this machine can run it: see `can_run`.
Result<Features> features_of(std::string_view target);
bool can_run(const Features& wanted);

// Is there a way to emit `i`, directly or by legalise? Everything the verifier accepts is, but: masked loads and stores
// of 8- and 16-bit elements without AVX-512.
bool supports(const machine::Inst& i, const Features& features);

Result<void> legalise(machine::Function& f, const Features& features);
void fold_operands(machine::Function& f, const Features& features);
const machine::TargetRegs& target_regs(const Features& features);

using machine::AssembleOptions;

// Takes the functions as they come from a Builder. Errors: kind `target` for what the target cannot do (see `supports`;
// a frame beyond 4 KiB).
Result<machine::ObjectCode> assemble(std::vector<machine::Function> functions, const Features& features,
                                     const AssembleOptions& options = {});

}  // namespace hloc::x86
