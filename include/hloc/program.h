// Compiling a graph and calling the result.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "module.h"
#include "result.h"
#include "tensor.h"

namespace hloc {

// Runs pieces of a parallel loop. Which thread runs a piece never changes a result.
class Executor {
 public:
  virtual ~Executor() = default;
  // How many threads may work at once, the calling one included.
  virtual unsigned threads() const = 0;
  // Calls body(state, i) for every i in [0, count), on any threads, and returns when all are done.
  virtual void parallel_for(int64_t count, void (*body)(void* state, int64_t index), void* state) = 0;
};

// `threads` workers, the calling one included; 0: one per core.
std::unique_ptr<Executor> make_thread_pool(unsigned threads);

struct CompileOptions {
  std::string target = "native";  // a name of list_targets()
  std::vector<std::string> disabled_rules = {}, disabled_passes = {};  // names of list_rules() and list_passes()
  bool verify_each = false;  // verify after every pass
  // A folder that keeps what the compilers of devices' makers make, for the next time; made where there is none, and shared by
  // any number of processes. Empty: nothing is kept. Adds errors of kind `io`, where it can't be written.
  std::string cache = {};
  // Called with each level as it is made: ("00-read.hlo", text), ("01-inline.hlo", text) …; null: no text is made.
  std::function<void(const std::string& name, const std::string& text)> dump = {};
};

// What a launch of a kernel takes of a device, by the code that the maker's compiler made for it. What a maker does not say
// is absent.
struct KernelResources {
  std::string name;                                // of its function in the source
  int64_t registers = 0;                           // of a thread (AMD: vector registers), 32 bits each
  std::optional<int64_t> scalar_registers;         // of a wave; AMD
  std::optional<int64_t> accumulation_registers;   // of a thread, for matrix instructions; AMD
  int64_t shared_bytes = 0;                        // of a block
  int64_t stack_bytes = 0;                         // of a thread, in the device's memory: arrays, and registers that are spilled
  // Bytes that instructions of a thread's code store and load to spill registers, each instruction counted once; NVIDIA.
  std::optional<int64_t> spill_stored_bytes, spill_loaded_bytes;
  std::optional<int64_t> spilled_registers, spilled_scalar_registers;  // AMD

  bool spills() const {
    return spill_stored_bytes.value_or(0) + spill_loaded_bytes.value_or(0) + spilled_registers.value_or(0) + spilled_scalar_registers.value_or(0) > 0;
  }
};

// What compiling produced.
struct ProgramStats {
  std::string target;             // "native (x86-64-v4)"
  int64_t instructions = 0;       // in the graph as read
  int64_t kernels = 0;            // native kernels
  int64_t fallback_kernels = 0;   // host steps run by the evaluator
  std::vector<std::string> fallbacks;  // which ops, one per host step: "sort (main/sort.3)"
  int64_t arena_bytes = 0;        // scratch memory of one call
  int64_t code_bytes = 0;         // machine code and its constants
  std::vector<KernelResources> device_kernels;  // of code for a device, in the order of the plan; else empty
  std::optional<bool> from_cache;  // code for a device: whether it was in CompileOptions::cache and no compiler ran; absent: no cache
  std::string runner;             // the emulator that runs the code ("qemu-aarch64") where this machine can't; else empty
  double flops = 0, bytes = 0;    // of one call: arithmetic operations, and bytes kernels read and write
  double compile_ms = 0;
};

struct CallOptions {
  Executor* executor = nullptr;        // null: the calling thread alone
  // Testing aids: buffers between guard pages, and scratch filled with NaN patterns before the call.
  bool guard_pages = false;
};

// Leaves of parameters() and results() which a call may give the same memory: what the module's input_output_alias donates.
struct Alias {
  size_t parameter = 0, result = 0;
  bool must = false;  // the module says must-alias rather than may-alias; two memories do all the same
};

// Compiled code with its constants. Immutable; `call` is thread-safe and re-entrant.
class Program {
 public:
  class Implementation;
  explicit Program(std::shared_ptr<const Implementation> implementation) : implementation_(std::move(implementation)) {}

  const std::vector<Shape>& parameters() const;
  const std::vector<Shape>& results() const;
  const std::vector<Alias>& aliases() const;
  const ProgramStats& stats() const;

