// Small loops and contractions as statements.
#include <algorithm>

#include "backends/loops/forward.h"
#include "backends/loops/loop_part.h"
#include "backends/loops/rename.h"
#include "backends/loops/walk.h"
#include "include/hloc/tensor.h"

namespace hloc::loops {
namespace {

constexpr int64_t short_extent = 4, short_statements = 128, singles_statements = 64;

// How many sums a written-out sum of so many terms is made of: one addition waits for the other.
size_t chains_of(size_t terms) { return terms < 3 ? 1 : terms < 8 ? 2 : 4; }

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

// Appends what combines the values, neighbours first; the result.
ValueId by_tree(Kernel& kernel, Block& block, ScalarOp op, std::vector<ValueId> values) {
  while (values.size() > 1) {
    std::vector<ValueId> next;
    for (size_t i = 0; i + 1 < values.size(); i += 2) {
      kernel.values.push_back({kernel.type(values[i]), false, 0});
      next.push_back(static_cast<ValueId>(kernel.values.size() - 1));
      block.push_back({Compute{.result = next.back(), .op = op, .args = {values[i], values[i + 1], no_id}}});
    }
    if (values.size() % 2 == 1) next.push_back(values.back());
    values = std::move(next);
  }
  return values[0];
}

// Accumulators of the kernel's own block that no loop has a part in become trees of computations: in the order of the
// statements each step would wait for the one before.
void reduce_by_trees(Kernel& kernel) {
  struct Reduction {
    std::vector<ValueId> values;  // from the initial one on
    ScalarOp op = ScalarOp::Add;
    size_t gets = 0;
    bool is_tree = true;
  };
  std::vector<Reduction> reductions(kernel.accumulators.size());
  auto look = [&](const Statement& s, bool own) {
    auto* declare = s.as<Declare>();
    auto* accumulate = s.as<Accumulate>();
    auto* get = s.as<Get>();
    if (auto* loop = s.as<Loop>(); loop && loop->go_on != no_id) reductions[loop->go_on].is_tree = false;
    if (auto* set = s.as<Set>()) reductions[set->acc].is_tree = false;
    if (!declare && !accumulate && !get) return;
    Reduction& r = reductions[declare ? declare->acc : accumulate ? accumulate->acc : get->acc];
    r.is_tree = r.is_tree && own && (declare ? r.values.empty() : !r.values.empty());
    if (declare) r.values.push_back(declare->init);
    if (get) ++r.gets;
    if (!accumulate) return;
    r.is_tree = r.is_tree && r.gets == 0 && (r.values.size() == 1 || accumulate->op == r.op);
    r.op = accumulate->op;
    r.values.push_back(accumulate->value);
    ElementType type = kernel.type(accumulate->value);
    r.is_tree = r.is_tree && allows(r.op, type) && !is_half(type);  // those have no operations of their own
  };
  for (const Statement& s : kernel.body) {
    look(s, true);
    for_each_block(s, [&](const Block& inner) { for_each_statement(inner, [&](const Statement& deeper) { look(deeper, false); }); });
  }
  Block out;
  ValueMap results;
  for (Statement& s : kernel.body) {
    auto* declare = s.as<Declare>();
    auto* accumulate = s.as<Accumulate>();
    auto* get = s.as<Get>();
    AccId acc = declare ? declare->acc : accumulate ? accumulate->acc : get ? get->acc : no_id;
    if (acc == no_id || !reductions[acc].is_tree || reductions[acc].gets == 0) {
      out.push_back(std::move(s));
      continue;
    }
    if (!get) continue;
    Reduction& r = reductions[acc];
    for (ValueId& v : r.values)
      if (auto known = results.find(v); known != results.end()) v = known->second;
    r.values = {by_tree(kernel, out, r.op, std::move(r.values))};
    results[get->result] = r.values[0];
  }
  kernel.body = std::move(out);
  if (!results.empty()) replace_values(kernel, kernel.body, results);
}

class SmallContraction {
 public:
  SmallContraction(Kernel& kernel, const Contract& c) : kernel_(kernel), c_(c), zero_(static_cast<ValueId>(kernel.values.size())) {
    kernel.values.push_back({c.accumulate, true, 0});
  }

  int64_t statement_estimate() const {
    int64_t results = 1, terms = 1;
    for (const ContractDim& d : c_.dims)
      if (__builtin_mul_overflow(d.role == DimRole::k ? terms : results, d.extent, d.role == DimRole::k ? &terms : &results)) return INT64_MAX;
    int64_t each = statement_count(c_.lhs) + statement_count(c_.rhs) + 1;
    if (__builtin_mul_overflow(each, terms, &each) || __builtin_mul_overflow(each + statement_count(c_.epilogue), results, &each)) return INT64_MAX;
    return each;
  }

  Block run() {
    Block terms = unrolled(kernel_, nest(term(), true));
    auto is_sum = [&](const Statement& s) {
      auto* c = s.as<Compute>();
      return c && std::ranges::find(c->args, zero_) != c->args.end();
    };
    auto count = static_cast<size_t>(std::ranges::count_if(terms, is_sum));
    size_t chains = is_float(c_.accumulate) ? chains_of(count) : 1, done = 0;
    std::vector<ValueId> sums;
    Block element;
    for (Statement& s : terms) {
      if (is_sum(s)) {
        auto& c = *s.as<Compute>();
        bool begins = done == sums.size() * count / chains;  // the first sum from 0, so that no sum of zeros is -0
        if (begins && done > 0) c.op = ScalarOp::Mul, c.args[2] = no_id;
        else std::ranges::replace(c.args, zero_, begins ? zero_ : sums.back());
        if (begins) sums.push_back(no_id);
        sums.back() = c.result;
        ++done;
      }
      element.push_back(std::move(s));
    }
    ValueId sum = by_tree(kernel_, element, ScalarOp::Add, sums.empty() ? std::vector{zero_} : std::move(sums));
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
  ValueId zero_;
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
  reduce_by_trees(kernel);
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
