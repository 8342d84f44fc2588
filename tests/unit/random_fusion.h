// Random computations out of the ops that loops are made from, with inputs on which every order of summation is exact:
// small whole numbers.
#pragma once

#include <optional>
#include <random>
#include <string>

#include "ir/graph.h"

namespace hloc::test {

class RandomFusion {
 public:
  explicit RandomFusion(uint64_t seed) : random_(seed), context_(std::make_shared<ir::Context>()) {}

  // A computation of about `ops` instructions; its root is an array or a tuple of some.
  ir::ComputationRef make(int ops);
  // Literals for the parameters.
  std::vector<ir::Literal> inputs(const ir::Computation& computation);
  const ir::ContextRef& context() const { return context_; }

 private:
  using Sizes = std::vector<int64_t>;

  int64_t pick(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  ir::Value any() { return values_[static_cast<size_t>(pick(static_cast<int64_t>(values_.size())))]; }
  ir::Value any_of(ElementType element);
  ir::Value scalar(ElementType element, int64_t value);
  ir::Value as(ir::Value v, ElementType element);
  ir::Value like(ir::Value v, ir::Type type);  // broadcast or cut to a shape
  const ir::Computation* reducer(ir::Op op, ElementType element);

  ir::Value elementwise();
  ir::Value choose();
  ir::Value broadcast();
  ir::Value reshape();
  ir::Value transpose();
  ir::Value slice();
  ir::Value pad();
  ir::Value concatenate();
  ir::Value dynamic();
  ir::Value gather();
  ir::Value reduce();
  ir::Value window();
  ir::Value dot();
  ir::Value convolution();

  std::mt19937_64 random_;
  ir::ContextRef context_;
  std::unique_ptr<ir::ComputationBuilder> b_;
  std::vector<ir::Value> values_;
  std::vector<ir::ComputationRef> reducers_;
};

// A computation that calls `fused` as a fusion on its parameters; its root is the fusion.
ir::ComputationRef calling(const ir::ContextRef& context, const ir::Computation& fused);

// Lowers the fusion, interprets the loops after lowering, scheduling and legalising, and compares the bytes with what the
// evaluator gives. The text says what differs; nothing: all agree.
std::optional<std::string> check_lowering(ir::Value fusion, std::span<const ir::Literal> inputs);

}  // namespace hloc::test
