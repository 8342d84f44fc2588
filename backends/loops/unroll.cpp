// Small loops and contractions as statements.
#include <algorithm>

#include "backends/loops/forward.h"
#include "backends/loops/loop_part.h"
#include "backends/loops/walk.h"
#include "include/hloc/tensor.h"

namespace hloc::loops {
namespace {

constexpr int64_t short_extent = 4, short_statements = 128, singles_statements = 64;

bool is_unrollable(const Loop& loop) {
  if (loop.go_on != no_id) return false;
  return std::ranges::none_of(loop.body, [](const Statement& s) {
    return s.as<Loop>() || s.as<Contract>() || s.as<Derive>() || s.as<Set>() || s.as<Get>() || s.as<Declare>();
  });
}

// All loops of the block, from the outermost one on. Nesting is that of a contraction's dimensions.
Block unrolled(Kernel& kernel, Block block) {
  Block out;
  for (Statement& s : block) {
    auto* loop = s.as<Loop>();
    if (!loop) {
      out.push_back(std::move(s));
      continue;
    }
    for (int64_t i = 0; i < loop->extent; ++i) std::ranges::move(unrolled(kernel, iteration_of_loop(kernel, *loop, i)), std::back_inserter(out));
  }
  return out;
}

class SmallContraction {
 public:
  SmallContraction(Kernel& kernel, const Contract& c) : kernel_(kernel), c_(c) {}

  int64_t statement_estimate() const {
    int64_t results = 1, terms = 1;
    for (const ContractDim& d : c_.dims)
      if (__builtin_mul_overflow(d.role == DimRole::k ? terms : results, d.extent, d.role == DimRole::k ? &terms : &results)) return INT64_MAX;
    int64_t each = statement_count(c_.lhs) + statement_count(c_.rhs) + 1;
    if (__builtin_mul_overflow(each, terms, &each) || __builtin_mul_overflow(each + statement_count(c_.epilogue), results, &each)) return INT64_MAX;
    return each;
  }

  Block run() {
    ValueId zero = constant_zero(), sum = zero;
    Block element;
    for (Statement& s : unrolled(kernel_, nest(term(), true))) {
      if (auto* c = s.as<Compute>(); c && std::ranges::find(c->args, zero) != c->args.end()) {  // the term's end: goes on from the sum
        std::ranges::replace(c->args, zero, sum);
        sum = c->result;
      }
      element.push_back(std::move(s));
    }
    Block epilogue = c_.epilogue;
    for_each_statement(epilogue, [&](Statement& s) {
      for_each_value_slot(s, [&](ValueId& v) { v = v == c_.result ? sum : v; });
    });
    std::ranges::move(epilogue, std::back_inserter(element));
    return unrolled(kernel_, nest(std::move(element), false));
  }

 private:
  ValueId new_value() {
    kernel_.values.push_back({c_.accumulate, false, 0});
    return static_cast<ValueId>(kernel_.values.size() - 1);
  }
  ValueId constant_zero() {
    kernel_.values.push_back({c_.accumulate, true, 0});
    return zero_ = static_cast<ValueId>(kernel_.values.size() - 1);
  }

  // lhs, rhs, zero + lhs * rhs
  Block term() {
    Block out = c_.lhs;
    out.insert(out.end(), c_.rhs.begin(), c_.rhs.end());
    auto converted = [&](ValueId v) {
      if (kernel_.type(v) == c_.accumulate) return v;
      ValueId to = new_value();
      out.push_back({Compute{.result = to, .op = ScalarOp::Convert, .args = {v, no_id, no_id}}});
      return to;
    };
    ValueId x = converted(c_.lhs_value), y = converted(c_.rhs_value);
    if (is_float(c_.accumulate)) {
      out.push_back({Compute{.result = new_value(), .op = ScalarOp::Fma, .args = {x, y, zero_}}});
      return out;
    }
    ValueId product = new_value();
    out.push_back({Compute{.result = product, .op = ScalarOp::Mul, .args = {x, y, no_id}}});
    out.push_back({Compute{.result = new_value(), .op = ScalarOp::Add, .args = {zero_, product, no_id}}});
    return out;
  }

  // Loops over the dimensions of the sum, or over all others, around the block.
  Block nest(Block body, bool over_k) const {
    for (size_t i = c_.dims.size(); i-- > 0;) {
      const ContractDim& d = c_.dims[i];
      if ((d.role == DimRole::k) != over_k) continue;
      Loop loop{d.index, d.extent, LoopKind::serial, 0, std::move(body), no_id};
      body = Block{};
      body.push_back({std::move(loop)});
    }
    return body;
  }

  Kernel& kernel_;
  const Contract& c_;
  ValueId zero_ = no_id;
};

}  // namespace

// A loop over elements that were written one by one is written out up to a greater length: vectors would wait for the
// stores to reach memory.
void unroll_short_loops(Kernel& kernel) {
  Block out;
  std::vector<bool> written_singly(kernel.buffers.size());
  auto append = [&](Block statements) {
    for (Statement& s : statements) {
      if (auto* store = s.as<Store>()) written_singly[store->access.buffer] = true;
      out.push_back(std::move(s));
    }
  };
  auto takes_singles = [&](const Loop& loop) {
    return std::ranges::any_of(loop.body, [&](const Statement& s) {
      auto* load = s.as<Load>();
      return load && written_singly[load->access.buffer];
    });
  };
  for (Statement& s : kernel.body) {
    auto* loop = s.as<Loop>();
    int64_t statements = loop ? loop->extent * statement_count(loop->body) : 0;
    bool is_short = loop && is_unrollable(*loop) &&
                    ((loop->extent <= short_extent && statements <= short_statements) || (statements <= singles_statements && takes_singles(*loop)));
    if (!is_short) {
      Block one;
      one.push_back(std::move(s));
      append(std::move(one));
      continue;
    }
    for (int64_t i = 0; i < loop->extent; ++i) append(iteration_of_loop(kernel, *loop, i));
  }
  kernel.body = std::move(out);
}

void unroll_small_contractions(Kernel& kernel, int64_t most_statements) {
  Block out;
  for (Statement& s : kernel.body) {
    auto* contract = s.as<Contract>();
    bool is_small = contract && SmallContraction(kernel, *contract).statement_estimate() <= most_statements;
    if (is_small) std::ranges::move(SmallContraction(kernel, *contract).run(), std::back_inserter(out));
    else out.push_back(std::move(s));
  }
  kernel.body = std::move(out);
}

}  // namespace hloc::loops
