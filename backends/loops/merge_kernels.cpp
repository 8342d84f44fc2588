#include "backends/loops/merge_kernels.h"

#include <algorithm>

#include <fmt/format.h>

#include "backends/loops/forward.h"
#include "backends/loops/legalise.h"
#include "backends/loops/walk.h"

namespace hloc::loops {
namespace {

// Numbers of a kernel's names after it has been appended to another kernel.
struct NumberShift {
  uint32_t values, indices, accumulators;
  std::vector<BufferId> buffers;

  void value(ValueId& v) const {
    if (v != no_id) v += values;
  }
  void affine(Affine& a) const {
    for (Term& t : a.terms) t.index += indices;
  }

  void block(Block& statements) const {
    for (Statement& s : statements) statement(s);
  }

  void statement(Statement& s) const {
    for_each_value_slot(s, [this](ValueId& v) { value(v); });
    for_each_affine(s, [this](Affine& a) { affine(a); });
    std::visit(Overload{[&](Compute& c) { value(c.result); },
                        [&](Load& l) { value(l.result), l.access.buffer = buffers[l.access.buffer]; },
                        [&](Store& st) { st.access.buffer = buffers[st.access.buffer]; },
                        [&](IndexValue& i) { value(i.result); }, [&](Test& t) { value(t.result); },
                        [&](Derive& d) { d.index += indices; }, [&](Declare& d) { d.acc += accumulators; },
                        [&](Accumulate& a) { a.acc += accumulators; }, [&](Set& x) { x.acc += accumulators; },
                        [&](Get& g) { value(g.result), g.acc += accumulators; },
                        [&](Loop& l) {
                          l.index += indices;
                          l.grain = 0;
                          if (l.go_on != no_id) l.go_on += accumulators;
                          block(l.body);
                        },
                        [&](Contract& c) {
                          for (ContractDim& d : c.dims) d.index += indices;
                          value(c.lhs_value), value(c.rhs_value), value(c.result);
                          block(c.lhs), block(c.rhs), block(c.epilogue);
                        }},
               s.what);
  }
};

std::vector<bool> used_buffers(const Kernel& kernel) {
  std::vector<bool> used(kernel.buffers.size());
  for_each_statement(kernel.body, [&](const Statement& s) {
    if (auto* load = s.as<Load>()) used[load->access.buffer] = true;
    if (auto* store = s.as<Store>()) used[store->access.buffer] = true;
  });
  return used;
}

// Inputs, outputs, locals; those that are not used are dropped. Returns the old numbers of the inputs and outputs.
std::vector<BufferId> order_buffers(Kernel& kernel) {
  std::vector<bool> used = used_buffers(kernel);
  std::vector<BufferId> now(kernel.buffers.size(), no_id), old;
  std::vector<Buffer> buffers;
  for (BufferRole role : {BufferRole::input, BufferRole::output, BufferRole::local})
    for (BufferId b = 0; b < kernel.buffers.size(); ++b) {
      if (!used[b] || kernel.buffers[b].role != role) continue;
      now[b] = static_cast<BufferId>(buffers.size());
      buffers.push_back(kernel.buffers[b]);
      if (role != BufferRole::local) old.push_back(b);
    }
  kernel.buffers = std::move(buffers);
  for_each_statement(kernel.body, [&](Statement& s) {
    if (auto* load = s.as<Load>()) load->access.buffer = now[load->access.buffer];
    if (auto* store = s.as<Store>()) store->access.buffer = now[store->access.buffer];
  });
  return old;
}

void name_apart(std::vector<Buffer>& buffers) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    std::string base = buffers[i].name;
    auto taken = [&](const std::string& name) {
      return std::any_of(buffers.begin(), buffers.begin() + static_cast<std::ptrdiff_t>(i), [&](const Buffer& b) { return b.name == name; });
    };
    for (int n = 1; taken(buffers[i].name); ++n) buffers[i].name = fmt::format("{}.{}", base, n);
  }
}

}  // namespace

KernelMerger::KernelMerger(std::vector<SharedMemory> memories)
    : memories_(std::move(memories)), read_(memories_.size()), written_(memories_.size()) {
  for (const SharedMemory& m : memories_) kernel_.buffers.push_back({m.name, BufferRole::input, m.element, m.count});
}

void KernelMerger::add(const Kernel& kernel, std::span<const uint32_t> memories) {
  NumberShift shift{static_cast<uint32_t>(kernel_.values.size()), static_cast<uint32_t>(kernel_.indices.size()),
                    static_cast<uint32_t>(kernel_.accumulators.size()), {}};
  size_t shared = 0;
  for (const Buffer& b : kernel.buffers) {
    if (b.role == BufferRole::local) {
      shift.buffers.push_back(static_cast<BufferId>(kernel_.buffers.size()));
      kernel_.buffers.push_back(b);
      continue;
    }
    uint32_t m = memories[shared++];
    shift.buffers.push_back(m);
    if (b.role == BufferRole::output) written_[m] = true;
    if (kernel_.buffers[m].name.empty()) kernel_.buffers[m].name = b.name;
  }
  kernel_.values.insert(kernel_.values.end(), kernel.values.begin(), kernel.values.end());
  kernel_.accumulators.insert(kernel_.accumulators.end(), kernel.accumulators.begin(), kernel.accumulators.end());
  for (Index index : kernel.indices) {
    shift.affine(index.of);
    shift.value(index.value);
    kernel_.indices.push_back(std::move(index));
  }
  for (Statement s : kernel.body) {
    shift.statement(s);
    kernel_.body.push_back(std::move(s));
  }
}

void KernelMerger::add_copy(uint32_t from, uint32_t to) {
  auto index = static_cast<IndexId>(kernel_.indices.size());
  auto value = static_cast<ValueId>(kernel_.values.size());
  int64_t count = memories_[from].count;
  written_[to] = true;
  if (count == 0) return;
  kernel_.indices.push_back({IndexKind::loop, {0, count - 1}, {}, 1, no_id});
  kernel_.values.push_back({memories_[from].element, false, 0});
  Block body{{Load{value, {from, Affine::of(index), {}}, no_id}}, {Store{{to, Affine::of(index), {}}, value}}};
  kernel_.body.push_back({Loop{index, count, LoopKind::vector, 0, std::move(body), no_id}});
}

Overlaps KernelMerger::overlaps() const {
  Overlaps out;
  for (const SharedMemory& m : memories_) out.push_back(m.overlaps);
  return out;
}

bool KernelMerger::reduce_as_stored() { return loops::reduce_as_stored(kernel_, overlaps()); }

MergedKernel KernelMerger::finish(std::string_view name) {
  kernel_.name = name;
  const Overlaps overlaps = this->overlaps();
  std::vector<bool> is_read_later;
  for (size_t m = 0; m < memories_.size(); ++m) {
    bool changes = written_[m];
    for (uint32_t other : memories_[m].overlaps) changes |= written_[other];
    if (changes) kernel_.buffers[m].role = BufferRole::output;
    if (kernel_.buffers[m].name.empty()) kernel_.buffers[m].name = "memory";
    is_read_later.push_back(memories_[m].is_read_later);
  }
  unroll_short_loops(kernel_);
  join_loops(kernel_, overlaps);
  forward_stores(kernel_, overlaps);
  remove_dead_stores(kernel_, overlaps, is_read_later);
  remove_unused(kernel_);
  MergedKernel out;
  out.memories = order_buffers(kernel_);
  name_apart(kernel_.buffers);
  out.kernel = std::move(kernel_);
  return out;
}

}  // namespace hloc::loops
