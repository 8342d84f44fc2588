// The StableHLO tree to the graph: functions in the order of their calls, operations, the module.
#include "ir/read/stablehlo_build.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/infer/infer.h"
#include "ir/print/print.h"
#include "ir/read/stablehlo_dense.h"

namespace hloc::ir::mlir {
namespace {

bool has_quantized(Type type) {
  for (Type leaf : leaves(type))
    if (leaf->quant) return true;
  return false;
}

}  // namespace

PieceBuilder::PieceBuilder(SourceRef source, ContextRef context, Piece& piece)
    : source_(std::move(source)), context_(std::move(context)), piece_(piece),
      module_(context_, context_->string(piece.name.empty() ? "module" : piece.name)) {}

bool PieceBuilder::fail(Loc loc, std::string message) {
  if (!error_) error_ = error_at(*source_, loc, std::move(message));
  return false;
}

// ---- The module ----

const Function* PieceBuilder::entry_function() const {
  const Function *only_public = nullptr, *last = nullptr;
  size_t publics = 0;
  for (const Function& f : piece_.functions) {
    if (!f.has_body) continue;
    if (f.name == "main") return &f;
    if (f.is_public) only_public = &f, ++publics;
    last = &f;
  }
  return publics == 1 ? only_public : last;
}

ModuleRef PieceBuilder::build() {
  values_.resize(piece_.values.size(), nullptr);
  built_.resize(piece_.functions.size(), nullptr);
  for (size_t i = 0; i < piece_.functions.size(); ++i) {
    const Function& f = piece_.functions[i];
    auto [it, fresh] = functions_.try_emplace(f.name, i);
    if (!fresh) return fail(f.loc, fmt::format("the function '@{}' is defined twice", f.name)), nullptr;
    names_.insert(f.name);
  }
  const Function* entry = entry_function();
  if (!entry) return fail(piece_.loc, "the module has no function with a body"), nullptr;
  std::vector<size_t> order;
  if (!order_functions(order)) return nullptr;
  for (size_t i : order)
    if (!build_function(i)) return nullptr;
  module_attributes();
  if (error_) return nullptr;
  module_.set_source(source_);
  return module_.finish(built_[static_cast<size_t>(entry - piece_.functions.data())]);
}

void PieceBuilder::references(const Attribute& attribute, Loc loc, std::vector<Reference>& out) const {
  if (attribute.kind == Attribute::symbol) {
    if (auto it = functions_.find(attribute.text); it != functions_.end()) out.push_back({it->second, loc});
    return;
  }
  for (const Attribute& element : attribute.elements) references(element, loc, out);
}

void PieceBuilder::references(const Region& region, std::vector<Reference>& out) const {
  for (const Operation& op : region.operations) {
    for (const NamedAttribute& a : op.attributes) references(a.value, op.loc, out);
    for (const Region& inner : op.regions) references(inner, out);
  }
}

// Callees before callers, the entry's first; a function that reaches itself is an error.
bool PieceBuilder::order_functions(std::vector<size_t>& order) {
  enum State : uint8_t { fresh, open, done };
  std::vector<State> state(piece_.functions.size(), fresh);
  struct Frame {
    size_t function;
    std::vector<Reference> calls;
    size_t next = 0;
  };
  size_t entry = static_cast<size_t>(entry_function() - piece_.functions.data());
  for (size_t i = 0; i <= piece_.functions.size(); ++i) {
    size_t start = i == 0 ? entry : i - 1;
    if (state[start] != fresh) continue;
    std::vector<Frame> stack;
    auto push = [&](size_t f) {
      state[f] = open;
      stack.push_back({f, {}, 0});
      references(piece_.functions[f].body, stack.back().calls);
    };
    push(start);
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next == top.calls.size()) {
        state[top.function] = done;
        if (piece_.functions[top.function].has_body) order.push_back(top.function);
        stack.pop_back();
        continue;
      }
      Reference call = top.calls[top.next++];
      if (state[call.function] == open)
        return fail(call.loc, fmt::format("the functions call each other in a circle: '@{}' is reached from itself; StableHLO has no recursion", piece_.functions[call.function].name));
      if (state[call.function] == fresh) push(call.function);
    }
  }
  return true;
}

