// The right side of a rule, step by step: a small stack machine over its postfix nodes.
#pragma once

#include "passes/rewrite/pattern.h"

namespace hloc::passes {

// Makes instructions in a builder, for build functions and for the right sides of rules.
class BuilderReplacement final : public Replacement {
 public:
  explicit BuilderReplacement(ir::ComputationBuilder& builder) : builder_(builder) {}
  using Replacement::make;
  ir::Context& context() override { return *builder_.context(); }
  ir::Value make(ir::Op op, ir::Type type, std::span<const ir::Value> operands, ir::Attr attr = ir::NoAttr{},
                 std::span<const ir::Computation* const> callees = {}) override {
    return builder_.make(op, type, operands, std::move(attr), callees);
  }

 private:
  ir::ComputationBuilder& builder_;
};

class RightSide {
 public:
  enum class Step : uint8_t { made, done, failed };

  RightSide(const Rule& rule, const Match& match) : rule_(&rule), match_(match) {}

  // Runs until an instruction has been made (`value` is it; call `settle` with what stands for it), or to the end
  // (`value` is the whole replacement), or until it turns out that there is none.
  Step run(Replacement& out, ir::Value& value);
  void settle(ir::Value value) { push({value, nullptr}); }

  const Match& match() const { return match_; }

 private:
  struct Item {
    ir::Value value;         // null: a literal whose type its neighbours decide
    const PatNode* literal;
  };
  void push(Item item) { stack_[depth_++] = item; }
  ir::Value make(const PatNode& node, bool is_root, Replacement& out);
  ir::Value literal(const PatNode& node, ir::Type type, Replacement& out);
  std::optional<ir::Attr> attribute(const PatNode& node) const;

  const Rule* rule_;
  Match match_;
  std::array<Item, Pat::capacity> stack_{};
  uint8_t depth_ = 0, next_ = 0;
};

}  // namespace hloc::passes
