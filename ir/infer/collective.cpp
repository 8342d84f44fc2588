// Collectives: what each device of a group gets. Where the text does not say how large a group is, only what holds for
// every size is checked.
#include <algorithm>
#include <unordered_set>

#include "ir/infer/rules.h"

namespace hloc::ir::shapes {
namespace {

// Every device at most once. StableHLO fills short groups up with -1.
Problem check_group_list(const Site& s, const std::vector<Ints>& groups) {
  std::unordered_set<int64_t> seen;
  for (const Ints& group : groups)
    for (int64_t device : group) {
      if (device < -1) return reject(s, "replica_groups has the negative device {}", device);
      if (device >= 0 && !seen.insert(device).second)
        return reject(s, "replica_groups names device {} twice", device);
    }
  return {};
}

Problem check_iota_groups(const Site& s, const IotaTile& tile) {
  Checked total = 1, source = 1;
  for (int64_t d : tile.dims) total = total * d;
  for (int64_t d : tile.reshape) source = source * d;
  auto positive = [](const Ints& list) { return std::ranges::all_of(list, [](int64_t d) { return d > 0; }); };
  if (tile.dims.size() != 2 || !positive(tile.dims) || !positive(tile.reshape))
    return reject(s, "replica_groups must be [groups,size]<=[..] with positive numbers");
  if (!total.ok || !source.ok || total.value != source.value)
    return reject(s, "replica_groups [{}]<=[{}] has different numbers of devices on its sides", fmt::join(tile.dims, ","),
                  fmt::join(tile.reshape, ","));
  if (tile.transpose.empty()) return {};
  if (Problem p = check_length(s, "replica_groups: the transposition", tile.transpose.size(),
                               static_cast<int64_t>(tile.reshape.size())))
    return p;
  return check_dims(s, "replica_groups: the transposition", tile.transpose, static_cast<int64_t>(tile.reshape.size()));
}

Problem check_collective(const Site& s) {
  const CollectiveAttr& a = s.as<CollectiveAttr>();
  switch (a.groups.kind) {
    case ReplicaGroups::absent:
    case ReplicaGroups::mesh: break;
    case ReplicaGroups::list:
      if (Problem p = check_group_list(s, a.groups.groups)) return p;
      break;
    case ReplicaGroups::iota:
      if (Problem p = check_iota_groups(s, a.groups.tile)) return p;
      break;
  }
  if (a.use_global_device_ids && !a.channel_id)
    return reject(s, "use_global_device_ids=true needs a channel_id");
  return {};
}

// How many devices work together. Not exact when the run or the mesh decides; then a multiple of `factor`.
struct GroupSize {
  bool exact = false;
  int64_t factor = 1;
};

// With a channel but replica numbers in the groups, all partitions of those replicas take part.
bool groups_span_partitions(const Site& s) {
  const CollectiveAttr& a = s.as<CollectiveAttr>();
  return s.op != Op::AllToAll && a.channel_id && *a.channel_id > 0 && !a.use_global_device_ids;
}

Result<GroupSize> group_size(const Site& s) {
  const ReplicaGroups& g = s.as<CollectiveAttr>().groups;
  bool exact = !groups_span_partitions(s);
  if (g.kind == ReplicaGroups::iota) return GroupSize{exact, g.tile.dims[1]};
  if (g.kind != ReplicaGroups::list || g.groups.empty()) return GroupSize{};
  size_t size = g.groups[0].size();
  for (const Ints& group : g.groups)
    if (group.size() != size)
      return reject(s, "all replica_groups must have the same size, but {} has {} and {} has {}",
                    list_text(g.groups[0]), size, list_text(group), group.size());
  if (size == 0) return GroupSize{};
  return GroupSize{exact, static_cast<int64_t>(size)};
}

// The one dimension of all operands that is gathered, scattered or split.
Problem check_collective_dim(const Site& s, int64_t dim) {
  if (Problem p = check_arrays(s)) return p;
  for (Type t : s.operands)
    if (dim < 0 || dim >= t.rank())
      return reject(s, "dimension {} is out of range: an operand is {}", dim, shape_text(t));
  return {};
}

Problem check_collective_dims(const Site& s) {
  const Ints& dims = s.as<CollectiveAttr>().dims;
  if (Problem p = check_one(s, "dimensions", dims)) return p;
  return check_collective_dim(s, dims[0]);
}

Type with_dim(const Site& s, Type t, int64_t dim, Dim size) {
  std::vector<Dim> dims = dims_of(t);
  dims[static_cast<size_t>(dim)] = size;
  return make_array(s, t, std::move(dims));
}

// The dimension times `factor`; a dynamic one stays dynamic.
Result<Dim> scaled_dim(const Site& s, Type t, int64_t dim, int64_t factor) {
  Dim d = t.dims()[static_cast<size_t>(dim)];
  if (d.kind == Dim::unknown) return d;
  Checked size = Checked(d.size) * factor;
  if (!size.ok)
    return reject(s, "{} times dimension {} of {} does not fit into 63 bits", factor, dim, shape_text(t));
  d.size = size.value;
  return d;
}

Result<Dim> divided_dim(const Site& s, Type t, int64_t dim, int64_t divisor) {
  Dim d = t.dims()[static_cast<size_t>(dim)];
  if (d.kind == Dim::unknown) return d;
  if (d.size % divisor != 0)
    return reject(s, "dimension {} of {} must be a multiple of {}", dim, shape_text(t), divisor);
  d.size /= divisor;
  return d;
}

// Declared parts, one for each operand; empty when the declared type has another structure.
std::vector<Type> declared_parts(const Site& s, Type declared) {
  if (s.operands.size() == 1 && declared.is_array()) return {declared};
  if (!declared.is_tuple() || declared.tuple_size() != s.operands.size()) return {};
  std::vector<Type> parts;
  for (size_t i = 0; i < declared.tuple_size(); ++i) parts.push_back(declared.element_type(i));
  return parts;
}

// With groups of unknown size the larger side must be a whole multiple of the smaller one, for all operands alike.
Problem check_multiple(const Site& s, Type declared, int64_t dim, int64_t factor, bool result_is_larger) {
  std::vector<Type> parts = declared_parts(s, declared);
  if (parts.size() != s.operands.size())
    return reject(s, "the result is declared {}, but there are {} operands", shape_text(declared), s.operands.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    Type x = s.operands[i];
    bool good = parts[i].is_array() && parts[i].rank() == x.rank() && fits_element(parts[i], x, Elements::any_float);
    for (int64_t d = 0; good && d < x.rank(); ++d) {
      Dim in = x.dims()[static_cast<size_t>(d)], out = parts[i].dims()[static_cast<size_t>(d)];
      if (d != dim) {
        good = fits(in, out);
      } else if (in.kind != Dim::unknown && out.kind != Dim::unknown) {
        int64_t large = result_is_larger ? out.size : in.size, small = result_is_larger ? in.size : out.size;
        good = small == 0 ? large == 0 : large % small == 0 && large / small % factor == 0;
      }
    }
    if (!good)
      return reject(s, "the result is declared {}, which no number of devices makes from the operand {} along dimension {}",
                    shape_text(parts[i]), shape_text(x), dim);
  }
  return {};
}

// What all-gather gives; no type when the size of a group is unknown.
Result<Type> gathered(const Site& s, Type declared) {
  if (Problem p = check_collective(s)) return *p;
  if (Problem p = check_collective_dims(s)) return *p;
  int64_t dim = s.as<CollectiveAttr>().dims[0];
  auto devices = group_size(s);
  if (!devices) return devices.error();
  if (!devices->exact) {
    if (declared)
      if (Problem p = check_multiple(s, declared, dim, devices->factor, true)) return *p;
    return Type();
  }
  std::vector<Type> results;
  for (Type t : s.operands) {
    auto size = scaled_dim(s, t, dim, devices->factor);
    if (!size) return size.error();
    results.push_back(with_dim(s, t, dim, *size));
  }
  return one_or_tuple(s, results);
}

}  // namespace

Result<Type> infer_device_id(const Site& s) { return s.context.scalar(ElementType::u32); }

Result<Type> infer_all_gather(const Site& s) { return gathered(s, s.declared); }

// (operands, results[, contexts..]); some writers give the result alone.
Result<Type> infer_all_gather_start(const Site& s) {
  if (!s.declared) {
    auto result = gathered(s, Type());
    if (!result || !*result) return result;
    Type parts[] = {one_or_tuple(s, s.operands), *result};
    return s.context.tuple(parts);
  }
  Type operands = one_or_tuple(s, s.operands);
  bool pair = s.declared.is_tuple() && s.declared.tuple_size() >= 2 && fits(s.declared.element_type(0), operands);
  Type declared = pair ? s.declared.element_type(1) : s.declared;
  auto result = gathered(s, declared);
  if (!result) return result;
  if (*result && !fits(declared, *result))
    return reject(s, "the result is declared {}, but the operands give {}", shape_text(declared), shape_text(*result));
  return Type();
}

Result<Type> infer_start_pair_done(const Site& s) {
  Type t = s.operands[0];
  if (!t.is_tuple()) return plain(s, t);
  if (t.tuple_size() < 2)
    return reject(s, "the operand must be (operands, results, contexts..), but it is {}", shape_text(t));
  return plain(s, t.element_type(1));
}

// all-reduce, all-reduce-start, collective-reduce
Result<Type> infer_all_reduce(const Site& s) {
  if (Problem p = check_arrays(s)) return *p;
  if (Problem p = check_collective(s)) return *p;
  std::vector<Type> results;
  for (size_t i = 0; i < s.operands.size(); ++i) {
    auto accumulators = check_reducer(s, *s.callees[0], s.operands.subspan(i, 1), {});
    if (!accumulators) return accumulators.error();
    results.push_back(make_array(s, (*accumulators)[0], dims_of(s.operands[i])));
  }
  return one_or_tuple(s, results);
}

namespace {

// StableHLO: cut along one dimension into split_count parts, joined along another.
Result<Type> split_and_joined(const Site& s) {
  const CollectiveAttr& a = s.as<CollectiveAttr>();
  if (Problem p = check_collective_dim(s, a.split_dim)) return *p;
  if (Problem p = check_collective_dim(s, a.concat_dim)) return *p;
  if (a.split_count < 1) return reject(s, "split_count={} must be at least 1", a.split_count);
  std::vector<Type> results;
  for (Type t : s.operands) {
    auto part = divided_dim(s, t, a.split_dim, a.split_count);
    if (!part) return part.error();
    Type cut = with_dim(s, t, a.split_dim, *part);
    auto joined = scaled_dim(s, cut, a.concat_dim, a.split_count);
    if (!joined) return joined.error();
    results.push_back(with_dim(s, cut, a.concat_dim, *joined));
  }
  return one_or_tuple(s, results);
}

}  // namespace

// With a dimension: one array, cut along it. Without: operand k goes to device k of the group.
Result<Type> infer_all_to_all(const Site& s) {
  if (Problem p = check_collective(s)) return *p;
  if (Problem p = check_arrays(s)) return *p;
  const CollectiveAttr& a = s.as<CollectiveAttr>();
  if (a.split_dim >= 0 || a.concat_dim >= 0 || a.split_count > 0) return split_and_joined(s);
  auto devices = group_size(s);
  if (!devices) return devices.error();
  if (a.has_dims) {
    if (s.operands.size() != 1)
      return reject(s, "with dimensions there must be one operand, but there are {}", s.operands.size());
    if (Problem p = check_collective_dims(s)) return *p;
    if (auto part = divided_dim(s, s.operands[0], a.dims[0], devices->factor); !part) return part.error();
    return plain(s, s.operands[0]);
  }
  for (size_t i = 1; i < s.operands.size(); ++i) {
    if (Problem p = check_same_dims(s, 0, i)) return *p;
    if (Problem p = check_same_element(s, 0, i)) return *p;
  }
  if (devices->exact && devices->factor != static_cast<int64_t>(s.operands.size()))
    return reject(s, "groups of {} devices need as many operands, but there are {}", devices->factor, s.operands.size());
  bool bare = s.operands.size() == 1 && s.declared && s.declared.is_array();
  std::vector<Type> results;
  for (Type t : s.operands) results.push_back(plain(s, t));
  return bare ? results[0] : s.context.tuple(results);
}

// input, output, input offsets, send sizes, output offsets, receive sizes: rows of input land in output.
Result<Type> infer_ragged_all_to_all(const Site& s) {
  if (Problem p = check_collective(s)) return *p;
  if (Problem p = check_arrays(s)) return *p;
  if (Problem p = check_same_element(s, 0, 1)) return *p;
  Type input = s.operands[0], output = s.operands[1];
  bool same_rows = input.rank() == output.rank() && input.rank() >= 1;
  for (size_t d = 1; same_rows && d < input.dims().size(); ++d) same_rows = fits(input.dims()[d], output.dims()[d]);
  if (!same_rows)
    return reject(s, "input and output may differ only in dimension 0, but they are {} and {}", shape_text(input),
                  shape_text(output));
  for (size_t i = 2; i < 6; ++i) {
    if (Problem p = check_class(s, i, class_integer)) return *p;
    if (Problem p = check_same_dims(s, 2, i)) return *p;
    if (Problem p = check_same_element(s, 2, i)) return *p;
  }
  return plain(s, output);
}

Result<Type> infer_reduce_scatter(const Site& s) {
  if (Problem p = check_collective(s)) return *p;
  if (Problem p = check_collective_dims(s)) return *p;
  int64_t dim = s.as<CollectiveAttr>().dims[0];
  auto devices = group_size(s);
  if (!devices) return devices.error();
  std::vector<Type> results;
  for (size_t i = 0; i < s.operands.size(); ++i) {
    auto accumulators = check_reducer(s, *s.callees[0], s.operands.subspan(i, 1), {});
    if (!accumulators) return accumulators.error();
    auto part = divided_dim(s, s.operands[i], dim, devices->factor);
    if (!part) return part.error();
    results.push_back(make_array(s, (*accumulators)[0], dims_of(with_dim(s, s.operands[i], dim, *part))));
  }
  if (devices->exact) return one_or_tuple(s, results);
  if (s.declared)
    if (Problem p = check_multiple(s, s.declared, dim, devices->factor, false)) return *p;
  return Type();
}

Result<Type> infer_collective_broadcast(const Site& s) {
  if (Problem p = check_collective(s)) return *p;
  if (Problem p = check_arrays(s)) return *p;
  // The number of the sender is a last operand of its own.
  size_t data = s.operands.size();
  if (s.as<CollectiveAttr>().has_dynamic_root && data > 1) --data;
  std::vector<Type> results;
  for (Type t : s.operands.first(data)) results.push_back(plain(s, t));
  return one_or_tuple(s, results);
}

namespace {

// Each device sends at most once and receives at most once, unless slices of it go in several pieces.
Problem check_pairs(const Site& s) {
  const PermuteAttr& a = s.as<PermuteAttr>();
  std::unordered_set<int64_t> sources, targets;
  for (const Ints& pair : a.source_target_pairs) {
    if (pair.size() != 2) return reject(s, "source_target_pairs has {}, which is no pair", list_text(pair));
    if (pair[0] < 0 || pair[1] < 0) return reject(s, "source_target_pairs has the negative device in {}", list_text(pair));
    bool new_source = sources.insert(pair[0]).second, new_target = targets.insert(pair[1]).second;
    if (!a.slice_sizes.empty()) continue;
    if (!new_source) return reject(s, "source_target_pairs lets device {} send twice", pair[0]);
    if (!new_target) return reject(s, "source_target_pairs lets device {} receive twice", pair[1]);
  }
  return {};
}

// With slice sizes: (input, output, input offsets, output offsets), and slices land in the output.
Result<Type> permuted(const Site& s) {
  if (Problem p = check_pairs(s)) return *p;
  if (s.as<PermuteAttr>().slice_sizes.empty()) {
    if (Problem p = check_arrays(s)) return *p;
    std::vector<Type> results;
    for (Type t : s.operands) results.push_back(plain(s, t));
    return one_or_tuple(s, results);
  }
  if (s.operands.size() != 4)
    return reject(s, "slice_sizes needs 4 operands (input, output and their offsets), but there are {}", s.operands.size());
  return plain(s, s.operands[1]);
}

}  // namespace

Result<Type> infer_collective_permute(const Site& s) { return permuted(s); }

// (input, result[, contexts..])
Result<Type> infer_collective_permute_start(const Site& s) {
  auto result = permuted(s);
  if (!result) return result;
  bool in_place = !s.as<PermuteAttr>().slice_sizes.empty();
  Type input = in_place ? s.operands[0] : one_or_tuple(s, s.operands);
  if (!s.declared) {
    Type parts[] = {input, *result};
    return s.context.tuple(parts);
  }
  bool pair = s.declared.is_tuple() && s.declared.tuple_size() >= 2 && fits(s.declared.element_type(0), input) &&
              fits(s.declared.element_type(1), *result);
  if (!pair && !fits(s.declared, *result))
    return reject(s, "the result must be ({}, {}, contexts..), but it is declared {}", shape_text(input),
                  shape_text(*result), shape_text(s.declared));
  return Type();
}

}  // namespace hloc::ir::shapes
