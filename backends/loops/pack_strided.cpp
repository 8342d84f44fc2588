// Arrays that vector loops read with a stride again and again are transposed once, so that lanes read neighbours:
//
//   for i { for j vector { … load x[3*j + 1] … } }
//     → local packed; for k in 3 { for j vector { packed[n*k + j] = x[3*j + k] } }
//       for i { for j vector { … load packed[n + j] … } }
//
// The kernel needs no rank of x: a stride s makes it an array of s columns.
#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "backends/loops/schedule.h"
#include "backends/loops/walk.h"

namespace hloc::loops {
namespace {

constexpr int64_t least_reads = 64;           // of each element, for its copy to pay
constexpr int64_t most_bytes = 256 << 10;     // of a copy: it should stay in a near cache
constexpr int64_t most_columns = 64;

struct StridedReads {
  std::vector<Load*> loads;         // in one block each of another element
  std::vector<std::pair<ValueId, ValueId>> repeated;  // what reads the same again, and the first one
  int64_t reads = 0;  // of single elements, over the whole kernel
};
using StridedTable = std::map<std::pair<BufferId, int64_t>, StridedReads>;  // by buffer and stride

// The offset in the transposed array, of `rows` elements a column; nullopt where the column is not known to be one of the array's.
std::optional<Affine> packed_offset(const Kernel& kernel, const Affine& offset, int64_t stride, int64_t rows) {
  Affine row, column(offset.base);
  for (const Term& t : offset.terms) {
    if (t.coefficient % stride == 0) row += Affine::of(t.index, t.coefficient / stride);
    else column += Affine::of(t.index, t.coefficient);
  }
  Range r = range_of(kernel, column);
  int64_t whole = r.lo >= 0 ? r.lo / stride : -((-r.lo + stride - 1) / stride);
  if (r.hi - whole * stride >= stride) return std::nullopt;
  column += Affine(-whole * stride);
  row += Affine(whole);
  column *= rows;
  return column += row;
}

class StridedFinder {
 public:
  StridedFinder(Kernel& kernel, std::span<const BufferId> kept) : kernel_(kernel), kept_(kept) {}

  StridedTable run() {
    for (Statement& s : kernel_.body)
      if (auto* loop = s.as<Loop>()) block(loop->body, loop->extent, loop->kind == LoopKind::vector ? loop->index : no_id);
    return std::move(table_);
  }

 private:
  // `lanes`: the index of the vector loop around.
  void block(Block& statements, int64_t times, IndexId lanes) {
    std::vector<Load*> before;
    for (Statement& s : statements) {
      if (auto* loop = s.as<Loop>()) {
        int64_t inner = 0;
        if (__builtin_mul_overflow(times, loop->extent, &inner)) inner = INT64_MAX / 2;
        block(loop->body, inner, lanes == no_id && loop->kind == LoopKind::vector ? loop->index : lanes);
      } else if (auto* load = s.as<Load>(); load && lanes != no_id) {
        see(*load, times, lanes, before);
      }
    }
  }

  void see(Load& load, int64_t times, IndexId lanes, std::vector<Load*>& before) {
    const Access& access = load.access;
    const Buffer& buffer = kernel_.buffers[access.buffer];
    int64_t stride = access.offset.coefficient(lanes);
    if (buffer.role != BufferRole::input || !access.guards.empty() || stride < 2 || stride > most_columns) return;
    if (buffer.count % stride != 0 || buffer.count * byte_width(buffer.element) > most_bytes) return;
    if (std::find(kept_.begin(), kept_.end(), access.buffer) != kept_.end()) return;
    if (!packed_offset(kernel_, access.offset, stride, buffer.count / stride)) return;
    StridedReads& found = table_[{access.buffer, stride}];
    auto same = std::ranges::find_if(before, [&](const Load* l) { return l->access.buffer == access.buffer && l->access.offset == access.offset; });
    if (same != before.end()) return void(found.repeated.emplace_back(load.result, (*same)->result));
    before.push_back(&load);
    found.loads.push_back(&load);
    found.reads = std::min(found.reads + times, INT64_MAX / 4);
  }

  Kernel& kernel_;
  std::span<const BufferId> kept_;
  StridedTable table_;
};

IndexId new_loop_index(Kernel& kernel, int64_t extent) {
  kernel.indices.push_back({IndexKind::loop, {0, extent - 1}, {}, 1, no_id});
  return static_cast<IndexId>(kernel.indices.size() - 1);
}

// for k in stride { for j in rows vector { packed[rows*k + j] = buffer[stride*j + k] } }
Statement transposition(Kernel& kernel, BufferId from, BufferId to, int64_t stride, int64_t rows) {
  IndexId k = new_loop_index(kernel, stride), j = new_loop_index(kernel, rows);
  kernel.values.push_back({kernel.buffers[from].element, false, 0});
  auto v = static_cast<ValueId>(kernel.values.size() - 1);
  Block inner;
  inner.push_back({Load{v, {from, Affine::of(j, stride) + Affine::of(k), {}}, no_id}});
  inner.push_back({Store{{to, Affine::of(k, rows) + Affine::of(j), {}}, v}});
  Block outer;
  outer.push_back({Loop{j, rows, LoopKind::vector, 0, std::move(inner), no_id}});
  return {Loop{k, stride, LoopKind::serial, 0, std::move(outer), no_id}};
}

}  // namespace

void pack_strided(Kernel& kernel, std::span<const BufferId> kept) {
  Block before;
  for (auto& [key, found] : StridedFinder(kernel, kept).run()) {
    auto [buffer, stride] = key;
    int64_t count = kernel.buffers[buffer].count, rows = count / stride;
    if (found.reads / least_reads < count) continue;
    auto packed = static_cast<BufferId>(kernel.buffers.size());
    kernel.buffers.push_back({kernel.buffers[buffer].name + ".by" + std::to_string(stride), BufferRole::local, kernel.buffers[buffer].element, count});
    for (Load* load : found.loads) load->access = {packed, *packed_offset(kernel, load->access.offset, stride, rows), {}};
    // Loads of an input would be one by themselves, those of a local buffer are not. The second load stays, unused.
    std::unordered_map<ValueId, ValueId> first(found.repeated.begin(), found.repeated.end());
    for_each_statement(kernel.body, [&first](Statement& s) {
      for_each_value_slot(s, [&first](ValueId& v) {
        if (auto it = first.find(v); it != first.end()) v = it->second;
      });
    });
    before.push_back(transposition(kernel, buffer, packed, stride, rows));
  }
  kernel.body.insert(kernel.body.begin(), std::make_move_iterator(before.begin()), std::make_move_iterator(before.end()));
}

}  // namespace hloc::loops
