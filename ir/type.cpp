#include "ir/type.h"

#include <utility>

namespace hloc::ir {

Layout Layout::row_major(size_t rank) {
  Layout layout;
  layout.minor_to_major.resize(rank);
  for (size_t i = 0; i < rank; ++i) layout.minor_to_major[i] = static_cast<int64_t>(rank - 1 - i);
  return layout;
}

bool Layout::is_row_major() const {
  auto rank = static_cast<int64_t>(minor_to_major.size());
  for (int64_t i = 0; i < rank; ++i)
    if (minor_to_major[static_cast<size_t>(i)] != rank - 1 - i) return false;
  return extras == LayoutExtras{};
}

Ints Type::sizes() const {
  Ints out;
  out.reserve(node_->dims.size());
  for (const Dim& d : node_->dims) out.push_back(d.size);
  return out;
}

std::vector<Type> leaves(Type type) {
  std::vector<Type> out;
  std::vector<Type> todo{type};
  while (!todo.empty()) {
    Type t = todo.back();
    todo.pop_back();
    if (!t.is_tuple()) {
      out.push_back(t);
      continue;
    }
    for (size_t i = t.tuple_size(); i-- > 0;) todo.push_back(t.element_type(i));
  }
  return out;
}

namespace {

bool same_array(Type a, Type b, bool ignore_dynamic) {
  if (a.element() != b.element() || a->quant != b->quant || a.rank() != b.rank()) return false;
  for (int64_t i = 0; i < a.rank(); ++i) {
    const Dim &x = a.dims()[static_cast<size_t>(i)], &y = b.dims()[static_cast<size_t>(i)];
    if (ignore_dynamic ? x.size != y.size : x != y) return false;
  }
  return true;
}

}  // namespace

bool same_shape(Type a, Type b, bool ignore_dynamic) {
  std::vector<std::pair<Type, Type>> todo{{a, b}};
  while (!todo.empty()) {
    auto [x, y] = todo.back();
    todo.pop_back();
    if (x == y) continue;
    if (x.kind() != y.kind() || x->elements.size() != y->elements.size()) return false;
    if (x.is_array() && !same_array(x, y, ignore_dynamic)) return false;
    for (size_t i = 0; i < x->elements.size(); ++i) todo.emplace_back(x.element_type(i), y.element_type(i));
  }
  return true;
}

}  // namespace hloc::ir
