// dot, ragged-dot and scaled-dot: operands are brought to [batch][free][contracting] and [batch][contracting][free].
#include <numeric>

#include <fmt/format.h>

#include "ir/eval/contract.h"
#include "ir/eval/ops.h"

namespace hloc::ir::eval {
namespace {

bool is_in(const Ints& list, int64_t d) { return std::ranges::find(list, d) != list.end(); }

Ints free_dims(int64_t rank, const Ints& a, const Ints& b, const Ints& group = {}) {
  Ints out;
  for (int64_t d = 0; d < rank; ++d)
    if (!is_in(a, d) && !is_in(b, d) && !is_in(group, d)) out.push_back(d);
  return out;
}

Ints joined(std::initializer_list<Ints> lists) {
  Ints out;
  for (const Ints& list : lists) out.insert(out.end(), list.begin(), list.end());
  return out;
}

int64_t size_of(Type t, const Ints& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= t.dim(d);
  return n;
}

struct DotSizes {
  Ints lhs_free, rhs_free;
  int64_t batch, m, depth, n;
};

DotSizes dot_sizes(Type lhs, Type rhs, const DotAttr& d, const Ints& rhs_group = {}) {
  DotSizes s;
  s.lhs_free = free_dims(lhs.rank(), d.lhs_batch, d.lhs_contracting);
  s.rhs_free = free_dims(rhs.rank(), d.rhs_batch, d.rhs_contracting, rhs_group);
  s.batch = size_of(lhs, d.lhs_batch);
  s.m = size_of(lhs, s.lhs_free);
  s.depth = size_of(lhs, d.lhs_contracting);
  s.n = size_of(rhs, s.rhs_free);
  return s;
}

template <class A>
Literal dot_in(Call& c, const DotAttr& d, const Literal& lhs, const Literal& rhs) {
  DotSizes s = dot_sizes(lhs.type(), rhs.type(), d);
  Reordered<A> a(lhs, joined({d.lhs_batch, s.lhs_free, d.lhs_contracting}));
  Reordered<A> b(rhs, joined({d.rhs_batch, d.rhs_contracting, s.rhs_free}));
  Literal out = c.eval.allocate(c.type);
  Sums<A> sums(out);
  for (int64_t i = 0; i < s.batch; ++i)
    multiply_matrices(sums.get() + i * s.m * s.n, a.get() + i * s.m * s.depth, b.get() + i * s.depth * s.n, s.m,
                      s.depth, s.n);
  sums.finish();
  return out;
}

// group_sizes[prefix][g] as the group of each position along the ragged dimension; -1 beyond the last group.
struct Groups {
  Ints sizes;
  int64_t count, prefixes;
  explicit Groups(const Literal& literal)
      : sizes(integers_of(literal)), count(literal.type().dim(literal.type().rank() - 1)) {
    prefixes = count == 0 ? 1 : static_cast<int64_t>(sizes.size()) / count;
  }
  Ints of_positions(int64_t prefix, int64_t n) const {
    Ints out(static_cast<size_t>(n), -1);
    int64_t at = 0;
    for (int64_t g = 0; g < count; ++g) {
      int64_t size = sizes[static_cast<size_t>(prefix % prefixes * count + g)];
      for (int64_t i = 0; i < size && at < n; ++i) out[static_cast<size_t>(at++)] = g;
    }
    return out;
  }
};

// The ragged dimension is free in lhs: each row belongs to a group, which has its own rhs.
template <class A>
void ragged_rows(const RaggedDotAttr& r, const Groups& groups, const Literal& lhs, const Literal& rhs, A* sums) {
  const DotAttr& d = r.dot;
  DotSizes s = dot_sizes(lhs.type(), rhs.type(), d, r.rhs_group);
  Reordered<A> a(lhs, joined({d.lhs_batch, s.lhs_free, d.lhs_contracting}));
  Reordered<A> b(rhs, joined({r.rhs_group, d.rhs_batch, d.rhs_contracting, s.rhs_free}));
  int64_t ragged = lhs.type().dim(r.lhs_ragged[0]), before = 1;
  for (int64_t dim : s.lhs_free)
    if (dim < r.lhs_ragged[0]) before *= lhs.type().dim(dim);
  int64_t after = before * ragged == 0 ? 0 : s.m / (before * ragged);
  for (int64_t i = 0; i < s.batch * before; ++i) {
    Ints group = groups.of_positions(i, ragged);
    int64_t batch = i / before;
    for (int64_t p = 0; p < ragged;) {  // rows of one group stand together
      int64_t g = group[static_cast<size_t>(p)], end = p;
      while (end < ragged && group[static_cast<size_t>(end)] == g) ++end;
      int64_t row = (i * ragged + p) * after, rows = (end - p) * after;
      if (g < 0) std::fill_n(sums + row * s.n, rows * s.n, A{});
      else multiply_matrices(sums + row * s.n, a.get() + row * s.depth,
                             b.get() + (g * s.batch + batch) * s.depth * s.n, rows, s.depth, s.n);
      p = end;
    }
  }
}

// The ragged dimension is contracted: one product for each group, over the positions that belong to it.
template <class A>
void ragged_depth(const RaggedDotAttr& r, const Groups& groups, const Literal& lhs, const Literal& rhs, A* sums) {
  const DotAttr& d = r.dot;
  DotSizes s = dot_sizes(lhs.type(), rhs.type(), d);
  Reordered<A> a(lhs, joined({d.lhs_batch, d.lhs_contracting, s.lhs_free}));
  Reordered<A> b(rhs, joined({d.rhs_batch, d.rhs_contracting, s.rhs_free}));
  Ints depth_sizes;
  size_t ragged_place = 0;
  for (int64_t dim : d.lhs_contracting) {
    if (dim == r.lhs_ragged[0]) ragged_place = depth_sizes.size();
    depth_sizes.push_back(lhs.type().dim(dim));
  }
  int64_t ragged = lhs.type().dim(r.lhs_ragged[0]);
  auto left = make_array<A>(s.m * s.depth), right = make_array<A>(s.depth * s.n);
  for (int64_t g = 0; g < groups.count; ++g)
    for (int64_t i = 0; i < s.batch; ++i) {
      int64_t k = 0, from = i * s.depth;
      Ints group = groups.of_positions(i, ragged);
      Ints kept;
      for (Odometer at(depth_sizes); at.valid(); at.next(), ++from)
        if (group[static_cast<size_t>(at[ragged_place])] == g) kept.push_back(from);
      auto depth = static_cast<int64_t>(kept.size());
      for (int64_t source : kept) {
        for (int64_t row = 0; row < s.m; ++row) left[static_cast<size_t>(row * depth + k)] = a.get()[source * s.m + row];
        std::copy_n(b.get() + source * s.n, s.n, right.get() + k * s.n);
        ++k;
      }
      multiply_matrices(sums + (g * s.batch + i) * s.m * s.n, left.get(), right.get(), s.m, depth, s.n);
    }
}

// values * scales, where a scale stands for a run of elements along each dimension (or for all: a scalar).
Literal scaled(Call& c, const Literal& values, const Literal& scales, Type type) {
  Ints order(static_cast<size_t>(type.rank()));
  std::iota(order.begin(), order.end(), int64_t{0});
  Reordered<float> v(values, order);
  Ints scale_order(static_cast<size_t>(scales.type().rank()));
  std::iota(scale_order.begin(), scale_order.end(), int64_t{0});
  Reordered<float> factor(scales, scale_order);
  Ints sizes = type.sizes(), strides = strides_of(scales.type().sizes());
  Literal out = c.eval.allocate(type);
  auto to = out.mutable_data<float>();
  int64_t flat = 0;
  for (Odometer at(sizes); at.valid(); at.next(), ++flat) {
    int64_t place = 0;
    for (size_t d = 0; d < strides.size(); ++d) {
      int64_t run = sizes[d] / scales.type().dim(static_cast<int64_t>(d));
      place += at[d] / run * strides[d];
    }
    to[static_cast<size_t>(flat)] = v.get()[flat] * factor.get()[place];
  }
  return out;
}

bool scales_fit(Type values, Type scales) {
  if (scales.rank() == 0) return true;
  if (scales.rank() != values.rank()) return false;
  for (int64_t d = 0; d < values.rank(); ++d)
    if (scales.dim(d) < 1 || values.dim(d) % scales.dim(d) != 0) return false;
  return true;
}

}  // namespace

Result<Literal> eval_dot(Call& c) {
  return visit_accumulator(c.type.element(), [&](auto zero) -> Literal {
    return dot_in<decltype(zero)>(c, c.attr<DotAttr>(), c.in[0], c.in[1]);
  });
}

Result<Literal> eval_ragged_dot(Call& c) {
  const auto& r = c.attr<RaggedDotAttr>();
  int64_t dim = r.lhs_ragged.empty() ? -1 : r.lhs_ragged[0];
  if (dim < 0 || is_in(r.dot.lhs_batch, dim)) {  // groups of batch entries: every entry is multiplied by its own anyway
    return visit_accumulator(c.type.element(), [&](auto zero) -> Literal {
      return dot_in<decltype(zero)>(c, r.dot, c.in[0], c.in[1]);
    });
  }
  Literal out = c.eval.allocate(c.type);
  Groups groups(c.in[2]);
  visit_accumulator(c.type.element(), [&](auto zero) {
    using A = decltype(zero);
    Sums<A> sums(out);
    if (is_in(r.dot.lhs_contracting, dim)) ragged_depth<A>(r, groups, c.in[0], c.in[1], sums.get());
    else ragged_rows<A>(r, groups, c.in[0], c.in[1], sums.get());
    sums.finish();
  });
  return out;
}

Result<Literal> eval_scaled_dot(Call& c) {
  for (size_t k = 0; k < 2; ++k)
    if (!scales_fit(c.in[k].type(), c.in[k + 2].type()))
      return c.eval.fail("the scales of a scaled-dot divide its operand into equal blocks");
  Literal lhs = scaled(c, c.in[0], c.in[2], c.eval.scratch_type(c.in[0].type(), ElementType::f32));
  Literal rhs = scaled(c, c.in[1], c.in[3], c.eval.scratch_type(c.in[1].type(), ElementType::f32));
  return visit_accumulator(c.type.element(), [&](auto zero) -> Literal {
    return dot_in<decltype(zero)>(c, c.attr<DotAttr>(), lhs, rhs);
  });
}

}  // namespace hloc::ir::eval
