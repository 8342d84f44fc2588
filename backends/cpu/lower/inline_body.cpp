// A kernel as the body of a loop: what a turn leaves in memory for the next stays in registers too.
#include <algorithm>
#include <cstdint>
#include <map>

#include "backends/cpu/lower/emit_block.h"
#include "backends/loops/walk.h"

namespace hloc::cpu {
namespace {

constexpr size_t registers_for_a_turn = 8;  // are left to the values of one turn

// Whether every access to each buffer is one known element, in the kernel's own block.
std::vector<bool> buffers_of_known_elements(const loops::Kernel& kernel) {
  std::vector<bool> good(kernel.buffers.size(), true);
  auto look = [&](const loops::Statement& s, bool own) {
    const loops::Access* access = loops::access_of(s);
    if (access && !(own && access->offset.is_constant() && access->guards.empty())) good[access->buffer] = false;
  };
  for (const loops::Statement& s : kernel.body) {
    look(s, true);
    loops::for_each_block(s, [&](auto& inner) { loops::for_each_statement(inner, [&](auto& deeper) { look(deeper, false); }); });
  }
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    const loops::Buffer& b = kernel.buffers[i];
    if (b.role == loops::BufferRole::local || b.element == ElementType::pred) good[i] = false;
  }
  return good;
}

}  // namespace

InlineBody::InlineBody(machine::Builder& builder, const loops::Kernel& kernel, const Machine& machine, std::vector<BufferAddress> buffers, machine::Reg scratch,
                       const std::vector<bool>& apart)
    : b_(builder), kernel_(kernel), machine_(machine), buffers_(std::move(buffers)), scratch_(scratch) {
  std::vector<bool> good = buffers_of_known_elements(kernel);
  std::map<std::pair<loops::BufferId, int64_t>, Element> found;
  size_t next = 0;
  std::vector<BufferAddress> address(kernel.buffers.size());
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    if (kernel.buffers[i].role == loops::BufferRole::local) continue;
    good[i] = good[i] && apart[next];
    address[i] = buffers_[next++];
  }
  for (const loops::Statement& s : kernel.body) {
    if (auto* load = s.as<loops::Load>(); load && good[load->access.buffer]) {
      Element& e = found[{load->access.buffer, load->access.offset.base}];
      if (e.stored == loops::no_id) e.loaded.push_back(load->result);
    } else if (auto* store = s.as<loops::Store>(); store && good[store->access.buffer]) {
      found[{store->access.buffer, store->access.offset.base}].stored = store->value;
    }
  }
  for (auto& [place, e] : found) {
    e.type = {kernel.buffers[place.first].element, 1};
    int64_t disp = address[place.first].offset + place.second * byte_width(e.type.element);
    if (e.loaded.empty() || disp > INT32_MAX) continue;
    e.at = machine::Address(address[place.first].base, static_cast<int32_t>(disp));
    kept_.push_back(std::move(e));
  }
  // What changes is worth more than what is only read: that one costs the time of a load, not of a store and a load. Where more
  // changes than there are registers, a turn takes longer than a value on its way through memory, and registers are wanted for it.
  auto unchanged = std::stable_partition(kept_.begin(), kept_.end(), [](const Element& e) { return e.stored != loops::no_id; });
  if (unchanged - kept_.begin() > machine.vector_registers) kept_.clear();
  size_t most = static_cast<size_t>(machine.vector_registers) - registers_for_a_turn;
  if (kept_.size() > most) kept_.resize(most);
}

void InlineBody::enter() {
  for (Element& e : kept_) e.reg = b_.vload(e.type, e.at);
}

Result<void> InlineBody::turn() {
  BlockEmitter emitter(kernel_, b_, machine_);
  bind_inline_buffers(emitter, kernel_, buffers_, scratch_);
  std::vector<bool> is_kept(kernel_.values.size());
  for (const Element& e : kept_)
    for (loops::ValueId v : e.loaded) emitter.bind_value(v, e.reg), is_kept[v] = true;
  for (const loops::Statement& s : kernel_.body) {
    auto* load = s.as<loops::Load>();
    if (!load || !is_kept[load->result]) emitter.emit_statement(s);
    if (emitter.failure) return *emitter.failure;
  }
  // All at once: what one element hands to another is read before it changes.
  std::vector<std::pair<const Element*, machine::Reg>> renewed;
  for (const Element& e : kept_) {
    if (e.stored == loops::no_id) continue;
    machine::Reg value = emitter.vector_of(e.stored);
    if (is_kept[e.stored]) value = b_.vmov(e.type, value);
    renewed.emplace_back(&e, value);
  }
  for (auto [e, value] : renewed) b_.vmov(e->type, value, e->reg);
  return {};
}

}  // namespace hloc::cpu
