// A kernel as the body of a loop: what a turn leaves in memory for the next stays in registers too.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

#include "backends/cpu/lower/emit_block.h"
#include "backends/cpu/lower/superword.h"
#include "backends/loops/walk.h"

namespace hloc::cpu {
namespace {

constexpr int registers_for_a_turn = 8;   // are left to the values of one turn

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

// The elements that a turn finds in memory at its beginning and does not look at again after it has changed them.
std::vector<TurnElement> elements_of_turn(const loops::Kernel& kernel, const std::vector<bool>& is_known) {
  std::map<std::pair<loops::BufferId, int64_t>, TurnElement> found;
  std::vector<std::pair<loops::BufferId, int64_t>> seen_again;
  for (const loops::Statement& s : kernel.body) {
    const loops::Access* access = loops::access_of(s);
    if (!access || !is_known[access->buffer]) continue;
    std::pair place(access->buffer, access->offset.base);
    TurnElement& e = found.try_emplace(place, TurnElement{place.first, place.second, {}, loops::no_id}).first->second;
    if (auto* store = s.as<loops::Store>()) e.stored = store->value;
    else if (e.stored == loops::no_id) e.loaded.push_back(loops::result_of(s));
    else seen_again.push_back(place);
  }
  for (const auto& place : seen_again) found.erase(place);
  std::vector<TurnElement> out;
  for (auto& [place, e] : found)
    if (!e.loaded.empty()) out.push_back(std::move(e));
  return out;
}

// The vector of these scalars, a power of two of them.
machine::Reg vector_from(machine::Builder& b, ElementType type, std::vector<machine::Reg> lanes) {
  for (int width = 2; lanes.size() > 1; width *= 2) {
    for (size_t i = 0; i < lanes.size() / 2; ++i) lanes[i] = b.vconcat({type, static_cast<uint8_t>(width)}, lanes[2 * i], lanes[2 * i + 1]);
    lanes.resize(lanes.size() / 2);
  }
  return lanes[0];
}

}  // namespace

struct InlineBody::Plan {
  // What does not change and has no register from turn to turn is loaded by each turn.
  struct Scalar {
    TurnElement element;
    machine::VType type;
    machine::Address at;
    bool stays = true;
    machine::Reg reg;
  };
  struct Vector {
    Superwords::Pack pack;
    machine::VType type;
    std::vector<machine::Address> at;  // of the lanes that count; the others only fill the vector
    bool is_run = true;                // all lanes count, and lie side by side
    bool is_splat = true;              // they are the same element
    bool stays = true;
    machine::Reg reg;

