// gather and scatter: each index vector places one window in the operand.
#include <algorithm>

#include <fmt/format.h>

#include "ir/eval/copy.h"
#include "ir/eval/ops.h"
#include "ir/eval/reduce.h"

namespace hloc::ir::eval {
namespace {

bool contains(const Ints& list, size_t d) { return std::ranges::find(list, static_cast<int64_t>(d)) != list.end(); }

// Dimensions 0…rank-1 that are in none of the lists.
Ints other_dims(size_t rank, const Ints& a, const Ints& b = {}) {
  Ints out;
  for (size_t d = 0; d < rank; ++d)
    if (!contains(a, d) && !contains(b, d)) out.push_back(static_cast<int64_t>(d));
  return out;
}

// The index array: its dimensions but the one that holds the vectors are walked; each place gives a start in the operand.
struct IndexVectors {
  Ints values, sizes, strides;  // of the walked dimensions
  int64_t vector_stride = 0;
  Ints index_map;               // component -> operand dimension
  Ints operand_batch, walk_batch;

  IndexVectors(const Literal& indices, int64_t vector_dim, const Ints& map, const Ints& operand_batching,
               const Ints& indices_batching)
      : values(integers_of(indices)), index_map(map), operand_batch(operand_batching) {
    Ints all = indices.type().sizes(), all_strides = strides_of(all);
    for (size_t d = 0; d < all.size(); ++d) {
      if (static_cast<int64_t>(d) == vector_dim) {
        vector_stride = all_strides[d];
        continue;
      }
      if (contains(indices_batching, d)) walk_place_.push_back({static_cast<int64_t>(d), sizes.size()});
      sizes.push_back(all[d]);
      strides.push_back(all_strides[d]);
    }
    for (int64_t d : indices_batching)
      for (auto [dim, place] : walk_place_)
        if (dim == d) walk_batch.push_back(static_cast<int64_t>(place));
  }

  Ints start(const Odometer& at, size_t operand_rank) const {
    Ints out(operand_rank, 0);
    int64_t flat = at.dot(strides);
    for (size_t i = 0; i < index_map.size(); ++i)
      out[static_cast<size_t>(index_map[i])] = values[static_cast<size_t>(flat + static_cast<int64_t>(i) * vector_stride)];
    for (size_t i = 0; i < operand_batch.size(); ++i)
      out[static_cast<size_t>(operand_batch[i])] = at[static_cast<size_t>(walk_batch[i])];
    return out;
  }

