// Dot and convolution as a Contract. The result's loop variables become its batch, m and n dimensions by which factor they
// occur in; so transposes, reshapes and groups need no rules of their own.
#include "backends/loops/lower_contract.h"

#include <algorithm>
#include <unordered_set>

#include "backends/loops/walk.h"

namespace hloc::loops {
namespace {

bool is_contraction(ir::Value v) { return v->op == ir::Op::Dot || v->op == ir::Op::Convolution; }

// The contraction that the outputs need without looking through reductions and the like; nullptr: none or several.
ir::Value hero_of(const std::vector<Output>& outputs) {
  std::unordered_set<ir::Value> seen;
  std::vector<ir::Value> stack;
  ir::Value hero = nullptr;
  for (const Output& o : outputs) stack.push_back(o.producer.instruction);
  while (!stack.empty()) {
    ir::Value v = stack.back();
    stack.pop_back();
    if (!seen.insert(v).second) continue;
    if (is_contraction(v)) {
      if (hero) return nullptr;
      hero = v;
      continue;
    }
    bool runs_loops = v->op == ir::Op::Reduce || v->op == ir::Op::ReduceWindow;
    if (!runs_loops && v->op != ir::Op::Parameter)
      for (ir::Value o : v->operands()) stack.push_back(o);
  }
  return hero;
}

// Loop variables that an index expression is made of, through derived indices.
void add_roots(const Kernel& kernel, const Affine& a, std::unordered_set<IndexId>& out) {
  for (const Term& t : a.terms) {
    const Index& i = kernel.indices[t.index];
    if (i.kind == IndexKind::loop) out.insert(t.index);
    else add_roots(kernel, i.of, out);  // a derived index is made from older ones: as deep as reshapes are stacked
  }
}

bool is_plain(const Kernel& kernel, const std::vector<Affine>& index) {
  for (const Affine& a : index)
    for (const Term& t : a.terms)
      if (kernel.indices[t.index].kind != IndexKind::loop) return false;
  return true;
}

bool has_loops(const Block& block) {
  return std::any_of(block.begin(), block.end(), [](const Statement& s) { return s.as<Loop>() || s.as<Declare>(); });
}

class ContractLowering {
 public:
  ContractLowering(Elements& e, ir::Value hero) : e_(e), b_(e.builder()), hero_(hero) { contract_.accumulate = accumulate_type(hero); }

  // The epilogue comes first: it tells at which point the results want the contraction.
  bool run(const std::vector<Output>& outputs, SplitKey key) {
    ir::Type type = outputs[0].producer.type();
    std::vector<Affine> index = e_.variables(key, type.sizes(), outer_);
    contract_.epilogue = epilogue(outputs, type, index);
    if (e_.error()) return true;
    if (!state_.at || !state_.is_usable || !is_plain(b_.kernel(), *state_.at)) return false;
    k_ = e_.variables({hero_, 0}, Elements::summed_sizes(hero_), inner_);
    if (!roles()) return false;
    contract_.lhs = factor(0, contract_.lhs_value);
    contract_.rhs = factor(1, contract_.rhs_value);
    if (e_.error()) return true;
    for (const Block* block : {&contract_.epilogue, &contract_.lhs, &contract_.rhs})
      if (has_loops(*block) || !is_made_of_plain_values(*block)) return false;
    b_.append({std::move(contract_)});
    return true;
  }

 private:
  std::vector<IndexId> indices_with(DimRole a, DimRole b, DimRole c) const {
    std::vector<IndexId> list;
    for (const ContractDim& d : contract_.dims)
      if (d.role == a || d.role == b || d.role == c) list.push_back(d.index);
    return list;
  }

  Block epilogue(const std::vector<Output>& outputs, ir::Type type, const std::vector<Affine>& index) {
    std::vector<IndexId> open;
    for (const auto& v : outer_) open.push_back(v.index);
    b_.begin_block(open);
    contract_.result = b_.block_value(contract_.accumulate);
    state_ = {hero_, contract_.result, std::nullopt, true};
    e_.set_hero(&state_);
    std::vector<ValueId> values;
    for (const Output& o : outputs)
      if (!e_.error()) values.push_back(e_.value(o.producer, {index}));
    e_.set_hero(nullptr);
    if (!e_.error())
      for (size_t i = 0; i < outputs.size(); ++i) b_.store(outputs[i].buffer, row_major_offset(type, index), values[i]);
    return b_.end_block();
  }

  // In both factors: batch; in one: m or n. A variable in none would repeat the whole contraction.
  bool roles() {
    std::vector<IndexId> open;
    for (const auto& v : outer_) open.push_back(v.index);
    for (const auto& v : inner_) open.push_back(v.index);
    b_.begin_block(open);
    std::unordered_set<IndexId> used[2];
    for (size_t operand = 0; operand < 2; ++operand)
      for (const Affine& a : e_.factor_point(hero_, operand, {*state_.at}, k_).index) add_roots(b_.kernel(), a, used[operand]);
    b_.end_block();
    for (const auto& v : outer_) {
      bool in_lhs = used[0].count(v.index) != 0, in_rhs = used[1].count(v.index) != 0;
      if (!in_lhs && !in_rhs) return false;
      contract_.dims.push_back({in_lhs && in_rhs ? DimRole::batch : in_lhs ? DimRole::m : DimRole::n, v.index, v.extent});
    }
    for (const auto& v : inner_) contract_.dims.push_back({DimRole::k, v.index, v.extent});
    return true;
  }

  // Threads make what a contraction uses from outside anew.
  bool is_made_of_plain_values(const Block& block) const {
    bool plain = b_.is_plain(contract_.lhs_value) && b_.is_plain(contract_.rhs_value);
    auto affine = [&](const Affine& a) { plain &= b_.is_plain(a); };
    for_each_statement(block, [&](const Statement& s) {
      for_each_value(s, [&](ValueId v) { plain &= b_.is_plain(v); });
      for_each_affine(s, affine);
      if (auto* d = s.as<Derive>()) affine(Affine::of(d->index));
    });
    return plain;
  }

  Block factor(size_t operand, ValueId& value) {
    if (e_.error()) return {};
    b_.begin_block(indices_with(DimRole::batch, operand == 0 ? DimRole::m : DimRole::n, DimRole::k));
    value = e_.factor(hero_->operand(operand), e_.factor_point(hero_, operand, {*state_.at}, k_), contract_.accumulate);
    return b_.end_block();
  }

  Elements& e_;
  KernelBuilder& b_;
  ir::Value hero_;
  Contract contract_;
  Elements::Hero state_;
  std::vector<Elements::Variable> outer_, inner_;
  std::vector<Affine> k_;
};

}  // namespace

bool lower_contract(Elements& e, const std::vector<Output>& outputs, SplitKey key, bool& failed) {
  ir::Value hero = hero_of(outputs);
  if (!hero || outputs[0].producer.type().count() == 0) return false;
  std::vector<int64_t> sizes = Elements::summed_sizes(hero);
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return false;
  failed = !ContractLowering(e, hero).run(outputs, key);
  return !failed;
}

}  // namespace hloc::loops
