// Small walks over statements that several steps need.
#pragma once

#include <algorithm>

#include "backends/loops/loops.h"

namespace hloc::loops {

template <class... F>
struct Overload : F... {
  using F::operator()...;
};
template <class... F>
Overload(F...) -> Overload<F...>;

// Calls f(value) for every value that the statement itself reads (not those read by statements in its blocks).
template <class F>
void for_each_value(const Statement& statement, F&& f) {
  auto maybe = [&f](ValueId v) { if (v != no_id) f(v); };
  std::visit(Overload{[&](const Compute& c) { for (ValueId v : c.args) maybe(v); },
                      [&](const Load& l) { maybe(l.otherwise); }, [&](const Store& s) { f(s.value); },
                      [](const IndexValue&) {}, [](const Test&) {}, [](const Derive&) {},
                      [&](const Declare& d) { f(d.init); }, [&](const Accumulate& a) { f(a.value); },
                      [&](const Set& s) { f(s.value); }, [](const Get&) {}, [](const Loop&) {},
                      [](const Contract&) {}},
             statement.what);
}

// The same for the places that hold these values, to put others there.
template <class F>
void for_each_value_slot(Statement& statement, F&& f) {
  auto maybe = [&f](ValueId& v) { if (v != no_id) f(v); };
  std::visit(Overload{[&](Compute& c) { for (ValueId& v : c.args) maybe(v); },
                      [&](Load& l) { maybe(l.otherwise); }, [&](Store& s) { f(s.value); },
                      [](IndexValue&) {}, [](Test&) {}, [](Derive&) {},
                      [&](Declare& d) { f(d.init); }, [&](Accumulate& a) { f(a.value); },
                      [&](Set& s) { f(s.value); }, [](Get&) {}, [](Loop&) {}, [](Contract&) {}},
             statement.what);
}

// Calls f(affine) for every affine map that the statement itself reads; those of a derived index are in the kernel's table.
template <class S, class F>
void for_each_affine(S& statement, F&& f) {
  auto guards = [&f](auto& list) {
    for (auto& g : list) f(g.affine);
  };
  if (auto* load = statement.template as<Load>()) f(load->access.offset), guards(load->access.guards);
  if (auto* store = statement.template as<Store>()) f(store->access.offset), guards(store->access.guards);
  if (auto* value = statement.template as<IndexValue>()) f(value->affine);
  if (auto* test = statement.template as<Test>()) guards(test->guards);
}

// Of a load or a store; else nullptr.
inline const Access* access_of(const Statement& statement) {
  if (auto* load = statement.as<Load>()) return &load->access;
  if (auto* store = statement.as<Store>()) return &store->access;
  return nullptr;
}

// Only computations, accumulations, and accesses without guards.
inline bool is_straight_line(const Block& block) {
  return std::ranges::all_of(block, [](const Statement& s) {
    const Access* access = access_of(s);
    return access ? access->guards.empty() : s.as<Compute>() || s.as<Accumulate>();
  });
}

// The value that the statement defines, or no_id. (A Contract's result is defined inside it only.)
inline ValueId result_of(const Statement& statement) {
  if (auto* s = statement.as<Compute>()) return s->result;
  if (auto* s = statement.as<Load>()) return s->result;
  if (auto* s = statement.as<IndexValue>()) return s->result;
  if (auto* s = statement.as<Test>()) return s->result;
  if (auto* s = statement.as<Get>()) return s->result;
  return no_id;
}

// Calls f(block) for the blocks inside the statement, in order.
template <class S, class F>
void for_each_block(S& statement, F&& f) {
  if (auto* loop = statement.template as<Loop>()) f(loop->body);
  if (auto* c = statement.template as<Contract>()) f(c->lhs), f(c->rhs), f(c->epilogue);
}

// Calls f(statement) for all statements of the block and of the blocks within, outer before inner. Nesting is bounded by
// the number of loops around a statement.
template <class B, class F>
void for_each_statement(B& block, F&& f) {
  for (auto& statement : block) {
    f(statement);
    for_each_block(statement, [&f](auto& inner) { for_each_statement(inner, f); });
  }
}

}  // namespace hloc::loops
