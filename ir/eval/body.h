// A scalar computation (the body of reduce, sort, map, scatter…) made ready to run on many elements.
//
// It is flattened into a list of kernels on registers; a register holds a batch of elements. A body with an op that is no
// elementwise op on scalars (a loop, say) is run by the evaluator element by element instead.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "include/hloc/result.h"
#include "ir/eval/kernel.h"
#include "ir/graph.h"

namespace hloc::ir::eval {

class Evaluator;

class Body {
 public:
  Body(const Computation& computation, Evaluator& evaluator);

  // in[k] points at n elements for parameter k, out[j] at n for leaf j of the root; an output may be an input.
  Result<void> run(std::span<const std::byte* const> in, std::span<std::byte* const> out, int64_t n);

  // acc = f(acc, in[i]) for i = 0…n-1, where the body is one binary op on its two parameters.
  bool is_fold() const { return fold_.has_value(); }
  std::optional<Op> fold_op() const { return fold_ ? std::optional(fold_op_) : std::nullopt; }
  void fold(std::byte* acc, const std::byte* in, int64_t n) const { fold_->fold(*fold_, acc, in, n); }

  ElementType parameter(size_t k) const { return parameters_[k]; }
  ElementType result(size_t j) const { return results_[j]; }
  size_t result_count() const { return results_.size(); }

 private:
  struct Step {
    Kernel kernel;
    Op op;
    std::array<uint32_t, 3> in{};
    uint32_t out = 0;
  };
  // What a value of a computation is while flattening: registers of its leaves.
  using Registers = std::vector<uint32_t>;

  bool flatten(const Computation& computation, std::span<const Registers> arguments, Registers& root, int depth);
  bool flatten(Value v, std::vector<Registers>& values, std::span<const Registers> arguments, int depth);
  bool flatten_kernel(Value v, std::span<const Registers> operands, Registers& out);
  uint32_t new_register(ElementType type);
  void find_fold();
  Result<void> run_steps(std::span<const std::byte* const> in, std::span<std::byte* const> out, int64_t n);
  Result<void> run_evaluator(std::span<const std::byte* const> in, std::span<std::byte* const> out, int64_t n);

  const Computation& computation_;
  Evaluator& evaluator_;
  std::vector<ElementType> parameters_, results_;
  bool flattened_ = false;
  std::vector<Step> steps_;
  std::vector<ElementType> register_types_;
  std::vector<std::pair<uint32_t, Literal>> constants_;
  Registers root_;
  std::vector<std::byte> storage_;
  std::vector<std::byte*> registers_;  // of the batch that is being run
  std::optional<Kernel> fold_;
  Op fold_op_ = Op::Add;
};

}  // namespace hloc::ir::eval