    machine::Reg load(machine::Builder& b) const {
      if (is_splat) return b.vload_broadcast(type, at[0]);
      if (is_run) return b.vload(type, at[0]);
      std::vector<machine::Reg> lanes;
      for (const machine::Address& a : at) lanes.push_back(b.vload({type.element, 1}, a));
      lanes.resize(type.lanes, lanes.back());
      return vector_from(b, type.element, std::move(lanes));
    }
    void store(machine::Builder& b) const {
      if (is_run) return b.vstore(type, at[0], reg);
      machine::VType one{type.element, 1};
      for (size_t lane = 0; lane < at.size(); ++lane) b.vstore(one, at[lane], b.vpart(one, reg, static_cast<int>(lane)));
    }
  };
  Superwords work;
  std::vector<Scalar> scalars;
  std::vector<Vector> vectors;
};

InlineBody::InlineBody(machine::Builder& builder, const loops::Kernel& kernel, const Machine& machine, std::vector<BufferAddress> buffers, machine::Reg scratch,
                       const std::vector<bool>& apart)
    : b_(builder), kernel_(kernel), machine_(machine), buffers_(std::move(buffers)), scratch_(scratch), plan_(std::make_unique<Plan>()) {
  std::vector<bool> good = buffers_of_known_elements(kernel);
  std::vector<BufferAddress> address(kernel.buffers.size());
  size_t next = 0;
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    if (kernel.buffers[i].role == loops::BufferRole::local) continue;
    // Every element is within what an address can add to its base.
    good[i] = good[i] && apart[next] && kernel.buffers[i].count < (INT32_MAX - buffers_[next].offset) / byte_width(kernel.buffers[i].element);
    address[i] = buffers_[next++];
  }
  std::vector<TurnElement> elements = elements_of_turn(kernel, good);
  int registers = machine.vector_registers - registers_for_a_turn;
  if (auto wide = superwords(kernel, elements, machine.vector_bytes, registers)) {
    plan_->work = *std::move(wide);
  } else {
    // What changes is worth more than what is only read: that one costs the time of a load, not of a store and a load. Where more
    // changes than there are registers, a turn takes longer than a value on its way through memory, and registers are wanted for it.
    auto unchanged = std::stable_partition(elements.begin(), elements.end(), [](const TurnElement& e) { return e.stored != loops::no_id; });
    if (unchanged - elements.begin() > machine.vector_registers) elements.clear();
    if (elements.size() > static_cast<size_t>(registers)) elements.resize(static_cast<size_t>(registers));
    plan_->work = scalar_turn(kernel, elements);
  }
  auto place = [&](const TurnElement& e) {
    int64_t disp = address[e.buffer].offset + e.offset * byte_width(kernel.buffers[e.buffer].element);
    return machine::Address(address[e.buffer].base, static_cast<int32_t>(disp));
  };
  const Superwords& work = plan_->work;
  for (size_t i = 0; i < elements.size(); ++i) {
    TurnElement e = elements[i];
    if (work.is_packed[i] || (!work.is_read[i] && e.stored == loops::no_id)) continue;
    e.stored = work.stored[i];
    plan_->scalars.push_back({e, {kernel.buffers[e.buffer].element, 1}, place(e), true, {}});
  }
  for (const Superwords::Pack& p : work.packs) {
    const TurnElement& first = elements[p.elements[0]];
    Plan::Vector v{p, {kernel.buffers[first.buffer].element, static_cast<uint8_t>(work.lanes)}, {}, true, true, true, {}};
    v.is_run = p.elements.size() == static_cast<size_t>(work.lanes);
    for (size_t lane = 0; lane < p.elements.size(); ++lane) {
      const TurnElement& e = elements[p.elements[lane]];
      v.is_run = v.is_run && e.buffer == first.buffer && e.offset == first.offset + static_cast<int64_t>(lane);
      v.is_splat = v.is_splat && p.elements[lane] == p.elements[0];
      v.at.push_back(place(e));
    }
    plan_->vectors.push_back(std::move(v));
  }
  for (auto& s : plan_->scalars) registers -= s.element.stored != loops::no_id;
  for (auto& v : plan_->vectors) registers -= v.pack.next != loops::no_id;
  for (auto& v : plan_->vectors)
    if (v.pack.next == loops::no_id) v.stays = registers-- > 0;
  for (auto& s : plan_->scalars)
    if (s.element.stored == loops::no_id) s.stays = registers-- > 0;
}

InlineBody::~InlineBody() = default;

void InlineBody::enter() {
  for (Plan::Scalar& s : plan_->scalars)
    if (s.stays) s.reg = b_.vload(s.type, s.at);
  for (Plan::Vector& v : plan_->vectors)
    if (v.stays) v.reg = v.load(b_);
}

void InlineBody::leave() {
  for (const Plan::Scalar& s : plan_->scalars)
    if (s.element.stored != loops::no_id) b_.vstore(s.type, s.at, s.reg);
  for (const Plan::Vector& v : plan_->vectors)
    if (v.pack.next != loops::no_id) v.store(b_);
}

namespace {

// Emits the steps of a turn; `lanes` of each.
class StepEmitter {
 public:
  StepEmitter(machine::Builder& b, BlockEmitter& emitter, const Superwords& work) : b_(b), emitter_(emitter), work_(work) {}

