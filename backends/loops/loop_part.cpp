#include "backends/loops/loop_part.h"

#include <algorithm>
#include <unordered_map>

#include "backends/loops/walk.h"

namespace hloc::loops {
namespace {

int64_t ceil_quotient(int64_t a, int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }  // b > 0

class LoopPart {
 public:
  // `as_loop`: false for a single iteration whose variable becomes a number.
  LoopPart(Kernel& kernel, const Loop& loop, int64_t begin, int64_t end, bool as_loop)
      : kernel_(kernel), old_(loop), begin_(begin), end_(end), index_(as_loop ? fresh_index(loop.index, {0, end - begin - 1}) : no_id) {}

  Block body() { return copied(old_.body); }
  IndexId index() const { return index_; }

 private:
  IndexId fresh_index(IndexId old, Range range) {
    Index index = kernel_.indices[old];
    index.range = range;
    kernel_.indices.push_back(std::move(index));
    return static_cast<IndexId>(kernel_.indices.size() - 1);
  }

  Block copied(const Block& block) {
    Block out;
    for (const Statement& s : block) copy(s, out);
    return out;
  }

  void copy(const Statement& original, Block& out) {
    if (auto* loop = original.as<Loop>()) {
      out.push_back({inner_loop(*loop)});
      return;
    }
    Statement s = original;
    for_each_affine(s, [this](Affine& a) { moved(a); });
    if (is_decided(s)) return;
    std::visit([this](auto& what) { rename(what); }, s.what);
    out.push_back(std::move(s));
  }

  // What needs no statement here: loads and stores whose guards fail, known tests and what they select.
  bool is_decided(Statement& s) {
    if (auto* load = s.as<Load>()) {
      if (!keep_undecided(load->access.guards)) {
        values_[load->result] = value(load->otherwise);
        return true;
      }
      if (load->access.guards.empty()) load->otherwise = no_id;
    } else if (auto* store = s.as<Store>()) {
      return !keep_undecided(store->access.guards);
    } else if (auto* test = s.as<Test>()) {
      bool possible = keep_undecided(test->guards);
      if (possible && !test->guards.empty()) return false;
      values_[test->result] = constant_pred(possible);
      return true;
    } else if (auto* c = s.as<Compute>(); c && c->op == ScalarOp::Select) {
      ValueId condition = value(c->args[0]), yes = value(c->args[1]), no = value(c->args[2]);
      if (yes != no && !kernel_.is_constant(condition)) return false;
      values_[c->result] = yes == no || kernel_.values[condition].bits != 0 ? yes : no;
      return true;
    }
    return false;
  }

  Loop inner_loop(const Loop& loop) {
    IndexId index = fresh_index(loop.index, kernel_.indices[loop.index].range);
    indices_[loop.index] = index;
    Block body = copied(loop.body);
    return {index, loop.extent, loop.kind, loop.grain, std::move(body), loop.go_on == no_id ? no_id : accumulator(loop.go_on)};
  }

  // i of the loop is i + begin of the part.
  void moved(Affine& a) {
    int64_t c = a.coefficient(old_.index);
    if (c != 0) {
      std::erase_if(a.terms, [this](const Term& t) { return t.index == old_.index; });
      if (index_ != no_id) a += Affine::of(index_, c);
      a.base += c * begin_;
    }
    for (Term& t : a.terms)
      if (auto it = indices_.find(t.index); it != indices_.end()) t.index = it->second;
    std::ranges::sort(a.terms, {}, &Term::index);
  }

  // Drops what holds throughout the part; false when one never does.
  bool keep_undecided(std::vector<Guard>& guards) {
    bool possible = true;
    std::erase_if(guards, [&](const Guard& guard) {
      if (guard.affine.is_constant()) {
        bool holds = guard.lo <= guard.affine.base && guard.affine.base < guard.hi;
        possible &= holds;
        return holds;
      }
      std::optional<Range> range = index_ == no_id ? std::nullopt : holds_for(guard, index_);
      if (!range) return false;
      if (range->lo <= 0 && range->hi >= end_ - begin_) return true;
      possible &= range->hi > 0 && range->lo < end_ - begin_ && range->lo < range->hi;
      return false;
    });
    return possible;
  }

