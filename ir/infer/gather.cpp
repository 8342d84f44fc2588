// gather and scatter: slices at places that an array of index vectors names.
//
// Along `index_vector_dim` of the indices stands one vector; the other dimensions of the indices are the batch. The
// dimensions of a slice are those of the operand without the collapsed (gather) or inserted (scatter) and the batching
// ones.
#include <algorithm>

#include "ir/infer/rules.h"

namespace hloc::ir::shapes {
namespace {

// What gather and scatter say alike, in the words of each.
struct IndexedDims {
  size_t indices;  // which operand
  const Ints &window, &dropped, &map, &batching, &indices_batching;
  int64_t index_vector_dim;
  std::string_view window_name, dropped_name, map_name, batching_name, indices_batching_name;
};

IndexedDims gather_dims(const GatherAttr& a) {
  return {1, a.offset_dims, a.collapsed_slice_dims, a.start_index_map, a.operand_batching_dims,
          a.start_indices_batching_dims, a.index_vector_dim,
          "offset_dims", "collapsed_slice_dims", "start_index_map", "operand_batching_dims",
          "start_indices_batching_dims"};
}

IndexedDims scatter_dims(const Site& s, const ScatterAttr& a) {
  return {s.operands.size() / 2, a.update_window_dims, a.inserted_window_dims, a.scatter_dims_to_operand_dims,
          a.input_batching_dims, a.scatter_indices_batching_dims, a.index_vector_dim,
          "update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims", "input_batching_dims",
          "scatter_indices_batching_dims"};
}

// The operand's dimensions are window, dropped and batching ones.
Problem check_operand_dims(const Site& s, const IndexedDims& d, int64_t rank) {
  if (Problem p = check_dims(s, d.dropped_name, d.dropped, rank)) return p;
  if (Problem p = check_sorted(s, d.dropped_name, d.dropped)) return p;
  if (Problem p = check_dims(s, d.batching_name, d.batching, rank)) return p;
  if (Problem p = check_sorted(s, d.batching_name, d.batching)) return p;
  if (Problem p = check_disjoint(s, d.dropped_name, d.dropped, d.batching_name, d.batching, rank)) return p;
  if (Problem p = check_dims(s, d.map_name, d.map, rank)) return p;
  if (Problem p = check_disjoint(s, d.map_name, d.map, d.batching_name, d.batching, rank)) return p;
  if (static_cast<int64_t>(d.window.size() + d.dropped.size() + d.batching.size()) != rank)
    return reject(s, "{}={}, {}={} and {}={} must have {} entries in all, one for each dimension of {}", d.window_name,
                  list_text(d.window), d.dropped_name, list_text(d.dropped), d.batching_name, list_text(d.batching), rank,
                  shape_text(s.operands[0]));
  return {};
}

Problem check_index_vectors(const Site& s, const IndexedDims& d) {
  if (Problem p = check_class(s, d.indices, class_integer)) return p;
  Type x = s.operands[0], indices = s.operands[d.indices];
  if (d.index_vector_dim < 0 || d.index_vector_dim > indices.rank())
    return reject(s, "index_vector_dim={} is out of range: it must be from 0 to the number of dimensions of the indices {}",
                  d.index_vector_dim, shape_text(indices));
  bool scalars = d.index_vector_dim == indices.rank();
  Dim length = scalars ? Dim::of(1) : indices.dims()[static_cast<size_t>(d.index_vector_dim)];
  if (!fits(length, Dim::of(static_cast<int64_t>(d.map.size()))))
    return reject(s, "{}={} must have one entry for each of the {} numbers in an index vector of {}", d.map_name,
                  list_text(d.map), dim_text(length), shape_text(indices));
  if (Problem p = check_dims(s, d.indices_batching_name, d.indices_batching, indices.rank())) return p;
  if (contains(d.indices_batching, d.index_vector_dim))
    return reject(s, "{}={} contains index_vector_dim {}", d.indices_batching_name, list_text(d.indices_batching),
                  d.index_vector_dim);
  if (d.batching.size() != d.indices_batching.size())
    return reject(s, "{}={} and {}={} must have equally many entries", d.batching_name, list_text(d.batching),
                  d.indices_batching_name, list_text(d.indices_batching));
  for (size_t i = 0; i < d.batching.size(); ++i)
    if (!fits(x.dims()[static_cast<size_t>(d.batching[i])], indices.dims()[static_cast<size_t>(d.indices_batching[i])]))
      return reject(s, "batching dimension {} of {} and dimension {} of the indices {} must have the same size",
                    d.batching[i], shape_text(x), d.indices_batching[i], shape_text(indices));
  return {};
}

// The dimensions of the indices without that of the vectors.
std::vector<Dim> batch_of_indices(Type indices, int64_t index_vector_dim) {
  std::vector<Dim> dims;
  for (size_t i = 0; i < indices.dims().size(); ++i)
    if (static_cast<int64_t>(i) != index_vector_dim) dims.push_back(indices.dims()[i]);
  return dims;
}

// The sizes of a slice: the attribute, or (dynamic-gather) a vector that only the run knows.
Result<std::vector<Dim>> slice_dims(const Site& s, const GatherAttr& a) {
  Type x = s.operands[0];
  std::vector<Dim> dims(x.dims().size(), Dim::any());
  if (s.op == Op::DynamicGather) {
    if (Problem p = check_class(s, 2, class_integer)) return *p;
    Type sizes = s.operands[2];
    if (sizes.rank() != 1 || !fits(sizes.dims()[0], Dim::of(x.rank())))
      return reject(s, "the slice sizes must be a vector of {} integers, but they are {}", x.rank(), shape_text(sizes));
    return dims;
  }
  if (Problem p = check_length(s, "slice_sizes", a.slice_sizes.size(), x.rank())) return *p;
  std::vector<bool> gone = marks(dims.size(), {a.collapsed_slice_dims, a.operand_batching_dims});
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t size = a.slice_sizes[i];
    Dim in = x.dims()[i];
    if (size < 0 || (in.kind != Dim::unknown && size > in.size))
      return reject(s, "slice size {} of dimension {} does not fit into {}", size, i, shape_text(x));
    if (size > 1 && gone[i])
      return reject(s, "slice size {} of dimension {} must be at most 1, because the dimension is {}", size, i,
                    contains(a.collapsed_slice_dims, static_cast<int64_t>(i)) ? "collapsed" : "a batching one");
    dims[i] = Dim::of(size);
  }
  return dims;
}

}  // namespace