  void bind(loops::ValueId v, bool is_wide, machine::Reg reg) {
    set_lanes(is_wide);
    emitter_.bind_value(v, reg);
  }
  machine::Reg reg_of(loops::ValueId v, bool is_wide) {
    set_lanes(is_wide);
    return emitter_.vector_of(v);
  }

  void emit(const Superwords::Step& step) {
    ElementType element = step.to == loops::no_id ? ElementType::invalid : work_.kernel.type(step.to);
    machine::VType one{element, 1}, all{element, static_cast<uint8_t>(work_.lanes)};
    switch (step.kind) {
      case Superwords::Kind::scalar:
      case Superwords::Kind::wide: {
        set_lanes(step.kind == Superwords::Kind::wide);
        return emitter_.emit_statement(step.statement);
      }
      case Superwords::Kind::extract: return bind(step.to, false, b_.vpart(one, reg_of(step.from[0], true), step.lane));
      case Superwords::Kind::splat: return bind(step.to, true, b_.vbroadcast(all, reg_of(step.from[0], false)));
      case Superwords::Kind::gather: {
        std::vector<machine::Reg> lanes;
        for (loops::ValueId v : step.from) lanes.push_back(reg_of(v, false));
        lanes.resize(all.lanes, lanes.back());
        return bind(step.to, true, vector_from(b_, element, std::move(lanes)));
      }
      case Superwords::Kind::data: return bind(step.to, true, b_.vdata(all, data_of(step, all)));
    }
  }

 private:
  void set_lanes(bool is_wide) { emitter_.set_lanes({is_wide ? work_.lanes : 1, loops::no_id, {}}, nullptr); }

  std::vector<std::byte> data_of(const Superwords::Step& step, machine::VType type) const {
    std::vector<std::byte> bytes;
    for (size_t lane = 0; lane < type.lanes; ++lane) {
      uint64_t bits = work_.kernel.values[step.from[std::min(lane, step.from.size() - 1)]].bits;
      for (int i = 0; i < byte_width(type.element); ++i) bytes.push_back(static_cast<std::byte>(bits >> (8 * i)));
    }
    return bytes;
  }

  machine::Builder& b_;
  BlockEmitter& emitter_;
  const Superwords& work_;
};

}  // namespace

Result<void> InlineBody::turn() {
  const Superwords& work = plan_->work;
  BlockEmitter emitter(work.kernel, b_, machine_);
  bind_inline_buffers(emitter, work.kernel, buffers_, scratch_);
  StepEmitter steps(b_, emitter, work);
  std::vector<bool> is_carried(work.kernel.values.size());
  for (const Plan::Scalar& s : plan_->scalars)
    for (machine::Reg reg = s.stays ? s.reg : b_.vload(s.type, s.at); loops::ValueId v : s.element.loaded) steps.bind(v, false, reg), is_carried[v] = true;
  for (const Plan::Vector& v : plan_->vectors) steps.bind(v.pack.value, true, v.stays ? v.reg : v.load(b_)), is_carried[v.pack.value] = true;
  for (const Superwords::Step& step : work.steps) {
    steps.emit(step);
    if (emitter.failure) return *emitter.failure;
  }
  // All at once: what one element hands to another is read before it changes.
  struct Renewal {
    machine::VType type;
    machine::Reg from, to;
  };
  std::vector<Renewal> renewals;
  auto renew = [&](machine::VType type, loops::ValueId next, machine::Reg to) {
    if (next == loops::no_id) return;
    machine::Reg from = steps.reg_of(next, type.lanes > 1);
    renewals.push_back({type, is_carried[next] ? b_.vmov(type, from) : from, to});
  };
  for (const Plan::Scalar& s : plan_->scalars) renew(s.type, s.element.stored, s.reg);
  for (const Plan::Vector& v : plan_->vectors) renew(v.type, v.pack.next, v.reg);
  for (const Renewal& r : renewals) b_.vmov(r.type, r.from, r.to);
  return {};
}

}  // namespace hloc::cpu
