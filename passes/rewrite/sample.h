// Random left sides of rules: small graphs that a pattern matches, over any element type, with inputs that hold the
// values at which laws break.
#pragma once

#include <random>
#include <vector>

#include "passes/rewrite/pattern.h"

namespace hloc::passes {

class Sampler {
 public:
  Sampler(ir::ContextRef context, uint64_t seed, ElementType element);

  ir::ComputationBuilder& builder() { return builder_; }
  ir::Context& context() { return *builder_.context(); }
  ElementType element() const { return element_; }  // the one under test

  // A number in [0, n), and true once in n times.
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  bool chance(int64_t n) { return below(n) == 0; }
  ElementType any_element();
  ir::Ints shape(int64_t most_rank = 3);  // small sizes, often 1, seldom 0; mostly the one asked for before
  ir::Ints permutation(int64_t n);
  ir::Ints subset(int64_t n);             // of 0…n-1, in order
  ir::Type array(ElementType element, const ir::Ints& sizes) { return context().array(element, sizes); }

  ir::Value parameter(ir::Type type);
  // A computation to call, kept alive with the sampler.
  const ir::Computation* keep(ir::ComputationRef computation) { return kept_.emplace_back(std::move(computation)).get(); }
  std::span<const ir::ComputationRef> kept() const { return kept_; }
  ir::Value constant(ir::Type type, bool uniform);
  // Made with the inferred type; null when the operands do not fit the op.
  ir::Value make(ir::Op op, std::span<const ir::Value> operands, ir::Attr attr);
  ir::Value make(ir::Op op, std::initializer_list<ir::Value> operands, ir::Attr attr) {
    return make(op, std::span(operands.begin(), operands.size()), std::move(attr));
  }
  ir::Value make(ir::Op op, std::initializer_list<ir::Value> operands) { return make(op, operands, plain_attr(op)); }
  // An op with a random attribute that fits; null when there is none. Missing operands (null) are made up.
  ir::Value random_op(ir::Op op, std::vector<ir::Value> operands, std::optional<ir::Direction> direction = {});
  // A graph that the pattern may match; null when chance made none.
  ir::Value instance(const Pat& pattern);

  // A value for a parameter: random bits and special values.
  ir::Literal fill(ir::Type type);

 private:
  static ir::Attr plain_attr(ir::Op op);
  ir::Value array_or(ir::Value v, int64_t least_rank = 0);
  ir::Value random_elementwise(ir::Op op, std::vector<ir::Value> operands, std::optional<ir::Direction> direction);
  ir::Value random_broadcast(ir::Value x);
  ir::Value random_reshape(ir::Value x);
  ir::Value random_slice(ir::Value x);
  ir::Value random_pad(ir::Value x, ir::Value filler);
  ir::Value random_concatenate();
  ir::Value random_dynamic_slice();
  ir::Value random_dynamic_update();
  ir::Value random_dot(ir::Value x, ir::Value y);
  ir::Value random_conversion(ir::Op op, ir::Value x);
  ir::Value leaf(const PatNode& node, ir::Type type);

  std::mt19937_64 random_;
  std::vector<ir::ComputationRef> kept_;
  ir::ComputationBuilder builder_;
  ElementType element_;
  int64_t parameters_ = 0;
  int64_t cube_;  // above 0: all dimensions have this size, so that shapes fit by chance
  ir::Ints last_shape_;
  bool shaped_ = false;
  std::array<ir::Value, 8> variables_{};
};

}  // namespace hloc::passes