 private:
  std::vector<std::pair<int64_t, size_t>> walk_place_;
};

Ints picked(const Ints& from, const Ints& places) {
  Ints out;
  for (int64_t p : places) out.push_back(from[static_cast<size_t>(p)]);
  return out;
}

int64_t dot_of(const Ints& a, const Ints& b) {
  int64_t sum = 0;
  for (size_t d = 0; d < a.size(); ++d) sum += a[d] * b[d];
  return sum;
}

Literal gathered(Call& c, const GatherAttr& g, const Ints& slice_sizes) {
  const Literal& operand = c.in[0];
  Literal out = c.eval.allocate(c.type);
  IndexVectors vectors(c.in[1], g.index_vector_dim, g.start_index_map, g.operand_batching_dims,
                       g.start_indices_batching_dims);
  Ints sizes = operand.type().sizes(), strides = strides_of(sizes), out_strides = strides_of(c.type.sizes());
  Ints window_dims = other_dims(sizes.size(), g.collapsed_slice_dims, g.operand_batching_dims);
  Ints walk_dims = other_dims(out_strides.size(), g.offset_dims);
  Block window = merged({picked(slice_sizes, window_dims), picked(out_strides, g.offset_dims), picked(strides, window_dims)});
  Ints walk_strides = picked(out_strides, walk_dims);
  std::byte* to = out.mutable_bytes().data();
  for (Odometer at(vectors.sizes); at.valid(); at.next()) {
    Ints start = vectors.start(at, sizes.size());
    for (size_t d = 0; d < sizes.size(); ++d)
      start[d] = std::clamp<int64_t>(start[d], 0, std::max<int64_t>(0, sizes[d] - slice_sizes[d]));
    copy_block(window, to, at.dot(walk_strides), operand.bytes().data(), dot_of(start, strides),
               byte_width(c.type.element()));
  }
  return out;
}

// The part of the window at `start` that lies inside the operand; elements outside are dropped one by one.
Block clipped(const Block& window, const Ints& window_dims, const Ints& start, const Ints& sizes, int64_t& to_offset,
              int64_t& from_offset) {
  Block out = window;
  for (size_t i = 0; i < window_dims.size(); ++i) {
    auto d = static_cast<size_t>(window_dims[i]);
    int64_t first = start[d] >= 0 ? 0 : start[d] <= -window.sizes[i] ? window.sizes[i] : -start[d];
    int64_t last = start[d] >= sizes[d] ? 0 : std::min(window.sizes[i], sizes[d] - std::max(start[d], -window.sizes[i]));
    out.sizes[i] = std::max<int64_t>(0, last - first);
    if (out.sizes[i] == 0) continue;
    to_offset += (start[d] + first) * window.to_strides[i];
    from_offset += first * window.from_strides[i];
  }
  return out;
}

struct ScatterArrays {
  Body& body;
  std::vector<std::byte*> operands;
  std::vector<ReducerInput> updates;
};

// operands[window] = body(operands[window], updates[window]), row by row.
Result<void> combine_window(ScatterArrays& a, const Block& block, int64_t to_offset, int64_t from_offset) {
  size_t count = a.operands.size();
  Block rows = merged(block);
  int64_t n = rows.sizes.empty() ? 1 : rows.sizes.back();
  int64_t to_step = rows.sizes.empty() ? 1 : rows.to_strides.back();
  int64_t from_step = rows.sizes.empty() ? 1 : rows.from_strides.back();
  bool dense = to_step == 1 && from_step == 1;
  Ints outer(rows.sizes.begin(), rows.sizes.end() - (rows.sizes.empty() ? 0 : 1));
  std::vector<const std::byte*> in(2 * count);
  std::vector<std::byte*> out(count);
  for (Odometer i(outer); i.valid(); i.next()) {
    int64_t to = to_offset + i.dot(rows.to_strides), from = from_offset + i.dot(rows.from_strides);
    for (int64_t j = 0; j < (dense ? 1 : n); ++j) {
      for (size_t k = 0; k < count; ++k) {
        in[k] = out[k] = a.operands[k] + (to + j * to_step) * a.updates[k].width();
        in[count + k] = a.updates[k].at(from + j * from_step);
      }
      if (auto ok = a.body.run(in, out, dense ? n : 1); !ok) return ok;
    }
  }
  return {};
}

}  // namespace

Result<Literal> eval_gather(Call& c) {
  const auto& attr = c.attr<GatherAttr>();
  return gathered(c, attr, attr.slice_sizes);
}

Result<Literal> eval_dynamic_gather(Call& c) { return gathered(c, c.attr<GatherAttr>(), integers_of(c.in[2])); }

Result<Literal> eval_scatter(Call& c) {
  const auto& s = c.attr<ScatterAttr>();
  size_t count = (c.in.size() - 1) / 2;
  ScatterArrays arrays{c.eval.body(c.v->callee(0)), {}, {}};
  std::vector<Literal> outputs;
  for (size_t k = 0; k < count; ++k) {
    ElementType element = c.in[k].type().element();
    if (arrays.body.parameter(k) != element || arrays.body.result_count() != count || arrays.body.result(k) != element)
      return c.eval.fail(fmt::format("the body of the scatter works on {}, the operand has {}",
                                     name_of(arrays.body.parameter(k)), name_of(element)));
    auto owned = c.eval.owned(std::move(c.in[k]));
    if (!owned) return owned;
    outputs.push_back(*std::move(owned));
    arrays.operands.push_back(outputs.back().mutable_bytes().data());
    arrays.updates.emplace_back(c.in[count + 1 + k], element);
  }
  IndexVectors vectors(c.in[count], s.index_vector_dim, s.scatter_dims_to_operand_dims, s.input_batching_dims,
                       s.scatter_indices_batching_dims);
  Ints sizes = outputs[0].type().sizes(), strides = strides_of(sizes);
  Ints update_sizes = c.in[count + 1].type().sizes(), update_strides = strides_of(update_sizes);
  Ints window_dims = other_dims(sizes.size(), s.inserted_window_dims, s.input_batching_dims);
  Ints fixed_dims = other_dims(sizes.size(), window_dims);
  Ints walk_strides = picked(update_strides, other_dims(update_sizes.size(), s.update_window_dims));
  Block window{picked(update_sizes, s.update_window_dims), picked(strides, window_dims),
               picked(update_strides, s.update_window_dims)};
  for (Odometer at(vectors.sizes); at.valid(); at.next()) {
    Ints start = vectors.start(at, sizes.size());
    bool inside = true;
    int64_t to = 0, from = at.dot(walk_strides);
    for (int64_t dim : fixed_dims) {
      auto d = static_cast<size_t>(dim);
      inside &= start[d] >= 0 && start[d] < sizes[d];
      if (inside) to += start[d] * strides[d];
    }
    if (!inside) continue;
    Block block = clipped(window, window_dims, start, sizes, to, from);
    if (product(block.sizes) == 0) continue;
    if (auto ok = combine_window(arrays, block, to, from); !ok) return ok.error();
  }
  return c.type.is_tuple() ? Literal::tuple(c.type, std::move(outputs)) : std::move(outputs[0]);
}

}  // namespace hloc::ir::eval
