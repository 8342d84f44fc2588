// Composite ops and halves into what every target has. The kernel is rebuilt through a builder, so what the expansions have
// in common is made once and what does not change in a loop moves out of it.
//
// What is left afterwards:
//   arithmetic and comparisons on integers, f32, f64; logic on pred; selects between values of any type but pred
//   conversions  integer ↔ integer;  s32 ↔ f32, f64;  s64, u64 ↔ f32, f64;  f32 ↔ f64;  f32 ↔ f16, bf16
//   neg, abs, select, bitcast on halves; no constant of any kind is converted
#include "backends/loops/legalise.h"

#include "backends/loops/lower.h"
#include "backends/loops/walk.h"

namespace hloc::loops {
namespace {

class Legaliser {
 public:
  explicit Legaliser(const Kernel& kernel) : kernel_(kernel), b_(kernel), values_(kernel.values.size(), no_id) {}

  Kernel run() {
    block(kernel_.body);
    return b_.finish();
  }

 private:
  ValueId mapped(ValueId v) {
    if (v == no_id) return v;
    if (kernel_.is_constant(v)) return b_.constant_of_bits(kernel_.type(v), kernel_.values[v].bits);
    return values_[v];
  }

  void block(const Block& statements) {
    for (const Statement& s : statements) statement(s);
  }

  void statement(const Statement& s) {
    std::visit(
        Overload{[&](const Compute& c) { compute(c); },
                 [&](const Load& l) { values_[l.result] = b_.load(l.access.buffer, l.access.offset, l.access.guards, mapped(l.otherwise)); },
                 [&](const Store& st) { b_.store(st.access.buffer, st.access.offset, mapped(st.value), st.access.guards); },
                 [&](const IndexValue& i) { values_[i.result] = b_.index_value(kernel_.type(i.result), i.affine); },
                 [&](const Test& t) { values_[t.result] = b_.test(t.guards); },
                 [&](const Derive& d) { b_.derive(d.index, mapped(kernel_.indices[d.index].value)); },
                 [&](const Declare& d) { b_.declare(d.acc, mapped(d.init)); },
                 [&](const Accumulate& a) { b_.accumulate(a.acc, a.op, mapped(a.value)); },
                 [&](const Set& x) { b_.set(x.acc, mapped(x.value)); },
                 [&](const Get& g) { values_[g.result] = b_.get(g.acc); },
                 [&](const Loop& l) {
                   b_.begin_loop(l.index, l.extent, l.kind, l.grain, l.go_on);
                   block(l.body);
                   b_.end_loop();
                 },
                 [&](const Contract& c) { contract(c); }},
        s.what);
  }

  void compute(const Compute& c) {
    std::array<ValueId, 3> args{no_id, no_id, no_id};
    size_t n = facts(c.op).operands;
    for (size_t i = 0; i < n; ++i) args[i] = mapped(c.args[i]);
    values_[c.result] = legal_compute(b_, c.op, c.predicate, {args.data(), n}, kernel_.type(c.result));
  }

  Block part(const Contract& c, DimRole a, DimRole b, DimRole third, const Block& body, ValueId& v) {
    std::vector<IndexId> indices;
    for (const ContractDim& d : c.dims)
      if (d.role == a || d.role == b || d.role == third) indices.push_back(d.index);
    b_.begin_block(indices);
    if (v == c.result) v = values_[c.result] = b_.block_value(c.accumulate);
    block(body);
    if (v != values_[c.result]) v = mapped(v);
    return b_.end_block();
  }

  void contract(const Contract& c) {
    Contract out{c.dims, {}, {}, c.lhs_value, c.rhs_value, c.accumulate, c.result, {}};
    out.lhs = part(c, DimRole::batch, DimRole::m, DimRole::k, c.lhs, out.lhs_value);
    out.rhs = part(c, DimRole::batch, DimRole::n, DimRole::k, c.rhs, out.rhs_value);
    out.epilogue = part(c, DimRole::batch, DimRole::m, DimRole::n, c.epilogue, out.result);
    b_.append({std::move(out)});
  }

  const Kernel& kernel_;
  KernelBuilder b_;
  std::vector<ValueId> values_;
};

// Statements whose results nobody uses, from the last one back: users stand behind what they use. Stores to a local buffer that
// nothing reads are such, too.
class UnusedRemover {
 public:
  explicit UnusedRemover(Kernel& kernel) : kernel_(kernel), values_(kernel.values.size()), indices_(kernel.indices.size()), read_(kernel.buffers.size()) {
    for_each_statement(kernel.body, [this](const Statement& s) {
      if (auto* load = s.as<Load>()) read_[load->access.buffer] = true;
    });
  }

  void block(Block& statements) {
    std::vector<bool> keep(statements.size(), true);
    for (size_t i = statements.size(); i-- > 0;) {
      Statement& s = statements[i];
      ValueId v = result_of(s);
      auto* derive = s.as<Derive>();
      keep[i] = (v == no_id || values_[v]) && (!derive || indices_[derive->index]);
      if (auto* store = s.as<Store>(); store && kernel_.buffers[store->access.buffer].role == BufferRole::local) keep[i] = read_[store->access.buffer];
      if (!keep[i]) continue;
      use(s);
      if (auto* c = s.as<Contract>()) contract(*c);
      if (auto* loop = s.as<Loop>()) block(loop->body);
    }
    size_t next = 0;
    std::erase_if(statements, [&](const Statement&) { return !keep[next++]; });
  }

 private:
  void use(const Statement& s) {
    auto affine = [this](const Affine& a) {
      for (const Term& t : a.terms) indices_[t.index] = true;
    };
    for_each_value(s, [this](ValueId v) { values_[v] = true; });
    for_each_affine(s, affine);
    if (auto* derive = s.as<Derive>()) {
      affine(kernel_.indices[derive->index].of);
      if (ValueId v = kernel_.indices[derive->index].value; v != no_id) values_[v] = true;
    }
  }

  void contract(Contract& c) {
    block(c.epilogue);
    values_[c.lhs_value] = values_[c.rhs_value] = true;
    block(c.rhs);
    block(c.lhs);
  }

  Kernel& kernel_;
  std::vector<bool> values_, indices_, read_;
};

}  // namespace

Kernel legalise(const Kernel& kernel) {
  Kernel out = Legaliser(kernel).run();
  remove_unused(out);
  return out;
}

void remove_unused(Kernel& kernel) { UnusedRemover(kernel).block(kernel.body); }

}  // namespace hloc::loops