  ValueId value(ValueId v) const {
    auto it = values_.find(v);
    return it == values_.end() ? v : it->second;
  }
  ValueId fresh(ValueId& v) {
    kernel_.values.push_back(kernel_.values[v]);
    auto now = static_cast<ValueId>(kernel_.values.size() - 1);
    values_[v] = now;
    return v = now;
  }
  ValueId constant_pred(bool holds) {
    kernel_.values.push_back({ElementType::pred, true, holds ? 1u : 0u});
    return static_cast<ValueId>(kernel_.values.size() - 1);
  }
  AccId accumulator(AccId a) const {
    auto it = accumulators_.find(a);
    return it == accumulators_.end() ? a : it->second;
  }

  void rename(Compute& c) {
    for (ValueId& v : c.args)
      if (v != no_id) v = value(v);
    fresh(c.result);
  }
  void rename(Load& l) {
    if (l.otherwise != no_id) l.otherwise = value(l.otherwise);
    fresh(l.result);
  }
  void rename(Store& s) { s.value = value(s.value); }
  void rename(IndexValue& i) { fresh(i.result); }
  void rename(Test& t) { fresh(t.result); }
  void rename(Derive& d) {
    Index index = kernel_.indices[d.index];
    moved(index.of);
    if (index.value != no_id) index.value = value(index.value);
    kernel_.indices.push_back(index);
    auto now = static_cast<IndexId>(kernel_.indices.size() - 1);
    indices_[d.index] = now;
    d.index = now;
  }
  void rename(Declare& d) {
    d.init = value(d.init);
    kernel_.accumulators.push_back(kernel_.accumulators[d.acc]);
    auto now = static_cast<AccId>(kernel_.accumulators.size() - 1);
    accumulators_[d.acc] = now;
    d.acc = now;
  }
  void rename(Accumulate& a) { a.acc = accumulator(a.acc), a.value = value(a.value); }
  void rename(Set& s) { s.acc = accumulator(s.acc), s.value = value(s.value); }
  void rename(Get& g) {
    g.acc = accumulator(g.acc);
    fresh(g.result);
  }
  void rename(Loop&) {}      // see inner_loop
  void rename(Contract&) {}  // callers take no loops with contractions inside

  Kernel& kernel_;
  const Loop& old_;
  int64_t begin_, end_;
  IndexId index_;
  std::unordered_map<ValueId, ValueId> values_;
  std::unordered_map<IndexId, IndexId> indices_;
  std::unordered_map<AccId, AccId> accumulators_;
};

}  // namespace

std::optional<Range> holds_for(const Guard& guard, IndexId loop) {
  if (guard.affine.terms.size() != 1 || guard.affine.terms[0].index != loop) return std::nullopt;
  int64_t c = guard.affine.terms[0].coefficient, base = guard.affine.base;
  constexpr int64_t far = int64_t{1} << 60;
  if (std::abs(c) > far || std::abs(base) > far || std::abs(guard.lo) > far || std::abs(guard.hi) > far) return std::nullopt;
  if (c > 0) return Range{ceil_quotient(guard.lo - base, c), ceil_quotient(guard.hi - base, c)};
  // lo <= base - |c| i < hi: i > (base - hi) / |c|, i <= (base - lo) / |c|
  c = -c;
  return Range{ceil_quotient(base - guard.hi + 1, c), ceil_quotient(base - guard.lo + 1, c)};
}

Loop part_of_loop(Kernel& kernel, const Loop& loop, int64_t begin, int64_t end) {
  LoopPart part(kernel, loop, begin, end, true);
  Block body = part.body();
  return {part.index(), end - begin, loop.kind, loop.grain, std::move(body), loop.go_on};
}

Block iteration_of_loop(Kernel& kernel, const Loop& loop, int64_t at) { return LoopPart(kernel, loop, at, at + 1, false).body(); }

}  // namespace hloc::loops
