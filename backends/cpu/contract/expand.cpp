#include "backends/cpu/contract/expand.h"

#include "backends/cpu/contract/contract.h"

namespace hloc::cpu {
namespace {

using loops::Block;
using loops::Contract;
using loops::ContractDim;
using loops::DimRole;
using loops::ScalarOp;
using loops::ValueId;

class Expansion {
 public:
  Expansion(loops::Kernel& kernel, const Contract& c) : kernel_(kernel), c_(c) {}

  loops::Statement run() {
    loops::ValueId zero = constant(0);
    auto acc = static_cast<loops::AccId>(kernel_.accumulators.size());
    kernel_.accumulators.push_back({c_.accumulate});
    Block element;
    element.push_back({loops::Declare{acc, zero}});
    append_k_loops(element, acc);
    element.push_back({loops::Get{c_.result, acc}});
    element.insert(element.end(), c_.epilogue.begin(), c_.epilogue.end());
    return over_results(std::move(element));
  }

 private:
  ValueId value(ElementType type) {
    kernel_.values.push_back({type, false, 0});
    return static_cast<ValueId>(kernel_.values.size() - 1);
  }
  ValueId constant(int64_t number) {
    kernel_.values.push_back({c_.accumulate, true, loops::constant_bits(c_.accumulate, number)});
    return static_cast<ValueId>(kernel_.values.size() - 1);
  }
  ValueId converted(Block& block, ValueId v) {
    if (kernel_.type(v) == c_.accumulate) return v;
    ValueId out = value(c_.accumulate);
    block.push_back({loops::Compute{.result = out, .op = ScalarOp::Convert, .args = {v, loops::no_id, loops::no_id}}});
    return out;
  }

  // for k…: acc += lhs * rhs
  void append_k_loops(Block& element, loops::AccId acc) {
    Block inner = c_.lhs;
    inner.insert(inner.end(), c_.rhs.begin(), c_.rhs.end());
    ValueId x = converted(inner, c_.lhs_value), y = converted(inner, c_.rhs_value);
    ValueId product = value(c_.accumulate);
    inner.push_back({loops::Compute{.result = product, .op = ScalarOp::Mul, .args = {x, y, loops::no_id}}});
    inner.push_back({loops::Accumulate{acc, ScalarOp::Add, product}});
    bool innermost = true;
    for (size_t i = c_.dims.size(); i-- > 0;) {
      const ContractDim& d = c_.dims[i];
      if (d.role != DimRole::k) continue;
      loops::Loop loop{d.index, d.extent, innermost && contiguous(d) ? loops::LoopKind::vector : loops::LoopKind::serial, 0, std::move(inner)};
      innermost = false;
      inner = Block{};
      inner.push_back({std::move(loop)});
    }
    element.insert(element.end(), std::make_move_iterator(inner.begin()), std::make_move_iterator(inner.end()));
  }

  bool contiguous(const ContractDim& d) const {
    auto step = [&](const Block& block, ValueId v) {
      const loops::Load* load = loops::plain_load(block, v);
      return load ? load->access.offset.coefficient(d.index) : -1;
    };
    int64_t l = step(c_.lhs, c_.lhs_value), r = step(c_.rhs, c_.rhs_value);
    return (l == 1 || l == 0) && (r == 1 || r == 0);
  }

  // Loops over batch, m and n, the outermost parallel.
  loops::Statement over_results(Block element) {
    for (size_t i = c_.dims.size(); i-- > 0;) {
      const ContractDim& d = c_.dims[i];
      if (d.role == DimRole::k) continue;
      loops::Loop loop{d.index, d.extent, loops::LoopKind::serial, 0, std::move(element)};
      element = Block{};
      element.push_back({std::move(loop)});
    }
    if (auto* loop = element.front().as<loops::Loop>(); loop && element.size() == 1) {
      loop->grain = 1;
      return std::move(element.front());
    }
    // A single result: one turn of a loop that gives the block a place.
    auto index = static_cast<loops::IndexId>(kernel_.indices.size());
    kernel_.indices.push_back({loops::IndexKind::loop, {0, 0}, {}, 1, loops::no_id});
    return {loops::Loop{index, 1, loops::LoopKind::serial, 0, std::move(element)}};
  }

  loops::Kernel& kernel_;
  const Contract& c_;
};

}  // namespace

loops::Kernel expand_contractions(const loops::Kernel& kernel, const Machine& machine) {
  loops::Kernel out = kernel;
  for (size_t i = 0; i < kernel.body.size(); ++i) {
    auto* contract = kernel.body[i].as<Contract>();
    if (contract && !plan_contract(kernel, *contract, machine)) out.body[i] = Expansion(out, *contract).run();
  }
  return out;
}

}  // namespace hloc::cpu
