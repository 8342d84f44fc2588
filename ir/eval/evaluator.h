// The evaluator's inside: what an op's function is given, and the machine that runs computations.
//
// A computation is run instruction by instruction. A value is dropped after its last use, and an op owns the operands whose
// last use it is, so that an update of a slice can happen in place. A tuple of which only elements are read is taken
// apart at once; so a loop's carries are owned one by one.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/eval/body.h"
#include "ir/eval/eval.h"
#include "ir/support/source.h"

namespace hloc::ir::eval {

class Evaluator;

// One op being evaluated. `in` are the operands; `type` is what the result must have.
struct Call {
  Value v;
  Type type;
  std::span<Literal> in;
  Evaluator& eval;

  template <class A>
  const A& attr() const {
    return v->as<A>();
  }
};

using OpFunction = Result<Literal> (*)(Call&);

class Evaluator {
 public:
  explicit Evaluator(const EvalOptions& options, const Source* source = nullptr);

  Result<Literal> run(const Computation& computation, std::vector<Literal> arguments);
  Result<Literal> apply(Value v, std::span<Literal> operands);
  // A scalar computation ready to run on many elements; built once for each computation.
  Body& body(const Computation& computation);

  // Literals whose bytes count as live until their last copy is gone. The caller has made sure by reserve(), which
  // apply() calls for the result of each op.
  Literal allocate(Type array);
  Literal zeros(Type array);
  // The same array with another element type, for values inside an op.
  Type scratch_type(Type array, ElementType element);
  // An operand's value to write over: itself when nobody else needs it, a copy else.
  Result<Literal> owned(Literal&& operand);
  // An error of kind `memory` when `bytes` more would be too many.
  Result<void> reserve(int64_t bytes) const;

  // An error at the instruction that is being evaluated.
  Diagnostic fail(const std::string& message, ErrorKind kind = ErrorKind::input) const;
  std::string current_name() const;

  // Ops that have state: how often the generator of `rng` was used, and the state of rng-get-and-update-state.
  uint64_t rng_uses = 0;
  uint64_t rng_state[2] = {0x7012395, 0};
  int64_t device_count = 1;

  static constexpr int max_depth = 512;

 private:
  // What running a computation needs to know of it, found once.
  struct Plan {
    std::vector<uint32_t> uses;                // by live users; the root has one more
    std::vector<bool> live;                    // the root or an effect needs it
    std::vector<std::vector<Value>> elements;  // of a tuple that only get-tuple-element reads: those readers
  };
  struct Frame;

  const Plan& plan(const Computation& computation);
  Result<void> step(Frame& frame, Value v);
  void define(Frame& frame, Value v, Literal value);
  Result<void> check_static(Value v) const;

  const EvalOptions& options_;
  const Source* source_;
  std::shared_ptr<std::atomic<int64_t>> live_bytes_;
  std::deque<TypeNode> scratch_types_;
  std::unordered_map<const Computation*, Plan> plans_;
  std::unordered_map<const Computation*, std::unique_ptr<Body>> bodies_;
  const Computation* current_computation_ = nullptr;
  Value current_ = nullptr;
  int64_t steps_ = 0;
  int depth_ = 0;
};

// The function of an op, how many bytes of scratch it may need for each element of operands and results, or null.
struct OpRow {
  Op op;
  OpFunction function;
  enum Bytes : uint8_t { fresh, passed } bytes = fresh;  // passed: no new array; operands or callees give the bytes
  int scratch = 0;
};
const OpRow* find_op_row(Op op);

}  // namespace hloc::ir::eval
