// The kernel builder: placement and sharing of pure statements.
#include "backends/loops/builder.h"

#include <algorithm>

#include "backends/loops/scalar.h"
#include "ir/support/check.h"
#include "ir/support/hash.h"

namespace hloc::loops {
namespace {

// First number of a sharing key: what kind of thing it is.
enum BuilderKey : int64_t { key_constant, key_compute, key_load, key_index_value, key_test, key_derived };

void add_affine(std::vector<int64_t>& key, const Affine& a) {
  key.push_back(a.base);
  key.push_back(static_cast<int64_t>(a.terms.size()));
  for (const Term& t : a.terms) key.push_back(t.index), key.push_back(t.coefficient);
}

void add_guards(std::vector<int64_t>& key, const std::vector<Guard>& guards) {
  for (const Guard& g : guards) {
    key.push_back(g.lo);
    key.push_back(g.hi);
    add_affine(key, g.affine);
  }
}

std::string plain_name(std::string_view wanted) {
  std::string name(wanted);
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  for (char& c : name)
    if (!letter(c) && !(c >= '0' && c <= '9') && c != '.' && c != '-') c = '_';
  return name.empty() || !letter(name[0]) ? "b" + name : name;
}

int64_t floor_quotient(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

}  // namespace

size_t KernelBuilder::KeyHash::operator()(const Key& key) const {
  return hash_bytes(std::as_bytes(std::span(key.data(), key.size())));
}

KernelBuilder::KernelBuilder(std::string_view name) {
  kernel_.name = plain_name(name);
  open_block();
}

KernelBuilder::KernelBuilder(const Kernel& like) {
  kernel_.name = like.name;
  kernel_.buffers = like.buffers;
  kernel_.indices = like.indices;
  kernel_.accumulators = like.accumulators;
  index_places_.resize(kernel_.indices.size());
  open_block();
}

void KernelBuilder::open_block() { blocks_.push_back({next_serial_++, {}, {}}); }

// HLO names may hold other characters, and an output may be called like an input.
BufferId KernelBuilder::buffer(std::string_view wanted, BufferRole role, ElementType element, int64_t count) {
  std::string name = plain_name(wanted);
  auto taken = [this](const std::string& n) {
    return std::any_of(kernel_.buffers.begin(), kernel_.buffers.end(), [&n](const Buffer& b) { return b.name == n; });
  };
  std::string base = name;
  for (int suffix = 1; taken(name); ++suffix) name = base + "." + std::to_string(suffix);
  kernel_.buffers.push_back({name, role, element, count});
  return static_cast<BufferId>(kernel_.buffers.size() - 1);
}

ValueId KernelBuilder::new_value(ElementType type, Place place) {
  kernel_.values.push_back({type, false, 0});
  value_places_.push_back(place);
  return static_cast<ValueId>(kernel_.values.size() - 1);
}

ValueId KernelBuilder::constant_of_bits(ElementType type, uint64_t bits) {
  auto [it, is_new] = known_.try_emplace({key_constant, static_cast<int64_t>(type), static_cast<int64_t>(bits)});
  if (is_new) {
    it->second = new_value(type, top());
    kernel_.values[it->second] = {type, true, bits};
  }
  return it->second;
}

KernelBuilder::Place KernelBuilder::place_of(const Affine& affine) const {
  Place p = top();
  for (const Term& t : affine.terms) p = deepest(p, index_places_[t.index]);
  return p;
}

size_t KernelBuilder::level_of(const Affine& affine) const { return place_of(affine).level; }

template <class S>
ValueId KernelBuilder::pure(const Key& key, ElementType type, Place place, S statement) {
  if (auto it = known_.find(key); it != known_.end() && is_open(value_places_[it->second])) return it->second;
  HLOC_CHECK(is_open(place), "a value is made from one whose block is closed");
  ValueId v = new_value(type, place);
  statement.result = v;
  blocks_[place.level - 1].statements.push_back({std::move(statement)});
  known_[key] = v;
  return v;
}

// Constants are computed at once, but for functions: those are the same function of a variable and of a constant.
ValueId KernelBuilder::folded(const Compute& c, ElementType result, std::span<const ValueId> args) {
  const void* operands[3] = {};
  for (size_t i = 0; i < args.size(); ++i) {
    if (!kernel_.is_constant(args[i])) return no_id;
    operands[i] = &kernel_.values[args[i]].bits;
  }
  if (facts(c.op).level == Level::composite) return no_id;
  uint64_t bits = 0;
  apply(c, type(args.back()), result, operands, &bits, 1);
  return constant_of_bits(result, bits);
}

ValueId KernelBuilder::compute(ScalarOp op, ElementType result, std::span<const ValueId> args, Predicate predicate) {
  Compute c{no_id, op, predicate, {no_id, no_id, no_id}};
  if (ValueId v = folded(c, result, args); v != no_id) return v;
  if (op == ScalarOp::Select)
    if (ValueId v = lesser_or_greater(result, args); v != no_id) return v;
  Key key{key_compute, static_cast<int64_t>(op), static_cast<int64_t>(predicate), static_cast<int64_t>(result)};
  Place place = top();
  for (size_t i = 0; i < args.size(); ++i) {
    c.args[i] = args[i];
    key.push_back(args[i]);
    place = deepest(place, value_places_[args[i]]);
  }
  bool orders = op == ScalarOp::Compare && (predicate == Predicate::lt || predicate == Predicate::gt);
  ValueId v = pure(key, result, place, c);
  if (orders) orders_[v] = c;
  return v;
}

// A select between the operands of its comparison.
ValueId KernelBuilder::lesser_or_greater(ElementType result, std::span<const ValueId> args) {
  auto it = orders_.find(args[0]);
  if (it == orders_.end() || !allows(ScalarOp::Lesser, result)) return no_id;
  const Compute& c = it->second;
  bool as_compared = args[1] == c.args[0] && args[2] == c.args[1], swapped = args[1] == c.args[1] && args[2] == c.args[0];
  if (!as_compared && !swapped) return no_id;
  bool lesser = (c.predicate == Predicate::lt) == as_compared;
  return compute(lesser ? ScalarOp::Lesser : ScalarOp::Greater, result, args.subspan(1));
}

ValueId KernelBuilder::make(ScalarOp op, std::span<const ValueId> args) {
  const ScalarOpFacts& f = facts(op);
  HLOC_CHECK(args.size() == f.operands, "operands of " + std::string(f.text));
  ElementType operand = type(args[args.size() - 1]), result = operand;
  HLOC_CHECK(allows(op, operand), std::string(f.text) + " of " + std::string(name_of(operand)));
  if (f.result == ResultRule::pred) result = ElementType::pred;
  if (op == ScalarOp::TotalOrder)
    result = bit_width(operand) == 16 ? ElementType::s16 : bit_width(operand) == 32 ? ElementType::s32 : ElementType::s64;
  return compute(op, result, args);
}

ValueId KernelBuilder::compare(Predicate predicate, ValueId a, ValueId b) {
  ValueId args[] = {a, b};
  return compute(ScalarOp::Compare, ElementType::pred, args, predicate);
}

ValueId KernelBuilder::convert(ElementType to, ValueId value) {
  return type(value) == to ? value : compute(ScalarOp::Convert, to, {&value, 1});
}

ValueId KernelBuilder::bitcast(ElementType to, ValueId value) {
  if (type(value) == to) return value;
  HLOC_CHECK(bit_width(to) == bit_width(type(value)), "a bitcast keeps the width");
  return compute(ScalarOp::Bitcast, to, {&value, 1});
}

ValueId KernelBuilder::load(BufferId buffer, Affine offset, std::vector<Guard> guards, ValueId otherwise) {
  HLOC_CHECK(guards.empty() == (otherwise == no_id), "a guarded load needs a value for outside");
  const Buffer& b = kernel_.buffers[buffer];
  Key key{key_load, buffer, otherwise};
  add_affine(key, offset);
  add_guards(key, guards);
  Place place = place_of(offset);
  for (const Guard& g : guards) place = deepest(place, place_of(g.affine));
  if (otherwise != no_id) place = deepest(place, value_places_[otherwise]);
  if (b.role != BufferRole::input) place = here(), place.plain = false, key.push_back(static_cast<int64_t>(kernel_.values.size()));
  return pure(key, b.element, place, Load{no_id, {buffer, std::move(offset), std::move(guards)}, otherwise});
}

void KernelBuilder::store(BufferId buffer, Affine offset, ValueId value, std::vector<Guard> guards) {
  append({Store{{buffer, std::move(offset), std::move(guards)}, value}});
}

ValueId KernelBuilder::index_value(ElementType type, Affine affine) {
  if (affine.is_constant()) return constant(type, affine.base);
  Key key{key_index_value, static_cast<int64_t>(type)};
  add_affine(key, affine);
  Place place = place_of(affine);
  return pure(key, type, place, IndexValue{no_id, std::move(affine)});
}

ValueId KernelBuilder::test(std::vector<Guard> guards) {
  std::vector<Guard> open;
  for (Guard& g : guards) {
    Range r = range(g.affine);
    if (r.hi < g.lo || r.lo >= g.hi) return constant(ElementType::pred, 0);
    if (r.lo < g.lo || r.hi >= g.hi) open.push_back(std::move(g));
  }
  if (open.empty()) return constant(ElementType::pred, 1);
  Key key{key_test};
  add_guards(key, open);
  Place place = top();
  for (const Guard& g : open) place = deepest(place, place_of(g.affine));
  return pure(key, ElementType::pred, place, Test{no_id, std::move(open)});
}

// ---- Indices ----

Affine KernelBuilder::derived(Index index) {
  Key key{key_derived, static_cast<int64_t>(index.kind), index.divisor, index.value, index.range.lo, index.range.hi};
  add_affine(key, index.of);
  if (auto it = known_.find(key); it != known_.end() && is_open(index_places_[it->second])) return Affine::of(it->second);
  kernel_.indices.push_back(std::move(index));
  index_places_.emplace_back();
  auto id = static_cast<IndexId>(kernel_.indices.size() - 1);
  derive(id);
  known_[key] = id;
  return Affine::of(id);
}

void KernelBuilder::derive(IndexId id, ValueId value) {
  Index& index = kernel_.indices[id];
  if (value != no_id) index.value = value;
  Place place = index.kind == IndexKind::from_value ? value_places_[index.value] : place_of(index.of);
  HLOC_CHECK(is_open(place), "an index is made from one whose block is closed");
  index_places_[id] = place;
  blocks_[place.level - 1].statements.push_back({Derive{id}});
}

// of = divisor * whole + rest with rest's terms not divisible; then floor(of / divisor) = whole + floor(rest / divisor).
Affine KernelBuilder::floor_div(const Affine& of, int64_t divisor) {
  if (divisor == 1) return of;
  Affine whole, rest;
  for (const Term& t : of.terms) {
    if (t.coefficient % divisor == 0) whole.terms.push_back({t.index, t.coefficient / divisor});
    else rest.terms.push_back(t);
  }
  rest.base = of.base;
  int64_t shift = floor_quotient(range(rest).lo, divisor);
  whole.base = shift;
  rest.base -= shift * divisor;
  Range r = range(rest);
  if (r.hi < divisor) return whole;
  return whole + derived({IndexKind::floor_div, {r.lo / divisor, r.hi / divisor}, std::move(rest), divisor, no_id});
}

Affine KernelBuilder::mod(const Affine& of, int64_t divisor) {
  if (divisor == 1) return {};
  Affine rest;
  for (const Term& t : of.terms)
    if (t.coefficient % divisor != 0) rest.terms.push_back(t);
  rest.base = of.base;
  rest.base -= floor_quotient(range(rest).lo, divisor) * divisor;
  Range r = range(rest);
  if (r.hi < divisor) return rest;
  return derived({IndexKind::mod, {0, divisor - 1}, std::move(rest), divisor, no_id});
}

Affine KernelBuilder::index_of(ValueId value, Range clamp_to) {
  if (clamp_to.lo == clamp_to.hi) return clamp_to.lo;
  return derived({IndexKind::from_value, clamp_to, {}, 1, value});
}

IndexId KernelBuilder::loop_index(int64_t extent) {
  kernel_.indices.push_back({IndexKind::loop, {0, std::max<int64_t>(extent - 1, 0)}, {}, 1, no_id});
  index_places_.emplace_back();
  return static_cast<IndexId>(kernel_.indices.size() - 1);
}

// ---- Accumulators, loops, blocks ----

AccId KernelBuilder::declare(ElementType type, ValueId init) {
  kernel_.accumulators.push_back({type});
  auto acc = static_cast<AccId>(kernel_.accumulators.size() - 1);
  declare(acc, init);
  return acc;
}

void KernelBuilder::declare(AccId acc, ValueId init) { append({Declare{acc, init}}); }
void KernelBuilder::accumulate(AccId acc, ScalarOp op, ValueId value) { append({Accumulate{acc, op, value}}); }
void KernelBuilder::set(AccId acc, ValueId value) { append({Set{acc, value}}); }

ValueId KernelBuilder::get(AccId acc) {
  Place place = here();
  place.plain = false;
  ValueId v = new_value(kernel_.accumulators[acc].type, place);
  append({Get{v, acc}});
  return v;
}

IndexId KernelBuilder::begin_loop(int64_t extent, LoopKind kind, int64_t grain) {
  IndexId index = loop_index(extent);
  begin_loop(index, extent, kind, grain);
  return index;
}

void KernelBuilder::begin_loop(IndexId index, int64_t extent, LoopKind kind, int64_t grain, AccId go_on) {
  begin_block({&index, 1});
  blocks_.back().loop = {index, extent, kind, grain, {}, go_on};
}

bool KernelBuilder::may_loop() const {
  auto is_loop = [](const OpenBlock& b) { return b.loop.index != no_id; };
  return blocks_.size() > 1 && std::all_of(blocks_.begin() + 1, blocks_.end(), is_loop);
}

void KernelBuilder::end_loop() {
  Loop loop = std::move(blocks_.back().loop);
  loop.body = end_block();
  append({std::move(loop)});
}

void KernelBuilder::begin_block(std::span<const IndexId> indices) {
  open_block();
  for (IndexId i : indices) index_places_[i] = here();
}

Block KernelBuilder::end_block() {
  HLOC_CHECK(blocks_.size() > 1, "no block is open");
  Block b = std::move(blocks_.back().statements);
  blocks_.pop_back();
  return b;
}

void KernelBuilder::suspend(size_t level) {
  HLOC_CHECK(level >= 1 && level <= blocks_.size(), "no such block is open");
  auto from = blocks_.begin() + static_cast<std::ptrdiff_t>(level);
  suspended_.emplace_back(std::make_move_iterator(from), std::make_move_iterator(blocks_.end()));
  blocks_.erase(from, blocks_.end());
}

void KernelBuilder::resume() {
  for (OpenBlock& b : suspended_.back()) blocks_.push_back(std::move(b));
  suspended_.pop_back();
}

ValueId KernelBuilder::block_value(ElementType type) { return new_value(type, here()); }

Kernel KernelBuilder::finish() {
  HLOC_CHECK(blocks_.size() == 1, "a loop is still open");
  kernel_.body = std::move(blocks_.back().statements);
  return std::move(kernel_);
}

}  // namespace hloc::loops
