// Loads, stores and values of indices, over lanes: whole vectors where memory is contiguous, gathers or lane by lane else.
#include <limits>

#include "backends/cpu/lower/emit_block.h"
#include "backends/loops/walk.h"

namespace hloc::cpu {

using loops::Affine;
using loops::Guard;
using machine::Address;
using machine::Cond;

namespace {

// The integer type of general-register moves that carries an element's bits.
ElementType bits_type(ElementType element) {
  switch (byte_width(element)) {
    case 1: return ElementType::u8;
    case 2: return ElementType::u16;
    case 4: return ElementType::u32;
    default: return ElementType::u64;
  }
}

constexpr int64_t cache_line = 64;

bool fits_s32(int64_t v) { return v >= std::numeric_limits<int32_t>::min() && v <= std::numeric_limits<int32_t>::max(); }

}  // namespace

BlockEmitter::Pattern BlockEmitter::pattern_of(const loops::Access& access, int64_t* stride) const {
  if (lanes_.count == 1) return Pattern::uniform;
  loops::LaneStep step = varying_->step(access.offset, lanes_.index);
  if (stride) *stride = step.stride;
  switch (step.step) {
    case loops::Step::uniform: return Pattern::uniform;
    case loops::Step::strided: return step.stride == 1 ? Pattern::contiguous : step.stride == 0 ? Pattern::uniform : Pattern::strided;
    case loops::Step::varying: return Pattern::by_lane;
  }
  HLOC_UNREACHABLE();
}

// Emits `then` under the guards that are the same for all lanes (all of them if `all`, for one lane), `otherwise` else.
template <class Then, class Else>
void BlockEmitter::where_uniform_guards_hold(const std::vector<Guard>& guards, int lane, bool all, Then then, Else otherwise) {
  std::vector<const Guard*> tested;
  for (const Guard& g : guards)
    if (all || !varies(g.affine)) tested.push_back(&g);
  if (tested.empty()) return then();
  machine::BlockId no = b_.block("guard_off"), after = b_.block("guard_end");
  open_scope();
  for (const Guard* g : tested) {
    Reg x = affine_reg(g->affine, lane);
    loops::Range range = loops::range_of(kernel_, g->affine);
    if (range.lo < g->lo) {
      machine::BlockId next = b_.block("guard");
      b_.branch(Cond::ge, x, g->lo, next, no);
      b_.start(next);
    }
    if (range.hi >= g->hi) {
      machine::BlockId next = b_.block("guard");
      b_.branch(Cond::lt, x, g->hi, next, no);
      b_.start(next);
    }
  }
  then();
  b_.jump(after);
  close_scope();
  b_.start(no);
  open_scope();
  otherwise();
  close_scope();
  b_.jump(after);
  b_.start(after);
}

// lo <= affine < hi for each lane: the affine's first value plus steps, compared as a vector as wide as the elements.
Reg BlockEmitter::guard_mask(const std::vector<Guard>& guards, VType type, bool only_varying) {
  Reg mask;
  ElementType integer = byte_width(type.element) == 8 ? ElementType::s64 : ElementType::s32;
  VType t = type_of(integer);
  for (const Guard& g : guards) {
    bool varying = varies(g.affine);
    if (only_varying && !varying) continue;
    Reg x;
    loops::LaneStep step = varying ? varying_->step(g.affine, lanes_.index) : loops::LaneStep{};
    if (step.step == loops::Step::varying) {
      x = b_.vzero(t);
      for (int lane = 0; lane < lanes_.count; ++lane) x = b_.vinsert(t, x, affine_reg(g.affine, lane), lane);
    } else {
      x = b_.vsplat(t, affine_reg(g.affine));
      if (varying) x = b_.vadd(t, x, b_.viota(t, 0, step.stride));
    }
    Reg in = b_.mand(t, b_.vcmp(t, Cond::ge, x, b_.vconst_bits(t, static_cast<uint64_t>(g.lo))),
                     b_.vcmp(t, Cond::lt, x, b_.vconst_bits(t, static_cast<uint64_t>(g.hi))));
    mask = mask ? b_.mand(t, mask, in) : in;
  }
  return mask ? b_.mconvert(type, integer, mask) : mask;
}

// All lanes' elements, which must exist where `mask` (none: everywhere) is on.
Reg BlockEmitter::load_vector(const loops::Access& access, ElementType element, Reg mask) {
  VType t = type_of(element);
  int64_t stride = 0;
  switch (pattern_of(access, &stride)) {
    case Pattern::uniform: return lanes_.count == 1 ? b_.vload(t, address_of(access)) : b_.vload_broadcast(t, address_of(access));
    case Pattern::contiguous: return mask ? b_.vload_masked(t, address_of(access), mask) : b_.vload(t, address_of(access));
    case Pattern::strided: {
      ElementType integer = byte_width(element) == 8 ? ElementType::s64 : ElementType::s32;
      Reg all = mask ? b_.mmov(t, mask) : b_.mconst(t, true);
      Reg base = b_.lea(address_of(access));
      return b_.vgather(t, integer, base, b_.viota(type_of(integer), 0, stride), byte_width(element), 0, all);
    }
    case Pattern::by_lane: break;
  }
  HLOC_UNREACHABLE();
}

// Each lane by itself, with its own guards.
Reg BlockEmitter::load_lanes(const loops::Access& access, ElementType element, loops::ValueId otherwise) {
  VType t = type_of(element);
  Reg out = otherwise == loops::no_id ? b_.vzero(t) : b_.vmov(t, vector_of(otherwise));
  for (int lane = 0; lane < lanes_.count; ++lane) {
    where_uniform_guards_hold(access.guards, lane, true, [&] {
      Reg bits = b_.load(bits_type(element), address_of(access, lane));
      b_.vinsert(t, out, bits, lane, out);
    }, [] {});
  }
  return out;
}

void BlockEmitter::store_lanes(const loops::Access& access, ElementType element, Reg value) {
  VType t = type_of(element);
  for (int lane = 0; lane < lanes_.count; ++lane) {
    where_uniform_guards_hold(access.guards, lane, true, [&] {
      b_.store(bits_type(element), address_of(access, lane), b_.vextract(t, value, lane));
    }, [] {});
  }
}

// Do loads and stores with this pattern, element and guards have to go lane by lane?
static bool needs_lanes(bool by_lane, bool strided, bool is_store, bool varying_guards, ElementType element, int64_t reach, const Machine& machine) {
  if (by_lane) return true;
  if (strided) return is_store || !machine.has_gather || byte_width(element) < 4 || element == ElementType::pred || !fits_s32(reach);
  return varying_guards && byte_width(element) < machine.masked_width;
}

// Once for each cache line that the copies of the body read.
void BlockEmitter::fetch_ahead(const loops::Load& load) {
  if (!traffic_ || lanes_.count == 1) return;
  auto it = traffic_->ahead.find(&load);
  if (it == traffic_->ahead.end()) return;
  int64_t vector = int64_t{lanes_.count} * byte_width(kernel_.buffers[load.access.buffer].element);
  if (static_cast<int64_t>(copy_) * vector % cache_line >= vector) return;
  prefetch(load.access, it->second, 1);
}

// The line that is `ahead` bytes from what is accessed; nothing where an address can't say that.
void BlockEmitter::prefetch(const loops::Access& access, int64_t ahead, int level) {
  Address at = address_of(access);
  int64_t disp = at.disp + ahead;
  if (!fits_s32(disp)) return;
  at.disp = static_cast<int32_t>(disp);
  b_.prefetch(at, level);
}

void BlockEmitter::emit_load(const loops::Load& load) {
  const loops::Access& access = load.access;
  ElementType element = kernel_.buffers[access.buffer].element;
  VType t = type_of(element);
  fetch_ahead(load);
  bool varying_guards = false;
  for (const Guard& g : access.guards) varying_guards |= varies(g.affine);
  int64_t stride = 0;
  Pattern pattern = pattern_of(access, &stride);
  if (needs_lanes(pattern == Pattern::by_lane, pattern == Pattern::strided, false, varying_guards, element, stride * lanes_.count, machine_))
    return define(load.result, load_lanes(access, element, load.otherwise));
  if (access.guards.empty()) {
    bool masked = lanes_.active && pattern != Pattern::uniform;
    return define(load.result, load_vector(access, element, masked ? active_mask(t) : Reg{}));
  }
  Reg out = b_.vmov(t, vector_of(load.otherwise));
  where_uniform_guards_hold(access.guards, 0, false, [&] {
    Reg mask = varying_guards ? guard_mask(access.guards, t, true) : Reg{};
    if (!mask) {
      bool masked = lanes_.active && pattern != Pattern::uniform;
      b_.vmov(t, load_vector(access, element, masked ? active_mask(t) : Reg{}), out);
      return;
    }
    if (lanes_.active) mask = b_.mand(t, mask, active_mask(t));
    if (pattern == Pattern::uniform) {  // one element for all lanes, touched only if a lane wants it
      open_scope();
      b_.if_then(Cond::ne, b_.many(t, mask), 0, [&] { b_.vselect(t, mask, b_.vload_broadcast(t, address_of(access)), out, out); });
      close_scope();
    } else {
      b_.vselect(t, mask, load_vector(access, element, mask), out, out);
    }
  }, [] {});
  define(load.result, out);
}

void BlockEmitter::emit_store(const loops::Store& store) {
  const loops::Access& access = store.access;
  ElementType element = kernel_.buffers[access.buffer].element;
  VType t = type_of(element);
  Reg value = vector_of(store.value);
  bool varying_guards = false;
  for (const Guard& g : access.guards) varying_guards |= varies(g.affine);
  Pattern pattern = pattern_of(access);
  bool one_place = lanes_.count > 1 && pattern == Pattern::uniform;  // the last lane's value stays
  if (one_place || needs_lanes(pattern == Pattern::by_lane, pattern == Pattern::strided, true, varying_guards, element, 0, machine_))
    return store_lanes(access, element, value);
  where_uniform_guards_hold(access.guards, 0, false, [&] {
    Reg mask = varying_guards ? guard_mask(access.guards, t, true) : Reg{};
    if (lanes_.active) mask = mask ? b_.mand(t, mask, active_mask(t)) : active_mask(t);
    if (mask) b_.vstore_masked(t, address_of(access), value, mask);
    else if (streaming_ && traffic_->streamed.contains(&store)) b_.vstore_stream(t, address_of(access), value);
    else b_.vstore(t, address_of(access), value);
  }, [] {});
}

void BlockEmitter::emit_index_value(const loops::IndexValue& v) {
  VType t = type_of(kernel_.type(v.result));
  if (!varies(v.affine)) return define(v.result, b_.vsplat(t, affine_reg(v.affine)));
  loops::LaneStep step = varying_->step(v.affine, lanes_.index);
  if (step.step == loops::Step::strided) return define(v.result, b_.vadd(t, b_.vsplat(t, affine_reg(v.affine)), b_.viota(t, 0, step.stride)));
  Reg out = b_.vzero(t);
  for (int lane = 0; lane < lanes_.count; ++lane) b_.vinsert(t, out, affine_reg(v.affine, lane), lane, out);
  define(v.result, out);
}

void BlockEmitter::emit_test(const loops::Test& test) {
  VType t = type_of(ElementType::s32);
  Reg mask = guard_mask(test.guards, t, false);
  define_mask(test.result, mask ? mask : b_.mconst(t, true), t);
}

// With a mask for the lanes that exist, every access must be a whole vector (or a gather) of elements that can be masked.
bool BlockEmitter::can_mask(const loops::Block& body) const {
  bool good = true;
  auto check = [&](const loops::Access& access, bool is_store) {
    ElementType element = kernel_.buffers[access.buffer].element;
    bool varying_guards = false;
    for (const Guard& g : access.guards) varying_guards |= varies(g.affine);
    int64_t stride = 0;
    Pattern pattern = pattern_of(access, &stride);
    if (pattern == Pattern::uniform) {
      good &= !is_store;
      return;
    }
    good &= byte_width(element) >= machine_.masked_width;
    good &= !needs_lanes(pattern == Pattern::by_lane, pattern == Pattern::strided, is_store, varying_guards, element, stride * lanes_.count, machine_);
  };
  loops::for_each_statement(body, [&](const loops::Statement& s) {
    if (auto* load = s.as<loops::Load>()) check(load->access, false);
    if (auto* store = s.as<loops::Store>()) check(store->access, true);
    if (s.as<loops::Derive>()) good = false;
  });
  return good;
}

}  // namespace hloc::cpu