Result<Type> infer_gather(const Site& s) {
  if (Problem p = check_arrays(s)) return *p;
  const GatherAttr& a = s.as<GatherAttr>();
  Type x = s.operands[0];
  IndexedDims d = gather_dims(a);
  if (Problem p = check_operand_dims(s, d, x.rank())) return *p;
  if (Problem p = check_index_vectors(s, d)) return *p;
  auto slice = slice_dims(s, a);
  if (!slice) return slice.error();

  std::vector<Dim> batch = batch_of_indices(s.operands[1], a.index_vector_dim);
  size_t rank = batch.size() + a.offset_dims.size();
  if (Problem p = check_dims(s, "offset_dims", a.offset_dims, static_cast<int64_t>(rank))) return *p;
  if (Problem p = check_sorted(s, "offset_dims", a.offset_dims)) return *p;
  std::vector<Dim> offsets;
  std::vector<bool> gone = marks(slice->size(), {a.collapsed_slice_dims, a.operand_batching_dims});
  for (size_t i = 0; i < slice->size(); ++i)
    if (!gone[i]) offsets.push_back((*slice)[i]);
  std::vector<Dim> dims;
  size_t next_offset = 0, next_batch = 0;
  std::vector<bool> is_offset = marks(rank, {a.offset_dims});
  for (size_t i = 0; i < rank; ++i)
    dims.push_back(is_offset[i] ? offsets[next_offset++] : batch[next_batch++]);
  return make_array(s, x, std::move(dims));
}