// ---- Functions ----

std::string PieceBuilder::unique_name(std::string name) {
  if (names_.insert(name).second) return name;
  for (int& count = name_counts_[name];;) {
    std::string tried = fmt::format("{}.{}", name, ++count);
    if (names_.insert(tried).second) return tried;
  }
}

// Numbers are no names: the op's name says more. Nor is one of several results.
void PieceBuilder::name_value(Value v, std::string_view name) {
  bool number = !name.empty() && name[0] >= '0' && name[0] <= '9';
  if (!name.empty() && !number && name.find('#') == std::string_view::npos) builder_->set_name(v, name);
}

bool PieceBuilder::build_function(size_t index) {
  const Function& f = piece_.functions[index];
  ComputationBuilder builder(context_, context_->string(f.name));
  builder_ = &builder;
  current_function_ = f.name;
  bool is_entry = &f == entry_function();
  for (size_t i = 0; i < f.argument_types.size(); ++i) {
    ValueNumber number = f.body.arguments[i];
    if (piece_.values[number].type != f.argument_types[i])
      return fail(f.loc, fmt::format("argument {} has type {} in the block, but {} in the function's type", i + 1,
                                     mlir_type(piece_.values[number].type), mlir_type(f.argument_types[i])));
    Value v = builder.parameter(static_cast<int64_t>(i), f.argument_types[i]);
    name_value(v, piece_.values[number].name);
    builder.set_location(v, {piece_.values[number].loc, nullptr});
    values_[number] = v;
    argument_attributes(f, i, v, is_entry);
  }
  const Operation* end = terminator(f.body);
  if (!end || (end->name != "func.return" && end->name != "stablehlo.return")) return fail(end ? end->loc : f.body.loc, fmt::format("the function '@{}' must end with 'return'", f.name));
  if (!build_operations(f.body)) return false;
  if (end->operands.size() != f.result_types.size())
    return fail(*end, fmt::format("the function '@{}' returns {} value{}, but its type says {}", f.name, end->operands.size(), end->operands.size() == 1 ? "" : "s", f.result_types.size()));
  for (size_t i = 0; i < f.result_types.size(); ++i)
    if (Type t = piece_.values[end->operands[i]].type; t != f.result_types[i])
      return fail(*end, fmt::format("result {} of '@{}' has type {}, but its type is written as {}", i + 1, f.name, mlir_type(t), mlir_type(f.result_types[i])));
  std::vector<Value> results = operands(*end);
  Value root = results.size() == 1 ? results[0] : nullptr;
  if (!root) {
    std::vector<Type> types;
    for (Value v : results) types.push_back(v->type);
    root = builder.make(Op::Tuple, context_->tuple(types), results, NoAttr{}, {}, nullptr, Instruction::multi_result);
  }
  result_attributes(f, root);
  built_[index] = module_.add(builder.finish(root));
  builder_ = nullptr;
  return !error_;
}

const Operation* PieceBuilder::terminator(const Region& region) { return region.operations.empty() ? nullptr : &region.operations.back(); }

bool PieceBuilder::build_operations(const Region& region) {
  for (size_t i = 0; i < region.operations.size(); ++i) {
    const Operation& op = region.operations[i];
    bool ends = op.name == "func.return" || op.name == "stablehlo.return" || op.name == "sdy.return" || op.name == "shape.assuming_yield";
    if (ends != (i + 1 == region.operations.size()))
      return fail(op, ends ? fmt::format("'{}' must be the last operation of its region", op.name)
                           : std::string("a region must end with 'stablehlo.return' (a function with 'return')"));
    if (!ends && !build_operation(op)) return false;
  }
  return true;
}

