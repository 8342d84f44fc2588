// Loops: in order, unrolled, or several iterations at once.
#include <algorithm>
#include <bit>
#include <map>

#include "backends/cpu/lower/emit_block.h"
#include "backends/loops/walk.h"

namespace hloc::cpu {
namespace {

using machine::Cond;

// Accumulators that the body combines into but does not declare.
std::vector<loops::AccId> outer_accumulators(const loops::Block& body) {
  std::vector<loops::AccId> declared, out;
  loops::for_each_statement(body, [&](const loops::Statement& s) {
    if (auto* d = s.as<loops::Declare>()) declared.push_back(d->acc);
  });
  loops::for_each_statement(body, [&](const loops::Statement& s) {
    auto* a = s.as<loops::Accumulate>();
    if (a && std::find(declared.begin(), declared.end(), a->acc) == declared.end() && std::find(out.begin(), out.end(), a->acc) == out.end())
      out.push_back(a->acc);
  });
  return out;
}

bool has_loop(const loops::Block& body) {
  return std::any_of(body.begin(), body.end(), [](const loops::Statement& s) { return s.as<loops::Loop>() != nullptr; });
}

// How many copies of a vector body run in one turn. A reduction is bound by the latency of its accumulation, so several
// partial results run side by side; the numbers keep bodies and register use small.
int unroll_factor(const loops::Block& body, bool reduces) {
  int64_t statements = loops::statement_count(body);
  if (has_loop(body)) return 1;
  if (statements <= 8) return 4;
  if (statements <= 20) return reduces ? 4 : 2;
  return statements <= 40 && reduces ? 2 : 1;
}

// Of the values that a straight-line body makes, the most that are alive at once, and how many it reads from outside.
// Constants do not count.
struct Pressure {
  int inside = 0, outside = 0;
};
Pressure pressure_of(const loops::Kernel& kernel, const loops::Block& body) {
  std::map<loops::ValueId, size_t> last_use;
  for (size_t i = 0; i < body.size(); ++i)
    loops::for_each_value(body[i], [&](loops::ValueId v) {
      if (!kernel.is_constant(v)) last_use[v] = i;
    });
  std::vector<int> ends(body.size());
  Pressure out{0, static_cast<int>(last_use.size())};
  int alive = 0;
  for (size_t i = 0; i < body.size(); ++i) {
    if (auto it = last_use.find(loops::result_of(body[i])); it != last_use.end()) --out.outside, ++ends[it->second], ++alive;
    out.inside = std::max(out.inside, alive);
    alive -= ends[i];
  }
  return out;
}

// A body that is longer than a processor looks ahead (some hundred instructions) waits for each of its results. Emitted for
// two vectors in turn, statement by statement, it has two independent chains. The registers must hold what both have alive;
// constants can stay in memory.
bool worth_interleaving(const loops::Kernel& kernel, const loops::Block& body, int registers) {
  constexpr size_t shortest = 20, longest = 400;
  if (body.size() < shortest || body.size() > longest || !loops::is_straight_line(body)) return false;
  Pressure p = pressure_of(kernel, body);
  return 2 * p.inside + p.outside <= registers;
}

int floor_power_of_two(int64_t n) { return n < 1 ? 1 : 1 << (63 - __builtin_clzll(static_cast<uint64_t>(n))); }

}  // namespace

int widest_element(const loops::Kernel& kernel, const loops::Block& body, const loops::Varying* varying, loops::IndexId lanes) {
  int widest = 1;
  auto see = [&](ElementType t) { widest = std::max(widest, byte_width(t)); };
  auto see_guards = [&](const loops::Access& access) {
    for (const loops::Guard& g : access.guards)
      if (!varying || varying->step(g.affine, lanes).step != loops::Step::uniform) see(ElementType::s32);
  };
  loops::for_each_statement(body, [&](const loops::Statement& s) {
    if (loops::ValueId v = loops::result_of(s); v != loops::no_id) see(kernel.type(v));
    loops::for_each_value(s, [&](loops::ValueId v) { see(kernel.type(v)); });
    if (auto* a = s.as<loops::Accumulate>()) see(kernel.accumulators[a->acc].type);
    // Guards are compared as 32-bit integers, one a lane.
    auto* load = s.as<loops::Load>();
    auto* store = s.as<loops::Store>();
    if (s.as<loops::Test>()) see(ElementType::s32);
    if (load) see_guards(load->access);
    if (store) see_guards(store->access);
  });
  return widest;
}

void BlockEmitter::emit_body(const loops::Loop& loop) {
  open_scope();
  emit(loop.body);
  close_scope();
}

// The body for `copies` vectors in turn, statement by statement.
void BlockEmitter::emit_interleaved(const loops::Loop& loop, Reg i, int copies) {
  std::vector<std::map<loops::ValueId, Held>> own(static_cast<size_t>(copies));
  open_scope();
  for (const loops::Statement& s : loop.body) {
    for (copy_ = 0; copy_ < own.size(); ++copy_) {
      bind_index(loop.index, i, static_cast<int64_t>(copy_) * lanes_.count);
      std::map<loops::ValueId, Held>& mine = own[copy_];
      loops::for_each_value(s, [&](loops::ValueId v) {
        if (auto it = mine.find(v); it != mine.end()) values_[v] = it->second;
      });
      emit_statement(s);
      if (failure) break;
      if (loops::ValueId v = loops::result_of(s); v != loops::no_id) mine[v] = values_[v];
    }
  }
  copy_ = 0;
  close_scope();
}

void BlockEmitter::emit_loop(const loops::Loop& loop) {
  if (loop.extent <= 0) return;
  if (loop.go_on != loops::no_id) return emit_while_loop(loop);
  if (lanes_.count == 1 && loop.kind == loops::LoopKind::vector) return emit_vector_loop(loop, b_.mov(0), loop.extent);
  if (loop.kind == loops::LoopKind::unrolled && !has_loop(loop.body)) {  // around another loop it would only make code
    for (int64_t i = 0; i < loop.extent; ++i) {
      bind_index(loop.index, b_.mov(i));
      emit_body(loop);
    }
    return unbind_index(loop.index);
  }
  emit_serial_loop(loop, b_.mov(0), loop.extent);
}

void BlockEmitter::emit_loop_range(const loops::Loop& loop, Reg begin, Reg end) {
  if (loop.kind == loops::LoopKind::vector) return emit_vector_loop(loop, begin, end);
  emit_serial_loop(loop, begin, end);
}

// How a vector loop runs: `lanes` iterations at once, `copies` such vectors a turn, interleaved or one after the other.
struct BlockEmitter::VectorLoop {
  const loops::Loop& loop;
  loops::Varying varying;
  std::vector<loops::AccId> reduced;
  int lanes = 1, copies = 1;
  bool maskable = false, interleaved = false;
  int64_t first = 0;  // iterations before those of whole vectors, which are fewer than a vector's
};

// With partial results of its own for reductions that it accumulates into, if its body's vector loops can share them: they
// are combined once, and not in each iteration.
void BlockEmitter::emit_serial_loop(const loops::Loop& loop, Reg begin, std::variant<Reg, int64_t> end) {
  open_scope();
  hoist(loop, 1);
  std::vector<loops::AccId> kept = declare_shared_partials(loop);
  bind_index(loop.index, begin);
  std::visit([&](auto limit) { b_.counted_loop(begin, limit, 1, [&] { emit_body(loop); }); }, end);
  unbind_index(loop.index);
  combine_partials(kept);
  close_scope();
}

std::vector<loops::AccId> BlockEmitter::declare_shared_partials(const loops::Loop& rows) {
  if (lanes_.count != 1 || outer_accumulators(rows.body).empty()) return {};
  struct Wanted : Partials {
    bool fits = true;  // all vector loops want so many lanes
  };
  std::map<loops::AccId, Wanted> wanted;
  loops::for_each_statement(rows.body, [&](const loops::Statement& s) {
    auto* loop = s.as<loops::Loop>();
    if (!loop || loop->kind != loops::LoopKind::vector) return;
    VectorLoop plan = plan_vector_loop(*loop);
    for (loops::AccId acc : plan.reduced) {
      Wanted& p = wanted[acc];
      p.fits &= !has_loop(loop->body) && (p.lanes == 0 || p.lanes == plan.lanes) && plan.lanes > 1;
      p.lanes = plan.lanes, p.copies = std::max(p.copies, plan.copies);
    }
  });
  loops::for_each_statement(rows.body, [&](const loops::Statement& s) {
    if (auto* d = s.as<loops::Declare>()) wanted.erase(d->acc);
    if (auto* g = s.as<loops::Get>()) wanted.erase(g->acc);
    if (auto* x = s.as<loops::Set>()) wanted.erase(x->acc);
  });
  std::map<std::pair<int, int>, std::vector<loops::AccId>> alike;  // by lanes and copies
  for (const auto& [acc, p] : wanted)
    if (p.fits) alike[{p.lanes, p.copies}].push_back(acc);
  std::vector<loops::AccId> out;
  for (const auto& [shape, accumulators] : alike)
    for (loops::AccId mine : declare_partials(rows.body, accumulators, shape.first, static_cast<size_t>(shape.second))) out.push_back(mine);
  return out;
}

// Turns while any lane goes on; those that have left keep their accumulators (see emit_set).
void BlockEmitter::emit_while_loop(const loops::Loop& loop) {
  open_scope();
  hoist(loop, 1);
  Reg turn = b_.mov(0), outer = running_;
  VType bytes = type_of(ElementType::u8);
  if (lanes_.count > 1) running_ = outer ? b_.vmov(bytes, outer) : b_.vmov(bytes, accumulators_[loop.go_on].reg);
  machine::BlockId head = b_.block("while"), body = b_.block("turn"), done = b_.block("left");
  b_.jump(head);
  b_.start(head);
  Reg go_on = accumulators_[loop.go_on].reg;
  if (lanes_.count == 1) {
    b_.branch(Cond::ne, b_.vextract(bytes, go_on, 0), 0, body, done);
  } else {
    b_.vand(bytes, running_, go_on, running_);
    b_.branch(Cond::ne, b_.many(bytes, b_.mask_from_pred(bytes, running_)), 0, body, done);
  }
  b_.start(body);
  bind_index(loop.index, turn);
  emit_body(loop);
  unbind_index(loop.index);
  b_.add(turn, 1, turn);
  b_.branch(Cond::lt, turn, loop.extent, head, done);
  b_.start(done);
  running_ = outer;
  close_scope();
}

// The partial results of all lanes and copies into the accumulator, in a fixed tree.
void BlockEmitter::combine_partials(const std::vector<loops::AccId>& accumulators) {
  for (loops::AccId id : accumulators) {
    HeldAccumulator& acc = accumulators_[id];
    if (acc.partials.empty()) continue;
    ElementType element = kernel_.accumulators[id].type;
    machine::Op op = acc.op;
    if (element == ElementType::pred) element = ElementType::u8;
    VType wide{element, static_cast<uint8_t>(acc.partial_lanes)}, one{element, 1};
    auto combine = [&](VType t, Reg a, Reg b, Reg dst) {
      b_.emit({.op = op, .type = t.element, .lanes = t.lanes, .dst = dst, .a = a, .b = b});
    };
    for (size_t n = acc.partials.size(); n > 1; n /= 2)
      for (size_t i = 0; i < n / 2; ++i) combine(wide, acc.partials[i], acc.partials[i + n / 2], acc.partials[i]);
    combine(one, acc.reg, b_.reduce(op, wide, acc.partials[0]), acc.reg);
    acc.partials.clear();
  }
}

BlockEmitter::VectorLoop BlockEmitter::plan_vector_loop(const loops::Loop& loop) {
  VectorLoop plan{.loop = loop, .varying = loops::varying_in(kernel_, loop), .reduced = outer_accumulators(loop.body)};
  plan.lanes = machine_.vector_bytes / widest_element(kernel_, loop.body, &plan.varying, loop.index);
  Lanes outer = set_lanes({plan.lanes, loop.index, {}}, &plan.varying);
  plan.maskable = can_mask(loop.body);
  if (!plan.maskable && plan.lanes > loop.extent) plan.lanes = floor_power_of_two(loop.extent);
  set_lanes(outer, nullptr);
  if (plan.lanes == 1) return plan;
  plan.copies = unroll_factor(loop.body, !plan.reduced.empty());
  plan.interleaved = plan.copies <= 2 && worth_interleaving(kernel_, loop.body, machine_.vector_registers);
  if (plan.interleaved) plan.copies = 2;
  while (plan.copies > 1 && int64_t{plan.lanes} * plan.copies > loop.extent) plan.copies /= 2;
  if (partials_.lanes > 0 && !plan.reduced.empty()) {
    plan.lanes = partials_.lanes, plan.copies = partials_.copies, plan.maskable = partials_.maskable;
    plan.interleaved &= plan.copies == 2;
  }
  return plan;
}

BlockEmitter::Partials BlockEmitter::partials_of(const loops::Loop& loop) {
  VectorLoop plan = plan_vector_loop(loop);
  return {plan.lanes, plan.copies, plan.maskable};
}

// How many iterations of a loop that begins at 0 to do first, so that most vectors lie as vectors do in an aligned buffer: one
// that crosses a cache line takes two accesses. A store counts for two loads.
int64_t BlockEmitter::iterations_to_alignment(const VectorLoop& plan) const {
  constexpr int64_t least_vectors = 8;
  if (!plan.maskable || plan.loop.extent < least_vectors * plan.lanes) return 0;
  std::map<int64_t, int> weights;  // by iterations
  for (const loops::Statement& s : plan.loop.body) {
    if (!loops::access_of(s)) continue;
    const loops::Access& access = *loops::access_of(s);
    int64_t width = byte_width(kernel_.buffers[access.buffer].element), lanes = std::max<int64_t>(machine_.vector_bytes / width, 1);
    loops::LaneStep step = plan.varying.step(access.offset, plan.loop.index);
    if (step.step != loops::Step::strided || step.stride != 1 || lanes > plan.lanes) continue;
    bool same_in_all_rows = std::ranges::all_of(access.offset.terms, [&](const loops::Term& t) {
      return t.index == plan.loop.index || t.coefficient % lanes == 0;
    });
    if (same_in_all_rows) weights[((-access.offset.base) % lanes + lanes) % lanes] += s.as<loops::Store>() ? 2 : 1;
  }
  auto best = std::ranges::max_element(weights, {}, [](const auto& w) { return w.second; });
  return best == weights.end() || best->second <= 2 + weights[0] ? 0 : best->first;
}

void BlockEmitter::emit_vector_loop(const loops::Loop& loop, Reg begin, std::variant<Reg, int64_t> end) {
  VectorLoop plan = plan_vector_loop(loop);
  if (plan.lanes == 1) return emit_serial_loop(loop, begin, end);
  std::vector<const loops::Store*> streamed = streamed_stores(plan);
  bool has_order = partials_.lanes > 0 && !plan.reduced.empty();
  if (streamed.empty() && !has_order && std::get_if<int64_t>(&end)) plan.first = iterations_to_alignment(plan);
  if (streamed.empty() || traffic_->aligned) {
    streaming_ = !streamed.empty();
    emit_vectors(plan, begin, end);
    streaming_ = false;
    return;
  }
  auto* extent = std::get_if<int64_t>(&end);
  emit_streaming_vectors(plan, streamed, begin, extent ? b_.mov(*extent) : std::get<Reg>(end));
}

// The stores that go past the caches where they are aligned. Vectors that are aligned need a first one with fewer lanes.
std::vector<const loops::Store*> BlockEmitter::streamed_stores(const VectorLoop& plan) const {
  std::vector<const loops::Store*> out;
  if (!traffic_ || !plan.maskable) return out;
  for (const loops::Statement& s : plan.loop.body) {
    auto* store = s.as<loops::Store>();
    if (!store || !traffic_->streamed.contains(store)) continue;
    if (plan.lanes * byte_width(kernel_.buffers[store->access.buffer].element) >= 16) out.push_back(store);
  }
  return out;
}

// A row that does not begin at a cache line ends within one, too. What is written of that line is an ordinary store, and all
// streaming stores after it would wait until it comes from memory.
void BlockEmitter::fetch_end_of_next_row(const VectorLoop& plan, const std::vector<const loops::Store*>& stores, Reg begin) {
  for (const loops::Store* store : stores) {
    int64_t next_row = traffic_->streamed.at(store);
    if (next_row == 0) continue;
    open_scope();
    bind_index(plan.loop.index, begin);
    prefetch(store->access, next_row + plan.loop.extent * byte_width(kernel_.buffers[store->access.buffer].element) - 1, 0);
    unbind_index(plan.loop.index);
    close_scope();
  }
}

// Up to the place where the first store is aligned with fewer lanes. If the others are aligned there too, all go past the
// caches from there on; if not (results that lie differently in memory), none.
void BlockEmitter::emit_streaming_vectors(const VectorLoop& plan, const std::vector<const loops::Store*>& stores, Reg begin, Reg end) {
  open_scope();
  bind_index(plan.loop.index, begin);
  Reg first, wrong;
  for (const loops::Store* store : stores) {
    int64_t width = byte_width(kernel_.buffers[store->access.buffer].element), bytes = plan.lanes * width;
    Reg at = b_.lea(address_of(store->access));
    if (!first) {
      first = b_.min(b_.add(begin, b_.shr(b_.and_(b_.neg(at), bytes - 1), std::countr_zero(static_cast<uint64_t>(width)))), end);
      continue;
    }
    Reg there = b_.add(at, b_.mul(b_.sub(first, begin), width));
    Reg off = b_.and_(there, bytes - 1);
    wrong = wrong ? b_.or_(wrong, off) : off;
  }
  unbind_index(plan.loop.index);
  close_scope();
  auto streaming = [&] {
    open_scope();
    streaming_ = true;
    hoist(plan.loop, plan.lanes);
    b_.if_then(Cond::lt, begin, first, [&] {
      fetch_end_of_next_row(plan, stores, begin);
      emit_masked_vector(plan, begin, first);
    });
    b_.mov(first, begin);
    emit_vectors(plan, begin, end);
    streaming_ = false;
    close_scope();
  };
  if (!wrong) return streaming();
  b_.if_else(Cond::eq, wrong, 0, streaming, [&] { emit_vectors(plan, begin, end); });
}

// The iterations from i to `limit`, fewer than a vector has.
void BlockEmitter::emit_masked_vector(const VectorLoop& plan, Reg i, Reg limit) {
  Reg left = b_.sub(limit, i);
  Lanes outer = set_lanes({plan.lanes, plan.loop.index, left}, &plan.varying);
  bind_index(plan.loop.index, i);
  emit_body(plan.loop);
  set_lanes(outer, nullptr);
}

// A part of a vector where there is one; whole vectors, `copies` of them a turn; then single vectors; then what is left, masked
// or one by one.
void BlockEmitter::emit_vectors(const VectorLoop& plan, Reg begin, std::variant<Reg, int64_t> end) {
  const loops::Loop& loop = plan.loop;
  const int lanes = plan.lanes, copies = plan.copies;
  const bool maskable = plan.maskable, interleaved = plan.interleaved;
  open_scope();
  hoist(loop, lanes);
  const std::vector<loops::AccId> partial = declare_partials(loop.body, plan.reduced, lanes, static_cast<size_t>(copies));
  Reg i = begin;
  auto vector_turn = [&](int turns) {
    Lanes outer = lanes_;
    if (interleaved && turns > 1) {
      set_lanes({lanes, loop.index, {}}, &plan.varying);
      emit_interleaved(loop, i, turns);
      set_lanes(outer, nullptr);
      return;
    }
    for (int copy = 0; copy < turns; ++copy) {
      set_lanes({lanes, loop.index, {}}, &plan.varying);
      copy_ = static_cast<size_t>(copy);
      bind_index(loop.index, i, int64_t{copy} * lanes);
      emit_body(loop);
    }
    copy_ = 0;
    set_lanes(outer, nullptr);
  };
  auto vectors_until_rest = [&](int turns) {  // as many groups of `turns` vectors as fit
    int64_t step = int64_t{lanes} * turns;
    if (auto* limit = std::get_if<int64_t>(&end)) {
      int64_t whole = plan.first + (*limit - plan.first) / step * step;
      if (whole > plan.first) b_.counted_loop(i, whole, step, [&] { vector_turn(turns); });
    } else {
      Reg last = b_.sub(std::get<Reg>(end), step - 1);
      b_.counted_loop(i, last, step, [&] { vector_turn(turns); });
    }
  };
  if (plan.first > 0) {
    emit_masked_vector(plan, i, b_.mov(plan.first));
    b_.mov(plan.first, i);
  }
  vectors_until_rest(copies);
  auto* extent = std::get_if<int64_t>(&end);
  auto rest_of = [&](int64_t step) { return (*extent - plan.first) % step; };
  bool one_masked_body = interleaved && copies > 1 && maskable;  // long: code for whole vectors alone would be much
  if (copies > 1 && !one_masked_body && !(extent && rest_of(int64_t{lanes} * copies) < lanes)) vectors_until_rest(1);

  bool rest_is_empty = extent && rest_of(one_masked_body ? int64_t{lanes} * copies : lanes) == 0;
  Reg limit = extent ? b_.mov(*extent) : std::get<Reg>(end);
  if (!rest_is_empty && maskable) {
    auto masked = [&] { emit_masked_vector(plan, i, limit); };
    if (one_masked_body) b_.counted_loop(i, limit, lanes, masked);
    else if (extent) masked();
    else b_.if_then(Cond::lt, i, limit, masked);
  }
  combine_partials(partial);
  if (!rest_is_empty && !maskable) {
    bind_index(loop.index, i);
    b_.counted_loop(i, limit, 1, [&] { emit_body(loop); });
  }
  unbind_index(loop.index);
  close_scope();
}

// Registers for partial results, set to the neutral element, of the accumulators that have none yet. Returns these.
std::vector<loops::AccId> BlockEmitter::declare_partials(const loops::Block& body, const std::vector<loops::AccId>& accumulators, int lanes, size_t copies) {
  std::vector<loops::AccId> out;
  loops::for_each_statement(body, [&](const loops::Statement& s) {
    auto* a = s.as<loops::Accumulate>();
    if (!a || std::find(accumulators.begin(), accumulators.end(), a->acc) == accumulators.end()) return;
    HeldAccumulator& acc = accumulators_[a->acc];
    if (!acc.partials.empty()) return;
    out.push_back(a->acc);
    ElementType element = kernel_.accumulators[a->acc].type;
    loops::ScalarOp op = a->op;
    uint64_t neutral = loops::neutral_bits(op, element);
    if (element == ElementType::pred) {
      element = ElementType::u8;
      op = op == loops::ScalarOp::Min || op == loops::ScalarOp::Mul ? loops::ScalarOp::And : op == loops::ScalarOp::Max || op == loops::ScalarOp::Add ? loops::ScalarOp::Or : op;
    }
    acc.op = vector_op(op);
    acc.partial_lanes = lanes;
    VType wide{element, static_cast<uint8_t>(lanes)};
    for (size_t i = 0; i < copies; ++i) acc.partials.push_back(b_.vconst_bits(wide, neutral, b_.vector()));
  });
  return out;
}

}  // namespace hloc::cpu
