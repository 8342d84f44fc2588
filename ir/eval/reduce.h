// What reduce, reduce-window and their relatives share: a body, inputs in the types that it takes, result arrays.
#pragma once

#include <vector>

#include "ir/eval/evaluator.h"

namespace hloc::ir::eval {

// A literal's elements, converted first when the body takes another element type.
class ReducerInput {
 public:
  ReducerInput(const Literal& literal, ElementType wanted);
  ReducerInput(ReducerInput&&) = default;  // a copy would point into the original
  ReducerInput& operator=(ReducerInput&&) = default;
  const std::byte* at(int64_t i) const { return bytes_ + i * width_; }
  int width() const { return width_; }

 private:
  Literal literal_;
  std::vector<std::byte> converted_;
  const std::byte* bytes_ = nullptr;
  int width_ = 0;
};

// With `wide`, f16, bf16 and narrower floats are added up (or multiplied) in f32 and rounded once at the end, as dot does;
// else each step is rounded to the element's own type.
class Reducer {
 public:
  // `count` arrays from operand `first` on and as many initial values after them; results filled with those.
  static Result<Reducer> make(Call& c, const Computation& computation, size_t count, bool wide);

  // acc[i] = f(acc[i], in[i]) for i < n; `in` are the accumulators, then the elements.
  Result<void> combine(std::span<const std::byte* const> in, std::span<std::byte* const> acc, int64_t n) {
    if (!wide_) return body_->run(in, acc, n);
    wide_->run(*wide_, in.data(), acc[0], n);
    return {};
  }
  bool is_fold() const { return wide_ || body_->is_fold(); }
  // acc = f(acc, in[i]) for i = 0…n-1.
  void fold(std::byte* acc, const std::byte* in, int64_t n) const {
    if (wide_) wide_->fold(*wide_, acc, in, n);
    else body_->fold(acc, in, n);
  }

  const ReducerInput& input(size_t k) const { return inputs_[k]; }
  std::byte* accumulators(size_t k) { return outputs_[k].mutable_bytes().data(); }
  Type result_type(size_t k) const { return outputs_[k].type(); }
  Literal result(Call& c);

 private:
  Body* body_ = nullptr;
  std::optional<Kernel> wide_;
  std::vector<ReducerInput> inputs_;
  std::vector<Literal> outputs_;  // one for each leaf of the result
};

}  // namespace hloc::ir::eval
