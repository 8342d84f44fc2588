// One instruction: `[ROOT] name = [type] op(operands)[, attributes]`.
#include "ir/read/hlo_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "ir/infer/infer.h"
#include "ir/print/print.h"
#include "ir/read/hlo_literal.h"

namespace hloc::ir {
namespace {

constexpr std::string_view async_suffixes[] = {"-start", "-update", "-done"};

// Ops with a start and done of their own have no general one; these have none at all.
bool may_be_async(Op op) {
  return op != Op::AllGather && op != Op::AllReduce && op != Op::CollectivePermute && op != Op::Copy && op != Op::Send &&
         op != Op::Recv && op != Op::AsyncStart && op != Op::AsyncUpdate && op != Op::AsyncDone && op != Op::Parameter &&
         op != Op::Constant;
}

// The op that an asynchronous value computes, or null when `v` is no asynchronous value.
Value wrapped_root(Value v) {
  while (v->op == Op::AsyncUpdate && v->operand_count == 1) v = v->operand(0);
  return v->op == Op::AsyncStart && v->callee_count == 1 ? v->callee(0).root() : nullptr;
}

std::vector<std::string_view> hlo_op_names() {
  std::vector<std::string_view> names;
  for (const OpFacts& f : all_ops())
    if (!f.hlo.empty()) names.push_back(f.hlo);
  return names;
}

std::string count_of(size_t n, std::string_view thing) { return fmt::format("{} {}{}", n, thing, n == 1 ? "" : "s"); }

}  // namespace

HloReader::Progress HloReader::statement(HloScope& scope) {
  scope.callees.clear();
  scope.common.clear();
  scope.metadata = nullptr;
  scope.seen_rows = scope.seen_common = scope.seen_callees = 0;
  if (scope.async.sugared || !scope.async.execution_thread.empty()) scope.async = AsyncAttr{};
  scope.is_root = lex_.peek() == 'R' && lex_.accept_word("ROOT");
  std::string_view name;
  if (!lex_.name(name, scope.is_root ? "the name of the root instruction" : "an instruction or '}'")) return Progress::failed;
  if (scope.is_root && scope.root) {
    lex_.fail_at(name, fmt::format("a computation has one ROOT, which is '{}'", scope.root_name));
    return Progress::failed;
  }
  if (!lex_.expect('=', "'=' after an instruction's name")) return Progress::failed;
  scope.name_hash = HloNames::hash_of(name);
  scope.names.prefetch(scope.name_hash, lex_);
  if (!open_instruction(scope, name) || !operands(scope)) return Progress::failed;
  const HloOpen& open = scope.open.back();
  if (open.op != Op::Parameter && open.op != Op::Constant) scope.known_attr = interned_default(open.op);
  Progress progress = attributes(scope);
  if (progress != Progress::done) return progress;
  return close_statement(scope) ? Progress::done : Progress::failed;
}

// An inline computation of the statement's attributes is complete.
HloReader::Progress HloReader::resume(HloScope& scope, const Computation* callee) {
  put_callee(scope, scope.waiting_slot, callee);
  Progress progress = scope.in_callee_list ? callee_list(scope) : Progress::done;
  if (progress == Progress::done) progress = attributes(scope);
  if (progress != Progress::done) return progress;
  return close_statement(scope) ? Progress::done : Progress::failed;
}

bool HloReader::open_instruction(HloScope& scope, std::string_view name) {
  HloOpen open;
  open.name = name;
  if (parts_.types.starts_type() && !parts_.types.read(open.type)) return false;
  if (!opcode(open) || !lex_.expect('(', "'(' and the operands")) return false;
  open.first_operand = scope.operands.size();
  scope.open.push_back(open);
  return special_argument(scope);
}

bool HloReader::opcode(HloOpen& open) {
  std::string_view word = lex_.peek_word();
  if (word.empty()) return lex_.expected(open.type ? "an op such as add" : "a type or an op");
  open.opcode = word;
  auto letter = [](char c) { return static_cast<unsigned char>(c); };
  size_t place = word.size() * 31 + letter(word.front()) * 7u + letter(word.back());
  RememberedOp& slot = remembered_ops_[place % remembered_ops_.size()];
  if (equal_short(slot.text, word)) {
    open.op = slot.op;
  } else if (const Op* op = find_hlo_op(word)) {
    open.op = *op;
    slot = {word, *op};
  } else {
    for (size_t i = 0; i < std::size(async_suffixes); ++i) {
      if (!word.ends_with(async_suffixes[i])) continue;
      const Op* base = find_hlo_op(word.substr(0, word.size() - async_suffixes[i].size()));
      if (!base || !may_be_async(*base)) break;
      open.op = *base;
      open.async = static_cast<AsyncPart>(i + 1);
    }
    if (open.async == AsyncPart::none) {
      std::string_view near = nearest(word, hlo_op_names());
      return lex_.fail_here(fmt::format("'{}' is not an op{}", word, suggestion(near)));
    }
  }
  lex_.seek(word.data() + word.size());
  return true;
}

// `parameter(0)` and `constant(…)`, whose parentheses hold no operands.
bool HloReader::special_argument(HloScope& scope) {
  const HloOpen& open = scope.open.back();
  if (open.async != AsyncPart::none) return true;
  if (open.op == Op::Parameter) return parameter_argument(scope);
  return open.op != Op::Constant || constant_argument(scope);
}

bool HloReader::parameter_argument(HloScope& scope) {
  Loc at = lex_.next_loc();
  int64_t number;
  if (!lex_.integer(number, "the parameter's number")) return false;
  if (number < 0) return lex_.fail({at.begin, lex_.raw_offset()}, "a parameter's number may not be negative");
  scope.parameters.emplace_back(number, lex_.text(at.begin, lex_.raw_offset()));
  bool is_small = static_cast<size_t>(number) < parameter_attrs_.size();
  scope.known_attr = is_small ? parameter_attrs_[static_cast<size_t>(number)] : nullptr;
  if (!scope.known_attr) scope.known_attr = context_->attr(ParameterAttr{number});
  if (is_small) parameter_attrs_[static_cast<size_t>(number)] = scope.known_attr;
  return lex_.peek() == ')' || lex_.expected("')' after the parameter's number");
}

bool HloReader::constant_argument(HloScope& scope) {
  const HloOpen& open = scope.open.back();
  if (!open.type) return lex_.fail_at(open.opcode, "a constant needs its type written before it");
  if (open.type.is_scalar() && lex_.peek() != '{') {
    const char* begin = lex_.cursor();
    const char* end = HloLexer::end_of_word(begin);
    Remembered<Attr, 512>::Key key{{begin, static_cast<size_t>(end - begin)}, open.type.node()};
    scope.known_attr = *end == ')' ? constant_texts_.find(key) : nullptr;
    if (scope.known_attr) {
      lex_.seek(end);
      return true;
    }
    std::byte value[16];
    if (!read_scalar(lex_, open.type, value)) return false;
    scope.known_attr = context_->attr(ConstantAttr{Literal::view(open.type, nullptr, value)});
    if (lex_.cursor() == end) constant_texts_.keep(key, scope.known_attr);
  } else {
    Literal literal;
    if (!read_literal(lex_, open.type, literal)) return false;
    scope.known_attr = nullptr;
    scope.attr = ConstantAttr{std::move(literal)};
  }
  return lex_.peek() == ')' || lex_.expected("')' after the constant's value");
}

Attr& HloReader::written_attr(HloScope& scope) {
  if (scope.known_attr) scope.attr = *scope.known_attr;
  scope.known_attr = nullptr;
  return scope.attr;
}

const Attr* HloReader::interned_default(Op op) {
  const Attr*& known = defaults_[static_cast<size_t>(op)];
  if (!known) known = context_->attr(default_attr(op));
  return known;
}

// Up to the ')' of the statement; instructions written as operands are made on the way.
bool HloReader::operands(HloScope& scope) {
  bool first = true;
  for (;;) {
    if (lex_.accept(')')) {
      if (scope.open.size() == 1) return true;
      Value v = close_nested(scope);
      if (!v) return false;
      scope.operands.push_back(v);
      first = false;
      continue;
    }
    if (!first && !lex_.expect(',', "',' or ')' after an operand")) return false;
    size_t depth = scope.open.size();
    if (!operand(scope)) return false;
    first = scope.open.size() > depth;
  }
}

bool HloReader::operand(HloScope& scope) {
  Type type;
  if (lex_.peek() == '%') return reference(scope, type, false);
  if (std::string_view name = lex_.peek_word(); !name.empty()) {  // mostly it is a name and nothing else
    const char* after = name.data() + name.size();
    if (*after == ',' || *after == ')') {
      Value v = find_value(scope, name);
      if (!v) return fail_undefined(scope, name);
      lex_.seek(after);
      scope.operands.push_back(v);
      return true;
    }
  }
  bool has_type = parts_.types.starts_type();
  if (has_type && !parts_.types.read(type)) return false;
  std::string_view word = lex_.peek_word();
  if (word.empty()) return reference(scope, type, has_type);
  const char* after = word.data() + word.size();
  while (after < lex_.end() && HloLexer::is_blank(*after)) ++after;
  if (after == lex_.end() || *after != '(') return reference(scope, type, has_type);
  HloOpen open;
  open.type = type;
  if (!opcode(open)) return false;
  if (open.async != AsyncPart::none) return lex_.fail_at(open.opcode, fmt::format("'{}' cannot be written as an operand", open.opcode));
  if (!lex_.expect('(', "'(' and the operands")) return false;
  open.first_operand = scope.operands.size();
  scope.open.push_back(open);
  return special_argument(scope);
}

// `name`, or `name#1#0` for an element of a tuple.
bool HloReader::reference(HloScope& scope, Type declared, bool has_type) {
  std::string_view name;
  if (!lex_.name(name, "an operand (the name of an instruction before this one)")) return false;
  Value v = find_value(scope, name);
  if (!v) return fail_undefined(scope, name);
  while (lex_.peek() == '#')
    if (!tuple_elements(scope, v)) return false;
  if (has_type && declared != v->type && !same_shape(declared, v->type, true))
    return lex_.fail_at(name, fmt::format("the operand is written with type {}, but '{}' has type {}", to_string(declared), name,
                                          to_string(v->type)));
  scope.operands.push_back(v);
  return true;
}

bool HloReader::tuple_elements(HloScope& scope, Value& v) {
  Loc at = lex_.next_loc();
  lex_.accept('#');
  int64_t index;
  if (!lex_.integer(index, "the number of a tuple element")) return false;
  at.end = lex_.raw_offset();
  if (!v->type.is_tuple())
    return lex_.fail(at, fmt::format("'#{}' names an element of a tuple, but the value has type {}", index, to_string(v->type)));
  if (index < 0 || static_cast<size_t>(index) >= v->type.tuple_size())
    return lex_.fail(at, fmt::format("there is no element {}: the tuple has {}", index, count_of(v->type.tuple_size(), "element")));
  Value& element = scope.elements[uint64_t{v->id} << 32 | static_cast<uint32_t>(index)];
  if (!element) {
    element = scope.builder.make(Op::GetTupleElement, v->type.element_type(static_cast<size_t>(index)), {v}, TupleIndexAttr{index});
    scope.builder.set_location(element, {at, nullptr});
    scope.unnamed.push_back(element);
  }
  v = element;
  return true;
}

Value HloReader::find_value(HloScope& scope, std::string_view name) { return scope.names.find(scope.builder, name); }

// The ')' of an instruction that is an operand was read.
Value HloReader::close_nested(HloScope& scope) {
  HloOpen open = scope.open.back();
  if (open.op != Op::Parameter && open.op != Op::Constant) scope.known_attr = interned_default(open.op);
  std::string_view needed;
  for (const HloAttributeRow* row : hlo_rows(open.op))
    if (row->presence == HloPresence::required) needed = row->name;
  for (const HloCallee& callee : hlo_callees)
    if (callee.ops->contains(open.op) && open.op != Op::CustomCall) needed = callee.name;
  if (!needed.empty()) {
    lex_.fail_at(open.opcode, fmt::format("'{}' needs the attribute '{}', so it cannot be written as an operand; give it a line of "
                                          "its own", open.opcode, needed));
    return nullptr;
  }
  std::span<const Value> operands(scope.operands.data() + open.first_operand, scope.operands.size() - open.first_operand);
  Value v = make(scope, open, operands);
  if (!v) return nullptr;
  scope.operands.resize(open.first_operand);
  scope.unnamed.push_back(v);
  scope.open.pop_back();
  return v;
}

bool HloReader::close_statement(HloScope& scope) {
  HloOpen open = scope.open.back();
  if (!check_attributes(scope)) return false;
  Value v = open.async == AsyncPart::none ? make(scope, open, scope.operands) : make_async(scope, open, scope.operands);
  if (!v) return false;
  if (scope.names.find(scope.builder, open.name, scope.name_hash))
    return lex_.fail_at(open.name, fmt::format("an instruction '{}' exists already in this computation", open.name));
  if (!scope.common.empty() && !common_attributes(scope, v)) return false;
  scope.builder.set_name(v, open.name);
  scope.names.insert(scope.name_hash, v);
  if (scope.is_root) {
    scope.root = v;
    scope.root_name = open.name;
  }
  scope.open.clear();
  scope.operands.clear();
  return true;
}

bool HloReader::check_arity(const HloOpen& open, size_t count) {
  const OpFacts& f = facts(open.op);
  auto low = static_cast<size_t>(f.min_operands);
  size_t high = f.max_operands < 0 ? SIZE_MAX : static_cast<size_t>(f.max_operands);
  if (open.op == Op::OptBarrier) low = high = 1;
  if (open.async == AsyncPart::update || open.async == AsyncPart::done) low = high = 1;
  if (count >= low && count <= high) return true;
  std::string wanted = high == SIZE_MAX ? fmt::format("at least {}", count_of(low, "operand"))
                       : low == high    ? count_of(low, "operand")
                                        : fmt::format("{} to {} operands", low, high);
  return lex_.fail_at(open.opcode, fmt::format("'{}' takes {}, but {} given", open.opcode, wanted,
                                               count == 1 ? "1 is" : fmt::format("{} are", count)));
}

Value HloReader::make(HloScope& scope, HloOpen& open, std::span<const Value> operands) {
  if (!check_arity(open, operands.size())) return nullptr;
  if (!open.type) {
    std::vector<Type> types;
    types.reserve(operands.size());
    for (Value v : operands) types.push_back(v->type);
    Result<Type> inferred = infer(*context_, open.op, types, attr_of(scope), scope.callees);
    if (!inferred) {
      lex_.fail_at(open.opcode, inferred.error().message);
      return nullptr;
    }
    if (!*inferred) {
      lex_.fail_at(open.opcode, fmt::format("'{}' needs its type written before it: its operands do not determine it", open.opcode));
      return nullptr;
    }
    open.type = *inferred;
  }
  if (!check_instruction(open, attr_of(scope), operands, scope.callees)) return nullptr;
  const Attr* attr = scope.known_attr ? scope.known_attr : context_->attr(std::move(scope.attr));
  Value v = scope.builder.make_interned(open.op, open.type, operands, attr, scope.callees);
  scope.builder.set_location(v, {lex_.loc_of(open.opcode), scope.metadata});
  for (const Computation* callee : scope.callees) scope.call_depth = std::max(scope.call_depth, call_depths_.at(callee) + 1);
  return v;
}

// OP-start is an async-start around a made-up computation of one OP; OP-update and OP-done continue it.
Value HloReader::make_async(HloScope& scope, HloOpen& open, std::span<const Value> operands) {
  auto refuse = [&](std::string message) -> Value {
    lex_.fail_at(open.opcode, std::move(message));
    return nullptr;
  };
  if (!check_arity(open, operands.size())) return nullptr;
  if (!open.type) return refuse(fmt::format("'{}' needs its type written before it", open.opcode));
  HloOpen outer = open;
  outer.async = AsyncPart::none;
  scope.async.sugared = true;
  if (open.async != AsyncPart::start) {
    Value root = wrapped_root(operands[0]);
    if (!root || root->op != open.op)
      return refuse(fmt::format("'{}' continues what a {}-start began, but its operand is {}", open.opcode, name_of(open.op),
                                root ? fmt::format("a {}", name_of(root->op)) : "not asynchronous"));
    outer.op = open.async == AsyncPart::update ? Op::AsyncUpdate : Op::AsyncDone;
    scope.known_attr = nullptr;
    scope.attr = std::move(scope.async);
    return make(scope, outer, operands);
  }
  bool fits = open.type.is_tuple() && open.type.tuple_size() >= 2 && open.type.element_type(0).is_tuple() &&
              open.type.element_type(0).tuple_size() == operands.size();
  if (!fits)
    return refuse(fmt::format("'{}' has the type ((operand types), result type, …), not {}", open.opcode, to_string(open.type)));
  HloScope wrapped(context_, generated_name());
  std::vector<Value> parameters;
  for (size_t i = 0; i < operands.size(); ++i)
    parameters.push_back(wrapped.builder.parameter(static_cast<int64_t>(i), open.type.element_type(0).element_type(i),
                                                   fmt::format("param_{}", i)));
  HloOpen inner = open;
  inner.async = AsyncPart::none;
  inner.type = open.type.element_type(1);
  wrapped.known_attr = std::exchange(scope.known_attr, nullptr);
  wrapped.attr = std::move(scope.attr);
  wrapped.callees = std::move(scope.callees);
  wrapped.root = make(wrapped, inner, parameters);
  if (!wrapped.root) return nullptr;
  wrapped.builder.set_name(wrapped.root, name_of(open.op));
  if (!scope.async.execution_thread.empty()) wrapped.builder.set_thread(scope.async.execution_thread);
  wrapped.is_inline = true;
  if (!add_computation(wrapped)) return nullptr;
  scope.callees = {builder_->last()};
  scope.attr = std::move(scope.async);
  outer.op = Op::AsyncStart;
  return make(scope, outer, operands);
}

// Says whether the name is defined further down, which the text may not do, or nowhere.
bool HloReader::fail_undefined(const HloScope& scope, std::string_view name) {
  if (lex_.defined_later(name, '=', true))
    return lex_.fail_at(name, fmt::format("'{}' is defined later; an instruction must stand before those that use it", name));
  std::vector<std::string_view> names;
  for (Value v : scope.builder.instructions().last(std::min<size_t>(scope.builder.size(), 2000))) names.push_back(scope.builder.name(v));
  std::string_view near = nearest(name, names);
  return lex_.fail_at(name, fmt::format("there is no instruction '{}' in this computation{}", name, suggestion(near)));
}

}  // namespace hloc::ir