namespace {

// The update's dimensions: windows no larger than the operand's slice, the rest as the indices.
Problem check_updates(const Site& s, const ScatterAttr& a, size_t n) {
  Type x = s.operands[0], indices = s.operands[n], updates = s.operands[n + 1];
  if (Problem p = check_dims(s, "update_window_dims", a.update_window_dims, updates.rank())) return p;
  if (Problem p = check_sorted(s, "update_window_dims", a.update_window_dims)) return p;
  std::vector<Dim> batch = batch_of_indices(indices, a.index_vector_dim);
  if (updates.dims().size() != batch.size() + a.update_window_dims.size())
    return reject(s, "the updates {} must have {} dimensions: {} of the indices {} and {} in update_window_dims",
                  shape_text(updates), batch.size() + a.update_window_dims.size(), batch.size(), shape_text(indices),
                  a.update_window_dims.size());
  std::vector<size_t> window;  // operand dimensions that a window covers
  std::vector<bool> gone = marks(x.dims().size(), {a.inserted_window_dims, a.input_batching_dims});
  for (size_t i = 0; i < x.dims().size(); ++i)
    if (!gone[i]) window.push_back(i);
  std::vector<bool> is_window = marks(updates.dims().size(), {a.update_window_dims});
  size_t next_window = 0, next_batch = 0;
  for (size_t i = 0; i < updates.dims().size(); ++i) {
    Dim d = updates.dims()[i];
    if (!is_window[i]) {
      if (!fits(d, batch[next_batch++]))
        return reject(s, "dimension {} of the updates {} must have the size {} of the indices {}", i,
                      shape_text(updates), dim_text(batch[next_batch - 1]), shape_text(indices));
      continue;
    }
    Dim whole = x.dims()[window[next_window]];
    if (d.kind != Dim::unknown && whole.kind != Dim::unknown && d.size > whole.size)
      return reject(s, "window dimension {} of the updates {} is larger than dimension {} of the operand {}", i,
                    shape_text(updates), window[next_window], shape_text(x));
    ++next_window;
  }
  return {};
}

}  // namespace

// scatter(operands.., indices, updates..)
Result<Type> infer_scatter(const Site& s) {
  if (Problem p = check_arrays(s)) return *p;
  if (s.operands.size() % 2 == 0)
    return reject(s, "there must be as many updates as operands and one array of indices, but there are {} operands",
                  s.operands.size());
  size_t n = s.operands.size() / 2;
  for (size_t i = 1; i < n; ++i) {
    if (Problem p = check_same_dims(s, 0, i)) return *p;
    if (Problem p = check_same_dims(s, n + 1, n + 1 + i)) return *p;
  }
  const ScatterAttr& a = s.as<ScatterAttr>();
  IndexedDims d = scatter_dims(s, a);
  if (Problem p = check_operand_dims(s, d, s.operands[0].rank())) return *p;
  if (Problem p = check_index_vectors(s, d)) return *p;
  if (Problem p = check_updates(s, a, n)) return *p;
  for (size_t i = 0; i < n; ++i)
    if (!fits_element(s.operands[i], s.operands[n + 1 + i], Elements::any_float))
      return reject(s, "operand {} and its updates have different element types: {} and {}", i,
                    shape_text(s.operands[i]), shape_text(s.operands[n + 1 + i]));
  auto accumulators = check_reducer(s, *s.callees[0], s.operands.last(n), {});
  if (!accumulators) return accumulators.error();
  std::vector<Type> results;
  for (size_t i = 0; i < n; ++i) results.push_back(make_array(s, (*accumulators)[i], dims_of(s.operands[i])));
  return one_or_tuple(s, results);
}

}  // namespace hloc::ir::shapes