bool PieceBuilder::build_operation(const Operation& op) {
  Asked outer = std::move(asked_);
  asked_ = Asked{std::vector<bool>(op.attributes.size(), false), {}, nullptr};
  here_ = op.loc;
  OpHandler handler = find_handler(op.name);
  bool ok = handler ? handler(*this, op) && !error_ : fail(op, fmt::format("'{}' cannot be read here", op.name));
  ok = ok && attach_rest(op);
  asked_ = std::move(outer);
  return ok;
}

// ---- Operands, results, instructions ----

std::vector<Value> PieceBuilder::operands(const Operation& op) const {
  std::vector<Value> out;
  for (ValueNumber number : op.operands) out.push_back(values_[number]);
  return out;
}

bool PieceBuilder::expect_operands(const Operation& op, size_t fewest, size_t most) {
  size_t n = op.operands.size();
  if (n >= fewest && n <= most) return true;
  std::string wanted = fewest == most ? std::to_string(fewest) : most == SIZE_MAX ? fmt::format("at least {}", fewest) : fmt::format("{} to {}", fewest, most);
  return fail(op, fmt::format("'{}' takes {} operand{}, but {} {} given", op.name, wanted, wanted == "1" ? "" : "s", n, n == 1 ? "is" : "are"));
}

bool PieceBuilder::expect_results(const Operation& op, size_t count) {
  if (op.result_types.size() == count) return true;
  return fail(op, fmt::format("'{}' has {} result{}, but {} {} written", op.name, count, count == 1 ? "" : "s", op.result_types.size(), op.result_types.size() == 1 ? "is" : "are"));
}

bool PieceBuilder::expect_regions(const Operation& op, size_t count) {
  if (op.regions.size() == count) return true;
  return fail(op, fmt::format("'{}' has {} region{}, but {} {} written", op.name, count, count == 1 ? "" : "s", op.regions.size(), op.regions.size() == 1 ? "is" : "are"));
}

Type PieceBuilder::result_type(const Operation& op) {
  return op.result_types.size() == 1 ? op.result_types[0] : context_->tuple(op.result_types);
}

bool PieceBuilder::finish(const Operation& op, Value v) {
  if (!v) return false;
  if (op.result_types.size() == 1) {
    values_[op.first_result] = v;
    return true;
  }
  for (size_t i = 0; i < op.result_types.size(); ++i)
    if (piece_.values[op.result(i)].used) {
      values_[op.result(i)] = element_of(v, static_cast<int64_t>(i));
      builder_->set_location(values_[op.result(i)], {op.loc, nullptr});
    }
  return true;
}

bool PieceBuilder::check_type(const Operation& op, Op hlo, Type type, std::span<const Value> operands, const Attr& attr,
                              std::span<const Computation* const> callees) {
  std::vector<Type> types;
  bool quantized = has_quantized(type);
  for (Value v : operands) {
    types.push_back(v->type);
    quantized |= has_quantized(v->type);
  }
  if (quantized) return true;
  Result<void> checked = hloc::ir::check_type(*context_, hlo, types, attr, callees, type);
  return checked || fail(op, checked.error().message);
}

Value PieceBuilder::emit(const Operation& op, Op hlo, Type type, std::span<const Value> operands, Attr attr,
                         std::span<const Computation* const> callees, uint16_t flags) {
  if (error_ || !check_type(op, hlo, type, operands, attr, callees)) return nullptr;
  Value v = builder_->make(hlo, type, operands, std::move(attr), callees, nullptr, flags);
  builder_->set_location(v, {op.loc, metadata_of(op.location)});
  if (!op.result_types.empty()) {  // %name, or the pack's of %name#0
    std::string_view name = piece_.values[op.first_result].name;
    name_value(v, name.substr(0, name.find('#')));
  }
  asked_.main = v;
  return v;
}

Value PieceBuilder::aux(Op hlo, Type type, std::initializer_list<Value> operands, Attr attr) {
  Value v = builder_->make(hlo, type, operands, std::move(attr));
  builder_->set_location(v, {here_, nullptr});
  return v;
}

