// The worklist of the elemental lowering, guards, splits; which op goes where.
#include "backends/loops/elements.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/loops/verify.h"
#include "ir/op.h"
#include "ir/support/hash.h"

namespace hloc::loops {

Producer producer_of(ir::Value v) {
  int64_t leaf = 0;
  while (v->op == ir::Op::GetTupleElement) {
    int64_t index = v->as<ir::TupleIndexAttr>().index;
    ir::Value from = v->operand(0);
    while (from->op == ir::Op::OptBarrier && from->operand_count == 1) from = from->operand(0);
    bool is_list = from->op == ir::Op::Tuple || from->op == ir::Op::OptBarrier;
    if (!is_list) {
      leaf = index;
      v = from;
      break;
    }
    v = from->operand(static_cast<size_t>(index));
  }
  return {v, leaf};
}

namespace {

void add_to(std::vector<int64_t>& key, const Affine& a) {
  key.push_back(a.base);
  key.push_back(static_cast<int64_t>(a.terms.size()));
  for (const Term& t : a.terms) key.push_back(t.index), key.push_back(t.coefficient);
}

}  // namespace

size_t Elements::KeyHash::operator()(const Key& key) const {
  return hash_bytes(std::as_bytes(std::span(key.data(), key.size())));
}

Elements::Key Elements::key_of(const Request& r) {
  Key key{static_cast<int64_t>(reinterpret_cast<intptr_t>(r.producer.instruction)), r.producer.leaf, r.at.guards, r.at.otherwise};
  for (const Affine& a : r.at.index) add_to(key, a);
  return key;
}

std::optional<ValueId> Elements::known(const Request& r) const {
  auto it = memo_.find(key_of(r));
  if (it == memo_.end() || !b_.is_visible(it->second)) return std::nullopt;
  return it->second;
}

// The value of an operand, or no_id when it has to be made first.
ValueId Elements::need(ir::Value operand, Point at) { return need(producer_of(operand), std::move(at)); }

// Guards keep indices inside; where ranges do that and any value will do elsewhere, they are not needed further down.
ValueId Elements::need(Producer p, Point at) {
  if (at.otherwise == no_id && at.guards != 0 && is_inside(at, p.type())) at.guards = 0;
  Request r{p, std::move(at)};
  if (auto v = known(r)) return *v;
  missing_->push_back(std::move(r));
  return no_id;
}

ValueId Elements::fail(ir::Value at, std::string_view why) {
  if (!error_)
    error_ = hloc::error(ErrorKind::target, fmt::format("'{}' cannot be lowered to loops: {}", ir::name_of(at->op), why));
  return no_id;
}

// Depth first without recursion: a request is visited again once what it needs is there.
ValueId Elements::value(Producer p, Point at) {
  Request wanted{p, std::move(at)};
  std::vector<Request> stack{wanted}, missing;
  std::vector<Request>* outer = missing_;
  missing_ = &missing;
  while (!stack.empty() && !error_) {
    if (known(stack.back())) {
      stack.pop_back();
      continue;
    }
    missing.clear();
    Request top = stack.back();
    ValueId v = visit(top);
    if (error_) break;
    if (missing.empty()) {
      memo_[key_of(top)] = v;
      stack.pop_back();
    } else {
      for (size_t i = missing.size(); i-- > 0;) stack.push_back(std::move(missing[i]));
    }
  }
  missing_ = outer;
  return error_ ? no_id : *known(wanted);
}

// ---- Guards ----

uint32_t Elements::with_guard(uint32_t guards, Guard g) {
  Range r = b_.range(g.affine);
  if (g.lo <= r.lo && r.hi < g.hi) return guards;
  std::vector<Guard> list = guard_lists_[guards];
  if (std::find(list.begin(), list.end(), g) != list.end()) return guards;
  list.push_back(std::move(g));
  Key key;
  for (const Guard& each : list) {
    key.push_back(each.lo);
    key.push_back(each.hi);
    add_to(key, each.affine);
  }
  auto [it, is_new] = guard_numbers_.try_emplace(std::move(key), static_cast<uint32_t>(guard_lists_.size()));
  if (is_new) guard_lists_.push_back(std::move(list));
  return it->second;
}

// Whether one of the guards holds nowhere.
bool Elements::never(uint32_t guards) {
  for (const Guard& g : guard_lists_[guards]) {
    Range r = b_.range(g.affine);
    if (r.hi < g.lo || r.lo >= g.hi) return true;
  }
  return false;
}

ValueId Elements::or_otherwise(ValueId v, const Point& at) {
  if (v == no_id || at.otherwise == no_id || at.guards == 0) return v;
  return b_.make(ScalarOp::Select, {b_.test(guard_lists_[at.guards]), v, at.otherwise});
}

// The operand where inner's guards hold, `outside` elsewhere in the part of the index space that `at` asks for.
ValueId Elements::guarded(ir::Value operand, const Point& at, Point inner, ValueId outside) {
  if (inner.guards == at.guards) {
    inner.otherwise = at.otherwise;
    return need(operand, std::move(inner));
  }
  if (at.otherwise != no_id && at.guards != 0)
    outside = b_.make(ScalarOp::Select, {b_.test(guard_lists_[at.guards]), outside, at.otherwise});
  if (never(inner.guards)) return outside;
  inner.otherwise = outside;
  return need(operand, std::move(inner));
}

bool Elements::is_inside(const Point& at, ir::Type type) const {
  for (size_t d = 0; d < at.index.size(); ++d) {
    Range r = b_.range(at.index[d]);
    if (r.lo < 0 || r.hi >= type.dim(static_cast<int64_t>(d))) return false;
  }
  return true;
}

size_t Elements::level_of(const Point& at) const {
  size_t level = 1;
  for (const Affine& a : at.index) level = std::max(level, b_.level_of(a));
  for (const Guard& g : guard_lists_[at.guards]) level = std::max(level, b_.level_of(g.affine));
  if (at.otherwise != no_id) level = std::max(level, b_.level_of(at.otherwise));
  return level;
}

// ---- Loop variables and their splits ----

std::vector<Affine> Elements::variables(SplitKey first, std::span<const int64_t> sizes, std::vector<Variable>& out) {
  std::vector<Affine> index;
  for (size_t d = 0; d < sizes.size(); ++d) {
    SplitKey dimension{first.first, first.second + static_cast<int64_t>(d)};
    Affine whole;
    auto split = splits_.find(dimension);
    std::vector<int64_t> multiples{1};
    if (split != splits_.end()) multiples.assign(split->second.begin(), split->second.end());
    int64_t above = sizes[d];
    std::vector<Variable> made;
    for (size_t i = multiples.size(); i-- > 0;) {
      int64_t extent = above / multiples[i];
      above = multiples[i];
      if (extent == 1) continue;
      IndexId id = b_.loop_index(extent);
      made.push_back({id, extent});
      origins_[id] = {dimension, multiples[i]};
      whole += Affine::of(id, multiples[i]);
    }
    out.insert(out.end(), made.begin(), made.end());
    index.push_back(std::move(whole));
  }
  return index;
}

// `rest` divided by `divisor` needs a derived index. Where it is c * i and i can be cut at divisor / c, no division is
// left when the loop over i is two loops.
void Elements::want_split(const Affine& a, int64_t divisor) {
  for (const Term& t : a.terms) {
    if (t.coefficient % divisor == 0 || t.coefficient <= 0 || divisor % t.coefficient != 0) continue;
    auto origin = origins_.find(t.index);
    if (origin == origins_.end()) continue;
    int64_t at = divisor / t.coefficient, extent = b_.kernel().indices[t.index].range.hi + 1;
    if (at >= extent || extent % at != 0) continue;
    auto& multiples = splits_[origin->second.key];
    multiples.insert(1);
    wants_splits_ |= multiples.insert(at * origin->second.multiple).second;
  }
}

Affine Elements::divided(const Affine& a, int64_t divisor) {
  Affine q = b_.floor_div(a, divisor);
  for (const Term& t : q.terms)
    if (b_.kernel().indices[t.index].kind == IndexKind::floor_div) want_split(b_.kernel().indices[t.index].of, divisor);
  return q;
}

Affine Elements::remainder(const Affine& a, int64_t divisor) {
  Affine r = b_.mod(a, divisor);
  for (const Term& t : r.terms)
    if (b_.kernel().indices[t.index].kind == IndexKind::mod) want_split(b_.kernel().indices[t.index].of, divisor);
  return r;
}

// ---- One instruction ----

Affine row_major_offset(ir::Type type, const std::vector<Affine>& index) {
  Affine offset;
  for (size_t d = 0; d < index.size(); ++d) {
    offset *= type.dim(static_cast<int64_t>(d));
    offset += index[d];
  }
  return offset;
}

// Element `offset` of the buffer where the point's guards hold.
ValueId Elements::load(BufferId buffer, Affine offset, const Point& at) {
  const Buffer& b = b_.kernel().buffers[buffer];
  std::vector<Guard> guards = guard_lists_[at.guards];
  auto is_inside = [&](const Affine& a) { return stays_within(b_.kernel(), a, guards, {0, b.count - 1}); };
  Affine simpler = recombined(b_.kernel(), offset);
  if (is_inside(simpler)) offset = std::move(simpler);
  // It is inside, but intervals may not tell: where i + j < n for a slice's slice, i + 2 j may seem to get farther than it does.
  else if (!is_inside(offset)) guards.push_back({offset, 0, b.count});
  if (guards.empty()) return b_.load(buffer, std::move(offset));
  ValueId otherwise = at.otherwise;
  if (otherwise == no_id) otherwise = b_.constant_of_bits(b.element, 0);
  return b_.load(buffer, std::move(offset), std::move(guards), otherwise);
}

ValueId Elements::visit(const Request& r) {
  using ir::Op;
  ir::Value v = r.producer.instruction;
  if (!r.producer.type().is_array()) return fail(v, "its result is no array");
  if (auto dims = row_dims(r)) return from_row(r, *dims);
  if (hero_ && v == hero_->instruction) {
    if (r.at.guards != 0 || (hero_->at && *hero_->at != r.at.index)) hero_->is_usable = false;
    if (!hero_->at) hero_->at = r.at.index;
    return b_.convert(v->type.element(), hero_->result);
  }
  if (auto buffer = buffers_.find(v); buffer != buffers_.end()) return load(buffer->second, row_major_offset(v->type, r.at.index), r.at);
  if (v->op == Op::Constant) return or_otherwise(constant(v), r.at);
  if (v->op == Op::Iota) return or_otherwise(iota(v, r.at), r.at);
  if (auto at = moved(v, r.at)) return need(v->operand(0), *at);
  if (error_ || !missing_->empty()) return no_id;
  if (v->op == Op::Pad) return pad(v, r.at);
  if (v->op == Op::Concatenate) return concatenate(v, r.at);
  if (v->op == Op::DynamicUpdateSlice) return dynamic_update_slice(v, r.at);
  if (v->op == Op::DynamicSlice) return dynamic_slice(v, r.at);
  if (v->op == Op::Gather) return gather(v, r.at);
  if (v->op == Op::Reduce) return reduce(r);
  if (v->op == Op::ReduceWindow) return reduce_window(r);
  if (v->op == Op::Dot || v->op == Op::Convolution) return sum_of_products(v, r.at);
  if (ir::is_elementwise(v->op) || v->op == Op::BitcastConvert) return elementwise(v, r.at);
  return fail(v, "it is not an op of fusions");
}

}  // namespace hloc::loops
