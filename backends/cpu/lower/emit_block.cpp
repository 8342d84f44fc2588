// Names, values, indices and addresses; emit_access.cpp, emit_compute.cpp and emit_loop.cpp have the statements.
#include "backends/cpu/lower/emit_block.h"

#include <algorithm>

#include <fmt/format.h>

#include "backends/loops/walk.h"
#include "ir/support/source.h"

namespace hloc::cpu {

using loops::Affine;
using loops::IndexKind;
using loops::Term;
using machine::Address;
using machine::Cond;

namespace {

// x86 and AArch64 scale an index register by the size of an element.
bool is_address_scale(int64_t bytes) { return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8; }

}  // namespace

BlockEmitter::BlockEmitter(const loops::Kernel& kernel, machine::Builder& builder, const Machine& machine)
    : kernel_(kernel), b_(builder), machine_(machine), buffers_(kernel.buffers.size()), indices_(kernel.indices.size()),
      values_(kernel.values.size()), wide_(kernel.values.size()), accumulators_(kernel.accumulators.size()) {
  scopes_.emplace_back();
}

void BlockEmitter::unsupported(std::string what) {
  if (!failure) failure = error(ErrorKind::target, fmt::format("kernel '{}': {}", kernel_.name, what));
}

void BlockEmitter::bind_index(loops::IndexId index, Reg reg, int64_t offset) { indices_[index] = {reg, offset, ++depth_, false}; }
void BlockEmitter::unbind_index(loops::IndexId index) { indices_[index] = {}; }

void BlockEmitter::bind_value(loops::ValueId value, Reg reg) { define(value, reg); }

Lanes BlockEmitter::set_lanes(Lanes lanes, const loops::Varying* varying) {
  Lanes before = std::exchange(lanes_, lanes);
  varying_ = varying;
  lane_indices_.clear();
  active_masks_.clear();
  lane_parts_ = {};
  return before;
}

void BlockEmitter::open_scope() { scopes_.push_back({{}, {}, lane_indices_, active_masks_, lane_parts_}); }

void BlockEmitter::close_scope() {
  Scope& scope = scopes_.back();
  for (const PointerKey& key : scope.pointers) pointers_.erase(key);
  for (loops::ValueId v : scope.wide) wide_[v] = {};
  lane_indices_ = std::move(scope.lane_indices);
  active_masks_ = std::move(scope.active_masks);
  lane_parts_ = std::move(scope.lane_parts);
  scopes_.pop_back();
}

void BlockEmitter::define(loops::ValueId value, Reg reg) {
  values_[value] = {reg, lanes_.count, false, {}};
  wide_[value] = {};
}

void BlockEmitter::define_mask(loops::ValueId value, Reg mask, VType type) {
  values_[value] = {mask, lanes_.count, true, type};
  wide_[value] = {};
}

// A scalar from outside repeated to the current lanes. Loops that `hoist` prepared find it in `wide_`.
Reg BlockEmitter::widened(const Held& held, ElementType element) {
  if (held.lanes == lanes_.count) return held.reg;
  HLOC_CHECK(held.lanes == 1, "a value is used with fewer lanes than it has");
  return b_.vbroadcast(type_of(element), held.reg);
}

Reg BlockEmitter::vector_of(loops::ValueId value) {
  const loops::Value& v = kernel_.values[value];
  VType type = type_of(v.type);
  if (v.is_constant && wide_[value].lanes == lanes_.count) return wide_[value].reg;
  if (v.is_constant) return b_.vconst_bits(type, v.bits);
  const Held& held = values_[value];
  HLOC_CHECK(held.lanes > 0, "a value is used before it is emitted");
  if (held.is_mask) {
    Reg bytes = b_.pred_from_mask({held.mask_type.element, static_cast<uint8_t>(held.lanes)}, held.reg);
    return held.lanes == lanes_.count ? bytes : b_.vbroadcast(type, bytes);
  }
  if (held.lanes != lanes_.count && wide_[value].lanes == lanes_.count) return wide_[value].reg;
  return widened(held, v.type);
}

Reg BlockEmitter::mask_of(loops::ValueId value, VType type) {
  const loops::Value& v = kernel_.values[value];
  if (v.is_constant) return b_.mconst(type, v.bits != 0);
  const Held& held = values_[value];
  if (held.is_mask && held.lanes == lanes_.count)
    return byte_width(held.mask_type.element) == byte_width(type.element) ? held.reg : b_.mconvert(type, held.mask_type.element, held.reg);
  if (!held.is_mask) return b_.mask_from_pred(type, vector_of(value));
  // A scalar mask from outside: through its byte.
  VType one{ElementType::pred, 1};
  Reg byte = b_.pred_from_mask({held.mask_type.element, 1}, held.reg);
  return b_.mask_from_pred(type, b_.vbroadcast({one.element, type.lanes}, byte));
}

Reg BlockEmitter::active_mask(VType type) {
  if (!lanes_.active) return b_.mconst(type, true);
  Reg& mask = active_masks_[byte_width(type.element)];
  if (!mask) mask = b_.mtail(type, lanes_.active);
  return mask;
}

// ---- indices -------------------------------------------------------------------------------------------------------

bool BlockEmitter::varies(const Affine& affine) const {
  return lanes_.count > 1 && varying_->step(affine, lanes_.index).step != loops::Step::uniform;
}

// The register of an index for a lane; `offset` is to be added to it.
Reg BlockEmitter::index_reg(loops::IndexId index, int lane, int64_t& offset) {
  const BoundIndex& bound = indices_[index];
  offset = bound.offset;
  if (index == lanes_.index) offset += lane;
  if (!bound.by_lane) {
    HLOC_CHECK(bound.depth >= 0, "an index is used before it is known");
    return bound.reg;
  }
  Reg& made = lane_indices_[{index, lane}];
  if (!made) made = derived_reg(index, lane);
  offset = 0;
  return made;
}

Reg BlockEmitter::affine_reg(const Affine& affine, int lane) {
  int64_t base = affine.base;
  Reg sum;
  for (const Term& term : affine.terms) {
    int64_t offset = 0;
    Reg index = index_reg(term.index, lane, offset);
    base += offset * term.coefficient;
    Reg part = term.coefficient == 1 ? index : b_.mul(index, term.coefficient);
    sum = sum ? b_.add(sum, part) : part;
  }
  if (!sum) return b_.mov(base);
  return base == 0 ? sum : b_.add(sum, base);
}

// floor(x / divisor) for x in `range`. Small non-negative numbers multiply by a rounded-up reciprocal: with l =
// ceil(log2 d), floor(2^(31+l) / d) + 1 is exact for x < 2^31 (Granlund & Montgomery 1994, theorem 4.2).
Reg BlockEmitter::divide(Reg x, int64_t divisor, loops::Range range) {
  if (divisor == 1) return x;
  bool power = (divisor & (divisor - 1)) == 0;
  int log = 64 - __builtin_clzll(static_cast<uint64_t>(divisor - 1));
  if (power) return b_.sar(x, log);
  if (range.lo >= 0 && range.hi < INT64_C(1) << 31 && divisor < INT64_C(1) << 31) {
    uint64_t magic = (uint64_t{1} << (31 + log)) / static_cast<uint64_t>(divisor) + 1;
    return b_.shr(b_.mul(x, static_cast<int64_t>(magic)), 31 + log);
  }
  Reg d = b_.mov(divisor);
  Reg q = b_.div(ElementType::s64, x, d);
  Reg r = b_.sub(x, b_.mul(q, d));
  return b_.sub(q, b_.set(Cond::lt, r, 0));
}

// Lanes of s32 are clamped all at once, others one by one.
Reg BlockEmitter::clamped_reg(loops::IndexId id, int lane) {
  const loops::Index& index = kernel_.indices[id];
  ElementType type = kernel_.type(index.value);
  bool at_once = lanes_.count > 1 && type == ElementType::s32 && index.range.lo >= INT32_MIN && index.range.hi <= INT32_MAX;
  if (at_once) {
    VType t = type_of(type);
    Reg& all = lane_parts_.clamped[id];
    if (!all) {
      Reg lo = b_.vconst_bits(t, static_cast<uint32_t>(index.range.lo)), hi = b_.vconst_bits(t, static_cast<uint32_t>(index.range.hi));
      all = b_.vmax(t, b_.vmin(t, vector_of(index.value), hi), lo);
    }
    return b_.vextract(t, all, lane);
  }
  Reg v = b_.vextract(type_of(type), vector_of(index.value), lane);
  Reg lo = b_.mov(index.range.lo), hi = b_.mov(index.range.hi);
  if (is_unsigned_integer(type)) {  // a u64 beyond the signed range is large, not negative
    Reg low = b_.select(Cond::ugt, v, hi, hi, v);
    return b_.max(low, lo);
  }
  return b_.max(b_.min(v, hi), lo);
}

Reg BlockEmitter::derived_reg(loops::IndexId id, int lane) {
  const loops::Index& index = kernel_.indices[id];
  if (index.kind == IndexKind::from_value) return clamped_reg(id, lane);
  Reg x = affine_reg(index.of, lane);
  Reg q = divide(x, index.divisor, loops::range_of(kernel_, index.of));
  return index.kind == IndexKind::floor_div ? q : b_.sub(x, b_.mul(q, index.divisor));
}

void BlockEmitter::emit_derive(const loops::Derive& d) {
  BoundIndex& bound = indices_[d.index];
  bound = {};
  if (lanes_.count > 1 && varying_->indices[d.index]) {
    bound.by_lane = true;
    bound.depth = ++depth_;
    for (int lane = 0; lane < lanes_.count; ++lane) lane_indices_.erase({d.index, lane});
    lane_parts_.clamped.erase(d.index);
    return;
  }
  Reg reg = derived_reg(d.index, 0);
  // Its register may be that of another index which changes; a copy keeps this value.
  bind_index(d.index, b_.mov(reg));
}

// ---- addresses -----------------------------------------------------------------------------------------------------

Reg BlockEmitter::pointer_for(const PointerKey& key) {
  const auto& [buffer, terms] = key;
  if (terms.empty()) return buffers_[buffer].base;
  if (auto it = pointers_.find(key); it != pointers_.end()) return it->second;
  auto deepest = std::max_element(terms.begin(), terms.end(), [this](const auto& a, const auto& b) { return indices_[a.first].depth < indices_[b.first].depth; });
  PointerKey rest = key;
  rest.second.erase(rest.second.begin() + (deepest - terms.begin()));
  Reg base = pointer_for(rest);
  int64_t offset = indices_[deepest->first].offset;
  int64_t scale = deepest->second * byte_width(kernel_.buffers[buffer].element);
  Reg index = indices_[deepest->first].reg;
  Reg at;
  if (is_address_scale(scale) && offset * scale <= INT32_MAX && offset * scale >= INT32_MIN) {
    at = b_.lea({base, index, static_cast<uint8_t>(scale), static_cast<int32_t>(offset * scale)});
  } else {
    at = b_.add(base, b_.mul(index, scale));
    if (offset != 0) at = b_.add(at, offset * scale);
  }
  pointers_.emplace(key, at);
  scopes_.back().pointers.push_back(key);
  return at;
}

Address BlockEmitter::address_of(const loops::Access& access, int lane) {
  int64_t size = byte_width(kernel_.buffers[access.buffer].element);
  int64_t disp = access.offset.base * size + buffers_[access.buffer].offset;
  PointerKey key{access.buffer, {}};
  std::vector<std::pair<Reg, int64_t>> of_lanes, loose;  // registers that change too often to keep their pointers
  for (const Term& term : access.offset.terms) {
    const BoundIndex& bound = indices_[term.index];
    bool innermost = bound.depth == depth_ || term.index == lanes_.index;
    if (!bound.by_lane && !innermost) {
      key.second.emplace_back(term.index, term.coefficient);
      continue;
    }
    int64_t offset = 0;
    Reg index = index_reg(term.index, lane, offset);
    disp += offset * term.coefficient * size;
    (term.index == lanes_.index ? of_lanes : loose).emplace_back(index, term.coefficient * size);
  }
  Reg base = pointer_for(key);
  for (auto [reg, bytes] : of_lanes) {  // all lanes have the register: what it adds is added once
    if (loose.empty() && is_address_scale(bytes)) {
      loose.emplace_back(reg, bytes);
      continue;
    }
    Reg& sum = lane_parts_.sums[{base.bits, reg.bits, bytes}];
    if (!sum) sum = b_.add(base, b_.mul(reg, bytes));
    base = sum;
  }
  Reg index;
  uint8_t scale = 1;
  for (auto [reg, bytes] : loose) {
    if (!index && is_address_scale(bytes)) index = reg, scale = static_cast<uint8_t>(bytes);
    else base = b_.add(base, b_.mul(reg, bytes));
  }
  if (disp > INT32_MAX || disp < INT32_MIN) {
    base = b_.add(base, b_.mov(disp));
    disp = 0;
  }
  return index ? Address(base, index, scale, static_cast<int32_t>(disp)) : Address(base, static_cast<int32_t>(disp));
}

// The terms of an access that are known here.
BlockEmitter::PointerKey BlockEmitter::known_part(const loops::Access& access) const {
  PointerKey key{access.buffer, {}};
  for (const Term& term : access.offset.terms)
    if (indices_[term.index].depth >= 0 && !indices_[term.index].by_lane) key.second.emplace_back(term.index, term.coefficient);
  return key;
}

// Constants of a vector loop stand in registers so far as there are registers: the allocator makes those anew, or memory
// operands, that find none. More of them than registers would only keep it busy.
void BlockEmitter::hoist_constants(const loops::Loop& loop, int wide) {
  std::map<loops::ValueId, int> uses;
  loops::for_each_statement(loop.body, [&](const loops::Statement& s) {
    if (!s.as<loops::Compute>()) return;
    loops::for_each_value(s, [&](loops::ValueId v) {
      if (kernel_.is_constant(v) && kernel_.type(v) != ElementType::pred && wide_[v].lanes != wide) ++uses[v];
    });
  });
  std::vector<std::pair<int, loops::ValueId>> order;
  for (auto [v, count] : uses) order.emplace_back(-count, v);
  std::sort(order.begin(), order.end());
  if (order.size() > static_cast<size_t>(machine_.vector_registers)) order.resize(static_cast<size_t>(machine_.vector_registers));
  for (auto [count, v] : order) {
    VType type{kernel_.type(v), static_cast<uint8_t>(wide)};
    wide_[v] = {b_.vconst_bits(type, kernel_.values[v].bits), wide, false, {}};
    scopes_.back().wide.push_back(v);
  }
}

void BlockEmitter::hoist(const loops::Loop& loop, int wide) {
  constexpr size_t most_pointers = 10;  // more would only be spilled again
  size_t made = pointers_.size();
  loops::for_each_statement(loop.body, [&](const loops::Statement& s) {  // what an earlier copy of the body left is stale
    if (loops::ValueId v = loops::result_of(s); v != loops::no_id) values_[v] = {};
    if (auto* d = s.as<loops::Derive>()) indices_[d->index] = {};
  });
  loops::for_each_statement(loop.body, [&](const loops::Statement& s) {
    const loops::Access* access = loops::access_of(s);
    if (access && pointers_.size() < made + most_pointers) pointer_for(known_part(*access));
    if (wide == 1) return;
    loops::for_each_value(s, [&](loops::ValueId v) {
      const Held& held = values_[v];
      if (kernel_.is_constant(v) || held.lanes != 1 || held.is_mask || wide_[v].lanes == wide) return;
      VType type{kernel_.type(v), static_cast<uint8_t>(wide)};
      wide_[v] = {b_.vbroadcast(type, held.reg), wide, false, {}};
      scopes_.back().wide.push_back(v);
    });
  });
  if (wide > 1) hoist_constants(loop, wide);
}

void BlockEmitter::emit(const loops::Block& block) {
  for (const loops::Statement& statement : block) {
    if (failure) return;
    emit_statement(statement);
  }
}

void BlockEmitter::emit_statement(const loops::Statement& statement) {
  std::visit(loops::Overload{
                 [&](const loops::Compute& c) { emit_compute(c); }, [&](const loops::Load& l) { emit_load(l); },
                 [&](const loops::Store& s) { emit_store(s); }, [&](const loops::IndexValue& v) { emit_index_value(v); },
                 [&](const loops::Test& t) { emit_test(t); }, [&](const loops::Derive& d) { emit_derive(d); },
                 [&](const loops::Declare& d) { emit_declare(d); }, [&](const loops::Accumulate& a) { emit_accumulate(a); },
                 [&](const loops::Set& s) { emit_set(s); },
                 [&](const loops::Get& g) {
                   // A copy: the accumulator's register changes while the value stays.
                   const HeldAccumulator& acc = accumulators_[g.acc];
                   VType type{kernel_.accumulators[g.acc].type, static_cast<uint8_t>(acc.lanes)};
                   values_[g.result] = {b_.vmov(type, acc.reg), acc.lanes, false, {}};
                 },
                 [&](const loops::Loop& l) { emit_loop(l); },
                 [&](const loops::Contract&) { unsupported("a contraction inside a loop"); }},
             statement.what);
}

}  // namespace hloc::cpu