Value PieceBuilder::element_of(Value tuple, int64_t index) {
  return builder_->make(Op::GetTupleElement, tuple->type.element_type(static_cast<size_t>(index)), {tuple}, TupleIndexAttr{index});
}

Value PieceBuilder::tuple_of(std::span<const Value> parts) {
  std::vector<Type> types;
  for (Value v : parts) types.push_back(v->type);
  return builder_->make(Op::Tuple, context_->tuple(types), parts, NoAttr{}, {}, nullptr, Instruction::multi_result);
}

Value PieceBuilder::broadcast_scalar(Value scalar, Type type) {
  if (type.rank() == 0) return scalar;
  return aux(Op::Broadcast, context_->with_element(type, scalar->type.element()), {scalar}, BroadcastAttr{});
}

Value PieceBuilder::constant(const Operation& op, const Attribute& dense, Type type) {
  if (dense.kind != Attribute::dense && dense.kind != Attribute::resource) {
    // arith.constant 3 : index
    std::string text = dense.kind == Attribute::real ? fmt::format("{}", dense.real_value) : std::to_string(dense.integer_value);
    Attribute scalar;
    scalar.kind = Attribute::dense;
    scalar.type = type;
    scalar.content = context_->string(text);
    scalar.loc = dense.loc;
    return constant(op, scalar, type);
  }
  DenseValue decoded;
  DenseError error;
  if (!decode_dense(*context_, dense, piece_, decoded, error)) {
    uint32_t begin = error.place >= source_->text.data() && error.place <= source_->text.data() + source_->text.size()
                         ? static_cast<uint32_t>(error.place - source_->text.data())
                         : dense.loc.begin;
    fail({begin, begin + static_cast<uint32_t>(error.length)}, error.message);
    return nullptr;
  }
  if (!decoded.is_splat) return emit(op, Op::Constant, type, {}, ConstantAttr{decoded.literal});
  Value scalar = builder_->constant(decoded.literal);
  return emit(op, Op::Broadcast, type, {scalar}, BroadcastAttr{});
}

bool PieceBuilder::literal(const Attribute& dense, Literal& out) {
  DenseValue decoded;
  DenseError error;
  if (dense.kind != Attribute::dense && dense.kind != Attribute::resource) return fail(dense.loc, "expected a constant such as 'dense<1.0> : tensor<2xf32>'");
  if (!decode_dense(*context_, dense, piece_, decoded, error)) {
    uint32_t begin = static_cast<uint32_t>(error.place - source_->text.data());
    return fail({begin, begin + static_cast<uint32_t>(error.length)}, error.message);
  }
  out = decoded.literal;
  if (!decoded.is_splat) return true;
  out = Literal::uninitialized(dense.type);
  std::span<std::byte> to = out.mutable_bytes();
  std::span<const std::byte> from = decoded.literal.bytes();
  for (size_t i = 0; i < to.size(); i += from.size()) std::copy(from.begin(), from.end(), to.begin() + static_cast<ptrdiff_t>(i));
  return true;
}

const Function* PieceBuilder::function_named(std::string_view name) const {
  auto it = functions_.find(name);
  return it == functions_.end() ? nullptr : &piece_.functions[it->second];
}

const Computation* PieceBuilder::function(const Operation& op, std::string_view name) {
  auto it = functions_.find(name);
  if (it != functions_.end()) {
    if (built_[it->second]) return built_[it->second];
    fail(op, fmt::format("the function '@{}' is only declared; hloc needs its body", name));
    return nullptr;
  }
  std::vector<std::string_view> known;
  for (const auto& [function, index] : functions_) known.push_back(function);
  std::string_view near = nearest(name, known);
  fail(op, fmt::format("there is no function '@{}'{}", name, suggestion(near, "@")));
  return nullptr;
}

}  // namespace hloc::ir::mlir