  // Dense row-major bytes, one span per leaf (Shape::bytes() of parameters() and results()), aligned at least to their
  // elements. Inputs and outputs must not overlap, but for a pair of aliases(), which may be one memory. An error of kind `input` when there are too many, too few, or of
  // another size; `memory` when scratch can't be had.
  Result<void> call(std::span<const std::span<const std::byte>> inputs, std::span<const std::span<std::byte>> outputs,
                    const CallOptions& options = {}) const;

 private:
  std::shared_ptr<const Implementation> implementation_;
};

// Code for options.target in this process. Errors: `input` when the module does not verify or a constant was elided,
// `usage` for an unknown target, rule or pass, `target` when this machine can't run the target's code or a shape is
// dynamic.
Result<Program> compile(const Module& module, const CompileOptions& options = {});

// An object file (x86-64: ELF) and the C header that declares what is in it.
struct ObjectFile {
  std::vector<std::byte> object;
  std::string header;
};
// `symbol` names the function: a C identifier. Nothing of this machine is in the object but, for "native", what its CPU
// has. Errors as for `compile`, and of kind `target` where an op has no native code.
// `stats`, where given, says what compiling produced.
Result<ObjectFile> compile_object(const Module& module, std::string_view symbol, const CompileOptions& options = {}, ProgramStats* stats = nullptr);

// A level of the compiler as text: "hlo" (optimised), "plan", "loops", "machine", "asm"; an error of kind `usage` lists what
// the target can print. Code by the compiler of a device's maker, too: "ptx", "cubin", "code-object"; an error of kind `target`
// where it is not installed. `stats` as for compile_object; device_kernels is filled for code that a device takes as it is.
Result<std::string> emit(const Module& module, std::string_view kind, const CompileOptions& options = {}, ProgramStats* stats = nullptr);

// Runs passes by name, in this order; each result is verified.
Result<Module> optimize(const Module& module, std::span<const std::string> passes, const CompileOptions& options = {});

// What the passes of `compile` decided, in their order: rules that fired, calls that were inlined, each fusion that was made
// or refused with its numbers.
struct Decision {
  std::string pass, rule;                // rule: of the pass, for instance "join" or "mul-one"; may be empty
  std::string computation, instruction;  // by name
  std::string text;                      // why, and what it saves or costs
};
Result<std::vector<Decision>> explain(const Module& module, const CompileOptions& options = {});

// The smallest module, by steps that only take away, for which `still_fails` says yes; it must say so of `module`. Every
// module it is given verifies. It may be called many times, always from the calling thread.
Result<Module> shrink(const Module& module, const std::function<bool(const Module&)>& still_fails);

// The first pass after which the evaluator gives another result, bit by bit, and the rewrite rule in it that is to blame.
struct Culprit {
  std::string pass;  // empty: no pass changes the result, so what is wrong comes after them
  std::string rule;  // empty: not one rule alone
};
// `inputs` as for Program::call.
Result<Culprit> bisect(const Module& module, std::span<const std::span<const std::byte>> inputs, const CompileOptions& options = {});

// Interprets the text of a loop-IR kernel on inputs, as loops_signature gives them; the buffers that it writes come back.
Result<std::vector<std::vector<std::byte>>> run_loops(std::string text, std::string file,
                                                      std::span<const std::span<const std::byte>> inputs);
// Buffers that a loop-IR kernel reads and writes.
struct LoopSignature {
  std::vector<Shape> inputs, outputs;
};
Result<LoopSignature> loops_signature(std::string text, std::string file);

// Lists for people: a name, the group it belongs to ("" where there are none), and one line about it.
struct ListEntry {
  std::string name, family, text;
};
// HLO name, StableHLO name, how many operands: "2", "0-1", "1+".
std::vector<ListEntry> list_ops();
// The law, and in brackets the element types it holds for when it is not all: "x - x => 0 [integers]".
std::vector<ListEntry> list_rules();
std::vector<ListEntry> list_passes();
std::vector<ListEntry> list_targets();

// Good when there is a target of that name; else an error of kind usage that names the nearest and all of them.
Result<void> find_target(std::string_view name);

}  // namespace hloc
